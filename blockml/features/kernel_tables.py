"""Tables of the C extension: the constants of all families, and the columns that it writes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from blockml import _kernel
from blockml.features import (
    ancestor_words,
    container,
    keywords,
    metadata,
    page_context,
    position,
    repetition,
    structure,
    vocabulary,
)
from blockml.features.page_context import COUNTED
from blockml.text.words import class_table

#: Lists whose items make names of columns, in the order of ``features_page_tree.h``; the first means no list.
_LISTS: tuple[Iterable[object], ...] = (
    ("",), structure.LANDMARKS, keywords.KEYWORDS, vocabulary.ROLES, position.WINDOWS, structure.ANCESTOR_LEVELS,
    repetition.GROUP_LEVELS, page_context.GROUPINGS,
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
    """Hand the constants of all families to the C extension, by name."""
    by_tag = {
        "tag_code": structure.CODES,
        "landmark_bits": structure.LANDMARK_BITS,
        "heading_level": position.HEADINGS,
        "container_marks": container.MARKS,
        "is_paragraph": structure.IS_PARAGRAPH,
        "sum_bits": metadata.SUM_BITS,
    }
    names = tuple(dict.fromkeys(name for table in by_tag.values() for name in table.codes))
    numbers = {
        "far": structure.FAR,
        "max_container_levels": container.MOST_LEVELS,
        "max_smoothed_words": position.MOST_WORDS,
        "max_title_words": metadata.TITLE_WORDS,
        "surrounding_bits": container.SURROUNDING_BITS,
        "n_landmarks": len(structure.LANDMARKS),
        "n_keywords": len(keywords.KEYWORDS),
        "n_roles": len(vocabulary.ROLES),
        **ancestor_words.NUMBERS,
    }
    levels: dict[str, ArrayLike] = {
        "ancestor_levels": structure.ANCESTOR_LEVELS,
        "windows": position.WINDOWS,
        "sibling_levels": repetition.GROUP_LEVELS,
        "grouping_levels": page_context.LEVELS_OF,
    }
    arrays: _kernel.Arrays = {
        # A table has a code for names that it doesn't know, then for "no node", then for each name.
        **{key: _constant(np.roll(table.of((*names, "")), 2), np.int64) for key, table in by_tag.items()},
        **{key: _constant(values, np.int64) for key, values in {**numbers, **levels}.items()},
        "character_classes": class_table(),
        "counted_classes": _constant(COUNTED, np.uint8),
        "smoothing_weights": position.weights(),
        "flags": _constant(structure.FLAGS, np.uint8),
        **metadata.word_bits(),
        **keywords.words(),
    }
    places = {name: place for place, name in enumerate(names, start=2)}
    return compiled.new_tables(
        arrays, places, vocabulary.ROLE_BITS, keywords.keyword_bits, vocabulary.role_bits, ancestor_words.word_checksums
    )


def _constant(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array
