"""Blocks built alike: lists, tables, menus, posts of a thread and paragraphs of an article all repeat something."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.block_groups import GROUPS
from blockml.features.column import Row, columns_of
from blockml.features.factorize import number_keys
from blockml.features.page_context import PageContext

__all__ = ["ALIKE", "COLUMNS", "alike", "like_siblings", "repetition", "same_path"]

#: The ways in which nets see what a block is like.
ALIKE = tuple(GROUPS)
#: Levels above the parent whose siblings are counted.
LEVELS = (0, 1, 2, 3)


def alike(view: PageContext) -> tuple[NDArray[np.int32], ...]:
    """(n_blocks,) number of the group of each block, for each of :data:`ALIKE`; of any page, without blocks too."""
    if not len(view):
        return tuple([np.zeros(0, dtype=np.int32) for _ in ALIKE])
    groups = view.groups.astype(np.int32) if (sheet := view.sheet) is None else sheet.groups()
    return tuple([groups[way] for way in range(len(ALIKE))])  # the end of an array's own iterator is dear


def repetition(view: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Size, text and links of the groups of blocks that are built alike."""
    return _of_groups(view, tuple(GROUPS), view.groups)


def same_path(view: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """The same of the groups of blocks with the same tags above."""
    return _of_groups(view, ("path",), view.same_path)


def _of_groups(
    view: PageContext, ways: tuple[str, ...], groups: NDArray[np.int64]
) -> Mapping[str, NDArray[np.generic]]:
    """Columns of the group of each block, for each way to be alike."""
    return {
        name: values
        for way, group in zip(ways, groups, strict=True)
        for name, values in _group(view, way, group).items()
    }


def _group(view: PageContext, way: str, group: NDArray[np.int64]) -> dict[str, NDArray[np.generic]]:
    index = np.arange(len(view))
    size = np.bincount(group)
    words, links = np.bincount(group, view.words), np.bincount(group, view.linked)
    first, last = np.empty(len(size)), np.empty(len(size))
    first[group[::-1]] = index[::-1]  # what is written last stays
    last[group] = index
    some = np.maximum(words, 1)
    measures = {
        "size": size,
        "share": words / view.n_words,
        "density": words / size,
        "links": links / some,
        "prose": np.bincount(group, view.prose) / some,
        "tight": size / (last - first + 1),
    }
    return {f"{measure}{way}": values[group] for measure, values in measures.items()}


def like_siblings(view: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """How many siblings with the same tag and class ancestors have, and how their texts are."""
    nodes, n_tags = view.nodes, len(view.nodes.names)
    elements = _siblings(view)
    classes = view.classes_of(elements)
    kind = nodes.tag[elements] + n_tags * classes[elements].astype(np.int64)
    key = (nodes.parent[elements].astype(np.int64) + 1) * (int(kind.max()) + 1) + kind
    group = number_keys(key.astype(np.uint64))
    size = np.bincount(group)
    of_node = np.zeros(len(nodes), dtype=np.intp)
    of_node[elements] = group
    here = of_node[view.levels(LEVELS)]
    totals = view.total_of(elements, np.array([view.words, view.linked]))
    words, links = (np.bincount(group, total) for total in totals)
    measures = {"alike": size, "wordsalike": words / size, "linksalike": links / np.maximum(words, 1)}
    return {
        f"{name}{k}up": row for name, values in measures.items() for k, row in zip(LEVELS, values[here], strict=True)
    }


def _siblings(view: PageContext) -> NDArray[np.int64]:
    """Elements with the parent of an ancestor whose siblings are counted, rising; all roots are siblings."""
    nodes = view.nodes
    has_ancestors = np.zeros(len(nodes) + 1, dtype=bool)  # the entry at the end is for roots, which have no parent
    has_ancestors[nodes.parent[view.levels(LEVELS)]] = True
    return np.flatnonzero((nodes.tag != 0) & has_ancestors[nodes.parent]).astype(np.int64, copy=False)


def _rows(way: str, what: str) -> dict[str, Row]:
    return {
        f"size{way}": f"blocks with the same {what}",
        f"share{way}": ("their words / words of the page", 0, 1),
        f"density{way}": "their words / their number",
        f"links{way}": ("their linked words / words", 0, 1),
        f"prose{way}": ("their running text / words", 0, 1),
        f"tight{way}": ("their number / blocks from the first to the last of them", 0, 1),
    }


def _level(k: int) -> dict[str, Row]:
    return {
        f"alike{k}up": f"siblings with tag and class of the ancestor {k} levels above the parent",
        f"wordsalike{k}up": "their words / their number",
        f"linksalike{k}up": ("their linked words / words", 0, 1),
    }


_SOURCE = "repeated structure, as Chakrabarti et al. 2007 and others use it for templates, within one page"
COLUMNS = (
    *columns_of(same_path, _SOURCE, _rows("path", "tags above")),
    *columns_of(
        repetition,
        _SOURCE,
        _rows("near", "tags and classes of the three nearest ancestors")
        | _rows("far", "tags and classes of all ancestors from the third on"),
    ),
    *columns_of(like_siblings, _SOURCE, {name: row for k in LEVELS for name, row in _level(k).items()}),
)
