"""The mapped nodes of a restricted top-down mapping: of minimum cost, one-to-one, ordered and closed upwards."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import blockml
from blockml.page import Page
from blockml.templates.distances import distance, sketch
from blockml.templates.distances.rtdm import mapped_elements
from tests.strategies import messy_html


def cost(a: Page, b: Page) -> int:
    """Check a mapping and return its cost."""
    one, two = sketch(a), sketch(b)
    partner = mapped_elements(one, two)
    rows = np.flatnonzero(partner >= 0)
    columns = partner[rows]
    assert columns.tolist() == sorted(set(columns.tolist()))
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        parent, other = int(one.parent[row]), int(two.parent[column])
        assert (parent < 0 and other < 0) or int(partner[parent]) == other
    names = [np.array([page.names[tag] for tag in page.tag.tolist()]) for page in (one, two)]
    renamed = int((names[0][rows] != names[1][columns]).sum()) if len(rows) else 0
    return len(one) + len(two) - 2 * len(rows) + renamed


@settings(max_examples=80)
@given(messy_html, messy_html)
def test_the_mapping_costs_the_distance(first: str, second: str) -> None:
    """Deleted, inserted and renamed elements add up to RTDM."""
    a, b = blockml.parse(first), blockml.parse(second)
    assert cost(a, b) == distance(a, b, "rtdm", norm=None)


def test_pairs_with_one_edit() -> None:
    """A renamed inner node costs one edit and a deleted leaf another, and an empty page has no mapping."""
    pages = [blockml.parse(html) for html in ("<ul><li>a<li>b</ul>", "<ol><li>a<li>b</ol>", "<ol><li>a</ol>")]
    assert [cost(pages[0], other) for other in pages] == [0, 1, 2]
    assert mapped_elements(sketch(pages[0]), sketch(blockml.parse(""))).tolist() == [-1] * len(sketch(pages[0]))
