"""A page and its site in, how much of it repeats there out: counts of texts, blocks, paths, words and block vectors."""

from blockml.templates.frequency.counts import Counts
from blockml.templates.frequency.measures import Measures, measure
from blockml.templates.frequency.rules import (
    MIN_TRAIN,
    THETA,
    Doubt,
    block_frequency,
    dynamic_theta,
    entropy_rule,
    ibdf_rule,
    kept_share,
    kept_texts,
    text_frequency,
    too_few,
    verdict,
)
from blockml.templates.frequency.site import SiteCounts

__all__ = [
    "MIN_TRAIN",
    "THETA",
    "Counts",
    "Doubt",
    "Measures",
    "SiteCounts",
    "block_frequency",
    "dynamic_theta",
    "entropy_rule",
    "ibdf_rule",
    "kept_share",
    "kept_texts",
    "measure",
    "text_frequency",
    "too_few",
    "verdict",
]
