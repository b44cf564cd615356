"""Non-metric multidimensional scaling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.templates.clustering import mds
from blockml.templates.clustering.multidimensional_scaling import monotone_fit, stress
from tests.templates.clustering.made import UNUSABLE, groups_apart, matrices, plane

pytestmark = pytest.mark.exhaustive

lengths = st.lists(st.integers(0, 20).map(float), min_size=1, max_size=12)


def pooled(values: list[float]) -> list[float]:
    """Return values with adjacent violators pooled one by one."""
    blocks: list[list[float]] = []
    for value in values:
        blocks.append([value])
        while len(blocks) > 1 and np.mean(blocks[-2]) >= np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [float(np.mean(block)) for block in blocks for _ in block]


def test_example_of_pooling_and_stress() -> None:
    """ME-10.3 has the expected fit and stress."""
    assert monotone_fit([1, 3, 2, 4], [1, 2, 3, 4]).tolist() == [1, 2.5, 2.5, 4]
    assert stress([1, 3, 2, 4], [1, 2, 3, 4]) == pytest.approx(0.129099, abs=1e-6)


@given(lengths)
def test_fit_pools_adjacent_violators(values: list[float]) -> None:
    """The fit equals a naive pooling of adjacent violators, in any order of the pairs."""
    order = np.random.default_rng(0).permutation(len(values))
    fitted = monotone_fit(np.array(values)[order], order)
    assert fitted.tolist() == pytest.approx([pooled(values)[i] for i in order])


@given(lengths)
def test_equal_distances_fit_any_order(values: list[float]) -> None:
    """Equal distances fit lengths in any order (Kruskal's primary approach)."""
    assert stress(values, np.ones(len(values))) == 0
    assert 0 <= stress(values, np.arange(len(values))) <= 1


def test_lengths_and_distances_belong_together() -> None:
    """Lengths and distances must have one value for each pair, and no pairs have no stress."""
    assert stress([], []) == 0
    for wrong in ([1], [[1, 2]]):
        with pytest.raises(UsageError, match="two rows of numbers"):
            monotone_fit(wrong, [1, 2])


def test_example_of_points_on_a_line() -> None:
    """In ME-10.4, the points 0, 1 and 3 of a line get these coordinates without stress."""
    points = np.array([0.0, 1.0, 3.0])
    found = mds(np.abs(points[:, None] - points))
    assert found.stress <= 1e-6
    assert found.coordinates[:, 0] == pytest.approx([4 / 3, 1 / 3, -5 / 3])
    assert found.coordinates[:, 1] == pytest.approx([0, 0, 0], abs=1e-9)


@given(st.integers(3, 30), st.integers(0, 1000))
def test_points_of_the_plane_are_recovered(n: int, seed: int) -> None:
    """Points of the plane are recovered with their distances, centred and with a stress of 0."""
    points, distances = plane(n, seed)
    found = mds(distances)
    assert found.stress < 1e-6
    assert found.coordinates.shape == (n, 2)
    assert found.coordinates.mean(axis=0) == pytest.approx([0, 0], abs=1e-9)
    again = np.sqrt(((found.coordinates[:, None] - found.coordinates) ** 2).sum(axis=2))
    assert again == pytest.approx(distances, abs=1e-5 * distances.max())
    assert (points == plane(n, seed)[0]).all()


@given(st.integers(0, 1000), st.floats(0, 6.28), st.booleans())
def test_rotated_and_mirrored_points_give_the_same_map(seed: int, angle: float, mirrored: bool) -> None:  # noqa: FBT001
    """Rotated and mirrored points give the same map, because axes and signs are fixed."""
    points, distances = plane(12, seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned = points @ turn * ([1, -1] if mirrored else [1, 1]) + 5
    again = np.sqrt(((turned[:, None] - turned) ** 2).sum(axis=2))
    ours, theirs = mds(distances).coordinates, mds(again).coordinates
    assert ours == pytest.approx(theirs, abs=1e-6)
    assert ours[:, 0].var() >= ours[:, 1].var()
    assert abs(ours[:, 0] @ ours[:, 1]) < 1e-6
    assert (ours[0] > 0).all()


@given(matrices(least=3))
def test_maps_are_finite_centred_and_no_worse_than_their_start(matrix: NDArray[np.float64]) -> None:
    """Maps of metric or other distances are finite, centred, deterministic and no worse than their start."""
    start, found = mds(matrix, max_iter=0), mds(matrix)
    assert np.isfinite(found.coordinates).all()
    assert found.coordinates.mean(axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert 0 <= found.stress <= start.stress + 1e-12
    assert (start.n_iterations, found.n_iterations <= 300) == (0, True)
    upper = np.triu_indices(len(matrix), 1)
    again = np.sqrt(((found.coordinates[:, None] - found.coordinates) ** 2).sum(axis=2))
    assert stress(again[upper], matrix[upper]) == pytest.approx(found.stress, abs=1e-6)
    assert (again[upper] ** 2).sum() == pytest.approx((matrix[upper] ** 2).sum())
    assert (mds(matrix).coordinates == found.coordinates).all()


@pytest.mark.parametrize("distance", [0.0007906, 0.2784275630372318, 0.9467443867351563, 1.0])
def test_items_all_equally_far_apart_have_a_map(distance: float) -> None:
    """Items that are all equally far apart, so that no axis is larger than another, have a map with zero stress."""
    for n in range(3, 40):
        matrix = np.full((n, n), distance)
        np.fill_diagonal(matrix, 0)
        found = mds(matrix)
        upper = np.triu_indices(n, 1)
        again = np.sqrt(((found.coordinates[:, None] - found.coordinates) ** 2).sum(axis=2))[upper]
        assert [stress(again, matrix[upper]), found.stress] == pytest.approx([0, 0], abs=1e-9)
        assert (again**2).mean() == pytest.approx(distance**2)


def test_only_the_order_of_distances_counts() -> None:
    """Squared distances have a map without stress, although classical scaling does not find it."""
    _, distances = plane(25, 3)
    assert mds(distances**2, max_iter=0).stress > 0.01
    assert mds(distances**2).stress < 0.01
    assert mds(distances**2).stress < mds(distances**2, max_iter=0).stress / 3


def test_groups_remain_apart_in_the_plane() -> None:
    """Groups of close items remain apart on the map."""
    truth = np.repeat(np.arange(3), 15)
    found = mds(groups_apart(truth, (0.1, 0.3), (0.7, 0.9))).coordinates
    centres = np.array([found[truth == group].mean(axis=0) for group in range(3)])
    nearest = ((found[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert nearest.tolist() == truth.tolist()


def test_collections_too_small_for_a_map() -> None:
    """Two items or fewer, or items without any distance, are all at the origin."""
    for matrix in (np.zeros((0, 0)), np.zeros((1, 1)), np.array([[0, 1], [1, 0]]), np.zeros((4, 4))):
        found = mds(matrix)
        assert found.coordinates.tolist() == [[0, 0]] * len(matrix)
        assert (found.stress, found.n_iterations) == (0, 0)


@pytest.mark.parametrize(("matrix", "message"), UNUSABLE)
def test_unusable_matrices_are_refused_by_scaling(matrix: Any, message: str) -> None:
    """Unusable matrices are refused with an error that says what is wrong."""
    with pytest.raises(UsageError, match=message):
        mds(matrix)


@pytest.mark.parametrize("settings", [{"max_iter": -1}, {"eps": -1}, {"eps": float("nan")}])
def test_settings_out_of_range_are_refused_by_scaling(settings: Any) -> None:
    """Negative settings are refused."""
    with pytest.raises(UsageError, match="must be non-negative"):
        mds(np.zeros((3, 3)), **settings)
