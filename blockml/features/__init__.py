"""Page in, matrix out: one float32 row per block, one column per feature of a named set."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.catalogue import COLUMNS, FEATURE_SETS, FeatureSet, describe, feature_set, split_name
from blockml.features.view import View
from blockml.page import Page

__all__ = ["COLUMNS", "FEATURE_SETS", "FeatureSet", "build", "describe", "feature_set", "shift"]


_NOTHING: Mapping[str, NDArray[np.float32]] = MappingProxyType({})


def build(
    page: Page,
    features: str | FeatureSet = "kim2013",
    given: Mapping[str, NDArray[np.float32]] = _NOTHING,
    view: View | None = None,
) -> NDArray[np.float32]:
    """Compute the features of every block of a page.

    Parameters
    ----------
    page
        A parsed page.
    features
        A feature set or its name: ``kim2013`` are the paper's 25 attributes (word density, link density, parent
        tag as a code, lines to the block before and after, of the block and two neighbours on each side);
        ``kim2013-onehot`` has a 0/1 column for each parent tag instead, 140 in all.
    given
        (n_blocks,) values of base columns that blocks alone don't tell, by name. For sets that have such columns call
        :func:`blockml.extractors.matrix.matrix`, which makes them.
    view
        The page's view, where there is one already.

    Returns
    -------
    NDArray[np.float32]
        (n_blocks, n_columns). A page without blocks gives no rows.

    Raises
    ------
    UnknownNameError
        No such feature set.
    UsageError
        A column that has to be given is not.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats <a href='/'>rule</a> the world.</p>")
    >>> build(page, "boilerpipe6").tolist()
    [[0.0, 0.0, 1.0, 0.0, 4.0, 0.25], [1.0, 0.0, 4.0, 0.25, 0.0, 0.0]]
    """
    chosen = feature_set(features) if isinstance(features, str) else features
    numeric, one_hot = _plan(chosen.columns)
    n = len(page.blocks)
    matrix = np.zeros((n, len(chosen.columns)), dtype=np.float32)
    if n == 0:
        return matrix
    used = sorted({base for base, _, _ in numeric} | {base for base, _, _ in one_hot})
    bases = _bases(view or View(page), used, given)
    for base, offset, column in numeric:
        matrix[:, column] = shift(bases[base], offset, COLUMNS[base].empty)
    rows = np.arange(n)
    for base, offset, column_of_code in one_hot:
        codes = shift(bases[base], offset, COLUMNS[base].empty).astype(np.intp)
        columns = np.array(column_of_code)[codes]
        wanted = columns >= 0
        matrix[rows[wanted], columns[wanted]] = 1
    return matrix


def _bases(
    view: View, used: Sequence[str], given: Mapping[str, NDArray[np.float32]]
) -> Mapping[str, NDArray[np.float32]]:
    """Values of base columns by name; a family is computed once."""
    values = dict(given)
    for base in used:
        column = COLUMNS[base]
        if base in values:
            continue
        if column.family is not None:
            together = column.family(view)
            values |= {name: together[name].astype(np.float32) for name in together if name not in given}
        elif column.compute is not None:
            values[base] = column.compute(view.blocks)
        else:
            raise UsageError(f"blocks alone don't tell the column {base!r}: use blockml.extractors.matrix.matrix")
    return values


def shift(values: NDArray[np.float32], offset: int, empty: float) -> NDArray[np.float32]:
    """Values of the blocks ``offset`` further on; ``empty`` beyond the ends.

    Examples
    --------
    >>> shift(np.array([1, 2, 3], np.float32), -1, 0).tolist()
    [0.0, 1.0, 2.0]
    """
    if offset == 0:
        return values
    result = np.full_like(values, empty)
    if offset > 0:
        result[:-offset] = values[offset:]
    else:
        result[-offset:] = values[:offset]
    return result


Numeric = tuple[str, int, int]
OneHot = tuple[str, int, tuple[int, ...]]


@functools.cache
def _plan(columns: tuple[str, ...]) -> tuple[tuple[Numeric, ...], tuple[OneHot, ...]]:
    """Plain columns as (base, offset, position), one-hot groups as (base, offset, position of each code or -1)."""
    numeric: list[Numeric] = []
    groups: dict[tuple[str, int], list[int]] = {}
    for position, name in enumerate(columns):
        base, offset, code = split_name(name)
        if code is None:
            numeric.append((base, offset, position))
        else:
            groups.setdefault((base, offset), [-1] * len(COLUMNS[base].values))[code] = position
    return tuple(numeric), tuple((base, offset, tuple(places)) for (base, offset), places in groups.items())
