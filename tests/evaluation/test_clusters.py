"""Scores of clusterings, and the published ones."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.evaluation import adjusted_rand, cluster_scores, dunn, mutual_information, nmi, purity, rand
from blockml.templates.clustering import k_medoids_runs, single_linkage
from tests.templates.clustering.made import example, groups_apart

TRUTH, CLUSTERS = [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]

#: The corpus of Gottron 2008: a hundred pages from each of five sites.
SITES = np.repeat(np.arange(5), 100)

#: One page of the first site is a cluster, and its 99 other pages are together with the second site.
TWO_JOINED_BUT_FOR_ONE = np.where(SITES == 1, 0, SITES)
TWO_JOINED_BUT_FOR_ONE[0] = 5

#: Three sites in one cluster.
THREE_JOINED = np.where(SITES < 3, 0, SITES)

#: Gottron 2008, tables 3 and 4: clusters, Rand index, average purity and mutual information by method.
PUBLISHED: dict[str, tuple[NDArray[np.int64], int, float, float, float]] = {
    "RTDM, five clusters": (TWO_JOINED_BUT_FOR_ONE, 5, 0.9200, 0.9005, 0.1287),
    "TV, five clusters": (TWO_JOINED_BUT_FOR_ONE, 5, 0.9200, 0.9005, 0.1287),
    "CP, five clusters": (SITES, 5, 1.0000, 1.0000, 0.1553),
    "CPS, five clusters": (SITES, 5, 1.0000, 1.0000, 0.1553),
    "LCTS, five clusters": (SITES, 5, 1.0000, 1.0000, 0.1553),
    "CTSS, five clusters": (SITES, 5, 1.0000, 1.0000, 0.1553),
    "CP at 0.7": (SITES, 5, 1.0000, 1.0000, 0.1553),
    "CP at 0.9": (THREE_JOINED, 3, 0.7600, 0.7778, 0.1296),
    "CTSS at 0.85": (SITES, 5, 1.0000, 1.0000, 0.1553),
    "CPS at 0.6": (SITES, 5, 1.0000, 1.0000, 0.1553),
}

#: Gottron 2008, table 2: averages over a hundred runs of k-median.
AVERAGES = {
    "RTDM": (0.9608, 0.9613, 0.1444),
    "TV": (0.9399, 0.9235, 0.1354),
    "CP": (0.9560, 0.9535, 0.1432),
    "CPS": (0.9140, 0.9057, 0.1302),
    "LCTS": (0.9157, 0.8629, 0.1250),
    "CTSS": (0.9293, 0.9218, 0.1350),
}

pairs_of_labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


def split(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the clusters and the truth."""
    return [cluster for cluster, _ in pairs], [true for _, true in pairs]


def scores_by_hand(clusters: list[int], truth: list[int]) -> dict[str, float]:
    """Return the scores, computed pair by pair and cluster by cluster."""
    n = len(truth)
    agreements = [(clusters[i] == clusters[j]) == (truth[i] == truth[j]) for i in range(n) for j in range(n)]
    once = [(clusters[i] == clusters[j]) == (truth[i] == truth[j]) for i, j in combinations(range(n), 2)]
    members = {c: [t for d, t in zip(clusters, truth, strict=True) if d == c] for c in clusters}
    most = {c: max(Counter(values).values()) for c, values in members.items()}
    joint, by_cluster, by_truth = Counter(zip(clusters, truth, strict=True)), Counter(clusters), Counter(truth)
    nats = sum(c / n * math.log(c * n / by_cluster[a] / by_truth[b]) for (a, b), c in joint.items())
    base = math.log(len(by_cluster) * len(by_truth))
    return {
        "documents": n,
        "clusters": len(by_cluster),
        "groups": len(by_truth),
        "rand": sum(once) / len(once) if once else 1.0,
        "rand_ordered": sum(agreements) / n**2,
        "purity": sum(most[c] / len(members[c]) for c in members) / len(members),
        "purity_weighted": sum(most.values()) / n,
        "mutual_information": 2 * nats / base if base else math.nan,
        "mutual_information_gottron": nats / base**2 if base else math.nan,
    }


def published_matrix(name: str) -> NDArray[np.float64]:
    """Return invented distances of 500 pages that single linkage clusters as published."""
    if name in {"RTDM", "TV"}:
        matrix = groups_apart(SITES, (0.1, 0.3), (0.6, 0.9))
        one, siblings, second = 0, SITES == 0, SITES == 1
        matrix[one, siblings] = matrix[siblings, one] = 0.5
        matrix[one, one] = 0
        siblings[one] = False
        matrix[np.ix_(siblings, second)] = matrix[np.ix_(second, siblings)] = 0.4
        return matrix
    within, apart = {"CPS": ((0.1, 0.5), (0.7, 0.9)), "CTSS": ((0.2, 0.8), (0.9, 1))}.get(name, ((0.1, 0.6), (0.95, 1)))
    matrix = groups_apart(SITES, within, apart)
    if name == "CP":  # the first three sites are closer to each other
        matrix = np.where((matrix > 0.9) & (SITES < 3) & (SITES < 3)[:, None], matrix - 0.15, matrix)
    return matrix


def test_example_of_the_dunn_index() -> None:
    """The Dunn index is the smallest distance between clusters divided by the largest diameter."""
    assert dunn(example(), TRUTH) == pytest.approx(2.333333, abs=1e-6)


def test_example_of_the_rand_index() -> None:
    """The Rand index counts unordered pairs by default, and ordered ones like the paper."""
    assert rand(CLUSTERS, TRUTH) == 0.6
    assert rand(CLUSTERS, TRUTH, pairs="ordered") == 0.68


def test_example_of_purity() -> None:
    """Purity is the mean over clusters, optionally weighted by their sizes."""
    assert purity(CLUSTERS, TRUTH) == pytest.approx(0.833333, abs=1e-6)
    assert purity(CLUSTERS, TRUTH, weighted=True) == 0.8


def test_example_of_mutual_information() -> None:
    """Mutual information can be normalised in four ways."""
    expected = {"nats": 0.291103, "log_kg": 0.209987, "gottron": 0.151473, "strehl": 0.419973}
    for normalise, value in expected.items():
        assert mutual_information(CLUSTERS, TRUTH, normalise) == pytest.approx(value, abs=1e-6)
    assert mutual_information(CLUSTERS, TRUTH) == mutual_information(CLUSTERS, TRUTH, "strehl")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_scores_are_reproduced_to_four_decimals(name: str) -> None:
    """The clusterings behind tables 3 and 4 of Gottron 2008 give all thirty published values."""
    clusters, n_clusters, rand_index, average_purity, information = PUBLISHED[name]
    scores = cluster_scores(clusters, SITES)
    assert scores["clusters"] == n_clusters
    assert f"{scores['rand_ordered']:.4f}" == f"{rand_index:.4f}"
    assert f"{scores['purity']:.4f}" == f"{average_purity:.4f}"
    assert f"{scores['mutual_information_gottron']:.4f}" == f"{information:.4f}"


@pytest.mark.parametrize(
    ("clusters", "values"),
    [
        (SITES, (1.609438, 0.500000, 0.155334, 1.0)),
        (THREE_JOINED, (0.950271, 0.350906, 0.129579, 0.701812)),
        (TWO_JOINED_BUT_FOR_ONE, (1.333570, 0.414297, 0.128709, 0.828594)),
    ],
)
def test_published_information_in_every_normalisation(clusters: NDArray[np.int64], values: tuple[float, ...]) -> None:
    """Each normalisation of mutual information has the expected value to six decimals."""
    found = [mutual_information(clusters, SITES, how) for how in ("nats", "log_kg", "gottron", "strehl")]
    assert found == pytest.approx(values, abs=2e-6)


def test_published_rand_index_counts_ordered_pairs() -> None:
    """Only the index of ordered pairs gives the published .7600; the standard index is .7595."""
    assert rand(THREE_JOINED, SITES) == pytest.approx(0.759519, abs=1e-6)
    assert rand(THREE_JOINED, SITES, pairs="ordered") == 0.76
    assert rand(TWO_JOINED_BUT_FOR_ONE, SITES) == pytest.approx(0.919848, abs=1e-6)
    assert rand(TWO_JOINED_BUT_FOR_ONE, SITES, pairs="ordered") == pytest.approx(0.920008, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "settings", "row"),
    [(name, {"k": 5}, f"{name}, five clusters") for name in ("RTDM", "TV", "CP", "CPS", "LCTS", "CTSS")]
    + [
        ("CP", {"threshold": 0.7}, "CP at 0.7"),
        ("CP", {"threshold": 0.9}, "CP at 0.9"),
        ("CTSS", {"threshold": 0.85}, "CTSS at 0.85"),
        ("CPS", {"threshold": 0.6}, "CPS at 0.6"),
    ],
)
def test_single_linkage_makes_the_published_clusters(name: str, settings: dict[str, Any], row: str) -> None:
    """Single linkage finds the published clusters from distances with the gaps of the paper, in any order of pages."""
    order = np.random.default_rng(0).permutation(len(SITES))
    clustering = single_linkage(published_matrix(name)[np.ix_(order, order)], **settings)
    assert clustering.n_clusters == PUBLISHED[row][1]
    assert rand(clustering.labels, PUBLISHED[row][0][order]) == 1
    scores = cluster_scores(clustering.labels, SITES[order])
    found = [scores[score] for score in ("rand_ordered", "purity", "mutual_information_gottron")]
    assert found == pytest.approx(PUBLISHED[row][2:], abs=5e-5)


@pytest.mark.parametrize("name", AVERAGES)
def test_published_averages_are_possible(name: str) -> None:
    """The averages in table 2 of Gottron 2008 are below the scores of the right clusters.

    They can't be computed again, because they are averages over random starts on pages that were not
    published.
    """
    best = cluster_scores(SITES, SITES)
    limits = [best[score] for score in ("rand_ordered", "purity", "mutual_information_gottron")]
    assert all(0 < value < limit for value, limit in zip(AVERAGES[name], limits, strict=True))


@pytest.mark.parametrize("name", ["RTDM", "CP"])
def test_published_averages_are_consistent(name: str) -> None:
    """The three averages of a distance follow from one share of failed runs.

    A failed run of k-median mostly merges two sites and splits a third. The share of these runs that gives the printed
    Rand index also gives the printed purity and information to within .003, so these are normalised as in table 3.
    """
    wrong = np.where(SITES == 1, 0, SITES)
    wrong[400:450] = 5
    right, failed = cluster_scores(SITES, SITES), cluster_scores(wrong, SITES)
    assert failed["rand_ordered"] == pytest.approx(0.9)
    share = (1 - AVERAGES[name][0]) / (1 - failed["rand_ordered"])
    for score, printed in zip(("purity", "mutual_information_gottron"), AVERAGES[name][1:], strict=True):
        assert (1 - share) * right[score] + share * failed[score] == pytest.approx(printed, abs=0.003)


def test_k_medoids_is_worse_than_single_linkage() -> None:
    """As in Gottron 2008, k-medoids doesn't find the right clusters in every run, but single linkage does."""
    matrix = published_matrix("CPS")
    runs = k_medoids_runs(matrix, 5, n_runs=30)
    found = np.array([rand(run.labels, SITES, pairs="ordered") for run in runs.runs])
    assert 0.8 < found.mean() < 1
    assert found.max() == 1
    assert rand(runs.best.labels, SITES) == 1
    assert rand(single_linkage(matrix, k=5).labels, SITES) == 1


@given(pairs_of_labels)
def test_scores_equal_counts_by_hand(pairs: list[tuple[int, int]]) -> None:
    """All scores equal those computed pair by pair and cluster by cluster."""
    clusters, truth = split(pairs)
    scores = cluster_scores(clusters, truth)
    expected = scores_by_hand(clusters, truth)
    assert {name: scores[name] for name in expected} == pytest.approx(expected, nan_ok=True, abs=1e-12)


@given(pairs_of_labels)
def test_scores_equal_those_of_sklearn(pairs: list[tuple[int, int]]) -> None:
    """Scores equal those of scikit-learn, as far as it has them."""
    from sklearn import metrics

    clusters, truth = split(pairs)
    assert rand(clusters, truth) == pytest.approx(metrics.rand_score(truth, clusters))
    assert mutual_information(clusters, truth, "nats") == pytest.approx(
        metrics.mutual_info_score(truth, clusters), abs=1e-12
    )
    assert adjusted_rand(clusters, truth) == pytest.approx(metrics.adjusted_rand_score(truth, clusters))
    assert nmi(clusters, truth) == pytest.approx(metrics.normalized_mutual_info_score(truth, clusters), abs=1e-12)


@given(pairs_of_labels)
def test_names_of_clusters_do_not_matter(pairs: list[tuple[int, int]]) -> None:
    """Renaming clusters and groups doesn't change the scores."""
    clusters, truth = split(pairs)
    renamed = cluster_scores(["zyxwv"[c] for c in clusters], ["edcba"[t] for t in truth])
    assert renamed == pytest.approx(cluster_scores(clusters, truth), nan_ok=True)


@given(pairs_of_labels)
def test_scores_are_in_their_ranges(pairs: list[tuple[int, int]]) -> None:
    """Scores are in their ranges, and the true clustering has the best value."""
    clusters, truth = split(pairs)
    scores = cluster_scores(clusters, truth)
    for name in ("rand", "rand_ordered", "purity", "purity_weighted", "nmi"):
        assert 0 <= scores[name] <= 1
    assert scores["adjusted_rand"] >= -0.5
    assert mutual_information(clusters, truth, "nats") >= 0
    right = cluster_scores(truth, truth)
    for name in ("rand", "rand_ordered", "purity", "purity_weighted", "nmi", "adjusted_rand"):
        assert right[name] == pytest.approx(1)


def test_dunn_index_equals_a_search_over_pairs() -> None:
    """The index equals that of a search over all pairs of random distances."""
    truth = np.random.default_rng(1).integers(3, size=20)
    matrix = groups_apart(truth, (0.1, 0.8), (0.4, 0.9))
    pairs = list(combinations(range(20), 2))
    within = max(matrix[i, j] for i, j in pairs if truth[i] == truth[j])
    apart = min(matrix[i, j] for i, j in pairs if truth[i] != truth[j])
    assert dunn(matrix, truth) == apart / within
    assert cluster_scores(truth, truth, matrix)["dunn"] == apart / within
    assert "dunn" not in cluster_scores(truth, truth)


def test_dunn_index_of_edge_cases() -> None:
    """The Dunn index is infinite without distances inside groups, and undefined without distances between them."""
    assert dunn([[0, 1], [1, 0]], [0, 1]) == math.inf
    assert math.isnan(dunn(np.zeros((2, 2)), [0, 1]))
    assert math.isnan(dunn([[0, 1], [1, 0]], [0, 0]))
    assert dunn([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [0, 0, 1]) == 0


def test_one_cluster_of_one_group_has_no_normalised_information() -> None:
    """Normalised information is undefined for a single cluster, because the logarithm of 1 is 0."""
    assert mutual_information([0, 0], [1, 1], "nats") == 0
    for normalise in ("strehl", "gottron", "log_kg"):
        assert math.isnan(mutual_information([0, 0], [1, 1], normalise))
    assert (rand([3], [4]), rand([3], [4], "ordered"), purity([3], [4])) == (1, 1, 1)


def test_many_clusters_need_no_table_of_all_pairs() -> None:
    """Twenty thousand clusters are scored without a table of 400 million cells."""
    each = np.arange(20_000)
    assert rand(each, each) == 1
    assert mutual_information(each, each, "nats") == pytest.approx(math.log(20_000))


@pytest.mark.parametrize("score", [rand, purity, mutual_information, adjusted_rand, nmi, cluster_scores])
@pytest.mark.parametrize(
    ("clusters", "truth", "message"),
    [
        ([0, 1], [0], "clusters has 2 labels but truth has 1"),
        ([], [], "at least one label"),
        ([[0]], [[0]], "one-dimensional"),
        (np.array([0, "a"], dtype=object), [0, 1], "labels of one type"),
    ],
)
def test_unusable_labels_are_refused(score: Any, clusters: Any, truth: Any, message: str) -> None:
    """Labels that are empty, two-dimensional, of different lengths or not comparable are refused."""
    with pytest.raises(UsageError, match=message):
        score(clusters, truth)


def test_unknown_names_and_shapes_are_refused() -> None:
    """The error lists the legal names."""
    with pytest.raises(UnknownNameError, match="ordered, unordered"):
        rand(CLUSTERS, TRUTH, pairs="all")
    with pytest.raises(UnknownNameError, match="gottron, log_kg, nats, strehl"):
        mutual_information(CLUSTERS, TRUTH, normalise="max")
    with pytest.raises(UsageError, match="5 documents must be a square"):
        dunn(np.zeros((4, 4)), TRUTH)
