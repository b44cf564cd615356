"""Measure how often the texts, blocks, paths and words of a page are repeated on its site."""

from blockml.templates.frequency.counts import Counts
from blockml.templates.frequency.measures import (
    MIN_TRAIN,
    THETA,
    FallbackReason,
    Measures,
    block_frequency,
    dynamic_theta,
    entropy_rule,
    fallback_reason,
    ibdf_rule,
    kept_share,
    kept_texts,
    measure,
    text_frequency,
    too_few,
)
from blockml.templates.frequency.site_counts import SiteCounts

__all__ = [
    "MIN_TRAIN", "THETA", "Counts", "FallbackReason", "Measures", "SiteCounts", "block_frequency", "dynamic_theta",
    "entropy_rule", "fallback_reason", "ibdf_rule", "kept_share", "kept_texts", "measure", "text_frequency", "too_few",
]  # fmt: skip
