"""Blocks built alike: lists, tables, menus, posts of a thread and paragraphs of an article all repeat something."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.alike import GROUPS
from blockml.features.column import Row, columns_of
from blockml.features.ranks import ranked
from blockml.features.view import View

__all__ = ["ALIKE", "COLUMNS", "alike", "repetition"]

#: The ways in which nets see what a block is like.
ALIKE = ("near", "far")
#: Levels above the parent whose siblings are counted.
LEVELS = (0, 1, 2, 3)


def alike(view: View) -> tuple[NDArray[np.int32], ...]:
    """(n_blocks,) number of the group of each block, for each of :data:`ALIKE`; of any page, without blocks too."""
    found = view.groups if len(view) else {}
    return tuple([found.get(name, np.empty(0)).astype(np.int32) for name in ALIKE])


def repetition(view: View) -> Mapping[str, NDArray[np.generic]]:
    """Size, text and links of the groups of blocks that are built alike, and of like siblings of the ancestors."""
    columns: dict[str, NDArray[np.generic]] = {}
    index = np.arange(len(view))
    for name, group in view.groups.items():
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
        columns |= {f"{measure}{name}": values[group] for measure, values in measures.items()}
    return columns | _siblings(view)


def _siblings(view: View) -> dict[str, NDArray[np.generic]]:
    """How many siblings with the same tag and class ancestors have, and how their texts are."""
    nodes = view.nodes
    elements = np.flatnonzero(nodes.tag != 0)
    kind = view.kind_of_node[:-1]
    key = (nodes.parent[elements].astype(np.int64) + 1) * (int(kind.max()) + 1) + kind[elements]
    _, group = ranked(key.astype(np.uint64))
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
