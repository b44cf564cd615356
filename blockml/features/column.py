"""Specification of a feature column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_context import PageContext
from blockml.page import Blocks

#: Unit of a column, or unit, smallest and largest value.
ColumnRange: TypeAlias = str | tuple[str, float, float]

#: Function from a page to columns that share intermediate results: (n_blocks,) numbers by name, or one for all blocks.
Family: TypeAlias = Callable[
    [PageContext], Mapping[str, NDArray[np.generic]] | Mapping[str, NDArray[np.generic] | float]
]


@dataclass(frozen=True, slots=True)
class Column:
    """A base column: a number per block, from which columns of neighbours are made."""

    name: str  #: Letters and digits; feature sets append the neighbour and the value
    unit: str  #: Unit of its values
    low: float  #: Smallest possible value
    high: float  #: Largest possible value
    empty: float  #: Value of neighbours beyond either end of the page
    source: str  #: Paper and section
    #: Function from blocks to (n_blocks,) float32; None if a family computes the column or the caller gives it
    compute: Callable[[Blocks], NDArray[np.float32]] | None
    values: tuple[str, ...] = ()  #: Names of the codes 0, 1, 2 … of a nominal column; empty for a numeric one
    family: Family | None = None  #: Function that computes it, together with others, from the page


def columns_of(family: Family, source: str, rows: Mapping[str, ColumnRange]) -> tuple[Column, ...]:
    """Make the numeric columns of a family, from paper and section, and the row of each column by name.

    The default range is 0 to infinity. Values of neighbours beyond the ends of a page are 0.
    """
    columns = []
    for name, row in rows.items():
        unit, low, high = (row, 0.0, np.inf) if isinstance(row, str) else row
        columns.append(Column(name, unit, low, high, 0, source, None, family=family))
    return tuple(columns)
