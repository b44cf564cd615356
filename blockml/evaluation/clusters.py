"""Cluster metrics: agreement of distances and clusterings with known groups, such as the templates of pages.

Every score takes ``clusters`` and ``truth``: (n,) arrays of the cluster and the true group of each document, as labels
of any sortable type. :class:`~blockml.errors.UsageError` is raised if there are no documents or shapes differ.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError, check_name

_PAIRS = ("unordered", "ordered")
_NORMALISATIONS = ("strehl", "gottron", "log_kg", "nats")


def dunn(matrix: ArrayLike, truth: ArrayLike) -> float:
    """Compute the Dunn index: smallest distance between true groups / largest distance within one (Gottron 2008).

    ``matrix`` holds (n, n) distances. The result is at least 0; above 1 the groups are well separated. It is infinite
    if all distances within groups are 0 but none between groups is, and NaN if both are 0 or there are fewer than two
    groups.

    Examples
    --------
    >>> round(dunn([[0, 0.2, 0.9], [0.2, 0, 0.7], [0.9, 0.7, 0]], ["a", "a", "b"]), 6)
    3.5
    """
    groups = _codes(truth, "truth")
    distances = np.asarray(matrix, dtype=np.float64)
    if distances.shape != (len(groups), len(groups)):
        raise UsageError(f"the distances of {len(groups)} documents must be a square, got {distances.shape}")
    same = groups[:, None] == groups
    if same.all():
        return math.nan
    within, between = float(distances[same].max()), float(distances[~same].min())
    if within == 0:
        return math.inf if between > 0 else math.nan
    return between / within


def rand(clusters: ArrayLike, truth: ArrayLike, pairs: str = "unordered") -> float:
    """Compute the Rand index: share of document pairs on which clusters and truth agree, in [0, 1] (Rand 1971).

    ``pairs`` is ``"unordered"``, the standard: each pair of documents once; or ``"ordered"``: all n² pairs, including
    those of a document with itself, which is needed to reproduce the published values of Gottron 2008. Raises
    UnknownNameError for other pairs.

    Examples
    --------
    >>> rand([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), rand([0, 0, 1, 1, 1], [0, 0, 0, 1, 1], pairs="ordered")
    (0.6, 0.68)
    """
    check_name("kind of pairs", pairs, _PAIRS)
    n = len(_labellings(clusters, truth)[1])
    agree = n + int(_sklearn("pair_confusion_matrix", clusters, truth).trace())
    if pairs == "ordered":
        return agree / (n * n)
    return (agree - n) / (n * n - n) if n > 1 else 1.0


def purity(clusters: ArrayLike, truth: ArrayLike, *, weighted: bool = False) -> float:
    """Compute the mean share of a cluster's documents in its most frequent true group, in (0, 1].

    ``weighted`` weights clusters by their size. The averages published by Gottron 2008 are unweighted.

    Examples
    --------
    >>> round(purity([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), 6), purity([0, 0, 1, 1, 1], [0, 0, 0, 1, 1], weighted=True)
    (0.833333, 0.8)
    """
    # The full table would be too large for many clusters.
    joint = _sklearn("contingency_matrix", clusters, truth, sparse=True)
    most, sizes = joint.max(axis=0).toarray()[0], np.asarray(joint.sum(axis=0))[0]
    return int(most.sum()) / int(sizes.sum()) if weighted else float((most / sizes).mean())


def mutual_information(clusters: ArrayLike, truth: ArrayLike, normalise: str = "strehl") -> float:
    """Compute the mutual information of clusters and truth: at least 0; NaN for a single cluster of one group.

    ``normalise``, with k clusters and g groups: ``"nats"`` is the information I itself; ``"log_kg"`` is I / ln(k g),
    that is, with logarithms to the base k g; ``"strehl"`` is 2 I / ln(k g) (Strehl et al. 2000), which is 1 for the
    right clusters of groups of equal size; ``"gottron"`` is I / ln(k g)², which reproduces the values published by
    Gottron 2008. Raises UnknownNameError for other normalisations.

    Examples
    --------
    >>> clusters, truth = [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]
    >>> [round(mutual_information(clusters, truth, how), 6) for how in ("nats", "log_kg", "gottron", "strehl")]
    [0.291103, 0.209987, 0.151473, 0.419973]
    """
    check_name("normalisation", normalise, _NORMALISATIONS)
    found, true = _labellings(clusters, truth)
    nats = max(float(_sklearn("mutual_info_score", found, true)), 0.0)
    if normalise == "nats":
        return nats
    base = math.log((int(found.max()) + 1) * (int(true.max()) + 1))
    if base == 0:
        return math.nan
    return {"log_kg": nats / base, "gottron": nats / base**2, "strehl": 2 * nats / base}[normalise]


def adjusted_rand(clusters: ArrayLike, truth: ArrayLike) -> float:
    """Compute the Rand index corrected for chance: 1 is agreement, 0 is chance (Hubert and Arabie 1985).

    Examples
    --------
    >>> round(adjusted_rand([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), 6)
    0.166667
    """
    return float(_sklearn("adjusted_rand_score", clusters, truth))


def nmi(clusters: ArrayLike, truth: ArrayLike) -> float:
    """Compute the mutual information, normalised by the mean of both entropies, in [0, 1].

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1, 1], [0, 0, 0, 1, 1]), 6)
    0.432538
    """
    # Rounding errors can exceed the range.
    return min(max(float(_sklearn("normalized_mutual_info_score", clusters, truth)), 0.0), 1.0)


def cluster_scores(clusters: ArrayLike, truth: ArrayLike, matrix: ArrayLike | None = None) -> dict[str, float]:
    """Compute all metrics of a clustering.

    Returns counts of ``documents``, ``clusters`` and ``groups``, and metrics by name. ``rand_ordered``, ``purity`` and
    ``mutual_information_gottron`` are comparable with Gottron 2008; ``mutual_information`` is Strehl's. With
    ``matrix``, (n, n) distances, there is also the Dunn index of the true groups.

    Examples
    --------
    >>> scores = cluster_scores([0, 0, 1, 1, 1], [0, 0, 0, 1, 1])
    >>> scores["clusters"], scores["rand"], scores["purity_weighted"]
    (2, 0.6, 0.8)
    """
    found, true = _labellings(clusters, truth)
    scores: dict[str, float] = {
        "documents": len(true),
        "clusters": int(found.max()) + 1,
        "groups": int(true.max()) + 1,
        "rand": rand(found, true),
        "rand_ordered": rand(found, true, "ordered"),
        "adjusted_rand": adjusted_rand(found, true),
        "purity": purity(found, true),
        "purity_weighted": purity(found, true, weighted=True),
        "mutual_information": mutual_information(found, true),
        "mutual_information_gottron": mutual_information(found, true, "gottron"),
        "nmi": nmi(found, true),
    }
    if matrix is not None:
        scores["dunn"] = dunn(matrix, true)
    return scores


_Codes = NDArray[np.int64]


def _labellings(clusters: ArrayLike, truth: ArrayLike) -> tuple[_Codes, _Codes]:
    """Encode both labellings as integers starting at 0."""
    found, true = _codes(clusters, "clusters"), _codes(truth, "truth")
    if len(found) != len(true):
        raise UsageError(f"clusters has {len(found)} labels but truth has {len(true)}")
    return found, true


def _codes(labels: ArrayLike, name: str) -> _Codes:
    array = np.asarray(labels)
    if array.ndim != 1 or not len(array):
        raise UsageError(f"{name} must be a one-dimensional array of at least one label")
    try:
        codes: _Codes = np.unique(array, return_inverse=True)[1].reshape(-1).astype(np.int64)
    except TypeError as error:
        raise UsageError(f"{name} must be labels of one type") from error
    return codes


def _sklearn(name: str, clusters: ArrayLike, truth: ArrayLike, **options: Any) -> Any:  # noqa: ANN401 (untyped)
    from sklearn.metrics import cluster

    found, true = _labellings(clusters, truth)
    with warnings.catch_warnings():
        # Many clusters are legitimate here, but scikit-learn warns of a regression target.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        return getattr(cluster, name)(true, found, **options)
