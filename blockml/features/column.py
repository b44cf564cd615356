"""What a feature column is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page import Blocks

__all__ = ["Column"]


@dataclass(frozen=True, slots=True)
class Column:
    """One base column: a number per block, before neighbours are looked at."""

    name: str
    """Letters and digits; neighbours and values are appended by feature sets, see :class:`FeatureSet`."""
    unit: str
    """What one unit of it is."""
    low: float
    """Smallest possible value."""
    high: float
    """Largest possible value."""
    empty: float
    """Value of a neighbour that does not exist, beyond either end of the page."""
    source: str
    """Paper and section."""
    compute: Callable[[Blocks], NDArray[np.float32]] | None
    """Blocks to (n_blocks,) float32; None for what blocks alone don't tell, and :func:`blockml.features.build` is
    given."""
    values: tuple[str, ...] = ()
    """Names of the codes 0, 1, 2 … of a nominal column; empty for a numeric one."""
