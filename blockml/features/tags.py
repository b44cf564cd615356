"""Tables of element names, asked for all names of a page at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["PLACES", "TagTable", "tag_places"]

#: Places of the names that tables tell apart, so that a page's names are looked up once, not for each table. The first
#: two are for all others, and for "no node".
_OTHER, _NONE = 0, 1
PLACES: dict[str, int] = {}


class TagTable:
    """Codes of element names. Tables are made while modules are loaded: a page's places know only those of then.

    Parameters
    ----------
    codes
        By name.
    other
        Code of all other names.
    none
        Code of "no node".
    dtype
        Type of the codes.

    Examples
    --------
    >>> table = TagTable({"p": 5, "li": 7}, other=1)
    >>> table.of(tag_places(("#text", "p", "li"))).tolist()
    [1, 5, 7, 0]
    """

    def __init__(self, codes: Mapping[str, int], *, other: int = 0, none: int = 0, dtype: DTypeLike = np.int64) -> None:
        for name in codes:
            PLACES.setdefault(name, len(PLACES) + 2)
        self._codes, self._other, self._none = dict(codes), other, none
        self._values = np.zeros(0, dtype=dtype)

    def of(self, places: NDArray[np.intp]) -> NDArray[np.generic]:
        """(n_tags + 1,) codes of a page's names, and of "no node"; see :func:`tag_places`."""
        if len(self._values) != len(PLACES) + 2:  # tables made since then know more names
            values = np.full(len(PLACES) + 2, self._other, dtype=self._values.dtype)
            values[_NONE] = self._none
            for name, code in self._codes.items():
                values[PLACES[name]] = code
            self._values = values
        return self._values.take(places)


def tag_places(names: Sequence[str]) -> NDArray[np.intp]:
    """(n_tags + 1,) places of a page's names, and of "no node", in any :class:`TagTable` made so far."""
    return np.array([*map(PLACES.get, names, repeat(_OTHER)), _NONE], dtype=np.intp)
