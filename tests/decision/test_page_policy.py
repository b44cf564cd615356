"""Pages judged as a whole: one row of numbers, by hand and on any page."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

import numpy as np
import pytest
from blockml.decision.page_policy import COLUMNS, likeness, of_page, page_numbers, page_row, page_scores
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml import _kernel
from blockml.decision.decide import expected_f1
from blockml.decision.duplicates import Duplicates
from blockml.features.page_context import PageContext
from blockml.predictors.tree_ensemble import Trees


def floats(*values: float) -> NDArray[np.float64]:
    """Numbers of blocks."""
    return np.array(values, np.float64)


def probabilities(*values: float) -> NDArray[np.float32]:
    """Of blocks."""
    return np.array(values, np.float32)


def named(row: NDArray[np.float32]) -> dict[str, float]:
    """A row's numbers by their names."""
    return dict(zip(COLUMNS, row.tolist(), strict=True))


def leaf(value: float) -> Trees:
    """A tree that says the same of all pages."""
    end = np.array([-1], np.int32)
    return Trees(end, np.zeros(1), end, end, np.array([value]), np.array([0], np.int32))


def test_a_row_by_hand() -> None:
    """Four blocks, of which the second and the last are kept; trees alone would keep the last only."""
    words, linked, prose = floats(10, 100, 20, 50), floats(10, 5, 20, 0), floats(0, 100, 0, 50)
    final = probabilities(0.1, 0.7, 0.3, 0.9)
    alone = probabilities(0.01, 0.02, 0.01, 0.95)
    hits = 0.9 * 50 + 0.7 * 100
    expected = 2 * hits / (150 + hits + 0.3 * 20 + 0.1 * 10)
    assert named(page_row(words, linked, prose, alone, final)) == pytest.approx(
        {
            "expected": expected,
            "border": math.log(0.7 / 0.3),
            "kept": 150 / 180,
            "words": math.log(151),
            "pagewords": math.log(181),
            "unsure": 120 / 150,
            "agreement": 2 * 50 / (150 + 50),
            "pieces": 2 / 2,
            "links": 5 / 150,
            "prose": 1,
            "pageprose": 150 / 180,
            "low": 2 * 50 / (150 + 50),
            "high": 2 * 150 / (150 + 170),
        },
        rel=1e-5,
    )


def test_neighbours_are_one_piece() -> None:
    """Runs of kept blocks by kept blocks."""
    words = np.ones(6)
    final = probabilities(0.9, 0.9, 0.01, 0.9, 0.9, 0.9)
    assert named(page_row(words, words, words, final, final))["pieces"] == pytest.approx(2 / 5)


@given(
    st.lists(
        st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32), st.integers(0, 400), st.integers(0, 400)),
        max_size=20,
    )
)
def test_any_page_has_a_row(blocks: list[tuple[float, float, int, int]]) -> None:
    """Finite; shares are shares; without blocks or words too."""
    words = floats(*(block[2] for block in blocks))
    part = floats(*(min(block[2], block[3]) for block in blocks))
    final = probabilities(*(block[1] for block in blocks))
    row = page_row(words, part, part, probabilities(*(block[0] for block in blocks)), final)
    assert row.shape == (len(COLUMNS),)
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    found = named(row)
    for name in ("expected", "kept", "agreement", "pieces", "links", "prose", "pageprose", "low", "high"):
        assert 0 <= found[name] <= 1, name
    assert found["expected"] == pytest.approx(expected_f1(final, words)[1], rel=1e-6)


def test_of_a_parsed_page() -> None:
    """Its words, linked words and running text."""
    view = PageContext(blockml.parse(f"<p><a>Home</a> x</p><p>{'word ' * 12}</p>"))
    final = probabilities(0.1, 0.8)
    row = of_page(view, final, final)
    assert np.array_equal(row, page_row(floats(2, 12), floats(1, 0), floats(0, 12), final, final))
    assert of_page(PageContext(blockml.parse("")), probabilities(), probabilities()).shape == (len(COLUMNS),)


@pytest.mark.parametrize("value", [-1e4, -3.0, 0.0, 0.4, 1.5, 1e4])
def test_what_trees_say_is_a_share(value: float) -> None:
    """Log odds of an article become a probability."""
    rows = np.zeros((3, len(COLUMNS)), np.float32)
    assert likeness(leaf(value), rows) == pytest.approx([1 / (1 + math.exp(-max(value, -700)))] * 3, rel=1e-5)
    assert likeness(leaf(value), rows[:0]).shape == (0,)


@given(
    blocks=st.lists(
        st.tuples(st.integers(0, 400), st.floats(0, 1, width=32), st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])),
        max_size=70,
    ),
    share=st.floats(0, 1),
)
def test_compiled_numbers_are_those_of_python(blocks: list[tuple[int, float, float]], share: float) -> None:
    """To the last bit, with probabilities that are equal and that lie at a border."""
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel")
    words = floats(*(block[0] for block in blocks))
    linked, prose = np.floor(words * share), words * (words >= 10)
    final, alone = (probabilities(*(block[place] for block in blocks)) for place in (1, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        expected = [page_numbers(words, linked, prose, *pair) for pair in ((alone, final), (final, alone))]
    found = [_kernel.compiled.page_numbers(words, linked, prose, *pair) for pair in ((alone, final), (final, alone))]
    assert found == [tuple(numbers) for numbers in expected]


@given(
    blocks=st.lists(
        st.tuples(st.integers(0, 200), st.floats(0, 1, width=32), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.booleans()),
        max_size=70,
    ),
    cares=st.tuples(*[st.sampled_from([0.0, 0.2, 1.0, 2e6])] * 3),
    least_words=st.sampled_from([0.0, 60.0, 1e4]),
    alike=st.sampled_from([0.0, 0.1]) | st.floats(0, 1),
    parts=st.tuples(*[st.sampled_from([0.0, 0.1, 0.7, 1.0])] * 2),
    copy_caution=st.sampled_from([0.0, 4.0, 2e6]),
    seed=st.integers(0, 99) | st.none(),
)
def test_compiled_scores_are_those_of_python(
    blocks: list[tuple[int, float, float, bool]],
    cares: tuple[float, float, float],
    least_words: float,
    alike: float,
    parts: tuple[float, float],
    copy_caution: float,
    seed: int | None,
) -> None:
    """To the last bit, with bodies of running text, copies or none, with any care, leaning on neighbours or not."""
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel")
    words, final = floats(*(block[0] for block in blocks)), probabilities(*(block[1] for block in blocks))
    linked = np.floor(words * floats(*(block[2] for block in blocks)))
    line = np.cumsum([False, *(block[3] for block in blocks[1:])][: len(blocks)]).astype(np.intp)
    rules = Namespace(rule="expected_f1", least_words=least_words)
    rules.caution, rules.article_caution, rules.link_caution = cares
    rules.leaning, rules.doubt, rules.copy_caution = *parts, copy_caution
    copies = None
    if seed is not None:
        rng, n = np.random.default_rng(seed), len(blocks)
        text, place = rng.integers(-1, min(3, n), n), rng.integers(0, 2, n)
        copies = Duplicates(text[line], place[line])
    columns = final, words, linked, words * (linked < 0.3 * words), line, alike, copies
    found = page_scores(rules, *columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        np.testing.assert_array_equal(found, page_scores(rules, *columns))


def test_compiled_scores_of_arrays_that_do_not_fit_are_refused(compiled: _kernel.Compiled) -> None:
    """Numbers from elsewhere must not write elsewhere."""
    odds, final, line, none = floats(0, 1), probabilities(0.5, 0.7), np.array([0, 1]), np.zeros(0, np.int64)
    bounds = (0.0, 0.0, 0.9, 120.0, 1e-3, 0.0, 0.0, 1.0, 1.0, 4.0, 0.0, 0.5)
    scores: Any = compiled.page_scores
    good: list[Any] = [final, odds, odds, odds, line, line, line, bounds, final.copy()]
    scores(*good)
    scores(*good[:5], none, none, *good[7:])
    bad: dict[int, list[Any]] = {
        **{place: [good[place][:1].copy()] for place in (0, 1, 2, 3, 4, 5, 6, 8)},
        4: [line[:1], line + 1, line - 1],
        5: [line[:1], line + 1],
    }
    for place, others in bad.items():
        for other in others:
            with pytest.raises(ValueError, match="no such line or text"):
                scores(*good[:place], other, *good[place + 1 :])
    with pytest.raises(ValueError, match="differ in length"):
        compiled.sigmoid(odds, final[:1].copy())
    for pair in ((odds, final[:1], final), (odds[:1], final, final), (odds, final, final[:1].copy())):
        with pytest.raises(ValueError, match="differ in length"):
            compiled.average_log_odds(*pair[:2], 0.5, pair[2])
