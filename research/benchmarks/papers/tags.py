"""Distribution of tags over pages, from which Kim et al. 2013 (section 3.1, figure 2) chose their 22 parent tags.

``python -m research.benchmarks.papers.tags DIR`` counts the tags inside and outside the main content of labelled pages.
``-o FILE.html`` draws the shares, and the tags of one page along its lines.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import note, print_rows
from blockml.datasets import BlockLabels, Dataset, open_dataset
from blockml.features.kim2013 import PARENT_TAGS
from blockml.page import Flag, Page
from blockml.parsing import parse
from blockml.parsing.segmentation import document_lines
from blockml.reports.figures import brief, scale_over

#: Minimum frequency of a tag to be suggested as a parent tag (our choice).
_MIN_COUNT = 10

#: Number of tags to draw: rarer ones say little.
_MOST_TAGS = 45

_ROW = 17.0

_STYLE = """
body { max-width: 860px; margin: 2em auto; font: 15px system-ui, sans-serif; }
svg { display: block; width: 100%; font-size: 12px; }
.rule, .mean { stroke: #ccc; } .mean { stroke: #c33; stroke-dasharray: 5 4; }
rect.paper { fill: #2a7d4f; } rect.other { fill: #bbb; } rect.inside { fill: #eef; } .name.paper { font-weight: 600; }
.blocks { fill: none; stroke: #b60; stroke-width: 1.8; }
.dots { stroke: #36c; stroke-width: 5; stroke-linecap: round; fill: none; }
"""


class TagPoints(NamedTuple):
    """Points of the paper's figure 2 for one page: one per start tag in ``body``."""

    line: NDArray[np.int32]  #: (n,) line in the refined document.
    tag: tuple[str, ...]  #: (n,) name of the element.
    inside: NDArray[np.bool_]  #: (n,) whether the tag is between the first and the last block of the main content.


@dataclass(frozen=True, slots=True)
class TagRow:
    """Counts of one tag over labelled pages."""

    tag: str
    inside: int  #: Start tags between the first and the last content block of their page.
    outside: int  #: Other start tags.
    parent_of_main: int  #: Content blocks with this parent tag.
    parent_of_other: int  #: Other blocks with this parent tag.
    in_paper: bool  #: Whether the tag is one of the paper's 22.
    #: Whether the tag occurs 10 times or more, with a larger share inside the main content than the average tag.
    suggested: bool


def tag_points(page: Page, labels: BlockLabels) -> TagPoints:
    """Return the points of one page, to plot tags against lines.

    Parameters
    ----------
    page
        The page.
    labels
        Labels of its blocks.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets import TextGold
    >>> page = blockml.parse("<ul><li>Menu</ul><p>Text<br>more text</p>")
    >>> points = tag_points(page, TextGold("Text more text").label(page))
    >>> [(tag, inside) for tag, inside in zip(points.tag, points.inside.tolist())]
    [('body', False), ('ul', False), ('li', False), ('p', False), ('br', True)]
    """
    nodes, blocks = page.nodes, page.blocks
    in_body = (nodes.tag != 0) & ((nodes.flags & (Flag.HEAD | Flag.DROPPED)) == 0) & (nodes.parent >= 0)
    elements = np.flatnonzero(in_body)
    lines = document_lines(nodes)[elements]
    inside = np.zeros(len(elements), dtype=bool)
    if len(main := np.flatnonzero(labels.main)):
        inside = (lines > blocks.first_line[main[0]]) & (lines < blocks.last_line[main[-1]])
    return TagPoints(lines, tuple([nodes.name(node) for node in elements.tolist()]), inside)


def tag_distribution(dataset: Dataset, *, backend: str = "lxml") -> list[TagRow]:
    """Count the tags inside and outside the main content of a data set parsed by a back end, most frequent first."""
    inside, outside, of_main, of_other = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for labelled in dataset.pages:
        html, gold = labelled.load()
        if gold is None:
            continue
        page = parse(html, url=labelled.url, charset=labelled.charset, backend=backend)
        labels = gold.label(page)
        for tag, is_inside in zip(*tag_points(page, labels)[1:], strict=True):
            (inside if is_inside else outside)[tag] += 1
        for parent, is_main in zip(page.blocks.parents, labels.main.tolist(), strict=True):
            (of_main if is_main else of_other)[parent] += 1
    total = inside + outside
    share = inside.total() / max(1, total.total())
    return [
        TagRow(
            tag,
            inside[tag],
            outside[tag],
            of_main[tag],
            of_other[tag],
            in_paper=tag in PARENT_TAGS,
            suggested=total[tag] >= _MIN_COUNT and inside[tag] > share * total[tag],
        )
        for tag in sorted(total | of_main | of_other, key=lambda tag: (-total[tag], tag))
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Count the tags of a data set, and draw them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html")
    parser.add_argument("--page", metavar="ID", help="the page to draw, instead of the first with content")
    options = parser.parse_args(argv)
    dataset = open_dataset(options.dataset)
    if options.page not in {None, *(page.id for page in dataset.pages)}:
        parser.error(f"no such page: {options.page}")
    rows = tag_distribution(dataset)
    print_rows([asdict(row) for row in rows], "text")
    if options.output:
        figures = [*_titled(f"Tags inside the main content: {dataset.name}", shares_svg(rows))]
        for labelled in dataset.pages:
            html, gold = labelled.load()
            if gold is not None and options.page in (None, labelled.id):
                page = parse(html, url=labelled.url, charset=labelled.charset)
                figures += _titled(f"Figure 2 for {labelled.id}", points_svg(tag_points(page, gold.label(page))))
                break
        options.output.write_text(
            "\n".join(["<!doctype html><meta charset=utf-8>", f"<style>{_STYLE}</style>", *figures])
        )
        note(f"wrote {options.output}")
    return 0


def _titled(title: str, figure: str) -> list[str]:
    return [f"<h1>{escape(title)}</h1>", figure]


def shares_svg(rows: Sequence[TagRow]) -> str:
    """Draw the share of each tag's start tags that are inside the main content, and of its blocks that are content.

    The most frequent tags are drawn, the tag with the largest share first.
    """
    drawn = sorted(rows[:_MOST_TAGS], key=lambda row: (-_share(row.inside, row.outside), row.tag))
    everything = _share(sum(row.inside for row in rows), sum(row.outside for row in rows))
    left, right, top = 120.0, 560.0, 30.0
    x = scale_over(0, 1, left, right)
    height = top + _ROW * len(drawn) + 10
    parts = [
        f'<svg class="tags" viewBox="0 0 760 {brief(height)}" role="img"><title>Tags inside the main content</title>'
    ]
    for place, label in x.ticks:
        parts.append(f'<path class="rule" d="M{brief(place)} {brief(top - 4)}V{brief(height - 8)}"/>')
        parts.append(f'<text class="tick" x="{brief(place)}" y="{brief(top - 9)}" text-anchor="middle">{label}</text>')
    for number, row in enumerate(drawn):
        y = top + _ROW * number
        total = row.inside + row.outside
        share = x.at(_share(row.inside, row.outside)) - left
        kind = "paper" if row.in_paper else "other"
        parts.append(
            f'<text class="name {kind}" x="{brief(left - 8)}" y="{brief(y + 12)}" text-anchor="end">'
            f"{escape(row.tag)}</text>"
            f'<rect class="{kind}" x="{brief(left)}" y="{brief(y + 2)}" width="{brief(share)}" height="12"/>'
        )
        if blocks := row.parent_of_main + row.parent_of_other:
            at = x.at(row.parent_of_main / blocks)
            parts.append(f'<circle class="blocks" cx="{brief(at)}" cy="{brief(y + 8)}" r="4"/>')
        parts.append(
            f'<text class="tick" x="{brief(right + 14)}" y="{brief(y + 12)}">{row.inside:,} of {total:,}</text>'
        )
    mean = brief(x.at(everything))
    parts.append(f'<path class="mean" d="M{mean} {brief(top)}V{brief(height - 8)}"/>')
    return "\n".join([*parts, "</svg>"])


def _share(part: int, rest: int) -> float:
    return part / max(1, part + rest)


def points_svg(points: TagPoints) -> str:
    """Draw the start tags of a page: lines of the refined document to the right, one row per tag."""
    tags = sorted(set(points.tag), key=lambda tag: (-points.tag.count(tag), tag))
    left, right, top = 120.0, 740.0, 12.0
    bottom = top + 14 * len(tags)
    last = int(points.line.max(initial=1))
    x = scale_over(0, last, left, right)
    parts = [f'<svg class="tags" viewBox="0 0 760 {brief(bottom + 30)}" role="img"><title>Tags of one page</title>']
    inside = points.line[points.inside]
    if len(inside):
        start, stop = x.at(int(inside.min())), x.at(int(inside.max()))
        parts.append(
            f'<rect class="inside" x="{brief(start)}" y="{brief(top - 6)}" width="{brief(max(stop - start, 1))}" '
            f'height="{brief(bottom - top)}"/>'
        )
    for row, tag in enumerate(tags):
        y = top + 14 * row
        parts.append(
            f'<text class="name" x="{brief(left - 8)}" y="{brief(y + 4)}" text-anchor="end">{escape(tag)}</text>'
        )
        dots = "".join(
            f"M{brief(x.at(line))} {brief(y)}h.01"
            for line, name in zip(points.line.tolist(), points.tag, strict=True)
            if name == tag
        )
        parts.append(f'<path class="dots" d="{dots}"/>')
    for place, label in x.ticks:
        parts.append(
            f'<text class="tick" x="{brief(place)}" y="{brief(bottom + 8)}" text-anchor="middle">{label}</text>'
        )
    parts.append(f'<text class="tick" x="{brief(right)}" y="{brief(bottom + 22)}" text-anchor="end">line</text>')
    return "\n".join([*parts, "</svg>"])


if __name__ == "__main__":
    raise SystemExit(main())
