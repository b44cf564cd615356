"""Metrics of extraction quality, and the statistical uncertainty of their means.

========================  =========================================================================
:mod:`~.blocks`           precision, recall and F1 over labelled blocks, main-content class
:mod:`~.words`            word-level scores of the text: LCS, bag of words, shingles, snippets
:mod:`~.bootstrap`        bootstrap intervals of means and of paired differences; means per site
:mod:`~.run`              evaluation of one extractor on one data set
:mod:`~.comparison`       comparison of many systems on many data sets
========================  =========================================================================
"""

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

__all__ = [
    "BlockScores", "Difference", "Interval", "Resampled", "SnippetRates", "WordScores", "bag_scores", "block_scores",
    "bootstrap_mean", "bootstrap_systems", "lcs_scores", "mean_of_means", "means_by", "paired_difference",
    "shingle_scores", "snippet_rates",
]  # fmt: skip
