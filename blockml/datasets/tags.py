"""Distribution of tags over pages, from which Kim et al. 2013 (section 3.1, figure 2) chose their 22 parent tags."""

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
from blockml.parsing.segmentation import document_lines

#: Minimum frequency of a tag to be suggested as a parent tag (our choice).
_MIN_COUNT = 10


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
