"""Thresholds from gaps in the distances."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.templates.clustering import (
    Threshold,
    auto_threshold,
    distance_histogram,
    gap_threshold,
    silhouette_threshold,
    single_linkage,
)
from tests.templates.clustering.made import UNUSABLE, example, groups_apart, matrices, square

FIVE_SITES = np.repeat(np.arange(5), 4)


def test_example_of_the_widest_gap() -> None:
    """The threshold is in the middle of the widest gap between merges."""
    threshold = gap_threshold(example())
    assert threshold == pytest.approx(0.5)
    assert single_linkage(example(), threshold=threshold).groups() == [[0, 1, 2], [3, 4]]


@given(matrices(), st.sampled_from([0.0, 0.05, 0.25, 0.5]), st.sampled_from([0.0, 0.05, 0.3]))
def test_gap_is_the_widest_of_all(matrix: NDArray[np.float64], min_low: float, min_gap: float) -> None:
    """The gap is the widest found by a naive search over neighbours."""
    values = sorted(set(matrix[np.triu_indices(len(matrix), 1)].tolist()))
    gaps = [(b - a, (a + b) / 2) for a, b in pairwise(values) if a >= min_low and b - a >= min_gap]
    threshold = gap_threshold(matrix, min_low=min_low, min_gap=min_gap)
    if not gaps:
        assert threshold is None
    else:
        assert threshold == next(middle for width, middle in gaps if width == max(gaps)[0])


@given(matrices(least=10, most=14), st.sampled_from([1e-3, 7.0, 1e4]))
def test_relative_gaps_do_not_depend_on_the_unit(matrix: NDArray[np.float64], unit: float) -> None:
    """With relative gaps, the threshold scales with the distances."""
    ours, theirs = gap_threshold(matrix, relative=True), gap_threshold(matrix * unit, relative=True)
    assert (ours is None) == (theirs is None)
    if ours is not None and theirs is not None:
        assert theirs == pytest.approx(ours * unit)


@pytest.mark.parametrize(
    ("pairs", "threshold"),
    [
        ([0.01, 0.2, 0.24], None),  # the only wide gap starts below .05
        ([0.1, 0.12, 0.14], None),  # no gap is wide enough
        ([0.1, 0.15, 0.15], 0.125),  # just wide enough, apart from rounding
        ([0.1, 0.3, 0.5], 0.2),  # of equally wide gaps the lowest
        ([0.3, 0.3, 0.3], None),  # nothing on the other side
        ([0.0, 0.0, 0.0], None),
    ],
)
def test_which_gaps_count(pairs: list[float], threshold: float | None) -> None:
    """Gaps must start at .05 or above and be at least .05 wide."""
    assert gap_threshold(square(np.array(pairs))) == (None if threshold is None else pytest.approx(threshold))


def test_too_few_items_have_no_gap() -> None:
    """A matrix with fewer than two pairs has no gap."""
    for n in (0, 1):
        assert gap_threshold(np.zeros((n, n))) is None
        assert distance_histogram(np.zeros((n, n))).counts.sum() == 0
    assert gap_threshold([[0, 0.5], [0.5, 0]]) is None


def test_a_clear_gap_separates_sites() -> None:
    """With a clear gap the threshold separates the sites."""
    matrix = groups_apart(FIVE_SITES, (0.1, 0.4), (0.7, 0.95))
    by_gap = gap_threshold(matrix)
    assert by_gap is not None
    assert single_linkage(matrix, threshold=by_gap).labels.tolist() == FIVE_SITES.tolist()


def test_distances_without_a_bound_need_relative_gaps() -> None:
    """Gaps relative to the largest distance find the threshold of tag vectors."""
    matrix = groups_apart(FIVE_SITES, (5, 100), (500, 900))
    threshold = gap_threshold(matrix, relative=True)
    assert threshold is not None
    assert 100 < threshold < 500


@given(matrices(), st.integers(1, 30))
def test_histogram_counts_every_pair(matrix: NDArray[np.float64], bins: int) -> None:
    """Every pair is counted, in bins over [0, 1] or up to the largest distance above 1."""
    histogram = distance_histogram(matrix, bins)
    assert histogram.counts.sum() == len(matrix) * (len(matrix) - 1) // 2
    assert (histogram.counts.shape, histogram.edges.shape) == ((bins,), (bins + 1,))
    assert (histogram.edges[0], histogram.edges[-1]) == (0, 1)
    wide = distance_histogram(matrix * 8, bins)
    assert wide.edges[-1] == max(1, 8 * matrix.max(initial=0))
    assert wide.counts.sum() == histogram.counts.sum()


def test_ten_items_with_a_gap_need_no_preset() -> None:
    """For ten items or more the gap is used instead of the preset, and the result names the rule."""
    matrix = groups_apart(FIVE_SITES, (0.1, 0.3), (0.5, 0.6))
    threshold = gap_threshold(matrix)
    assert auto_threshold(matrix, "cp") == Threshold(threshold, "gap")
    assert single_linkage(matrix, threshold=threshold).n_clusters == 5
    nine = matrix[:9, :9]
    assert auto_threshold(nine, "cp") == (0.7, "preset")
    assert auto_threshold(matrix[:10, :10], "cp")[1] == "gap"


def test_without_a_gap_the_preset_decides() -> None:
    """Without a gap, as for pages of one template or of none in common, the preset is used."""
    alike, strange = np.full((12, 12), 0.2), np.full((12, 12), 0.97)
    for matrix, n_clusters in ((alike, 1), (strange, 12)):
        np.fill_diagonal(matrix, 0)
        found = auto_threshold(matrix, "cps")
        assert found == Threshold(0.6, "preset")
        assert single_linkage(matrix, threshold=found.value).n_clusters == n_clusters
        assert auto_threshold(matrix, "lcts") == (None, "none")
    assert auto_threshold(np.zeros((0, 0)), "rtdm") == (0.2, "preset")


def test_well_separated_groups_give_a_threshold() -> None:
    """Groups that are well separated give a threshold, whether or not there is a gap between all distances."""
    rng = np.random.default_rng(0)
    place = np.repeat([0.0, 10.0, 20.0], 20) + rng.uniform(0, 3, 60)
    matrix = np.abs(place[:, None] - place[None, :]) / 23
    threshold = silhouette_threshold(matrix)
    assert threshold is not None
    assert single_linkage(matrix, threshold=threshold).labels.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    assert silhouette_threshold(matrix, min_silhouette=0.99) is None
    assert silhouette_threshold(matrix, max_clusters=1) is None
    assert silhouette_threshold(np.zeros((1, 1))) is None


def test_tag_vectors_are_relative_to_their_largest_distance() -> None:
    """Gaps of tag vectors are relative to the largest distance, because a gap of .05 is nothing among hundreds."""
    matrix = groups_apart(FIVE_SITES, (5, 100), (500, 900))
    found = auto_threshold(matrix, "tv")
    assert found.source == "gap"
    assert found.value is not None
    assert 100 < found.value < 500
    # The price: distances inside groups below a twentieth of the largest count as those of identical pages.
    near = groups_apart(FIVE_SITES, (5, 40), (880, 900))
    assert gap_threshold(near, relative=True) is None
    assert auto_threshold(near, "tv").source == "silhouette"
    # Distances from 5 to 40 leave gaps of more than .05, but none of a twentieth of the largest.
    dense = np.linspace(5, 40, 190)
    assert auto_threshold(square(dense), "tv") == (None, "none")
    assert gap_threshold(square(dense)) is not None
    # Other metrics without a bound are recognised by their distances.
    assert auto_threshold(square(dense), "rtdm") == (0.2, "preset")


@pytest.mark.parametrize(("matrix", "message"), UNUSABLE)
def test_unusable_matrices_are_refused_by_thresholds(matrix: Any, message: str) -> None:
    """Unusable matrices are refused with an error that says what is wrong."""
    for rule in (gap_threshold, distance_histogram, lambda m: auto_threshold(m, "cp")):
        with pytest.raises(UsageError, match=message):
            rule(matrix)


def test_settings_out_of_range_are_refused_by_thresholds() -> None:
    """Negative widths and less than one bin are refused."""
    refused: list[dict[str, Any]] = [{"min_low": -0.1}, {"min_gap": -0.1}, {"min_gap": float("nan")}]
    for settings in refused:
        with pytest.raises(UsageError, match="must be non-negative"):
            gap_threshold(example(), **settings)
    with pytest.raises(UsageError, match="bins must be at least 1"):
        distance_histogram(example(), bins=0)
