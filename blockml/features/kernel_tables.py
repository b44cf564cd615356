"""Tables of the C extension: the constants of all families, and the columns that it writes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from blockml import _kernel
from blockml.features import block_groups, container, keywords, metadata, position, repetition, structure, vocabulary
from blockml.features.page_context import COUNTED
from blockml.text.characters import class_table

#: Lists whose items make names of columns, in the order of ``features_page_tree.h``; the first stands for no list.
_LISTS: tuple[Iterable[object], ...] = (
    ("",), structure.LANDMARKS, keywords.KEYWORDS, vocabulary.ROLES, position.WINDOWS, structure.ANCESTOR_LEVELS,
    repetition.GROUP_LEVELS, block_groups.GROUPINGS,
)  # fmt: skip


class KernelColumn(NamedTuple):
    """A column that the C extension writes."""

    place: int  #: Its number among all of them
    needs: int  #: Bits: 1 for attributes of elements, 2 for title and description


@functools.cache
def kernel_columns(compiled: _kernel.Compiled) -> Mapping[str, KernelColumn]:
    """Name the columns that the C extension writes, in its order."""
    names = [
        (pattern.replace("#", str(item)), needs)
        for needs, number, patterns in compiled.family_columns()
        for item in _LISTS[number]
        for pattern in patterns.split()
    ]
    return {name: KernelColumn(place, needs) for place, (name, needs) in enumerate(names)}


@functools.cache
def kernel_tables(compiled: _kernel.Compiled) -> _kernel.Tables:
    """Hand the constants of all families to the C extension."""
    tags = (
        structure.CODES, structure.LANDMARK_BITS, position.HEADINGS, container.MARKS, structure.IS_PARAGRAPH,
        metadata.SUM_BITS,
    )  # fmt: skip
    names = tuple(dict.fromkeys(name for table in tags for name in table.codes))
    # A table has a code for names that it doesn't know, then for "no node", then for each name.
    codes = [np.roll(table.of((*names, "")), 2) for table in tags]
    numbers = (
        structure.FAR, container.MOST_LEVELS, position.MOST_WORDS, metadata.TITLE_WORDS, container.SURROUNDING_BITS,
        len(structure.LANDMARKS), len(keywords.KEYWORDS), len(vocabulary.ROLES),
    )  # fmt: skip
    arrays = (
        class_table(), _constant(COUNTED, np.uint8), *metadata.word_bits(), _constant(codes, np.int64),
        *keywords.words(), position.weights(), _constant(structure.ANCESTOR_LEVELS, np.int64),
        _constant(position.WINDOWS, np.int64), _constant(repetition.GROUP_LEVELS, np.int64),
        _constant(block_groups.LEVELS_OF, np.int64), _constant(structure.FLAGS, np.uint8),
        _constant(numbers, np.int64),
    )  # fmt: skip
    places = {name: place for place, name in enumerate(names, start=2)}
    return compiled.new_tables(arrays, places, vocabulary.ROLE_BITS, keywords.keyword_bits, vocabulary.role_bits)


def _constant(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array
