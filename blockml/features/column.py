"""What a feature column is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_context import PageContext
from blockml.page import Blocks

__all__ = ["Column", "Family", "Row", "columns_of"]

#: Unit of a column, or unit, smallest and largest value.
Row: TypeAlias = str | tuple[str, float, float]


#: Computes columns that share their work: a page to (n_blocks,) numbers by the column's name, or one for all blocks.
Family: TypeAlias = Callable[
    [PageContext], Mapping[str, NDArray[np.generic]] | Mapping[str, NDArray[np.generic] | float]
]


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
    """Blocks to (n_blocks,) float32; None for what a family computes, or :func:`blockml.features.build` is given."""
    values: tuple[str, ...] = ()
    """Names of the codes 0, 1, 2 … of a nominal column; empty for a numeric one."""
    family: Family | None = None
    """What computes it together with others, from the whole page."""


def columns_of(
    family: Family | None,
    source: str,
    rows: Mapping[str, Row],
    *,
    values: Mapping[str, tuple[str, ...]] = {},
) -> tuple[Column, ...]:
    """Columns of one family: by name the unit, or the unit with the smallest and largest value.

    Without a family the columns are given from outside; see :attr:`Column.compute`.

    Amounts are from 0 on unless it is said otherwise; beyond the ends of a page they are 0.
    """
    columns = []
    for name, row in rows.items():
        unit, low, high = (row, 0.0, np.inf) if isinstance(row, str) else row
        columns.append(Column(name, unit, low, high, 0, source, None, values.get(name, ()), family))
    return tuple(columns)
