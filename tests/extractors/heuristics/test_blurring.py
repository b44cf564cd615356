"""Gaussian blurring of long vectors."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.extractors.heuristics.ccb import _first_calm, blur, kernel

Floats = NDArray[np.float64]


def direct_sum(values: Floats, radius: int, sigma: float) -> Floats:
    """Compute one round of blurring, neighbour by neighbour."""
    total, weight = np.zeros(len(values)), np.zeros(len(values))
    for offset in range(-radius, radius + 1):
        w = math.exp(-(offset**2) / (2 * sigma**2))
        low, high = max(0, -offset), min(len(values), len(values) - offset)
        if low < high:
            total[low:high] += w * values[low + offset : high + offset]
            weight[low:high] += w
    return total / weight


def slow_blur(values: Floats, radius: int, sigma: float, eps: float, max_iter: int) -> tuple[Floats, int]:
    """Blur round by round, and return the values and the number of rounds."""
    for made in range(1, max_iter + 1):
        before, values = values, direct_sum(values, radius, sigma)
        if max(abs(values - before)) < eps:
            return values, made
    return values, max_iter


def stripes(lengths: list[int]) -> Floats:
    """Return alternating runs of zeros and ones."""
    return np.repeat(np.arange(len(lengths)) % 2, lengths).astype(np.float64)


def test_kernel() -> None:
    """The weights are those of a Gaussian distribution and sum to 1."""
    np.testing.assert_allclose(kernel(2, 1.0), [0.054489, 0.244201, 0.402620, 0.244201, 0.054489], atol=5e-7)
    assert kernel(40, 40 / 3).sum() == pytest.approx(1, abs=1e-15)


def test_one_round_inside_and_at_an_edge() -> None:
    """One round blurs three ones in the middle, and an edge from zeros to ones."""
    blurred, _ = blur(np.array([0, 0, 1, 1, 1, 0, 0]), 2, 1.0, 0.01, 1)
    expected = [0.077696, 0.315903, 0.701310, 0.891023, 0.701310, 0.315903, 0.077696]
    np.testing.assert_allclose(blurred, expected, atol=5e-7)
    blurred, _ = blur(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 2, 1.0, 0.01, 1)
    np.testing.assert_allclose(blurred, [0, 0, 0.054489, 0.298690, 0.701310, 0.945511, 1, 1], atol=5e-7)


@pytest.mark.parametrize("length", [1, 3, 50, 50_000])
def test_constant_vectors_are_unchanged(length: int) -> None:
    """The ends do not lower the values, and one round is enough."""
    blurred, rounds = blur(np.full(length, 0.7), 40, 13.0, 0.01, 100)
    np.testing.assert_allclose(blurred, 0.7, atol=1e-12)
    assert rounds == 1


def test_an_empty_vector_is_unchanged() -> None:
    """An empty vector is returned without a round."""
    blurred, rounds = blur(np.zeros(0), 40, 13.0, 0.01, 100)
    assert len(blurred) == rounds == 0


@pytest.mark.parametrize("radius", [18, 25, 40])
def test_an_edge_settles_after_thirteen_rounds(radius: int) -> None:
    """Round n changes the entries next to an edge by about 0.121 / n, so 13 rounds reach eps for any radius."""
    _, rounds = blur(stripes([20_000, 20_000]), radius, radius / 3, 0.01, 100)
    assert rounds == 13


def test_rounds_are_limited() -> None:
    """Blurring stops after the maximum number of rounds."""
    values = stripes([300] * 30)
    for most in (1, 7, 33, 70):
        blurred, rounds = blur(values, 10, 4.0, 1e-6, most)
        expected, _ = slow_blur(values, 10, 4.0, 0, most)
        assert rounds == most
        np.testing.assert_allclose(blurred, expected, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 60) | st.integers(1, 800), min_size=1, max_size=40),
    st.sampled_from([(1, 0.5), (2, 1.0), (3, 1.0), (3, 20.0), (6, 2.0)]),
    st.sampled_from([0.2, 0.03, 0.01, 0.004]),
)
def test_the_result_equals_the_direct_sum(lengths: list[int], shape: tuple[int, float], eps: float) -> None:
    """Values and number of rounds equal those of the direct sum for short and long vectors."""
    values = stripes(lengths)
    blurred, rounds = blur(values, *shape, eps, 100)
    expected, expected_rounds = slow_blur(values, *shape, eps, 100)
    assert rounds == expected_rounds
    np.testing.assert_allclose(blurred, expected, rtol=0, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6000), st.floats(1, 200))
def test_the_result_equals_the_direct_sum_for_shades(seed: int, length: int, scale: float) -> None:
    """Values and rounds equal those of the direct sum for values between 0 and 1 that change fast or slowly."""
    random = np.random.default_rng(seed)
    values = np.clip(np.cumsum(random.normal(size=length)) / scale, 0, 1)
    blurred, rounds = blur(values, 5, 1.7, 0.002, 100)
    expected, expected_rounds = slow_blur(values, 5, 1.7, 0.002, 100)
    assert rounds == expected_rounds
    np.testing.assert_allclose(blurred, expected, rtol=0, atol=1e-12)


def test_the_result_equals_the_direct_sum_for_the_size_of_a_page() -> None:
    """Values equal those of the direct sum for the default radius, whether the vector ends with zeros or ones."""
    random = np.random.default_rng(0)
    for n_runs in (700, 701):
        values = stripes(random.geometric(1 / 30, n_runs).tolist())
        blurred, rounds = blur(values, 40, 40 / 3, 0.01, 100)
        expected, expected_rounds = slow_blur(values, 40, 40 / 3, 0.01, 100)
        assert rounds == expected_rounds
        np.testing.assert_allclose(blurred, expected, rtol=0, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_the_first_round_below_eps_is_found(seed: int, n_places: int) -> None:
    """The first round below eps is found even if the largest change moves between places, as long as it never grows."""
    random = np.random.default_rng(seed)
    largest = np.sort(random.random(12))[::-1]
    table = random.random((n_places, 12)) * largest
    table[random.integers(n_places, size=12), np.arange(12)] = largest
    places = [lambda made, row=row: float(row[made - 1]) for row in table]
    for eps in (0.0, 0.1, 0.3, 0.6, 2.0):
        calm = np.flatnonzero(largest < eps)
        assert _first_calm(places, 12, eps) == (calm[0] + 1 if len(calm) else 13)


def test_a_million_entries_take_well_under_a_second() -> None:
    """Blurring takes time linear in the length, independent of rounds and radius."""
    values = stripes(np.random.default_rng(0).geometric(1 / 40, 25_000).tolist())
    start = time.process_time()
    _, rounds = blur(values, 40, 40 / 3, 0.01, 100)
    assert rounds > 13
    assert time.process_time() - start < 0.6
