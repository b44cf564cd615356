"""Metrics of extraction quality, and the statistical uncertainty of their means.

========================  =========================================================================
:mod:`~.metrics`          precision, recall and F1 over labelled blocks, and over words of the text
:mod:`~.clusters`         agreement of clusterings with known groups
:mod:`~.bootstrap`        bootstrap intervals of means and of paired differences; means per site
:mod:`~.page_results`     evaluation of one extractor on one data set
:mod:`~.comparison`       comparison of many systems on many data sets
========================  =========================================================================
"""

from typing import TYPE_CHECKING

from blockml.evaluation.bootstrap import (
    Difference,
    Interval,
    Resampled,
    bootstrap_mean,
    bootstrap_systems,
    mean_of_means,
    means_by,
    paired_difference,
)
from blockml.evaluation.clusters import adjusted_rand, cluster_scores, dunn, mutual_information, nmi, purity, rand
from blockml.evaluation.metrics import (
    BlockScores,
    SnippetRates,
    WordScores,
    bag_scores,
    block_scores,
    lcs_scores,
    shingle_scores,
    snippet_rates,
)
from blockml.page.lazy import imported_later as _imported_later

if TYPE_CHECKING:
    from blockml.evaluation.page_results import Seen, evaluate_extractor, find_seen, summarise

__all__ = [
    "BlockScores", "Difference", "Interval", "Resampled", "Seen", "SnippetRates", "WordScores", "adjusted_rand",
    "bag_scores", "block_scores", "bootstrap_mean", "bootstrap_systems", "cluster_scores", "dunn", "evaluate_extractor",
    "find_seen", "lcs_scores", "mean_of_means", "means_by", "mutual_information", "nmi", "paired_difference", "purity",
    "rand", "shingle_scores", "snippet_rates", "summarise",
]  # fmt: skip

#: Modules of the names that are imported on first use, because they need the extra ``train``.
_LATER = dict.fromkeys(("Seen", "evaluate_extractor", "find_seen", "summarise"), "blockml.evaluation.page_results")

if not TYPE_CHECKING:  # type checkers would take any name for granted
    __getattr__ = _imported_later(__name__, _LATER)
