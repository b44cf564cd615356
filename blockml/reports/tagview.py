"""View of how often each tag contains content, with the points of one page as in figure 2 of Kim et al. 2013."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

from blockml.datasets.tags import TagPoints, TagRow
from blockml.reports.figures import brief, scale_over
from blockml.reports.templating import figure, write_html

#: Number of tags to draw: rarer ones say little.
_MOST_TAGS = 45

_ROW = 17.0


def write_tags(
    path: str | os.PathLike[str], rows: Sequence[TagRow], *, name: str, page: str = "", points: TagPoints | None = None
) -> Path:
    """Write counts of tags inside and outside the main content as a self-contained HTML file with figures.

    ``rows`` come from :func:`blockml.datasets.tags.tag_distribution` of the data set ``name``; ``points`` are those of
    the page ``page``. Raises the errors of :func:`blockml.reports.templating.write_html`.
    """
    return write_html(
        "tags.html.jinja",
        path,
        name=name,
        rows=rows,
        shares=figure(shares_svg(rows)),
        page=page,
        points=None if points is None or not len(points.tag) else figure(points_svg(points)),
        n_paper=sum(row.in_paper and row.suggested for row in rows),
        n_suggested=sum(row.suggested for row in rows),
    )


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
