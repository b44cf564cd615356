"""LCTS, a distance between tag sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from blockml.templates.distances.base import MAX_NODES, Metric, check_count, check_size
from blockml.templates.distances.hashing import Codes
from blockml.templates.distances.sketches import PageSketch, tag_sequence
from blockml.text.lcs import lcs_length

__all__ = ["LongestCommonTagSubsequence"]


@dataclass(frozen=True)
class LongestCommonTagSubsequence(Metric[Codes]):
    """Distance LCTS (Gottron 2008): 1 - LCS / max(t₁, t₂) over start and end tags; 0 for two pages without tags.

    Cost O(t₁ · t₂ / w) with integers of w bits.
    """

    name: ClassVar[str] = "lcts"

    max_nodes: int = MAX_NODES

    def __post_init__(self) -> None:
        check_count("max_nodes", self.max_nodes)

    def prepare(self, page: PageSketch) -> Codes:
        """Return the tag sequence; raise UsageError for more than ``max_nodes`` elements."""
        check_size(self.name, len(page), self.max_nodes)
        return tag_sequence(page)

    def compare(self, a: Codes, b: Codes) -> float:
        """Return the distance of two tag sequences, in [0, 1]."""
        if not (len(a) and len(b)):
            return float(len(a) != len(b))
        # Pages of one template agree at both ends: arrays cut that off faster than the LCS of Python integers would.
        shorter = min(len(a), len(b))
        differ = np.flatnonzero(a[:shorter] != b[:shorter])
        prefix = int(differ[0]) if len(differ) else shorter
        differ = np.flatnonzero(a[::-1][: shorter - prefix] != b[::-1][: shorter - prefix])
        suffix = int(differ[0]) if len(differ) else shorter - prefix
        inner = lcs_length(a[prefix : len(a) - suffix].tolist(), b[prefix : len(b) - suffix].tolist())
        return 1 - (prefix + inner + suffix) / max(len(a), len(b))
