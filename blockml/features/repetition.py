"""Blocks built alike: lists, tables, menus, posts of a thread and paragraphs of an article all repeat something."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import Row, columns_of
from blockml.features.view import View

__all__ = ["ALIKE", "COLUMNS", "GROUPS", "alike", "groups", "repetition"]

#: Multiplier of a polynomial hash (odd, from the golden ratio; Knuth, *The Art of Computer Programming* 3, 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

#: Ways to call two blocks alike.
GROUPS: Mapping[str, str] = {
    "path": "all tags above",
    "near": "tags and classes of the three nearest ancestors",
    "far": "tags and classes of all ancestors from the third on",
}
#: The ways in which nets see what a block is like.
ALIKE = ("near", "far")
#: Levels above the parent whose siblings are counted.
LEVELS = (0, 1, 2, 3)


def groups(view: View) -> Mapping[str, NDArray[np.intp]]:
    """(n_blocks,) number of the group of each block, for each way in :data:`GROUPS`."""
    chain = view.chain
    kinds = (view.kind_of_node + 1).astype(np.uint64)
    kinds[-1] = 0
    tags = np.append(view.nodes.tag + 1, 0).astype(np.uint64)
    keys = {
        "path": _hash(tags[chain]),
        "near": _hash(kinds[chain[:3]]),
        "far": _hash(kinds[chain[2:]]) if len(chain) > 2 else np.zeros(len(view), dtype=np.uint64),
    }
    return {name: np.unique(key, return_inverse=True)[1] for name, key in keys.items()}


def alike(view: View) -> tuple[NDArray[np.int32], ...]:
    """(n_blocks,) number of the group of each block, for each of :data:`ALIKE`; of any page, without blocks too."""
    found = groups(view) if len(view) else {}
    return tuple([found.get(name, np.empty(0)).astype(np.int32) for name in ALIKE])


def _hash(levels: NDArray[np.uint64]) -> NDArray[np.uint64]:
    key = np.zeros(levels.shape[1], dtype=np.uint64)
    for level in levels[::-1]:
        key = key * _FACTOR + level
        key ^= key >> np.uint64(31)
    return key


def repetition(view: View) -> Mapping[str, NDArray[np.generic]]:
    """Size, text and links of the groups of blocks that are built alike, and of like siblings of the ancestors."""
    n = len(view)
    columns: dict[str, NDArray[np.generic]] = {}
    index = np.arange(n)
    for name, group in groups(view).items():
        size = np.bincount(group)
        words, links = np.bincount(group, view.words), np.bincount(group, view.linked)
        first = np.full(len(size), n)
        np.minimum.at(first, group, index)
        last = np.zeros(len(size))
        np.maximum.at(last, group, index)
        columns[f"size{name}"] = size[group]
        columns[f"share{name}"] = (words / view.n_words)[group]
        columns[f"density{name}"] = (words / size)[group]
        columns[f"links{name}"] = (links / np.maximum(words, 1))[group]
        columns[f"prose{name}"] = (np.bincount(group, view.prose) / np.maximum(words, 1))[group]
        columns[f"tight{name}"] = (size / (last - first + 1))[group]
    for k in LEVELS:
        columns |= _siblings(view, k)
    return columns


def _siblings(view: View, k: int) -> dict[str, NDArray[np.generic]]:
    """How many siblings with the same tag and class an ancestor has, and how their texts are."""
    nodes = view.nodes
    elements = np.flatnonzero(nodes.tag != 0)
    kind = view.kind_of_node[:-1]
    key = (nodes.parent[elements].astype(np.int64) + 1) * (int(kind.max()) + 1) + kind[elements]
    _, group, size = np.unique(key, return_inverse=True, return_counts=True)
    of_node = np.zeros(len(nodes), dtype=np.intp)
    of_node[elements] = group
    here = of_node[view.level(k)]
    words = np.bincount(group, view.total(view.words)[elements])
    links = np.bincount(group, view.total(view.linked)[elements])
    return {
        f"alike{k}up": size[here],
        f"wordsalike{k}up": (words / size)[here],
        f"linksalike{k}up": (links / np.maximum(words, 1))[here],
    }


def _group(name: str) -> dict[str, Row]:
    return {
        f"size{name}": f"blocks with the same {GROUPS[name]}",
        f"share{name}": ("their words / words of the page", 0, 1),
        f"density{name}": "their words / their number",
        f"links{name}": ("their linked words / words", 0, 1),
        f"prose{name}": ("their running text / words", 0, 1),
        f"tight{name}": ("their number / blocks from the first to the last of them", 0, 1),
    }


def _level(k: int) -> dict[str, Row]:
    return {
        f"alike{k}up": f"siblings with tag and class of the ancestor {k} levels above the parent",
        f"wordsalike{k}up": "their words / their number",
        f"linksalike{k}up": ("their linked words / words", 0, 1),
    }


COLUMNS = columns_of(
    repetition,
    "repeated structure, as Chakrabarti et al. 2007 and others use it for templates, within one page",
    {name: row for group in GROUPS for name, row in _group(group).items()}
    | {name: row for k in LEVELS for name, row in _level(k).items()},
)
