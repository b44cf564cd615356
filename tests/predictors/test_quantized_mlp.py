"""Quantised MLPs: equal to plain loops, and without overflow for any input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockml.errors import UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.predictors.mlp import (
    BOUND,
    INPUT_STEPS,
    LARGEST,
    UNIT_STEPS,
    QuantizedMLP,
    quantize,
    quantize_weights,
    quantized_log_odds,
)
from tests.predictors.test_mlp import COLUMNS, random_mlp, some_page

#: Largest value of a sum.
MOST = 2**31 - 1


def unit(value: float) -> int:
    """Return a unit's value in steps."""
    return round(min(max(value, 0.0), LARGEST / UNIT_STEPS) * UNIT_STEPS)


def float32(value: float) -> float:
    """Return a number rounded to single precision."""
    return float(np.float32(value))


def dot(numbers: list[int], weights: Any) -> int:
    """Return the sum of products."""
    return sum(number * int(weight) for number, weight in zip(numbers, weights, strict=True))


def scaled(total: int, scale: Any, bias: Any = 0.0) -> float:
    """Return a scaled sum plus a bias, in the unit's scale."""
    return float32(float32(float32(total) * float(scale)) + float(bias))


def first_layer(mlp: QuantizedMLP, row: Any, seen: list[int]) -> list[int]:
    """Return the units of one block with the given words above it."""
    h, d = mlp.self_weights.shape[1], mlp.word_projection.shape[1]
    ready = [round(float32(value * INPUT_STEPS)) for value in row.tolist()]
    sums = [dot(ready, column) for column in mlp.input_u.T]
    if len(mlp.input_v):
        sums = [dot([(total + 2**15) >> 16 for total in sums], column) for column in mlp.input_v.T]
    known = max(1, sum(int(mlp.known_words[word]) for word in seen)) if d else 1
    means = [round(float32(float32(sum(column)) / known)) for column in mlp.word_vectors[seen].T.tolist()] if d else []
    units = []
    for place, total in enumerate(sums):
        member, of = divmod(place, h)
        value = scaled(total, mlp.input_scale[place], mlp.input_bias[place])
        if d:
            lifted = dot(means[member * d : (member + 1) * d], mlp.word_projection[member, :, of])
            value = float32(value + scaled(lifted, mlp.word_scale[place]))
        units.append(unit(value))
    return units


def second_layer(mlp: QuantizedMLP, member: int, taken: list[int]) -> float:
    """Return the log odds of one member from the units of a block, of the page over blocks and words, and of groups."""
    weights = np.concatenate([mlp.self_weights[member], mlp.page_weights[member], mlp.group_weights[member]])
    worth = zip(weights.T, mlp.hidden_scale[member, 0], mlp.hidden_bias[member, 0], strict=True)
    second = [unit(scaled(dot(taken, column), scale, bias)) for column, scale, bias in worth]
    return scaled(
        dot(second, mlp.output_weights[member, :, 0]), mlp.output_scale[member, 0, 0], mlp.output_bias[member, 0, 0]
    )


def slow_odds(mlp: QuantizedMLP, inputs: Any, groups: list[Any], n_words: Any, bags: AncestorWords) -> list[float]:
    """Return log odds in plain Python, one sum at a time; floats are rounded to single precision at each step."""
    members, h = mlp.self_weights.shape[:2]
    seen = [bags.hashed_words[bags.starts[bag] : bags.starts[bag + 1]].tolist() for bag in bags.bag.tolist()]
    hidden = [first_layer(mlp, row, its) for row, its in zip(inputs, seen, strict=True)]
    words = [round(amount) for amount in n_words.tolist()]
    columns = list(zip(*hidden, strict=True))
    over_blocks = [round(sum(column) / len(hidden)) for column in columns]
    over_words = [round(dot(words, column) / max(1, sum(words))) for column in columns]
    odds = []
    for block, row in enumerate(hidden):
        group_means = []
        for group in groups:
            rows = [other for other, number in zip(hidden, group, strict=True) if number == group[block]]
            group_means.append([round(float32(float32(sum(column)) / len(rows))) for column in zip(*rows, strict=True)])
        total = 0.0
        for member in range(members):
            part = slice(member * h, (member + 1) * h)
            inputs = [units[part] for units in (row, over_blocks, over_words, *group_means)]
            total = float32(total + second_layer(mlp, member, [number for units in inputs for number in units]))
        odds.append(float32(total / members))
    return odds


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 20),
    members=st.integers(1, 2),
    units=st.sampled_from([(1, 1), (3, 2)]),
    vector=st.sampled_from([0, 1, 4]),
    n_groupings=st.integers(0, 2),
    rank=st.sampled_from([0, 1, 3]),
)
def test_log_odds_are_those_of_plain_loops(
    seed: int, n: int, members: int, units: tuple[int, int], vector: int, n_groupings: int, rank: int
) -> None:
    """Log odds equal those of plain Python loops bit for bit."""
    mlp = random_mlp(seed, members, units, vector, n_groupings, rank)
    matrix, groups, words, bags = some_page(seed, n)
    inputs = mlp.scaled(matrix.copy())
    found = quantized_log_odds(mlp.quantized, inputs.__getitem__, groups[:n_groupings], words.astype(np.float64), bags)
    assert found.tolist() == slow_odds(mlp.quantized, inputs, groups[:n_groupings], words, bags)


@given(
    weights=st.lists(st.floats(-60_000, 60_000, width=16), min_size=1, max_size=400),
    most=st.sampled_from([BOUND * INPUT_STEPS, LARGEST, LARGEST + 1]),
)
def test_no_sum_of_products_needs_more_than_32_bits(weights: list[float], most: int) -> None:
    """Sums of products fit into 32 bits with half a rounding step to spare, and weights are as fine as that permits."""
    exact = np.array(weights)[:, None]
    numbers, scale = quantize_weights(exact, most)
    total = int(np.abs(numbers.astype(np.int64)).sum()) * most
    assert total + 2**15 <= MOST
    assert np.abs(numbers.astype(np.int64)).max() <= LARGEST
    assert (np.abs(numbers * scale - exact) <= scale / 2).all()
    if exact.any():
        finer = 2 * np.abs(exact / scale)
        assert finer.sum() > (2**31 - 2**16) / most - len(weights) or finer.max() > LARGEST - 1


def test_the_largest_numbers_do_not_overflow() -> None:
    """Units stay in bounds with the largest weights, columns and words, compiled and in the reference."""
    full = random_mlp(0, 2, (3, 3), 4, 2, 5)
    arrays = {name: np.full_like(array, 1e6) for name, array in vars(full).items() if name not in {"center", "scale"}}
    mlp = replace(full, **arrays, center=np.zeros(COLUMNS, np.float32), scale=np.ones(COLUMNS, np.float32))
    mlp.check(COLUMNS)
    matrix, groups, words, bags = some_page(1, 50)
    for sign in (1, -1):
        large = np.full_like(matrix, sign * 1e30)
        assert mlp.predict(large, groups, words, bags).tolist() == [1.0] * 50
        found = quantized_log_odds(mlp.quantized, mlp.scaled(large).__getitem__, groups, words.astype(np.float64), bags)
        assert (found > 100).all()


def test_many_rows_and_many_words_are_added_up() -> None:
    """More rows and words than 32-bit sums could hold give the same as in double precision."""
    mlp, n = random_mlp(3, 1, (3, 3), 2, 2, 0), 2**16 + 9
    matrix, groups, words, bags = some_page(2, n)
    words[:3] = 10**6
    groups[0][:] = 7
    found = quantized_log_odds(mlp.quantized, mlp.scaled(matrix).__getitem__, groups, words.astype(np.float64), bags)
    assert mlp.predict(matrix, groups, words, bags) == pytest.approx(1 / (1 + np.exp(-found)), abs=2e-3)


def test_a_bag_of_too_many_words_is_refused() -> None:
    """A bag of so many words that its sum might not fit into 32 bits is refused."""
    mlp = random_mlp(0, 1, (3, 3), 2, 0, 0)
    matrix, _, words, _ = some_page(2, 1)
    few, many = (
        AncestorWords(np.array([0, size]), np.full(size, N_HASHED_WORDS - 1, np.int32), np.zeros(1, np.int64))
        for size in (2**16, 2**16 + 1)
    )
    assert mlp.predict(matrix, [], words, few).shape == (1,)
    with pytest.raises((UsageError, ValueError)):
        mlp.predict(matrix, [], words, many)
    with pytest.raises(UsageError, match="at most 65536"):
        quantized_log_odds(mlp.quantized, mlp.scaled(matrix).__getitem__, [], words.astype(np.float64), many)


def test_quantizing_zeros_gives_zeros() -> None:
    """Quantising zeros gives zeros without a division by zero."""
    mlp = random_mlp(0, 1, (3, 3), 2, 1, 4)
    zeros = quantize({name: np.zeros_like(array) for name, array in vars(mlp).items() if name != "quantized"})
    assert all(np.isfinite(np.asarray(array, np.float64)).all() for array in zeros)
    assert not any(array.any() for name, array in zeros._asdict().items() if array.dtype == np.int16)
