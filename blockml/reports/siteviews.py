"""Views of a page's template, and of two pages with the nodes that mappings of their trees pair."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.reports.templating import write_html
from blockml.templates.mapping import template_share

# Without their style sheets, icons would fill the frame.
_ICONS = "<!DOCTYPE html><style>svg { max-width: 2em; max-height: 2em }</style>"

# Tags that may make a browser connect to other hosts, or leave the page, before it applies the security policy. Under
# that policy they show nothing anyway.
_SILENT = re.compile(r"<(?:link|meta|base|i?frame)\b[^>]*>?", re.IGNORECASE)
# Minimum share of a block's text in the template for the block to count as template (our choice).
_MAJORITY = 0.5


def write_template_view(
    path: str | os.PathLike[str],
    *,
    page_title: str,
    page_html_label: str,
    template_html: str,
    page: Page,
    in_template: NDArray[np.bool_],
    info: Mapping[str, object] | None = None,
) -> Path:
    """Write which blocks of a page are in its template, and the template itself, to a self-contained HTML file.

    The template is rendered in a sandboxed frame that runs and loads nothing. Raises UsageError if ``in_template``
    doesn't fit the nodes, and the errors of :func:`blockml.reports.templating.write_html`.

    Parameters
    ----------
    path
        The file; missing folders are created.
    page_title
        Heading.
    page_html_label
        Name of the page: a file or a URL.
    template_html
        The template as HTML; may be empty.
    page
        The page.
    in_template
        (n_nodes,) whether each node is in the template.
    info
        Additional facts to show, by name.
    """
    mask = np.asarray(in_template, dtype=bool)
    if mask.shape != (len(page.nodes),):
        raise UsageError(f"in_template must have the shape ({len(page.nodes)},), one entry per node, not {mask.shape}")
    of_blocks = template_share(page, mask)
    xpaths = page.nodes.xpaths(page.blocks.parent.tolist())
    lines = [
        {"text": text, "share": share, "xpath": xpath, "group": "template" if share >= _MAJORITY else "own"}
        for text, share, xpath in zip(page.blocks.texts, of_blocks.tolist(), xpaths, strict=True)
    ]
    return write_html(
        "template_view.html.jinja",
        path,
        heading=page_title or page.title or page_html_label,
        label=page_html_label,
        page=page,
        lines=lines,
        n_blocks=sum(line["group"] == "template" for line in lines),
        words=(float(of_blocks @ page.blocks.n_words), int(page.blocks.n_words.sum())),
        nodes=(int(mask.sum()), len(mask)),
        document=f"{_ICONS}{shown}" if (shown := _SILENT.sub(" ", template_html).strip()) else "",
        info={name.replace("_", " "): value for name, value in (info or {}).items()},
    )


#: Maximum rows of an outline: more make the file slow to open.
_MOST_ROWS = 4000


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A node of either page, or of both."""

    group: str  #: ``mapped``, ``renamed`` (mapped under another name), ``left`` or ``right`` (on one page only)
    left: str  #: Label on the first page; empty if it is not there
    right: str
    left_depth: int
    right_depth: int


@dataclass(frozen=True, slots=True, eq=False)
class MappedTrees:
    """Two trees in pre-order, and a mapping of the first to the second."""

    title: str  #: Name of the mapping
    left: Sequence[str]  #: (n,) labels of the first tree
    right: Sequence[str]  #: (m,)
    left_depths: NDArray[np.int64]  #: (n,)
    right_depths: NDArray[np.int64]  #: (m,)
    partner: NDArray[np.int32]  #: (n,) node of the second tree, or −1
    renamed: NDArray[np.bool_]  #: (n,) whether the mapped nodes have different names


def outline(trees: MappedTrees) -> list[OutlineRow]:
    """Merge two trees into one list in document order; nodes only on the second page follow the preceding mapped node.

    Examples
    --------
    >>> trees = MappedTrees("t", ["ul", "li"], ["ul", "p", "li"], np.array([0, 1]), np.array([0, 1, 1]),
    ...                     np.array([0, 2], np.int32), np.array([False, False]))
    >>> [(row.group, row.left, row.right) for row in outline(trees)]
    [('mapped', 'ul', 'ul'), ('right', '', 'p'), ('mapped', 'li', 'li')]
    """
    owner = np.full(len(trees.right), -1, dtype=np.int64)
    mapped = np.flatnonzero(trees.partner >= 0)
    owner[trees.partner[mapped]] = mapped
    alone: dict[int, list[int]] = {}
    last = -1
    for place, row in enumerate(owner.tolist()):
        if row >= 0:
            last = row
        else:
            alone.setdefault(last, []).append(place)
    rows: list[OutlineRow] = []

    def add_alone(after: int) -> None:
        rows.extend(
            OutlineRow("right", "", trees.right[place], 0, int(trees.right_depths[place]))
            for place in alone.get(after, ())
        )

    add_alone(-1)
    for row, place in enumerate(trees.partner.tolist()):
        depth = int(trees.left_depths[row])
        if place < 0:
            rows.append(OutlineRow("left", trees.left[row], "", depth, 0))
        else:
            group = "renamed" if trees.renamed[row] else "mapped"
            rows.append(OutlineRow(group, trees.left[row], trees.right[place], depth, int(trees.right_depths[place])))
        add_alone(row)
    return rows


def write_pair_view(
    path: str | os.PathLike[str],
    *,
    names: tuple[str, str],
    distances: Sequence[Mapping[str, object]],
    mappings: Sequence[MappedTrees],
) -> Path:
    """Write the distances of two pages and their mapped nodes side by side, in a self-contained HTML file.

    ``names`` are the names of the pages, ``distances`` rows with ``distance``, ``value`` and ``meaning``. Raises the
    errors of :func:`blockml.reports.templating.write_html`.
    """
    sections = []
    for trees in mappings:
        rows = outline(trees)
        counts = {group: sum(row.group == group for row in rows) for group in ("mapped", "renamed", "left", "right")}
        sections.append({"title": trees.title, "rows": rows[:_MOST_ROWS], "counts": counts, "n": len(rows)})
    return write_html("pairs.html.jinja", path, names=names, distances=distances, sections=sections)
