"""Where tags stand: the analysis by which Kim et al. 2013 (section 3.1, figure 2) chose their 22 parent tags."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.datasets.base import Dataset
from blockml.datasets.gold import BlockLabels
from blockml.features.kim2013 import PARENT_TAGS
from blockml.page import Flag, Page
from blockml.parsing import parse
from blockml.parsing.lines import line_numbers

__all__ = ["TagPoints", "TagRow", "tag_distribution", "tag_points"]

#: A tag is suggested as a parent tag only if it was seen this often (our choice).
_MIN_COUNT = 10


class TagPoints(NamedTuple):
    """Points of the paper's figure 2 for one page: one per start tag in ``body``."""

    line: NDArray[np.int32]
    """(n,) line in the refined document."""
    tag: tuple[str, ...]
    """(n,) name of the element."""
    inside: NDArray[np.bool_]
    """(n,) whether it stands between the first and the last block of the main content."""


@dataclass(frozen=True, slots=True)
class TagRow:
    """What labelled pages say about one tag."""

    tag: str
    inside: int
    """Start tags between the first and the last content block of their page."""
    outside: int
    """All others."""
    parent_of_main: int
    """Content blocks whose parent it is."""
    parent_of_other: int
    """Other blocks whose parent it is."""
    in_paper: bool
    """Whether it is one of the paper's 22."""
    suggested: bool
    """Whether the data suggest it: seen 10 times or more, and inside more often than tags are on the whole."""


def tag_points(page: Page, labels: BlockLabels) -> TagPoints:
    """Give the points of one page, to be drawn as tag against line.

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
    elements = np.flatnonzero(
        (nodes.tag != 0) & ((nodes.flags & (Flag.HEAD | Flag.DROPPED)) == 0) & (nodes.parent >= 0)
    )
    lines = line_numbers(nodes)[elements]
    main = np.flatnonzero(labels.main)
    if len(main):
        inside = (lines > blocks.first_line[main[0]]) & (lines < blocks.last_line[main[-1]])
    else:
        inside = np.zeros(len(elements), dtype=bool)
    return TagPoints(lines, tuple([nodes.name(node) for node in elements.tolist()]), inside)


def tag_distribution(dataset: Dataset) -> list[TagRow]:
    """Count tags inside and outside the main content over a data set, most frequent first."""
    inside: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    of_main: Counter[str] = Counter()
    of_other: Counter[str] = Counter()
    for labelled in dataset.pages:
        html, gold = labelled.load()
        if gold is None:
            continue
        page = parse(html, url=labelled.url, charset=labelled.charset)
        labels = gold.label(page)
        for tag, is_inside in zip(*tag_points(page, labels)[1:], strict=True):
            (inside if is_inside else outside)[tag] += 1
        for parent, is_main in zip(page.blocks.parents, labels.main.tolist(), strict=True):
            (of_main if is_main else of_other)[parent] += 1
    share = inside.total() / max(1, inside.total() + outside.total())
    tags = sorted(inside | outside | of_main | of_other, key=lambda tag: (-inside[tag] - outside[tag], tag))
    return [
        TagRow(
            tag,
            inside[tag],
            outside[tag],
            of_main[tag],
            of_other[tag],
            tag in PARENT_TAGS,
            (total := inside[tag] + outside[tag]) >= _MIN_COUNT and inside[tag] > share * total,
        )
        for tag in tags
    ]
