"""Rules: exact thresholds, reasons, and fallbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.templates.frequency import (
    FallbackReason,
    Measures,
    SiteCounts,
    block_frequency,
    dynamic_theta,
    entropy_rule,
    fallback_reason,
    ibdf_rule,
    kept_share,
    kept_texts,
    measure,
    text_frequency,
    too_few,
)
from tests.templates.frequency.strategies import parse_all, site_pages, texts_page

RULES: list[Callable[..., Any]] = [text_frequency, block_frequency, entropy_rule, ibdf_rule]


def site_of(n_pages: int, n_with: int) -> Measures:
    """Return measures of a page whose first text is on ``n_with`` of ``n_pages`` pages, including the page itself."""
    pages = [texts_page("Same" if number < n_with else f"Other {number}", f"own {number}") for number in range(n_pages)]
    return measure(pages[0], SiteCounts.learn(pages))


@pytest.mark.parametrize(("n_pages", "n_with", "stays"), [(3, 1, True), (3, 2, False), (6, 2, True), (6, 3, False)])
def test_a_third_is_exact(n_pages: int, n_with: int, stays: bool) -> None:  # noqa: FBT001
    """A text on exactly a third of the pages is kept, because the limit is more than a third in exact arithmetic."""
    found = site_of(n_pages, n_with)
    assert (len(kept_texts(found)) == 2) is stays
    for rule in (text_frequency, block_frequency):
        scores, reasons = rule(found)
        assert bool(scores[0] >= 0.5) is stays
        assert reasons[0] == f"on {n_with} of {n_pages} pages"
    # Of n - 1 other pages, n_with - 1 have it.
    assert bool(ibdf_rule(found)[0][0] >= 0.5) is ((n_with - 1) * 3 <= n_pages - 1)


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from([(1, 10), (1, 5), (1, 3), (1, 2), (3, 4), (9, 10)]))
def test_thresholds_are_fractions(part: int, whole: int, theta: tuple[int, int]) -> None:
    """Every threshold decides exactly like the fraction it represents."""
    part = min(part, whole)
    none = np.zeros(1)
    found = Measures(
        n_others=whole - 1, include_self=True, text_nodes=np.zeros(1, np.int32), text_blocks=np.zeros(1, np.int32),
        text_words=np.ones(1, np.int64), text_pages=np.array([part]), text_share=none, block_pages=np.array([part]),
        block_share=np.array([part / whole]), path_share=none, path_novelty=none, path_words=none, path_links=none,
        entropy=none, similar=np.array([part - 1], np.int32),
    )  # fmt: skip
    value = theta[0] / theta[1]
    stays = part * theta[1] <= theta[0] * whole
    assert bool(text_frequency(found, value)[0][0]) is stays
    assert bool(block_frequency(found, value)[0][0] >= 0.5) is stays
    assert bool(ibdf_rule(found, theta=value)[0][0] >= 0.5) is ((part - 1) * theta[1] <= theta[0] * (whole - 1))


@given(st.lists(site_pages, max_size=5), site_pages, st.sampled_from([0, 0.1, 1 / 3, 0.5, 0.7, 1]))
def test_scores_and_reasons_of_any_page(sources: list[str], source: str, theta: float) -> None:
    """Each block of any page has a score in [0, 1] and a reason, and a higher threshold keeps at least as much."""
    page = blockml.parse(source)
    found = measure(page, SiteCounts.learn(parse_all(sources)))
    for rule in RULES:
        scores, reasons = rule(found, theta=theta)
        assert scores.dtype == np.float32
        assert scores.shape == (len(page.blocks),)
        assert ((scores >= 0) & (scores <= 1)).all()
        assert len(reasons) == len(page.blocks)
        assert all(reasons)
        assert (rule(found, theta=1)[0] >= 0.5).all()
        assert ((rule(found, theta=1)[0] >= 0.5) >= (scores >= 0.5)).all()
        assert 0 <= kept_share(page, scores) <= 1
    stays = set(kept_texts(found, theta).tolist())
    assert stays <= set(found.text_nodes.tolist())


def test_blocks_and_texts() -> None:
    """A block is kept if at least half of its words are; the texts of the original method are decided one by one."""
    half = blockml.parse("<p>Read <a>cats</a></p><p>own <a>cats and more</a></p>")
    others = [blockml.parse(f"<p><a>cats</a></p><p><a>cats and more</a> {number}</p>") for number in range(4)]
    found = measure(half, SiteCounts.learn(others))
    scores, reasons = text_frequency(found)
    assert scores.tolist() == [0.5, 0.25]
    assert reasons == ("its texts on 1 to 5 of 5 pages",) * 2
    assert [half.nodes.texts[node].strip() for node in kept_texts(found)] == ["Read", "own"]


def test_grades() -> None:
    """Scores fall with the share of pages, and are .5 at the threshold."""
    found = site_of(10, 4)
    scores = block_frequency(found, 0.4)[0]
    assert scores[0] == pytest.approx(0.5)
    assert scores[1] == pytest.approx(1 - 0.1 / 0.8)
    assert block_frequency(found, 0.25)[0][0] == pytest.approx(0.5 * 0.6 / 0.75)
    assert block_frequency(found, 0)[0].tolist() == pytest.approx([0.3, 0.45])
    assert block_frequency(site_of(1, 1), 0)[0].tolist() == [0, 0]


def with_entropies(*values: float) -> Measures:
    """Return measures with these entropies and arbitrary other values."""
    found = measure(texts_page(*[f"text {number}" for number in range(len(values))]), SiteCounts.learn([]))
    slots = {name: getattr(found, name) for name in found.__dataclass_fields__}
    return Measures(**slots | {"entropy": np.array(values)})


@pytest.mark.parametrize(
    ("entropies", "theta"),
    [
        ([0.0, 0.9], 0.2),  # one block from the start, and no further at .2
        ([0.05, 0.15, 0.25, 0.9], 0.4),  # .1, .2 and .3 add one each
        ([0.55, 0.95], 0.7),  # none is below .6
        ([0.95, 1.0], 0.9),  # none is ever below
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], 0.9),  # it never stops
        ([], 0.9),
    ],
)
def test_dynamic_threshold(entropies: list[float], theta: float) -> None:
    """The search ends at the first step that adds no block."""
    found = with_entropies(*entropies)
    assert dynamic_theta(found) == theta
    assert (entropy_rule(found)[0] >= 0.5).tolist() == [value <= theta for value in entropies]


def test_fixed_entropy() -> None:
    """A fixed threshold gives these scores, and the entropy is the reason."""
    scores, reasons = entropy_rule(with_entropies(0.35, 0.7, 0.85, 1.0), 0.7)
    assert scores.tolist() == pytest.approx([0.75, 0.5, 0.25, 0])
    assert reasons == ("entropy 0.35", "entropy 0.70", "entropy 0.85", "entropy 1.00")


def test_blocks_above_the_entropy_are_redundant() -> None:
    """Blocks with an entropy above .7 are redundant; a single page has no entropy and keeps all blocks."""
    pages = [texts_page(*texts) for texts in (("home news", "cat cat"), ("home news dog",), ("home news bird cat",))]
    pages.append(texts_page("home fish"))
    assert (entropy_rule(measure(pages[0], SiteCounts.learn(pages)), 0.7)[0] >= 0.5).tolist() == [False, True]
    alone = measure(pages[0], SiteCounts.learn(pages[:1]))
    assert entropy_rule(alone)[0].tolist() == [1, 1]
    assert fallback_reason(alone, 1.0) == FallbackReason.TOO_FEW_PAGES


@pytest.mark.parametrize("theta", [-0.1, 1.1, float("nan")])
def test_wrong_thresholds_are_refused(theta: float) -> None:
    """A threshold outside [0, 1] is refused."""
    found = site_of(3, 1)
    for rule in (*RULES, kept_texts):
        with pytest.raises(UsageError, match=r"\[0, 1\]"):
            rule(found, theta=theta)
    with pytest.raises(UsageError, match=r"\[0, 1\]"):
        fallback_reason(found, theta)


def test_ibdf_needs_similar_blocks() -> None:
    """The error for missing similar blocks says how to get them."""
    page = texts_page("Home")
    with pytest.raises(UsageError, match="similar=True"):
        ibdf_rule(measure(page, SiteCounts.learn([]), similar=False))


def test_too_few() -> None:
    """A page counts as one of its site's pages, whether or not it was learnt."""
    pages = [texts_page("Home", f"own {number}") for number in range(4)]
    three, four = SiteCounts.learn(pages[:3]), SiteCounts.learn(pages)
    assert [too_few(three), too_few(four), too_few(three, 3)] == [True, False, False]
    for include_self in (True, False):
        assert too_few(measure(pages[0], three, include_self=include_self))
        assert not too_few(measure(pages[3], three, include_self=include_self))
        assert not too_few(measure(pages[3], four, include_self=include_self))


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (0.0, "removes_nearly_all"),
        (0.049, "removes_nearly_all"),
        (0.05, None),
        (0.5, None),
        (0.99, None),
        (0.991, "removes_nearly_none"),
        (1.0, "removes_nearly_none"),
    ],
)
def test_fallback_reason(kept: float, reason: str | None) -> None:
    """Removing more than 95 % or less than 1 % of the words, or learning too few pages, gives a reason to fall back."""
    assert fallback_reason(site_of(4, 1), kept) == reason
    assert fallback_reason(site_of(3, 1), kept) == "too_few_pages"
    assert fallback_reason(site_of(3, 1), kept, min_train=3) == reason


def test_kept_share() -> None:
    """The kept share is that of words in blocks with a score of at least .5; a page without words keeps all."""
    page = texts_page("one two three", "four", "--")
    assert kept_share(page, np.array([0.5, 0.49, 1], np.float32)) == 0.75
    assert kept_share(page, np.zeros(3, np.float32)) == 0
    assert kept_share(texts_page("--"), np.zeros(1, np.float32)) == 1
