"""FeatureExtractor and K-FeatureExtractor: the part that wins, and the exact clusters of the second."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.feature_extractor import CONTAINERS, FE, FEATURES, KFE, _start_of_top_cluster
from blockml.page import Page, Status
from tests.strategies import messy_html, path_of

COUNTED = {"images": {"img"}, "scripts": {"script"}, "links": {"a"}, "lists": {"ul", "ol", "dl"}}

#: Parts that each have most of one feature, and a part of a single word.
PARTS = (
    "<div>Images<img><img></div><div>Scripts<script>1</script><script></script></div>"
    "<div><a>Two</a> <a>links</a></div><table><tr><td>Lists<ul></ul><dl></dl></table>"
    "<section>Much more text than in all of the other parts<img><a></a><ol></ol></section>Text"
)

both = pytest.mark.parametrize("extractor", [FE, KFE])
features = pytest.mark.parametrize("feature", sorted(FEATURES))


def kept(html: str, extractor: FE | KFE) -> list[str]:
    """Return the texts of the kept blocks."""
    result = blockml.extract(html, model=extractor)
    return [block.text for block in result.page.blocks if result.kept[block.index]]


@both
@pytest.mark.parametrize(
    ("feature", "winner"),
    [
        ("images", ["Images"]),
        ("scripts", ["Scripts"]),
        ("links", ["Two links"]),
        ("lists", ["Lists"]),
        ("text", ["Much more text than in all of the other parts"]),
    ],
)
def test_the_part_with_most_of_a_feature_is_kept(extractor: type[FE | KFE], feature: str, winner: list[str]) -> None:
    """Each feature selects the part of the page that has most of it."""
    assert kept(PARTS, extractor(feature=feature)) == winner


def test_text_belongs_to_the_innermost_part() -> None:
    """Text before and after a nested division is one part, which doesn't include the nested one."""
    html = "<div>Before it<div>The nested one</div>and after it</div>"
    assert kept(html, FE()) == ["Before it", "and after it"]
    assert kept(html, KFE()) == ["Before it", "and after it"]


def test_parts_without_text_are_ignored() -> None:
    """A part with most images can't win if it has no text."""
    assert kept("<div><img><img></div><div>Text<img></div><div>Tail</div>", FE("images")) == ["Text"]


def test_lower_thresholds_keep_more_parts() -> None:
    """Scores are shares of the largest amount, so a lower threshold keeps more parts."""
    page = "<div>1234</div><div>12345678</div><div>12</div>"
    result = blockml.extract(page, model=FE())
    assert result.scores.tolist() == [0.5, 1, 0.25]
    assert result.text == "12345678"
    assert blockml.extract(page, model=FE(), threshold=0.5).text.split() == ["1234", "12345678"]


def test_k_parts_of_about_the_same_length() -> None:
    """K-FeatureExtractor keeps all parts in the cluster of the largest, and the plain method only the largest."""
    html = "".join(f"<div>{'x' * n}</div>" for n in (3, 90, 2, 100, 30, 95, 1))
    assert [len(text) for text in kept(html, FE())] == [100]
    assert [len(text) for text in kept(html, KFE())] == [90, 100, 95]
    assert [len(text) for text in kept(html, KFE(k=1))] == [3, 90, 2, 100, 30, 95, 1]


@both
@features
def test_edge_cases(extractor: type[FE | KFE], feature: str) -> None:
    """A single part is kept, and so are all parts if they are equal; pages without text have no scores."""
    method = extractor(feature=feature)
    assert kept("text without any tag", method) == ["text without any tag"]
    assert kept("<div>one</div><div>two</div>", method) == ["one", "two"]
    assert method.score(blockml.parse("<div><img></div>")).shape == (0,)
    assert blockml.extract("", model=method).status is Status.EMPTY_PAGE


def slow_amounts(page: Page, feature: str) -> list[int]:
    """Return the amount of the feature in the part of each block, counted node by node."""
    nodes = page.nodes

    def home(node: int) -> int:
        return next((above for above in path_of(nodes, node)[::-1] if nodes.name(above) in CONTAINERS), -1)

    amounts: dict[int, int] = {}
    for node in range(len(nodes)):
        if feature == "text":
            inside = not {"head", "title"} & {nodes.name(above) for above in path_of(nodes, node)}
            amount = len(" ".join(nodes.texts[node].split())) if inside else 0
        else:
            amount = int(nodes.name(node) in COUNTED[feature])
        amounts[home(node)] = amounts.get(home(node), 0) + amount
    return [amounts[home(block.node)] for block in page.blocks]


@settings(max_examples=50)
@given(messy_html, st.sampled_from(sorted(FEATURES)))
def test_scores_of_any_page(html: str, feature: str) -> None:
    """Scores are shares of the largest amount, and the top cluster has the largest amounts."""
    page = blockml.parse(html)
    amounts = slow_amounts(page, feature)
    largest = max(amounts, default=0)
    scores = FE(feature).score(page)
    assert scores.dtype == np.float32
    assert scores.tolist() == [float(np.float32(amount / largest)) if largest else 1.0 for amount in amounts]
    marks = KFE(feature).score(page)
    assert marks.dtype == np.float32
    inside, outside = ({a for a, m in zip(amounts, marks, strict=True) if m == mark} for mark in (1, 0))
    assert inside or not amounts
    assert min(inside, default=0) > max(outside, default=-1)
    assert len(set(amounts)) > 1 or not outside
    assert len(set(amounts)) > 3 or len(inside) <= 1


@settings(max_examples=50)
@given(messy_html, st.sampled_from([FE, KFE]), st.sampled_from(sorted(FEATURES)))
def test_doubled_texts_give_equal_scores(html: str, extractor: type[FE | KFE], feature: str) -> None:
    """Doubling all texts doesn't change the order of parts or their clusters."""
    page = blockml.parse(html)
    twice = [" ".join(text.split()) * 2 for text in page.nodes.texts]
    doubled = replace(page, nodes=replace(page.nodes, texts=twice))
    method = extractor(feature=feature)
    assert np.array_equal(method.score(doubled), method.score(page))


def scatter(values: list[int]) -> Fraction:
    """Return the sum of squared distances to the mean."""
    mean = Fraction(sum(values), len(values))
    return sum(((value - mean) ** 2 for value in values), Fraction(0))


@given(st.lists(st.integers(0, 200), min_size=1, max_size=9), st.integers(1, 5))
def test_the_top_cluster_belongs_to_an_optimal_partition(values: list[int], k: int) -> None:
    """No partition of the sorted values into k clusters has a smaller scatter."""
    ordered, distinct = sorted(values), sorted(set(values))
    cuts = [ordered.index(value) for value in distinct[1:]]
    totals: dict[int, Fraction] = {}
    for chosen in combinations(cuts, min(k, len(distinct)) - 1):
        borders = [0, *chosen, len(ordered)]
        total = sum((scatter(ordered[start:stop]) for start, stop in pairwise(borders)), Fraction(0))
        top = ordered[borders[-2]]
        totals[top] = min(total, totals.get(top, total))
    start = _start_of_top_cluster(np.array(values, dtype=np.float64), k)
    assert float(totals[int(start)]) == pytest.approx(float(min(totals.values())), abs=1e-6)


@pytest.mark.parametrize(
    ("extractor", "parameters", "legal"),
    [
        (FE, {"feature": "videos"}, "one of text, images, scripts, links, lists"),
        (KFE, {"feature": None}, "one of text, images, scripts, links, lists"),
        (KFE, {"k": 0}, "a whole number from 1 to 10"),
        (KFE, {"k": 2.5}, "a whole number from 1 to 10"),
        (KFE, {"k": "3"}, "a whole number from 1 to 10"),
    ],
)
def test_illegal_parameters(extractor: Any, parameters: dict[str, object], legal: str) -> None:
    """The error lists the legal values."""
    with pytest.raises(UsageError, match=legal):
        extractor(**parameters).score(blockml.parse("<p>text"))
