"""Single linkage of many sets."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import MissingExtraError, UsageError
from blockml.evaluation import rand
from blockml.templates.clustering import minhash_linkage, single_linkage
from blockml.templates.clustering.minhash import least_jaccard

Sets = list[NDArray[np.uint64]]

small_sets = st.lists(
    st.lists(st.integers(0, 9), max_size=8).map(lambda values: np.array(values, dtype=np.uint64)), max_size=20
)
thresholds = st.sampled_from([0.0, 0.2, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.85, 0.999, 1.0, 3.0])


def distances(sets: Sets) -> NDArray[np.float64]:
    """Return all distances, computed pair by pair."""
    plain = [set(values.tolist()) for values in sets]
    matrix = np.zeros((len(sets), len(sets)))
    for i, a in enumerate(plain):
        for j, b in enumerate(plain):
            matrix[i, j] = 1 - len(a & b) / max(len(a), len(b)) if a or b else 0
    return matrix


def made_up(n: int, n_templates: int, *, noise: float, seed: int = 0) -> tuple[Sets, NDArray[np.int64]]:
    """Return sets of about 100 elements, and their templates.

    Eight elements are in all, a quarter of a template's come from a stock that all templates share; a page loses up
    to ``noise`` of its template's elements and gets up to as many from the stock.
    """
    rng = np.random.default_rng(seed)
    stock = rng.integers(2**63, size=3000).astype(np.uint64)
    everywhere = stock[:8]
    templates = [
        np.concatenate([rng.choice(stock, 25), rng.integers(2**63, size=67).astype(np.uint64)])
        for _ in range(n_templates)
    ]
    truth = rng.integers(n_templates, size=n)
    sets = []
    for template in truth.tolist():
        kept = templates[template][rng.random(92) >= rng.random() * noise]
        sets.append(np.concatenate([everywhere, kept, rng.choice(stock, int(rng.random() * noise * 100))]))
    return sets, truth


@given(small_sets, thresholds, st.integers(0, 3))
def test_minhash_linkage_equals_single_linkage(sets: Sets, threshold: float, random_state: int) -> None:
    """Sets that chain, contain each other, are equal or empty give the clusters of single linkage at any threshold."""
    found = minhash_linkage(sets, threshold=threshold, random_state=random_state, n_permutations=8)
    assert found.labels.tolist() == single_linkage(distances(sets), threshold=threshold).labels.tolist()
    assert (found.merges, found.threshold) == (None, threshold)


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.85])
def test_noisy_templates_have_the_clusters_of_the_matrix(threshold: float) -> None:
    """Noisy templates, which overlap at some thresholds, give the clusters of the full distance matrix."""
    sets, truth = made_up(400, 40, noise=0.6)
    expected = single_linkage(distances(sets), threshold=threshold)
    assert expected.n_clusters > 1
    assert expected.n_clusters != len(set(truth.tolist()))
    assert minhash_linkage(sets, threshold=threshold).labels.tolist() == expected.labels.tolist()


def test_signatures_affect_only_the_time() -> None:
    """Two permutations give the same clusters as many; signatures only affect the time."""
    sets, _ = made_up(300, 30, noise=0.5)
    labels = [
        minhash_linkage(sets, threshold=0.5, n_permutations=n, random_state=seed).labels.tolist()
        for n, seed in ((128, 0), (128, 5), (2, 0))
    ]
    assert labels[0] == labels[1] == labels[2]


def test_2000_pages_of_200_templates_are_found() -> None:
    """2,000 pages of 200 templates are clustered correctly within seconds."""
    sets, truth = made_up(2000, 200, noise=0.3)
    begin = time.process_time()
    found = minhash_linkage(sets, threshold=0.6)
    assert time.process_time() - begin < 60
    assert rand(found.labels, truth) == 1


def test_equal_sets_cost_almost_nothing() -> None:
    """A hundred thousand copies of two sets, with elements in any order, are clustered quickly."""
    one, other = np.array([5, 3, 1, 3], dtype=np.uint64), np.array([7, 8], dtype=np.uint64)
    found = minhash_linkage([one, other, one[::-1], np.unique(one)] * 25_000, threshold=0)
    assert found.labels[:4].tolist() == [0, 1, 0, 0]
    assert found.n_clusters == 2


def test_few_sets_and_empty_sets() -> None:
    """No sets, one set, and sets without elements can be clustered."""
    nothing: NDArray[np.uint64] = np.array([], dtype=np.uint64)
    something = np.array([1], dtype=np.uint64)
    assert minhash_linkage([], threshold=0.5).labels.tolist() == []
    assert minhash_linkage([nothing], threshold=0.5).labels.tolist() == [0]
    assert minhash_linkage([nothing, nothing], threshold=0.5).labels.tolist() == [0, 0]
    assert minhash_linkage([nothing, something, nothing], threshold=0.99).labels.tolist() == [0, 1, 0]
    assert minhash_linkage([nothing, something], threshold=1).labels.tolist() == [0, 0]


def test_the_largest_numbers_are_elements_like_others() -> None:
    """The largest 64-bit numbers are elements like others."""
    top = np.array([2**64 - 1, 2**64 - 2, 2**63], dtype=np.uint64)
    assert minhash_linkage([top, top[:2], top - np.uint64(5)], threshold=0.4).labels.tolist() == [0, 0, 1]


@given(
    st.sets(st.integers(0, 30), min_size=1), st.sets(st.integers(0, 30), min_size=1), st.floats(0, 1, exclude_max=True)
)
def test_near_sets_have_the_minimum_jaccard_similarity(a: set[int], b: set[int], threshold: float) -> None:
    """The Jaccard similarity of sets within the threshold is at least the bound used by the index."""
    distance = 1 - len(a & b) / max(len(a), len(b))
    assert len(a & b) / len(a | b) >= least_jaccard(distance) - 1e-12
    if distance <= threshold:
        assert len(a & b) / len(a | b) >= least_jaccard(threshold) - 1e-12


def test_the_bound_is_reached() -> None:
    """Sets of equal size reach the bound: at a distance of .6 they share 2 of 5 elements, and 2 of 8 in their union."""
    assert least_jaccard(0.6) == pytest.approx(2 / 8)


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for the missing package gives the command that installs it."""
    monkeypatch.setitem(sys.modules, "datasketch", None)
    with pytest.raises(MissingExtraError, match=r"thousands of pages needs .*pip install .*\[scale\]"):
        minhash_linkage([np.array([1], dtype=np.uint64)], threshold=0.5)


@pytest.mark.parametrize(
    ("sets", "settings", "message"),
    [
        ([np.array([0.5])], {}, "one-dimensional array of non-negative integers"),
        ([np.array([-1])], {}, "non-negative integers"),
        ([np.array([[1]])], {}, "one-dimensional array of non-negative integers"),
        ([np.array(["a"])], {}, "one-dimensional array of non-negative integers"),
        ([], {"threshold": -1}, "non-negative number"),
        ([], {"threshold": float("nan")}, "non-negative number"),
        ([], {"n_permutations": 1}, "n_permutations must be at least 2"),
        ([], {"random_state": -1}, "random_state"),
        ([], {"random_state": 2**32}, "random_state"),
    ],
)
def test_unusable_sets_and_settings_are_refused(sets: Any, settings: Any, message: str) -> None:
    """Unusable sets and settings are refused with the legal values."""
    with pytest.raises(UsageError, match=message):
        minhash_linkage(sets, **({"threshold": 0.5} | settings))
