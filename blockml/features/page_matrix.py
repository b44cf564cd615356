"""The step from a page to a matrix: one float32 row per block, one column per feature of a set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.errors import UsageError
from blockml.features.ancestor_words import AncestorWords, ancestor_words
from blockml.features.column import Family
from blockml.features.feature_sets import COLUMNS, FeatureSet, feature_set, split_name
from blockml.features.kernel_tables import kernel_columns, kernel_tables
from blockml.features.metadata import titles
from blockml.features.page_context import BlockAmounts, KernelRows, PageContext
from blockml.page import Blocks, Page
from blockml.page.lazy import cached_property

_NOTHING: Mapping[str, NDArray[np.float32]] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class PageMatrix:
    """Features of the blocks of a page, and what predictors ask about the page besides."""

    values: NDArray[np.float32]  #: (n_blocks, n_columns), column by column in memory
    columns: tuple[str, ...]  #: Names of the columns
    context: PageContext

    @property
    def amounts(self) -> BlockAmounts:
        """Words, linked words and words of running text of each block."""
        return self.context.amounts

    @property
    def block_groups(self) -> tuple[NDArray[np.int32], ...]:
        """(n_blocks,) number of each block's group, for each of :data:`blockml.features.page_context.GROUPINGS`."""
        return self.context.block_groups

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Place of each column by name."""
        return _places(self.columns)

    @cached_property
    def ancestor_words(self) -> AncestorWords:
        """Hashed words of tags and attributes above each block."""
        return ancestor_words(self.context)


@functools.cache
def _places(columns: tuple[str, ...]) -> Mapping[str, int]:
    """Number columns, once for all pages."""
    return {name: place for place, name in enumerate(columns)}


def page_context(page: Page) -> PageContext:
    """Return the context of a page whose intermediate results the C extension computes, where there is one."""
    return PageContext(page, None if _kernel.compiled is None else kernel_tables(_kernel.compiled))


def matrix(
    page: Page,
    features: str | FeatureSet = "kim2013",
    given: Mapping[str, NDArray[np.float32]] = _NOTHING,
    context: PageContext | None = None,
) -> PageMatrix:
    """Compute the features of every block of a page.

    A page without blocks gives no rows. Raises UnknownNameError for an unknown feature set, and UsageError if a column
    that has to be given is not.

    Parameters
    ----------
    page
        A parsed page.
    features
        A feature set or its name: ``kim2013`` are the paper's 25 attributes (word density, link density, parent
        tag as a code, lines to the block before and after, of the block and two neighbours on each side);
        ``kim2013-onehot`` has a 0/1 column for each parent tag instead, 140 in all.
    given
        (n_blocks,) values of base columns that other pages also determine, by name. For sets with such columns
        call :func:`blockml.extractors.matrix.page_matrix`, which computes them.
    context
        The page's context, if it was made before.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats <a href='/'>rule</a> the world.</p>")
    >>> found = matrix(page, "boilerpipe6")
    >>> found.columns
    ('wd_m1', 'ld_m1', 'wd_0', 'ld_0', 'wd_p1', 'ld_p1')
    >>> found.values.tolist(), found.amounts.linked.tolist()
    ([[0.0, 0.0, 1.0, 0.0, 4.0, 0.25], [1.0, 0.0, 4.0, 0.25, 0.0, 0.0]], [0.0, 1.0])
    """
    chosen = feature_set(features) if isinstance(features, str) else features
    context = context or page_context(page)
    plan = _plan(chosen.columns, context.compiled)
    rows = np.empty((plan.n_rows, len(context)), dtype=np.float32)
    if len(context):
        _fill(rows, plan, context, given)
    return PageMatrix(rows[: len(chosen.columns)].T, chosen.columns, context)


def _fill(
    rows: NDArray[np.float32], plan: _Plan, context: PageContext, given: Mapping[str, NDArray[np.float32]]
) -> None:
    """Write all rows (n_rows, n_blocks) of a plan."""
    if plan.kernel is not None and (kernel_page := context.kernel_page) is not None:
        kernel_page.write(plan.kernel, titles(context) if plan.kernel.need_titles else None, rows)
    for family, wanted in plan.families:
        values = family(context)
        for base, row in wanted:
            rows[row] = values[base]
    for compute, row in plan.of_blocks:
        rows[row] = compute(context.blocks)
    for base, row in plan.given:
        if base not in given:
            raise UsageError(
                f"column {base!r} can't be computed only from the page: use blockml.extractors.matrix.page_matrix"
            )
        rows[row] = given[base]
    if plan.neighbours is not None:
        _write_neighbours(rows, plan.neighbours)


def _write_neighbours(rows: NDArray[np.float32], plan: _Neighbours) -> None:
    """Write the columns of neighbours and of single values into rows (n_rows, n_blocks), from other rows."""
    n, reach = rows.shape[1], plan.reach
    around = np.empty((len(plan.sources), n + 2 * reach), dtype=np.float32)  # with blocks beyond both ends of the page
    around[:, :reach] = around[:, n + reach :] = plan.empty
    around[:, reach : n + reach] = rows[plan.sources]
    shape, steps = (len(around), 2 * reach + 1, n), (*around.strides, around.itemsize)
    windows = np.ndarray(shape, np.float32, around, strides=steps)  # of each source, moved by each offset
    found = windows[plan.source, plan.offset]
    if len(plan.codes):
        found[-len(plan.codes) :] = found[-len(plan.codes) :] == plan.codes
    rows[plan.row] = found


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Sources of the columns of a set: base columns first, then columns that are made of those.

    Rows of the matrix come first, then rows of base columns that are not in the set themselves.
    """

    n_rows: int
    kernel: KernelRows | None  #: Base columns that the C extension writes; None without any
    #: Families in Python, with name and row of each base column that is taken from them
    families: tuple[tuple[Family, tuple[tuple[str, int], ...]], ...]
    of_blocks: tuple[tuple[Callable[[Blocks], NDArray[np.float32]], int], ...]
    given: tuple[tuple[str, int], ...]
    neighbours: _Neighbours | None  #: Columns that are made of others; None without any


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """Columns of neighbours, and after them columns of single values of blocks and neighbours."""

    sources: list[int]  #: Rows of the base columns
    empty: NDArray[np.float32]  #: (n_sources, 1) their values beyond the ends of the page
    reach: int  #: Largest distance of a neighbour
    source: NDArray[np.intp]  #: (n_columns,) place in ``sources``
    offset: NDArray[np.intp]  #: (n_columns,) distance of the neighbour, plus ``reach``
    codes: NDArray[np.float32]  #: (n_codes, 1) values, of the last columns
    row: NDArray[np.intp]  #: (n_columns,) row

    @classmethod
    def of(cls, columns: Sequence[tuple[int, str, int, int | None]], row_of: Mapping[str, int]) -> _Neighbours:
        """Plan columns, given the row, base column, offset and code of each, and the rows of base columns."""
        columns = sorted(columns, key=lambda column: column[3] is not None)
        bases = [*dict.fromkeys(base for _, base, _, _ in columns)]
        reach = max(abs(offset) for _, _, offset, _ in columns)
        return cls(
            [row_of[base] for base in bases],
            np.array([[COLUMNS[base].empty] for base in bases], dtype=np.float32),
            reach,
            np.array([bases.index(base) for _, base, _, _ in columns]),
            np.array([offset + reach for _, _, offset, _ in columns]),
            np.array([code for *_, code in columns if code is not None], dtype=np.float32)[:, None],
            np.array([row for row, *_ in columns]),
        )


@functools.cache
def _plan(columns: tuple[str, ...], compiled: _kernel.Compiled | None) -> _Plan:
    """Sort columns by their sources."""
    parts = [split_name(name) for name in columns]
    row_of: dict[str, int] = {}
    for row, (base, offset, code) in enumerate(parts):
        if not offset and code is None:
            row_of.setdefault(base, row)
    own_rows = set(row_of.values())
    for number, base in enumerate(dict.fromkeys(base for base, _, _ in parts if base not in row_of)):
        row_of[base] = len(columns) + number
    made = [(row, *part) for row, part in enumerate(parts) if row not in own_rows]
    known = {} if compiled is None else kernel_columns(compiled)
    in_python = [(COLUMNS[base], row) for base, row in row_of.items() if base not in known]
    families: dict[Family, list[tuple[str, int]]] = {}
    for column, row in in_python:
        if column.family is not None:
            families.setdefault(column.family, []).append((column.name, row))
    rest = [(column, row) for column, row in in_python if column.family is None]
    return _Plan(
        max([*row_of.values(), len(columns) - 1]) + 1,
        _kernel_rows({base: row for base, row in row_of.items() if base in known}, compiled),
        tuple((family, tuple(wanted)) for family, wanted in families.items()),
        tuple((column.compute, row) for column, row in rest if column.compute is not None),
        tuple((column.name, row) for column, row in rest if column.compute is None),
        _Neighbours.of(made, row_of) if made else None,
    )


def _kernel_rows(row_of: Mapping[str, int], compiled: _kernel.Compiled | None) -> KernelRows | None:
    """Rows of the base columns that the C extension is to write."""
    if compiled is None or not row_of:
        return None
    known = kernel_columns(compiled)
    rows, needs = np.full(len(known), -1, dtype=np.int64), 0
    for base, row in row_of.items():
        rows[known[base].place] = row
        needs |= known[base].needs
    return KernelRows(rows, bool(needs & 1), bool(needs & 2))
