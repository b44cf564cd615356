"""Single and average linkage."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.templates.clustering import PRESETS, Clustering, average_linkage, single_linkage
from tests.templates.clustering.made import UNUSABLE, example, matrices, merge_list

LINKAGES = [single_linkage, average_linkage]


def is_partition(clustering: Clustering, n: int) -> bool:
    """Return whether each item is in one cluster and clusters are numbered by their smallest member."""
    groups = clustering.groups()
    smallest = [group[0] for group in groups]
    return (
        len(clustering) == n
        and clustering.labels.dtype == np.int32
        and sorted(chain(*groups)) == list(range(n))
        and all(group == sorted(group) for group in groups)
        and smallest == sorted(smallest)
        and len(groups) == clustering.n_clusters
    )


def components(matrix: NDArray[np.float64], threshold: float) -> list[int]:
    """Return the connected components of the near pairs, found item by item."""
    labels = [-1] * len(matrix)
    for start in range(len(matrix)):
        if labels[start] < 0:
            label, waiting = max(labels) + 1, [start]
            while waiting:
                item = waiting.pop()
                if labels[item] < 0:
                    labels[item] = label
                    waiting += np.flatnonzero(matrix[item] <= threshold).tolist()
    return labels


def merged_by_hand(matrix: NDArray[np.float64], k: int) -> list[float]:
    """Return the heights at which naive average linkage merges until k clusters are left."""
    clusters, heights = [[i] for i in range(len(matrix))], []
    while len(clusters) > k:
        distances = {
            (a, b): float(matrix[np.ix_(clusters[a], clusters[b])].mean())
            for a in range(len(clusters))
            for b in range(a + 1, len(clusters))
        }
        a, b = min(distances, key=lambda pair: distances[pair])
        heights.append(distances[a, b])
        clusters[a] += clusters.pop(b)
    return heights


def test_example_at_a_threshold() -> None:
    """In the example three merges below .6 leave two clusters."""
    clustering = single_linkage(example(), threshold=0.6)
    assert clustering.groups() == [[0, 1, 2], [3, 4]]
    assert [merge.distance for merge in merge_list(clustering)] == [0.1, 0.15, 0.3]
    assert [tuple(merge)[:2] for merge in merge_list(clustering)] == [(0, 1), (0, 2), (3, 4)]
    assert [merge.size for merge in merge_list(clustering)] == [2, 3, 2]
    assert clustering.threshold == 0.6


def test_example_at_a_lower_threshold_and_a_number() -> None:
    """A lower threshold leaves three clusters, and a given number of clusters finds the same two."""
    assert single_linkage(example(), threshold=0.25).groups() == [[0, 1, 2], [3], [4]]
    by_number = single_linkage(example(), k=2)
    assert by_number.groups() == [[0, 1, 2], [3, 4]]
    assert by_number.threshold is None


def test_example_has_the_whole_dendrogram() -> None:
    """In ME-10.1 merges beyond the threshold are kept, because the plot of the dendrogram needs them."""
    clustering = single_linkage(example(), threshold=0.6)
    assert clustering.merges is not None
    assert clustering.merges.shape == (4, 4)
    assert clustering.merges[:, 2].tolist() == [0.1, 0.15, 0.3, 0.7]
    assert [merge.distance for merge in merge_list(single_linkage(example(), k=1))] == [0.1, 0.15, 0.3, 0.7]


def test_a_distance_equal_to_the_threshold_is_merged() -> None:
    """A pair at the threshold is merged; only larger distances are not."""
    assert single_linkage(example(), threshold=0.3).groups() == [[0, 1, 2], [3, 4]]
    assert single_linkage(example(), threshold=np.nextafter(0.3, 0)).n_clusters == 3
    assert single_linkage(example(), threshold=np.inf).n_clusters == 1


@pytest.mark.parametrize("linkage", LINKAGES)
def test_no_item_and_one_item(linkage: Any) -> None:
    """No items give no clusters, and one item gives one."""
    nothings: list[Any] = [[], np.zeros((0, 0))]
    for nothing in nothings:
        empty = linkage(nothing, threshold=0.5)
        assert (empty.labels.tolist(), empty.n_clusters, empty.groups(), merge_list(empty)) == ([], 0, [], [])
    one = linkage([[0]], threshold=0)
    assert (one.labels.tolist(), one.groups(), merge_list(one)) == ([0], [[0]], [])
    assert linkage([[0]], k=1).n_clusters == 1


@pytest.mark.parametrize("linkage", LINKAGES)
def test_equal_items_are_one_cluster(linkage: Any) -> None:
    """A threshold merges all equal items into one cluster, but a given number of clusters is kept."""
    assert linkage(np.zeros((6, 6)), threshold=0).n_clusters == 1
    assert linkage(np.zeros((6, 6)), k=4).n_clusters == 4


@given(matrices(), st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.75, 1.0]))
def test_single_linkage_gives_the_connected_components(matrix: NDArray[np.float64], threshold: float) -> None:
    """Single linkage gives the connected components of the near pairs."""
    clustering = single_linkage(matrix, threshold=threshold)
    assert clustering.labels.tolist() == components(matrix, threshold)
    assert is_partition(clustering, len(matrix))


@given(matrices(least=1), st.data())
@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_number_of_clusters_is_reached(linkage: Any, matrix: NDArray[np.float64], data: st.DataObject) -> None:
    """The requested number of clusters is reached, even with many equal distances."""
    k = data.draw(st.integers(1, len(matrix)))
    clustering = linkage(matrix, k=k)
    assert clustering.n_clusters == k
    assert is_partition(clustering, len(matrix))
    assert len(merge_list(clustering)) == len(matrix) - k


@given(matrices(), st.floats(0, 1), st.floats(0, 1))
@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_higher_threshold_only_joins(linkage: Any, matrix: NDArray[np.float64], one: float, other: float) -> None:
    """Each cluster at the lower threshold is inside one at the higher threshold."""
    fine = linkage(matrix, threshold=min(one, other)).groups()
    coarse = linkage(matrix, threshold=max(one, other)).labels
    assert all(len(set(coarse[group].tolist())) == 1 for group in fine)


@given(matrices(least=2, most=8, tied=False))
def test_average_linkage_agrees_with_means_taken_one_by_one(matrix: NDArray[np.float64]) -> None:
    """Merges of average linkage have the heights of a naive implementation."""
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    if len(np.unique(pairs)) == len(pairs):  # equal means may be merged in either order
        clustering = average_linkage(matrix, k=1)
        assert clustering.merges is not None
        assert clustering.merges[:, 2] == pytest.approx(sorted(merged_by_hand(matrix, 1)))


@given(matrices(least=1), st.floats(0, 1))
def test_average_linkage_agrees_with_scipy(matrix: NDArray[np.float64], threshold: float) -> None:
    """The clusters at a threshold are those of scipy."""
    from scipy.cluster.hierarchy import fcluster

    clustering = average_linkage(matrix, threshold=threshold)
    assert clustering.merges is not None
    if len(matrix) > 1:
        theirs = fcluster(clustering.merges, threshold, criterion="distance")
        together = theirs[:, None] == theirs
        assert (together == (clustering.labels[:, None] == clustering.labels)).all()


def test_average_linkage_does_not_chain() -> None:
    """Items in a row are one cluster with single linkage but not with average linkage."""
    row = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    assert single_linkage(row, threshold=1).n_clusters == 1
    assert average_linkage(row, threshold=1).n_clusters > 1


@pytest.mark.parametrize(("matrix", "message"), UNUSABLE)
@pytest.mark.parametrize("linkage", LINKAGES)
def test_unusable_matrices_are_refused_by_linkage(linkage: Any, matrix: Any, message: str) -> None:
    """Unusable matrices are refused with an error that says what is wrong."""
    with pytest.raises(UsageError, match=message):
        linkage(matrix, threshold=0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 6}, "from 1 to 5, got 6"),
        ({"k": 0}, "from 1 to 5, got 0"),
        ({"k": 2.5}, "must be an integer"),
        ({"threshold": -0.1}, "non-negative number, got -0.1"),
        ({"threshold": float("nan")}, "non-negative number"),
        ({"threshold": "half"}, "non-negative number"),
        ({}, "either a threshold or a number"),
        ({"k": 2, "threshold": 0.5}, "either a threshold or a number"),
    ],
)
def test_settings_out_of_range_are_refused_by_linkage(settings: Any, message: str) -> None:
    """Too many or no clusters and a negative threshold are refused."""
    for linkage in LINKAGES:
        with pytest.raises(UsageError, match=message):
            linkage(example(), **settings)
    with pytest.raises(UsageError, match="from 1 to 0"):
        single_linkage([], k=1)


def test_rounding_errors_are_not_asymmetry() -> None:
    """Matrices whose halves differ by rounding errors are accepted as symmetric."""
    matrix = example()
    matrix[0, 1] += 1e-15
    assert single_linkage(matrix, threshold=0.6).n_clusters == 2


def test_results_are_read_only_and_arguments_unchanged() -> None:
    """Labels and presets are read-only, and the matrix passed in is not modified."""
    matrix = example()
    clustering = single_linkage(matrix, threshold=0.6)
    assert (matrix == example()).all()
    with pytest.raises(ValueError, match="read-only"):
        clustering.labels[0] = 1
    with pytest.raises(TypeError):
        PRESETS["cp"] = 1.0  # type: ignore[index]


def test_published_thresholds() -> None:
    """The presets are the thresholds of Gottron 2008, table 4, and Reis et al. 2004."""
    assert PRESETS == {"cps": 0.6, "ctss": 0.85, "cp": 0.7, "rtdm": 0.2, "cp-loose": 0.9}


def test_only_hierarchies_have_merges() -> None:
    """Listing the merges of a clustering that is not hierarchical raises an error."""
    with pytest.raises(UsageError, match="hierarchical"):
        merge_list(Clustering(np.zeros(2, dtype=np.int32)))
