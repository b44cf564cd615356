"""Curve along a page, entry by entry, of a method that reads pages along their length; to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PageCurve:
    """A page as ``n`` entries, characters or tokens, with the curve that decides about them."""

    unit: str  #: Plural name of the entries
    is_content: NDArray[np.bool_]  #: (n,) whether an entry is content; else it is code
    name: str  #: Name of the curve
    values: NDArray[np.float64]  #: (n,) the curve, in [0, 1]
    threshold: float  #: Value that decides
    keeps_above: bool  #: Whether text at or above the threshold is kept; else at or below
    block: NDArray[np.int32]  #: (n,) block of an entry; −1 for code and for text outside of blocks
    facts: Mapping[str, str] = field(default_factory=dict)  #: Parameters and results in words
    #: (n,) curve that only grows, such as the document slope curve, as a share of its end; None without one
    total: NDArray[np.float64] | None = None
    total_name: str = ""  #: Name of that curve
