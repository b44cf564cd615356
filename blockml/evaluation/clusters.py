"""Cluster scores: how well distances and clusterings agree with the templates that pages are known to have."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UnknownNameError, UsageError

__all__ = ["adjusted_rand", "cluster_scores", "dunn", "mutual_information", "nmi", "purity", "rand"]

_PAIRS = ("unordered", "ordered")
_NORMALISATIONS = ("strehl", "gottron", "log_kg", "nats")


def dunn(matrix: ArrayLike, truth: ArrayLike) -> float:
    """Dunn index: smallest distance between true groups by largest distance inside one (Gottron 2008).

    Parameters
    ----------
    matrix
        (n, n) distances.
    truth
        (n,) true group of each document.

    Returns
    -------
    float
        At least 0; above 1 the groups are separate. Infinite if all distances inside groups are 0 but none between
        them is; NaN if both are 0, or if there are not two groups.

    Raises
    ------
    UsageError
        There are no documents, or the shapes do not match.

    Examples
    --------
    >>> round(dunn([[0, 0.2, 0.9], [0.2, 0, 0.7], [0.9, 0.7, 0]], ["a", "a", "b"]), 6)
    3.5
    """
    groups = _codes(truth, "truth")
    distances = np.asarray(matrix, dtype=np.float64)
    if distances.shape != (len(groups), len(groups)):
        raise UsageError(f"the distances of {len(groups)} documents are a square of that size, not {distances.shape}")
    same = groups[:, None] == groups
    if same.all():
        return math.nan
    within, apart = float(distances[same].max()), float(distances[~same].min())
    if within == 0:
        return math.inf if apart > 0 else math.nan
    return apart / within


def rand(clusters: ArrayLike, truth: ArrayLike, pairs: str = "unordered") -> float:
    """Rand index: share of the pairs that clusters and truth both join or both part (Rand 1971).

    Parameters
    ----------
    clusters, truth
        (n,) cluster and true group of each document.
    pairs
        ``"unordered"``, the standard: each two documents once. ``"ordered"``: all n² pairs, those of a document with
        itself among them; the published values of Gottron 2008 come out only so.

    Returns
    -------
    float
        In [0, 1]; 1 for a single document.

    Raises
    ------
    UsageError
        There are no documents, or the two differ in length.
    UnknownNameError
        ``pairs`` is none of these.

    Examples
    --------
    >>> rand([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), rand([0, 0, 1, 1, 1], [0, 0, 0, 1, 1], pairs="ordered")
    (0.6, 0.68)
    """
    if pairs not in _PAIRS:
        raise UnknownNameError("kind of pairs", pairs, _PAIRS)
    return _rand(_Contingency.of(clusters, truth), pairs)


def purity(clusters: ArrayLike, truth: ArrayLike, *, weighted: bool = False) -> float:
    """Mean share of a cluster's documents that are of its most frequent true group.

    Parameters
    ----------
    clusters, truth
        (n,) cluster and true group of each document.
    weighted
        Weigh clusters by their size. The published averages weigh all alike (Gottron 2008).

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    UsageError
        There are no documents, or the two differ in length.

    Examples
    --------
    >>> round(purity([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), 6), purity([0, 0, 1, 1, 1], [0, 0, 0, 1, 1], weighted=True)
    (0.833333, 0.8)
    """
    return _purity(_Contingency.of(clusters, truth), weighted=weighted)


def mutual_information(clusters: ArrayLike, truth: ArrayLike, normalise: str = "strehl") -> float:
    """Mutual information of clusters and truth.

    Parameters
    ----------
    clusters, truth
        (n,) cluster and true group of each document.
    normalise
        With k clusters and g groups: ``"nats"`` is the information I itself; ``"log_kg"`` is I / ln(k g), that is, a
        logarithm to the base k g; ``"strehl"`` is 2 I / ln(k g) (Strehl et al. 2000), which is 1 for the right
        clusters of groups of equal size; ``"gottron"`` is I / ln(k g)², as which the values printed by Gottron 2008
        come out.

    Returns
    -------
    float
        At least 0; NaN if k and g are 1, except in nats.

    Raises
    ------
    UsageError
        There are no documents, or the two differ in length.
    UnknownNameError
        ``normalise`` is none of these.

    Examples
    --------
    >>> clusters, truth = [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]
    >>> [round(mutual_information(clusters, truth, how), 6) for how in ("nats", "log_kg", "gottron", "strehl")]
    [0.291103, 0.209987, 0.151473, 0.419973]
    """
    if normalise not in _NORMALISATIONS:
        raise UnknownNameError("normalisation", normalise, _NORMALISATIONS)
    return _information(_Contingency.of(clusters, truth), normalise)


def adjusted_rand(clusters: ArrayLike, truth: ArrayLike) -> float:
    """Rand index corrected for chance (Hubert and Arabie 1985).

    Parameters
    ----------
    clusters, truth
        (n,) cluster and true group of each document.

    Returns
    -------
    float
        1 for the right clusters, 0 on average for random ones, at least -0.5.

    Raises
    ------
    UsageError
        There are no documents, or the two differ in length.

    Examples
    --------
    >>> round(adjusted_rand([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), 6)
    0.166667
    """
    from sklearn.metrics import adjusted_rand_score

    contingency = _Contingency.of(clusters, truth)
    with _many_groups():
        return float(adjusted_rand_score(contingency.truth, contingency.clusters))


def nmi(clusters: ArrayLike, truth: ArrayLike) -> float:
    """Mutual information by the mean of both entropies.

    Parameters
    ----------
    clusters, truth
        (n,) cluster and true group of each document.

    Returns
    -------
    float
        In [0, 1]; 1 for the right clusters.

    Raises
    ------
    UsageError
        There are no documents, or the two differ in length.

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), 6)
    0.432538
    """
    from sklearn.metrics import normalized_mutual_info_score

    contingency = _Contingency.of(clusters, truth)
    with _many_groups():
        score = float(normalized_mutual_info_score(contingency.truth, contingency.clusters))
    return min(max(score, 0.0), 1.0)  # rounding errors reach beyond the ends


@contextlib.contextmanager
def _many_groups() -> Iterator[None]:
    """Keep scikit-learn from asking whether many groups are not rather amounts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        yield


def cluster_scores(clusters: ArrayLike, truth: ArrayLike, matrix: ArrayLike | None = None) -> dict[str, float]:
    """All scores of a clustering.

    Parameters
    ----------
    clusters, truth
        (n,) cluster and true group of each document.
    matrix
        (n, n) distances, if the Dunn index of the true groups is wanted as well.

    Returns
    -------
    dict[str, float]
        By name: ``documents``, ``clusters`` and ``groups`` are counts; ``rand``, ``purity``, ``mutual_information``
        (after Strehl), ``adjusted_rand`` and ``nmi`` are standard; ``rand_ordered`` and ``mutual_information_gottron``
        compare with the values of Gottron 2008, and so does ``purity``; ``purity_weighted``; ``dunn``.

    Raises
    ------
    UsageError
        There are no documents, or the lengths do not match.

    Examples
    --------
    >>> scores = cluster_scores([0, 0, 1, 1, 1], [0, 0, 0, 1, 1])
    >>> scores["clusters"], scores["rand"], scores["purity_weighted"]
    (2, 0.6, 0.8)
    """
    contingency = _Contingency.of(clusters, truth)
    scores: dict[str, float] = {
        "documents": contingency.n,
        "clusters": len(contingency.by_cluster),
        "groups": len(contingency.by_truth),
        "rand": _rand(contingency, "unordered"),
        "rand_ordered": _rand(contingency, "ordered"),
        "adjusted_rand": adjusted_rand(contingency.clusters, contingency.truth),
        "purity": _purity(contingency, weighted=False),
        "purity_weighted": _purity(contingency, weighted=True),
        "mutual_information": _information(contingency, "strehl"),
        "mutual_information_gottron": _information(contingency, "gottron"),
        "nmi": nmi(contingency.clusters, contingency.truth),
    }
    if matrix is not None:
        scores["dunn"] = dunn(matrix, contingency.truth)
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class _Contingency:
    """How many documents each cluster shares with each true group; only the pairs that share any."""

    clusters: NDArray[np.int64]
    """(n,) cluster of each document, from 0."""
    truth: NDArray[np.int64]
    """(n,) true group of each document, from 0."""
    counts: NDArray[np.int64]
    """(m,) documents of a pair of cluster and group."""
    cluster: NDArray[np.int64]
    """(m,) the cluster of the pair."""
    group: NDArray[np.int64]
    """(m,) the group of the pair."""
    by_cluster: NDArray[np.int64]
    """(k,) documents of each cluster."""
    by_truth: NDArray[np.int64]
    """(g,) documents of each group."""

    @classmethod
    def of(cls, clusters: ArrayLike, truth: ArrayLike) -> _Contingency:
        found, true = _codes(clusters, "clusters"), _codes(truth, "truth")
        if len(found) != len(true):
            raise UsageError(f"clusters has {len(found)} labels but truth has {len(true)}")
        g = int(true.max()) + 1
        pairs, counts = np.unique(found * g + true, return_counts=True)
        return cls(found, true, counts, pairs // g, pairs % g, np.bincount(found), np.bincount(true))

    @property
    def n(self) -> int:
        return len(self.truth)


def _codes(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    """(n,) labels of any kind, numbered from 0."""
    array = np.asarray(labels)
    if array.ndim != 1 or not len(array):
        raise UsageError(f"{name} must be a row of at least one label")
    try:
        codes: NDArray[np.int64] = np.unique(array, return_inverse=True)[1].reshape(-1).astype(np.int64)
    except TypeError as error:
        raise UsageError(f"{name} must be labels of one kind") from error
    return codes


def _rand(contingency: _Contingency, pairs: str) -> float:
    n = contingency.n
    joined, by_cluster, by_truth = (
        int((counts**2).sum()) for counts in (contingency.counts, contingency.by_cluster, contingency.by_truth)
    )
    agree = n * n + 2 * joined - by_cluster - by_truth
    if pairs == "ordered":
        return agree / (n * n)
    return (agree - n) / (n * n - n) if n > 1 else 1.0


def _purity(contingency: _Contingency, *, weighted: bool) -> float:
    most = np.zeros(len(contingency.by_cluster), dtype=np.int64)
    np.maximum.at(most, contingency.cluster, contingency.counts)
    return int(most.sum()) / contingency.n if weighted else float((most / contingency.by_cluster).mean())


def _information(contingency: _Contingency, normalise: str) -> float:
    n, counts = contingency.n, contingency.counts
    expected = contingency.by_cluster[contingency.cluster] * contingency.by_truth[contingency.group]
    nats = max(float((counts * np.log(counts * n / expected)).sum()) / n, 0.0)
    base = math.log(len(contingency.by_cluster) * len(contingency.by_truth))
    if normalise == "nats":
        return nats
    if base == 0:
        return math.nan
    return {"log_kg": nats / base, "gottron": nats / base**2, "strehl": 2 * nats / base}[normalise]
