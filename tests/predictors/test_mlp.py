"""MLPs: prediction against one block at a time, model files, and damaged weights."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockml import _kernel
from blockml.errors import ModelFormatError, UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.predictors import MLP
from blockml.predictors.mlp import join_mlps
from blockml.storage.arrays import read_arrays, write_arrays
from blockml.training.mlp_fit import RowGroups, factorize_input

COLUMNS, UNITS, VECTOR = 5, 3, 2
#: Tolerance of probabilities for int16 quantisation.
ROUNDING = 2e-3


def random_mlp(seed: int, members: int, units: tuple[int, int], vector: int, n_groupings: int, rank: int) -> MLP:
    """Return an MLP of any sizes with random weights; a third of the words are unknown."""
    rng, (h, k) = np.random.default_rng(seed), units

    def normal(*shape: int) -> Any:
        return rng.normal(scale=0.4, size=shape).astype(np.float16)

    words = normal(N_HASHED_WORDS if vector else 0, members * vector)
    words[::3] = 0
    arrays = {
        "center": rng.normal(size=COLUMNS).astype(np.float32),
        "scale": np.array([0.5, 2, 1, 30, 0], np.float32),
        "input_u": normal(COLUMNS, rank or members * h),
        "input_bias": normal(members * h),
        "word_vectors": words,
        "word_projection": normal(members, vector, h),
        "self_weights": normal(members, h, k),
        "page_weights": normal(members, 2 * h, k),
        "group_weights": normal(members, n_groupings * h, k),
        "hidden_bias": normal(members, 1, k),
        "output_weights": normal(members, k, 1),
        "output_bias": normal(members, 1, 1),
        "input_v": normal(rank, members * h if rank else 0),
    }
    return MLP(**{name: array.astype(np.float32) for name, array in arrays.items()})


def small_mlp(seed: int = 0, members: int = 1, n_groupings: int = 2, *, reads_words: bool = True) -> MLP:
    """Return an MLP with random weights that ignores the last column."""
    mlp = random_mlp(seed, members, (UNITS, UNITS), VECTOR if reads_words else 0, n_groupings, 0)
    return replace(mlp, center=np.array([1, 0.5, -2, 0, 3], np.float32), scale=np.array([0.5, 2, 1, 30, 0], np.float32))


def some_page(seed: int, n: int) -> tuple[Any, list[Any], Any, AncestorWords]:
    """Return a matrix, two groupings, word counts, and a bag of one to four words for each block."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 5, n))])
    bags = AncestorWords(starts, rng.integers(0, N_HASHED_WORDS, starts[-1]).astype(np.int32), rng.permutation(n))
    matrix = rng.normal(scale=20, size=(n, COLUMNS)).astype(np.float32)
    return matrix, [rng.integers(0, 3, n), rng.integers(5, 50, n)], rng.integers(0, 30, n), bags


def slow_odds(mlp: MLP, matrix: Any, groups: list[Any], n_words: Any, bags: AncestorWords) -> list[float]:
    """Return the log odds of an MLP with one member, computed block by block."""
    h = UNITS
    hidden = []
    for row, bag in zip(matrix.tolist(), bags.bag.tolist(), strict=True):
        values = [math.copysign(math.log1p(abs(x)), x) for x in row]
        ready = np.clip((np.array(values) - mlp.center) * mlp.scale, -4, 4)
        seen = [mlp.word_vectors[word] for word in bags.hashed_words[bags.starts[bag] : bags.starts[bag + 1]]]
        known = [vector for vector in seen if vector.any()]
        first = ready @ mlp.input_u + mlp.input_bias
        if known:
            first = first + np.mean(known, axis=0) @ mlp.word_projection[0]
        hidden.append(np.maximum(first, 0))
    over_words = sum((w * x for w, x in zip(n_words, hidden, strict=True)), np.zeros(h)) / max(n_words.sum(), 1)
    odds = []
    for block, own in enumerate(hidden):
        second = own @ mlp.self_weights[0] + np.concatenate([np.mean(hidden, axis=0), over_words]) @ mlp.page_weights[0]
        for grouping, numbers in enumerate(groups):
            mean = np.mean([x for x, number in zip(hidden, numbers, strict=True) if number == numbers[block]], axis=0)
            second = second + mean @ mlp.group_weights[0, grouping * h : (grouping + 1) * h]
        odds.append(
            float((np.maximum(second + mlp.hidden_bias[0], 0) @ mlp.output_weights[0] + mlp.output_bias[0]).item())
        )
    return odds


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40))
def test_prediction_is_that_of_one_block_at_a_time(seed: int, n: int) -> None:
    """Scaling, words, page, words of the page and groupings are computed as one block at a time, up to rounding."""
    mlp, page = small_mlp(seed), some_page(seed, n)
    expected = 1 / (1 + np.exp(-np.array(slow_odds(mlp, *page))))
    assert mlp.predict(*page) == pytest.approx(expected, abs=ROUNDING)


def test_the_order_of_groups_and_their_numbers_do_not_matter() -> None:
    """Only the membership of groups matters, not their order or numbers."""
    mlp, (matrix, groups, words, bags) = small_mlp(), some_page(1, 30)
    renamed = [1000 - numbers for numbers in groups]
    scores = mlp.predict(matrix, groups, words, bags)
    assert scores.std() > 0.01
    assert mlp.predict(matrix, renamed, words, bags) == pytest.approx(scores, abs=1e-6)
    order = np.random.default_rng(0).permutation(30)
    shuffled = mlp.predict(matrix[order], [numbers[order] for numbers in groups], words[order], bags.take(order))
    assert shuffled == pytest.approx(scores[order], abs=1e-6)


def test_scores_are_probabilities_of_any_finite_matrix() -> None:
    """Any finite matrix gives probabilities, even with values far beyond those of training or without blocks."""
    mlp = small_mlp()
    matrix, groups, words, bags = some_page(2, 4)
    matrix[:] = np.float32(1e30) * np.array([[1], [-1], [0], [1]], np.float32)
    scores = mlp.predict(matrix, groups, words * 0, bags)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    empty = AncestorWords(np.zeros(1, np.intp), np.zeros(0, np.int32), np.zeros(0, np.intp))
    assert mlp.predict(matrix[:0], [numbers[:0] for numbers in groups], words[:0], empty).shape == (0,)


@pytest.mark.parametrize("reads_words", [True, False])
def test_joined_mlps_average_their_log_odds(reads_words: bool) -> None:  # noqa: FBT001
    """Three joined MLPs give the mean of their log odds."""
    page = some_page(3, 25)
    mlps = [small_mlp(seed, reads_words=reads_words) for seed in range(3)]
    mlps = [replace(mlp, scale=mlps[0].scale) for mlp in mlps]
    odds = [np.log(p / (1 - p)) for p in (mlp.predict(*page).astype(np.float64) for mlp in mlps)]
    joined = join_mlps(mlps)
    joined.check(COLUMNS)
    assert joined.predict(*page) == pytest.approx(1 / (1 + np.exp(-np.mean(odds, axis=0))), abs=1e-4)
    assert join_mlps([joined, mlps[0]]).self_weights.shape[0] == 4


def in_two_factors(members: int) -> tuple[MLP, MLP]:
    """Return an MLP whose first layer has two factors, and the same MLP with their product."""
    rng = np.random.default_rng(4)
    mlp = small_mlp(1, members)
    shapes = ((COLUMNS, 2), (2, members * UNITS))
    first, mix = [rng.normal(size=shape).astype(np.float16).astype(np.float32) for shape in shapes]
    return replace(mlp, input_u=first, input_v=mix), replace(mlp, input_u=first @ mix)


@pytest.mark.parametrize("members", [1, 3])
def test_factors_predict_as_their_product(members: int) -> None:
    """An MLP with a factorised first layer predicts as with the product, and model files store both factors."""
    mlp, whole = in_two_factors(members)
    mlp.check(COLUMNS)
    page = some_page(5, 30)
    assert mlp.predict(*page) == pytest.approx(whole.predict(*page), abs=ROUNDING)
    assert np.array_equal(MLP.from_arrays(mlp.to_arrays(), COLUMNS).predict(*page), mlp.predict(*page))
    with pytest.raises(ModelFormatError, match="'input_v' has the shape"):
        replace(mlp, input_v=mlp.input_v[:, 1:]).check(COLUMNS)
    with pytest.raises(UsageError):
        join_mlps([mlp, mlp])


def test_factors_are_found_again() -> None:
    """Factorising a matrix of rank two loses nothing, and with as many factors as columns the MLP is unchanged."""
    _, whole = in_two_factors(3)
    matrix = some_page(6, 300)[0]
    found, page = factorize_input(whole, matrix, 2), some_page(7, 40)
    found.check(COLUMNS)
    assert found.input_u.shape == (COLUMNS, 2)
    assert found.predict(*page) == pytest.approx(whole.predict(*page), abs=0.02)
    assert factorize_input(whole, matrix, COLUMNS) is whole
    for mlp, rows in ((found, matrix), (whole, matrix[:1])):
        with pytest.raises(UsageError):
            factorize_input(mlp, rows, 2)


def test_mlps_that_differ_in_their_inputs_are_not_joined() -> None:
    """MLPs with different inputs, and an empty list, are not joined."""
    mlp = small_mlp()
    for others in ([], [mlp, replace(mlp, center=mlp.center + 1)], [mlp, small_mlp(n_groupings=1)]):
        with pytest.raises(UsageError):
            join_mlps(others)


def test_calibration_moves_the_log_odds() -> None:
    """Calibration multiplies log odds by the slope and adds the offset, up to rounding of the weights."""
    mlp, page = small_mlp(), some_page(4, 20)
    before, after = (np.log(p / (1 - p)) for p in (mlp.predict(*page), mlp.calibrated(0.5, 1.0).predict(*page)))
    assert after == pytest.approx(before * 0.5 + 1, abs=0.02)


def test_a_saved_mlp_is_the_same(tmp_path: Path) -> None:
    """A loaded MLP gives the same scores bit for bit, and each weight takes two bytes."""
    mlp, page = small_mlp(members=2), some_page(5, 20)
    write_arrays(tmp_path / "mlp", {"format": 1}, mlp.to_arrays())
    again = MLP.from_arrays(read_arrays(tmp_path / "mlp", "mlp", 1)[1], COLUMNS)
    assert np.array_equal(again.predict(*page), mlp.predict(*page))
    assert mlp.to_arrays()["word_vectors"].dtype == np.float16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda mlp: {"input_u": mlp.input_u[:, 1:]}, "'input_u' has the shape"),
        (lambda mlp: {"word_vectors": mlp.word_vectors[1:]}, "'word_vectors' has the shape"),
        (lambda mlp: {"self_weights": mlp.self_weights[0]}, "three dimensions"),
        (lambda mlp: {"self_weights": mlp.self_weights[:, :0]}, "three dimensions"),
        (lambda mlp: {"group_weights": mlp.group_weights[:, 1:]}, "'group_weights' has the shape"),
        (lambda mlp: {"input_v": mlp.input_v.sum()}, "two dimensions"),
        (lambda mlp: {"output_weights": mlp.output_weights * np.nan}, "finite"),
        (lambda mlp: {"center": mlp.center + np.float32(np.inf)}, "finite"),
        (lambda mlp: {"scale": mlp.scale - 1}, "not negative"),
    ],
)
def test_broken_mlps_are_refused(change: Callable[[MLP], dict[str, Any]], message: str) -> None:
    """A broken MLP is refused with a message that names the violated rule."""
    mlp = small_mlp()
    mlp.check(COLUMNS)
    with pytest.raises(ModelFormatError, match=message):
        replace(mlp, **change(mlp)).check(COLUMNS)
    with pytest.raises(ModelFormatError, match="shape"):
        mlp.check(COLUMNS + 1)


def test_missing_and_wrongly_typed_arrays_are_refused() -> None:
    """A missing or wrongly typed array is refused before the MLP is constructed."""
    arrays = small_mlp().to_arrays()
    with pytest.raises(ModelFormatError, match="lacks the array 'output_weights'"):
        MLP.from_arrays({name: array for name, array in arrays.items() if name != "output_weights"}, COLUMNS)
    with pytest.raises(ModelFormatError, match="must be of type"):
        MLP.from_arrays(arrays | {"scale": np.zeros(5, np.float64)}, COLUMNS)


def test_too_many_groupings_and_no_columns_are_refused() -> None:
    """Model files with too many groupings or without columns are refused, because the compiled code refuses them."""
    for mlp, columns in (
        (small_mlp(n_groupings=9), COLUMNS),
        (replace(small_mlp(), center=np.zeros(0, np.float32)), 0),
    ):
        with pytest.raises(ModelFormatError, match=r"at most 8 groupings|shape"):
            mlp.check(columns)


@pytest.mark.parametrize(("h", "n_groupings"), [(2**14, 1), (2**14, 8), (2**13, 2)])
def test_mlps_whose_sums_would_not_fit_are_refused(h: int, n_groupings: int) -> None:
    """An MLP with so many terms that only weights of 0 would fit into 32-bit sums is refused."""
    mlp = random_mlp(0, 1, (h, 1), 0, n_groupings, 0)
    with pytest.raises(ModelFormatError, match="at most"):
        mlp.check(COLUMNS)
    random_mlp(0, 1, (2**15 // (3 + n_groupings), 1), 0, n_groupings, 0).check(COLUMNS)


def test_other_columns_groupings_or_missing_words_are_refused() -> None:
    """Other numbers of columns or groupings, or missing words, are refused with the expected numbers."""
    mlp, (matrix, groups, words, bags) = small_mlp(), some_page(6, 3)
    with pytest.raises(UsageError, match="takes 5 columns and 2 groupings"):
        mlp.predict(matrix[:, 1:], groups, words, bags)
    with pytest.raises(UsageError, match="2 groupings, not 5 and 1"):
        mlp.predict(matrix, groups[:1], words, bags)
    with pytest.raises(UsageError, match="ancestor words"):
        mlp.predict(matrix, groups, words)
    assert len(small_mlp(reads_words=False).predict(matrix, groups, words)) == 3


def test_groups_of_nothing_and_of_runs() -> None:
    """No rows make no groups, and groups of consecutive rows are the same whether given as runs or by number."""
    assert RowGroups.of(np.zeros(0, dtype=np.intp)).size.shape == (0, 1)
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    runs, numbered = RowGroups.runs(np.array([1, 3, 2])), RowGroups.of(np.array([0, 1, 1, 1, 2, 2]))
    assert np.array_equal(runs.mean(rows), numbered.mean(rows))
    assert np.array_equal(runs.group, numbered.group)
    assert runs.sum(rows).tolist() == [[0, 1], [12, 15], [18, 20]]


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([1, 2, 7, 60, 130]),
    members=st.integers(1, 3),
    units=st.sampled_from([(1, 1), (3, 3), (16, 5), (17, 64)]),
    vector=st.sampled_from([0, 2, 17]),
    n_groupings=st.integers(0, 3),
    rank=st.sampled_from([0, 1, 20]),
)
def test_compiled_prediction_is_that_of_the_reference(
    seed: int, n: int, members: int, units: tuple[int, int], vector: int, n_groupings: int, rank: int
) -> None:
    """Compiled prediction equals the reference bit for bit, with constant columns, with and without ancestor words."""
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel")
    mlp = random_mlp(seed, members, units, vector, n_groupings, rank)
    mlp.check(COLUMNS)
    matrix, groups, words, bags = some_page(seed, n)
    matrix[:, 1] = matrix[0, 1]
    groups = [*groups, np.arange(n) - n // 2][:n_groupings]
    both = [matrix, np.asfortranarray(matrix)]
    found = [mlp.predict(one, groups, words, bags) for one in both]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        expected = [mlp.predict(one, groups, words, bags) for one in both]
    for numbers, same in zip(found, expected, strict=True):
        np.testing.assert_array_equal(numbers, same)


@pytest.mark.parametrize("n", [1, 7, 130])
@pytest.mark.parametrize("rank", [0, 20])
def test_nan_counts_as_zero(n: int, rank: int) -> None:
    """NaN of any sign and payload counts as zero in columns and numbers of words, compiled and in the reference."""
    mlp = random_mlp(5, 2, (17, 5), 2, 2, rank)
    matrix, groups, words, bags = some_page(6, n)
    words = words.astype(np.float64)
    damaged, amounts = matrix.copy(), words.copy()
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001], np.uint32)
    places = np.random.default_rng(n).random(matrix.shape) < 0.3
    places[0, 0] = True
    damaged[places] = np.resize(bits.view(np.float32), np.count_nonzero(places))
    amounts[::3] = np.nan
    amounts[1::3] = -5
    assert np.isnan(damaged[places]).all()
    found = mlp.predict(damaged, groups, amounts, bags)
    wanted = mlp.predict(np.where(places, np.float32(0), matrix), groups, np.where(amounts > 0, amounts, 0), bags)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        reference = mlp.predict(damaged, groups, amounts, bags)
    assert found.tolist() == wanted.tolist() == reference.tolist()
    assert np.isfinite(found).all()


def test_prediction_does_not_depend_on_the_position_of_a_row() -> None:
    """A row's score does not depend on whether a vectorised loop or its remainder computes it."""
    mlp, (matrix, groups, words, bags) = random_mlp(3, 2, (17, 5), 2, 2, 3), some_page(4, 60)
    once = mlp.predict(matrix, groups, words, bags)
    twice = mlp.predict(np.concatenate([matrix, matrix]), [np.tile(group, 2) for group in groups], np.tile(words, 2),
                        AncestorWords(bags.starts, bags.hashed_words, np.tile(bags.bag, 2)))  # fmt: skip
    assert twice[:60] == pytest.approx(once, abs=1e-6)
    assert np.array_equal(twice[:60], twice[60:])


def test_an_mlp_is_copied_and_pickled_by_its_arrays() -> None:
    """An MLP can be copied and pickled after prediction has packed it for the compiled code."""
    mlp, page = small_mlp(), some_page(7, 9)
    scores = mlp.predict(*page)
    assert np.array_equal(copy.deepcopy(mlp).predict(*page), scores)
    assert len(pickle.dumps(mlp)) == len(pickle.dumps(small_mlp()))


def test_the_compiled_mlp_refuses_arrays_that_do_not_fit(compiled: _kernel.Compiled) -> None:
    """Wrong sizes and indices are refused, so that the compiled code doesn't access memory outside the arrays."""
    mlp = small_mlp(n_groupings=1)
    arrays = mlp.quantized._asdict()
    for name, array in arrays.items():
        for wrong in (array[:-1].copy(), np.concatenate([array, array[:1]])) if len(array) else ():
            with pytest.raises(ValueError, match="fit together"):
                compiled.pack_mlp(arrays | {name: wrong})
        with pytest.raises(ValueError, match=f"array {name} is missing"):
            compiled.pack_mlp({other: held for other, held in arrays.items() if other != name})
        with pytest.raises(TypeError, match="items of type"):
            compiled.pack_mlp(arrays | {name: array.astype(np.uint32)})
    packed = compiled.pack_mlp(arrays)
    n = 3
    good: dict[str, Any] = {
        "columns": np.ones((COLUMNS, n), np.float32),
        "starts": np.array([0, 2, 3]), "hashed_words": np.zeros(3, np.int32), "bag": np.array([0, 1, 0]),
        "groups": np.array([[0, 0, 1]]), "n_words": np.ones(n), "probabilities": np.empty(n, np.float32),
    }  # fmt: skip
    compiled.mlp_probabilities(packed, good)
    narrow, wide = np.array([0, 1]), np.ones((COLUMNS, n + 1), np.float32)
    bad: dict[str, list[Any]] = {
        "columns": [wide],
        "starts": [
            np.array(starts, np.int64) for starts in ([0, 3, 2], [0, 2, 4], [-1, 2, 3], [], [0, 3, -(2**63), -1, 3])
        ],
        "hashed_words": [np.full(n, word, np.int32) for word in (N_HASHED_WORDS, -1)],
        "bag": [np.array([0, 2, 0]), np.array([0, -1, 0]), narrow],
        "groups": [narrow[:0], narrow],
        "n_words": [np.ones(n + 1)],
        "probabilities": [np.empty(size, np.float32) for size in (0, n + 1)],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(ValueError, match="out of range"):
                compiled.mlp_probabilities(packed, good | {name: value})
