"""Groups inside a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.templates.clustering import average_linkage, find_subclusters
from tests.templates.clustering.made import UNUSABLE, groups_apart, matrices

CATEGORIES = np.tile(np.arange(4), 6)


def silhouette(matrix: NDArray[np.float64], labels: NDArray[np.int32]) -> float:
    """Return the mean silhouette, computed item by item (Rousseeuw 1987)."""
    widths = []
    for item, label in enumerate(labels.tolist()):
        own = np.flatnonzero(labels == label)
        if len(own) == 1:
            widths.append(0.0)
            continue
        a = matrix[item, own].sum() / (len(own) - 1)
        b = min(matrix[item, labels == other].mean() for other in set(labels.tolist()) - {label})
        widths.append((b - a) / max(a, b) if max(a, b) else 0.0)
    return float(np.mean(widths))


def test_categories_of_a_site_are_found() -> None:
    """Four layouts with six pages each are found."""
    found = find_subclusters(groups_apart(CATEGORIES, (0.05, 0.15), (0.25, 0.35)))
    assert found.clustering.labels.tolist() == CATEGORIES.tolist()
    assert found.silhouette is not None
    assert found.silhouette > 0.5


def test_similar_pages_stay_together() -> None:
    """A cluster without a clear cut has no subclusters."""
    found = find_subclusters(groups_apart(CATEGORIES, (0.2, 0.25), (0.2, 0.25)))
    assert found.clustering.n_clusters == 1
    assert found.silhouette is not None
    assert found.silhouette < 0.25
    equal = np.full((8, 8), 0.3)
    np.fill_diagonal(equal, 0)
    for matrix in (equal, np.zeros((8, 8))):
        # All merges are at the same distance, so no cut has a margin.
        assert find_subclusters(matrix).clustering.labels.tolist() == [0] * 8
        assert find_subclusters(matrix).silhouette is None


@given(matrices(least=4), st.integers(2, 8))
def test_the_best_cut_is_taken(matrix: NDArray[np.float64], max_clusters: int) -> None:
    """No other cut between unequal merges has a higher silhouette, computed item by item."""
    found = find_subclusters(matrix, min_silhouette=-1, max_clusters=max_clusters)
    merges = average_linkage(matrix, k=1).merges
    assert merges is not None
    n = len(matrix)
    cuts = [
        average_linkage(matrix, k=k).labels
        for k in range(2, min(max_clusters, n - 1) + 1)
        if merges[n - k - 1, 2] < merges[n - k, 2] * (1 - 1e-9)  # by more than rounding: equal merges have no order
    ]
    if not cuts:
        assert (found.clustering.n_clusters, found.silhouette) == (1, None)
        return
    scores = [silhouette(matrix, labels) for labels in cuts]
    assert found.silhouette == pytest.approx(max(scores))
    best = next(labels for labels, score in zip(cuts, scores, strict=True) if score >= max(scores) - 1e-9)
    assert found.clustering.labels.tolist() == best.tolist()


def test_the_minimum_silhouette_can_be_chosen() -> None:
    """Subclusters below the minimum silhouette are rejected, and the best silhouette is still returned."""
    matrix = groups_apart(CATEGORIES, (0.05, 0.15), (0.25, 0.35))
    best = find_subclusters(matrix).silhouette
    assert best is not None
    assert find_subclusters(matrix, min_silhouette=best).clustering.n_clusters == 4
    strict = find_subclusters(matrix, min_silhouette=best + 1e-6)
    assert (strict.clustering.n_clusters, strict.silhouette) == (1, best)


def test_small_clusters_are_not_divided() -> None:
    """Clusters of fewer pages than the minimum, even empty ones, are not divided."""
    matrix = groups_apart(np.array([0, 0, 1, 1]), (0, 0.1), (0.9, 1))
    assert find_subclusters(matrix).clustering.n_clusters == 2
    assert find_subclusters(matrix, min_items=5).clustering.n_clusters == 1
    for n in range(4):
        found = find_subclusters(matrix[:n, :n])
        assert (found.clustering.labels.tolist(), found.silhouette) == ([0] * n, None)
    assert find_subclusters(matrix[:3, :3], min_items=0).clustering.groups() == [[0, 1], [2]]
    assert find_subclusters(matrix, max_clusters=1)[1] is None


@pytest.mark.parametrize(("matrix", "message"), UNUSABLE)
def test_unusable_matrices_are_refused_by_subclusters(matrix: Any, message: str) -> None:
    """Unusable matrices are refused with an error that says what is wrong."""
    with pytest.raises(UsageError, match=message):
        find_subclusters(matrix)


def test_settings_out_of_range_are_refused_by_subclusters() -> None:
    """A maximum of zero clusters is refused."""
    with pytest.raises(UsageError, match="max_clusters must be at least 1"):
        find_subclusters(np.zeros((2, 2)), max_clusters=0)
