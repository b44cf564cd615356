"""k-medoids clustering."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.templates.clustering import MedoidRun, k_medoids, k_medoids_runs
from tests.templates.clustering.made import UNUSABLE, example, groups_apart, matrices


def state(run: MedoidRun) -> tuple[list[int], list[int]]:
    """Return the medoids and labels of a run."""
    return run.medoids.tolist(), run.labels.tolist()


def test_example_from_an_alternating_start() -> None:
    """ME-10.2 from an alternating start reaches the groups in two rounds and changes nothing in the third."""
    start = [0, 1, 0, 1, 0]
    assert state(k_medoids(example(), 2, start=start, max_iter=1)) == ([0, 1], [0, 1, 1, 0, 0])
    assert state(k_medoids(example(), 2, start=start, max_iter=2)) == ([3, 1], [1, 1, 1, 0, 0])
    run = k_medoids(example(), 2, start=start)
    assert state(run) == ([3, 1], [1, 1, 1, 0, 0])
    assert (run.n_rounds, run.converged) == (3, True)
    assert run.total == pytest.approx(0.1 + 0.15 + 0.3)
    assert run.clustering.groups() == [[0, 1, 2], [3, 4]]


def test_example_from_a_start_in_two_blocks() -> None:
    """ME-10.2 from a start in two blocks moves the medoids once more."""
    start = [0, 0, 1, 1, 1]
    assert state(k_medoids(example(), 2, start=start, max_iter=1)) == ([0, 3], [0, 0, 0, 1, 1])
    assert state(k_medoids(example(), 2, start=start)) == ([1, 3], [0, 0, 0, 1, 1])
    assert not k_medoids(example(), 2, start=start, max_iter=1).converged


@given(matrices(least=1), st.data())
def test_within_distance_never_grows(matrix: NDArray[np.float64], data: st.DataObject) -> None:
    """No round increases the within distance, and no cluster becomes empty."""
    k = data.draw(st.integers(1, len(matrix)))
    start = data.draw(st.lists(st.integers(0, k - 1), min_size=len(matrix), max_size=len(matrix)))
    totals = []
    for rounds in range(1, 8):
        run = k_medoids(matrix, k, start=start, max_iter=rounds)
        assert run.clustering.n_clusters == k
        assert run.labels[run.medoids].tolist() == list(range(k))
        assert run.total == pytest.approx(sum(matrix[i, run.medoids[label]] for i, label in enumerate(run.labels)))
        totals.append(run.total)
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(totals))


@given(matrices(least=2, tied=False), st.data())
def test_stable_runs_have_the_nearest_medoids(matrix: NDArray[np.float64], data: st.DataObject) -> None:
    """At the end medoids are central and each item is in the cluster of the nearest one."""
    k = data.draw(st.integers(1, len(matrix)))
    run = k_medoids(matrix, k, random_state=data.draw(st.integers(0, 5)))
    assert run.converged
    for cluster, medoid in enumerate(run.medoids.tolist()):
        members = np.flatnonzero(run.labels == cluster).tolist()
        totals = [sum(matrix[item, member] for member in members) for item in members]
        assert totals[members.index(medoid)] == pytest.approx(min(totals))
    for item, label in enumerate(run.labels):
        assert matrix[item, run.medoids[label]] == min(matrix[item, run.medoids])


def test_equal_sums_go_to_the_first_item() -> None:
    """Of items with equal sums the first is the medoid, in whichever order distances are added."""
    # Items 0 and 1 have the sums .1 + .2 + .3 and .1 + .3 + .2, which differ as floats.
    matrix = np.array([[0, 0.1, 0.2, 0.3], [0.1, 0, 0.3, 0.2], [0.2, 0.3, 0, 0.9], [0.3, 0.2, 0.9, 0]])
    for scale in (1, 1e-6, 1e6):
        assert k_medoids(matrix * scale, 1, start=[0, 0, 0, 0]).medoids.tolist() == [0]


def test_equal_items_still_form_k_clusters() -> None:
    """Equal items still form k clusters, by the rule for empty clusters, and the iteration ends."""
    run = k_medoids(np.zeros((5, 5)), 3)
    assert (run.clustering.n_clusters, run.converged, run.total) == (3, True, 0.0)


def test_an_empty_cluster_takes_the_farthest_item() -> None:
    """A cluster that the start leaves empty gets the farthest item."""
    run = k_medoids(example(), 2, start=[0, 0, 0, 0, 0], max_iter=1)
    # The medoid of all is 0, with the same sum 2.0 as 1 and 2, and the farthest from it is 4. Of the others 2 is then
    # the most central (.2 + .15 + .7).
    assert state(run) == ([2, 4], [0, 0, 0, 1, 1])


def test_one_cluster_and_single_items() -> None:
    """One cluster has the most central medoid, and with as many clusters as items the total is 0."""
    assert state(k_medoids(example(), 1)) == ([0], [0] * 5)
    run = k_medoids(example(), 5)
    assert (sorted(run.medoids.tolist()), run.total) == ([0, 1, 2, 3, 4], 0.0)


def test_runs_have_consecutive_seeds() -> None:
    """Run i has the seed i and can be repeated by itself; the best run has the lowest within distance."""
    matrix = groups_apart(np.repeat(np.arange(4), 10), (0.1, 0.3), (0.6, 0.9))
    runs = k_medoids_runs(matrix, 4, n_runs=20)
    for seed, run in enumerate(runs.runs):
        alone = k_medoids(matrix, 4, random_state=seed)
        assert (state(run), run.total) == (state(alone), alone.total)
    assert len({run.total for run in runs.runs}) > 1, "the starts must matter, or this tests nothing"
    assert runs.best.total == min(run.total for run in runs.runs)
    assert runs.best.clustering.labels.tolist() == np.repeat(np.arange(4), 10).tolist()


def test_a_hundred_runs_on_500_items_are_fast() -> None:
    """A hundred runs on 500 items take seconds, and equal seeds give equal runs."""
    matrix = groups_apart(np.repeat(np.arange(5), 100), (0.2, 0.6), (0.7, 0.9))
    begin = time.process_time()
    runs = k_medoids_runs(matrix, 5)
    assert time.process_time() - begin < 20
    assert len(runs.runs) == 100
    assert all(run.converged for run in runs.runs)
    assert state(k_medoids(matrix, 5, random_state=7)) == state(runs.runs[7])


@pytest.mark.parametrize(("matrix", "message"), UNUSABLE)
def test_unusable_matrices_are_refused_by_k_medoids(matrix: Any, message: str) -> None:
    """Unusable matrices are refused with an error that says what is wrong."""
    with pytest.raises(UsageError, match=message):
        k_medoids(matrix, 1)
    with pytest.raises(UsageError, match=message):
        k_medoids_runs(matrix, 1)


@pytest.mark.parametrize(
    ("k", "settings", "message"),
    [
        (0, {}, "from 1 to 5, got 0"),
        (6, {}, "from 1 to 5, got 6"),
        (2, {"max_iter": 0}, "max_iter must be at least 1"),
        (2, {"start": [0, 1]}, "start must hold 5 integers from 0 to 1"),
        (2, {"start": [0, 1, 2, 0, 0]}, "from 0 to 1"),
        (2, {"start": [0, 1, -1, 0, 0]}, "from 0 to 1"),
        (2, {"start": [0.0, 1.0, 0.0, 0.0, 0.0]}, "integers"),
    ],
)
def test_settings_out_of_range_are_refused_by_k_medoids(k: int, settings: Any, message: str) -> None:
    """Invalid numbers of clusters, starts and iterations are refused."""
    with pytest.raises(UsageError, match=message):
        k_medoids(example(), k, **settings)


def test_runs_need_at_least_one() -> None:
    """At least one run is required, because otherwise there is no best one."""
    with pytest.raises(UsageError, match="n_runs and max_iter must be at least 1"):
        k_medoids_runs(example(), 2, n_runs=0)
