"""What the kernel knows of a page, and the columns that it writes from it where they will lie."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from blockml import kernel
from blockml.attributes import Attributes
from blockml.features import alike, container, keywords, metadata, position, repetition, structure, text, vocabulary
from blockml.features.catalogue import COLUMNS
from blockml.features.column import Family, Rows, names_of
from blockml.features.tags import PLACES
from blockml.features.view import COUNTED, REACH, View
from blockml.page import Nodes
from blockml.parsing.characters import class_table

__all__ = ["FAMILIES", "SHIFTED", "Sheet", "Steps", "computed"]

#: Families that the kernel knows by these numbers.
FAMILIES: Mapping[Family, int] = {
    family: number
    for number, family in enumerate(
        (
            text.text, position.position, position.around, structure.path, structure.ancestors, vocabulary.called,
            container.container, container.further, repetition.same_path, repetition.repetition,
            repetition.like_siblings, metadata.resemblance, metadata.about,
        )
    )
}  # fmt: skip
#: What is written instead of a family: the numbers of another row, some blocks further on.
SHIFTED = -1

_NEED_NAMES = {vocabulary.called, container.container, repetition.repetition, repetition.like_siblings}
_NEED_CLAIMS = {metadata.resemblance, metadata.about}


class Steps(NamedTuple):
    """What the kernel is to write."""

    rows: NDArray[np.int64]
    """Family, place, number of columns, 0, 0; or :data:`SHIFTED`, place, of which column, offset, value beyond ends."""
    need_names: bool
    need_claims: bool

    @classmethod
    def of(cls, rows: Sequence[tuple[int, ...]], families: Set[Family]) -> Steps:
        """Such for these families."""
        return cls(_constant(rows, np.int64), bool(families & _NEED_NAMES), bool(families & _NEED_CLAIMS))


class Sheet:
    """A page with blocks as the kernel knows it: copied and checked once, then trusted.

    A view holds its sheet and not the other way round, so that both go as soon as nobody needs them.
    """

    def __init__(self, compiled: kernel.Compiled, view: View) -> None:
        nodes, blocks = view.nodes, view.blocks
        given, pairs, number, ends = _attributes(nodes)
        self._compiled, self._n = compiled, len(view)
        tag, parent, depth, end, number = _int32(nodes.tag, nodes.parent, nodes.depth, nodes.end, number)
        holder, first = _int32(blocks.parent, blocks.node)
        self._tree = compiled.page_tree(
            REACH, tuple(nodes.names), tuple(blocks.texts), given, pairs,
            tag, parent, depth, end, number, holder, first,
            np.ascontiguousarray(blocks.flags, dtype=np.uint8), ends, view.amounts, *view.totals,
        )  # fmt: skip
        self._names: kernel.Names | None = None

    @property
    def names(self) -> kernel.Names:
        """What attributes call the elements."""
        if self._names is None:
            self._names = self._compiled.page_names(self._tree, _tables(self._compiled))
        return self._names

    def write(self, view: View, steps: Steps, matrix: NDArray[np.float32]) -> None:
        """Write columns (n_columns, n_blocks)."""
        names = self.names if steps.need_names else None
        claims = metadata.claims(view) if steps.need_claims else None
        self._compiled.page_rows(self._tree, names, _tables(self._compiled), claims, steps.rows, matrix)

    def groups(self) -> NDArray[np.int32]:
        """(n_ways, n_blocks) number of each block's group: :attr:`blockml.features.view.View.groups`."""
        return np.frombuffer(self._compiled.page_groups(self.names), dtype=np.int32).reshape(-1, self._n)

    def metas(self) -> tuple[Mapping[str, str], str] | None:
        """What ``meta`` elements say, and the canonical address; None where attributes came as mappings."""
        return self._compiled.page_metas(self._tree)

    def bags(
        self, elsewhere: Callable[[str], bytes], bounds: tuple[int, int, int, int, int]
    ) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.intp]]:
        """Where bags start, their words, and the bag of each block: :func:`blockml.features.tokens.bags`."""
        bag, starts = np.empty(self._n, dtype=np.int64), np.empty(self._n + 1, dtype=np.int64)
        n_bags, words = self._compiled.page_bags(self._tree, self.names, elsewhere, *bounds, bag, starts)
        return starts[: n_bags + 1], np.frombuffer(words, dtype=np.int32), bag


def computed(family: Family, view: View) -> Mapping[str, NDArray[np.generic] | float]:
    """Columns of a family by name, written by the kernel where there is one."""
    if family not in FAMILIES or (sheet := view.sheet) is None:
        return family(view)
    names = _names_of(family)
    rows = np.empty((len(names), len(view)), dtype=np.float32)
    sheet.write(view, Steps.of([(FAMILIES[family], 0, len(names), 0, 0)], {family}), rows)
    return Rows(names, rows)


@functools.cache
def _names_of(family: Family) -> tuple[str, ...]:
    return names_of(COLUMNS.values(), family)


def _tables(compiled: kernel.Compiled) -> kernel.Tables:
    """What is the same of all pages, as the kernel takes it; made once."""
    global _made  # noqa: PLW0603 (a cache, without a call)
    if _made is None:
        _made = _new_tables(compiled)
    return _made


_made: kernel.Tables | None = None


def _new_tables(compiled: kernel.Compiled) -> kernel.Tables:
    """The same, when it is first needed."""
    places = np.arange(len(PLACES) + 2)
    tags = [
        structure.CODES, structure.LANDMARK_BITS, position.HEADINGS, container.MARKS, structure.IS_PARAGRAPH,
        metadata.SUM_BITS,
    ]  # fmt: skip
    numbers = (
        structure.FAR, container.MOST_LEVELS, position.MOST_WORDS, metadata.TITLE_WORDS, container.SURROUNDING_BITS,
        len(structure.LANDMARKS), len(keywords.KEYWORDS), len(vocabulary.ROLES),
    )  # fmt: skip
    arrays = (
        class_table(), _constant(COUNTED, np.uint8), *metadata.word_bits(),
        _constant([table.of(places) for table in tags], np.int64), *keywords.letters(), position.weights(),
        _constant(structure.LEVELS, np.int64), _constant(position.WINDOWS, np.int64),
        _constant(repetition.LEVELS, np.int64), _constant(tuple(alike.GROUPS.values()), np.int64),
        _constant(structure.FLAGS, np.uint8), _constant(numbers, np.int64),
    )  # fmt: skip
    return compiled.held_tables(arrays, PLACES, vocabulary.ROLE_BITS, keywords.keyword_bits, vocabulary.role_bits)


def _constant(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def _attributes(nodes: Nodes) -> tuple[list[Mapping[str, str] | None], bytes, NDArray[np.int32], NDArray[np.int64]]:
    """Attributes of nodes as :class:`~blockml.attributes.Attributes` holds them."""
    held = nodes.attributes
    if isinstance(held, Attributes):
        return held.given, held.pairs, held.number, np.ascontiguousarray(held.ends, dtype=np.int64)
    n = len(held)
    return [None, *held], b"", np.arange(1, n + 1, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)


def _int32(*columns: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Columns as the kernel takes them."""
    return [np.ascontiguousarray(column, dtype=np.int32) for column in columns]
