"""Codes of element names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class TagTable:
    """Codes of element names.

    Examples
    --------
    >>> TagTable({"p": 5, "li": 7}, other=1).of(("#text", "p", "li")).tolist()
    [1, 5, 7, 0]
    """

    codes: Mapping[str, int]
    other: int = 0  #: Code of all other names
    none: int = 0  #: Code of "no node"
    dtype: DTypeLike = np.int64

    def of(self, names: Sequence[str]) -> NDArray[np.generic]:
        """Look the names of a page's tags up: (n_names + 1,) codes, the last one that of "no node"."""
        return np.array([*(self.codes.get(name, self.other) for name in names), self.none], dtype=self.dtype)
