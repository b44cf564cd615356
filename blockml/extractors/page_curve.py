"""Curve along the entries of a page, for plots of methods that read pages from start to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PageCurve:
    """A page as ``n`` entries (characters or tokens), with the curve that the decision is based on."""

    unit: str  #: Plural name of the entries
    is_content: NDArray[np.bool_]  #: (n,) whether an entry is content; else it is code
    name: str  #: Name of the curve
    values: NDArray[np.float64]  #: (n,) the curve, in [0, 1]
    threshold: float  #: Threshold of the curve
    keeps_above: bool  #: Whether text at or above the threshold is kept; else at or below
    block: NDArray[np.int32]  #: (n,) block of an entry; −1 for code and for text outside of blocks
    facts: Mapping[str, str] = field(default_factory=dict)  #: Parameters and results in words
    #: (n,) non-decreasing curve, such as the document slope curve, as a share of its last value; None without one
    total: NDArray[np.float64] | None = None
    total_name: str = ""  #: Name of that curve
