"""Families of features as the kernel writes them, all that a set has at one go."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from blockml import _kernel
from blockml.features import (
    block_groups,
    container,
    keywords,
    metadata,
    position,
    repetition,
    structure,
    text,
    vocabulary,
)
from blockml.features.column import Family, Rows, names_of
from blockml.features.feature_sets import COLUMNS
from blockml.features.kernel_page import KernelPage, Steps, provide
from blockml.features.page_context import COUNTED, PageContext
from blockml.features.tags import PLACES
from blockml.text.characters import class_table

__all__ = ["FAMILIES", "SHIFTED", "computed", "steps_of", "write"]

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


def steps_of(rows: Sequence[tuple[int, ...]], families: Set[Family]) -> Steps:
    """What the kernel is to write for these families."""
    return Steps(_constant(rows, np.int64), bool(families & _NEED_NAMES), bool(families & _NEED_CLAIMS))


def write(view: PageContext, sheet: KernelPage, steps: Steps, matrix: NDArray[np.float32]) -> None:
    """Write columns (n_columns, n_blocks) of a page."""
    sheet.write(steps, metadata.claims(view) if steps.need_claims else None, matrix)


def computed(family: Family, view: PageContext) -> Mapping[str, NDArray[np.generic] | float]:
    """Columns of a family by name, written by the kernel where there is one."""
    if family not in FAMILIES or (sheet := view.sheet) is None:
        return family(view)
    names = _names_of(family)
    rows = np.empty((len(names), len(view)), dtype=np.float32)
    write(view, sheet, steps_of([(FAMILIES[family], 0, len(names), 0, 0)], {family}), rows)
    return Rows(names, rows)


@functools.cache
def _names_of(family: Family) -> tuple[str, ...]:
    return names_of(COLUMNS.values(), family)


def _new_tables(compiled: _kernel.Compiled) -> _kernel.Tables:
    """What is the same of all pages, as the kernel takes it."""
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
        _constant([table.of(places) for table in tags], np.int64), *keywords.words(), position.weights(),
        _constant(structure.LEVELS, np.int64), _constant(position.WINDOWS, np.int64),
        _constant(repetition.LEVELS, np.int64), _constant(tuple(block_groups.GROUPS.values()), np.int64),
        _constant(structure.FLAGS, np.uint8), _constant(numbers, np.int64),
    )  # fmt: skip
    return compiled.held_tables(arrays, PLACES, vocabulary.ROLE_BITS, keywords.keyword_bits, vocabulary.role_bits)


def _constant(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


provide(_new_tables)
