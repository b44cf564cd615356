"""Page in, matrix out: one float32 row per block, one column per feature of a named set."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.column import Family, Rows, names_of
from blockml.features.feature_sets import COLUMNS, FEATURE_SETS, FeatureSet, describe, feature_set, split_name
from blockml.features.kernel_families import FAMILIES, SHIFTED, computed, steps_of, write
from blockml.features.kernel_page import Steps
from blockml.features.page_context import PageContext
from blockml.page import Page

__all__ = ["COLUMNS", "FEATURE_SETS", "FeatureSet", "build", "describe", "feature_set"]


_NOTHING: Mapping[str, NDArray[np.float32]] = MappingProxyType({})


def build(
    page: Page,
    features: str | FeatureSet = "kim2013",
    given: Mapping[str, NDArray[np.float32]] = _NOTHING,
    view: PageContext | None = None,
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
        (n_blocks, n_columns), column by column in memory. A page without blocks gives no rows.

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
    n = len(page.blocks)
    plan = _plan(chosen.columns)
    columns = np.empty((len(chosen.columns), n), dtype=np.float32)
    if n:
        view, parts = view or PageContext(page), plan.parts
        if plan.steps is not None and not given and (sheet := view.sheet) is not None:
            write(view, sheet, plan.steps, columns)
            parts = plan.others
        # A family's values are dropped before the next one's are made: memory is soon warm, and little of it is needed.
        for part in parts:
            _fill(columns, part, _values(part, view, given))
    return columns.T


def _values(
    part: _Part, view: PageContext, given: Mapping[str, NDArray[np.float32]]
) -> Mapping[str, NDArray[np.generic] | float]:
    """Values of the base columns of a part by name."""
    if part.family is not None:
        found = computed(part.family, view)
        return {**found, **given} if given else found
    values: dict[str, NDArray[np.generic] | float] = dict(given)
    for base in part.bases:
        compute = COLUMNS[base].compute
        if base in values:
            continue
        if compute is None:
            raise UsageError(f"blocks alone don't tell the column {base!r}: use blockml.extractors.matrix.matrix")
        values[base] = compute(view.blocks)
    return values


def _fill(columns: NDArray[np.float32], part: _Part, values: Mapping[str, NDArray[np.generic] | float]) -> None:
    """Write the columns of a part."""
    if part.is_whole and isinstance(values, Rows):
        columns[part.run] = values.array
    else:
        for base, place in part.own:
            columns[place] = values[base]
    for base, offset, place in part.others:
        _shifted(values[base], offset, COLUMNS[base].empty, columns[place])
    for base, offset, place_of_code in part.one_hot:
        n = columns.shape[1]
        codes, blocks = np.empty(n, dtype=np.float32), np.arange(n)
        columns[place_of_code[place_of_code >= 0]] = 0
        _shifted(values[base], offset, COLUMNS[base].empty, codes)
        places = place_of_code[codes.astype(np.intp)]
        wanted = places >= 0
        columns[places[wanted], blocks[wanted]] = 1


def _shifted(values: NDArray[np.generic] | float, offset: int, empty: float, column: NDArray[np.float32]) -> None:
    """Write the values of the blocks ``offset`` further on into a column; ``empty`` beyond the ends.

    Examples
    --------
    >>> column = np.zeros(3, np.float32)
    >>> _shifted(np.array([1, 2, 3]), -1, 9, column)
    >>> column.tolist()
    [9.0, 1.0, 2.0]
    """
    n = len(column)
    near = max(0, n - abs(offset))
    inside, outside, moved = slice(near), slice(near, n), slice(n - near, n)
    if offset < 0:
        inside, outside, moved = moved, slice(n - near), inside
    column[outside] = empty
    column[inside] = values[moved] if isinstance(values, np.ndarray) and len(values) == n else values


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """How the columns of a set that one family computes are made, or those that none does."""

    family: Family | None
    bases: tuple[str, ...]
    """Base columns that are needed."""
    own: tuple[tuple[str, int], ...]
    """Columns of the block itself: base and position."""
    run_of: tuple[str, ...]
    """Their base columns, if they lie side by side; else none."""
    run: slice
    """Where they lie then."""
    is_whole: bool
    """Whether they are all that the family has, in its order."""
    others: tuple[tuple[str, int, int], ...]
    """Columns of other blocks: base, offset and position."""
    one_hot: tuple[tuple[str, int, NDArray[np.intp]], ...]
    """Columns of one value each: base, offset, and the position for each code, or -1."""

    @property
    def is_written(self) -> bool:
        """Whether the kernel can write all its columns into a matrix."""
        return self.is_whole and self.family in FAMILIES and not self.one_hot

    def steps(self) -> Iterator[tuple[int, int, int, int, int]]:
        """How the kernel does that; see :class:`blockml.features.kernel_page.Steps`."""
        if self.family is not None:
            yield FAMILIES[self.family], self.run.start, len(self.own), 0, 0
        places = dict(self.own)
        for base, offset, place in self.others:
            yield SHIFTED, place, places[base], offset, int(COLUMNS[base].empty)


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """How the columns of a set are made."""

    parts: tuple[_Part, ...]
    others: tuple[_Part, ...]
    """Those that the kernel can't write into a matrix."""
    steps: Steps | None
    """How it writes the rest, if there is any."""


@functools.cache
def _plan(columns: tuple[str, ...]) -> _Plan:
    """Sort columns by what computes them."""
    names: dict[Family | None, list[tuple[int, str, int, int | None]]] = {}
    for place, name in enumerate(columns):
        base, offset, code = split_name(name)
        names.setdefault(COLUMNS[base].family, []).append((place, base, offset, code))
    parts = [_part(family, found) for family, found in names.items()]
    written = [part for part in parts if part.is_written]
    steps = [step for part in written for step in part.steps()]
    families = {part.family for part in written if part.family is not None}
    others = [part for part in parts if not part.is_written]
    return _Plan(tuple(parts), tuple(others), steps_of(steps, families) if steps else None)


def _part(family: Family | None, names: list[tuple[int, str, int, int | None]]) -> _Part:
    """Sort columns, as position, base, offset and code, by how they are made."""
    own = [(base, place) for place, base, offset, code in names if code is None and not offset]
    others = [(base, offset, place) for place, base, offset, code in names if code is None and offset]
    groups: dict[tuple[str, int], NDArray[np.intp]] = {}
    for place, base, offset, code in names:
        if code is not None:
            groups.setdefault((base, offset), np.full(len(COLUMNS[base].values), -1, dtype=np.intp))[code] = place
    side_by_side = bool(own) and own[-1][1] - own[0][1] + 1 == len(own)
    run_of = tuple([base for base, _ in own]) if side_by_side else ()
    return _Part(
        family,
        tuple(dict.fromkeys(base for _, base, _, _ in names)),
        tuple(own),
        run_of,
        slice(own[0][1], own[-1][1] + 1) if own else slice(0),
        family is not None and run_of == names_of(COLUMNS.values(), family),
        tuple(others),
        tuple([(base, offset, place_of_code) for (base, offset), place_of_code in groups.items()]),
    )
