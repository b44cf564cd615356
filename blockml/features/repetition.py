"""Groups of blocks with equal ancestors: lists, tables, menus, posts of a thread and paragraphs repeat their markup."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import ColumnRange, columns_of
from blockml.features.page_context import GROUPINGS, PageContext, number_keys

#: Levels above the parent whose siblings are counted.
GROUP_LEVELS = (0, 1, 2, 3)


def repetition(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Size, text and links of the group of each block, for each grouping."""
    groups = zip(GROUPINGS, context.block_groups, strict=True)
    return {name: values for suffix, group in groups for name, values in _measures(context, suffix, group).items()}


def same_path(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Size, text and links of the group of blocks with the same tags above."""
    return _measures(context, "path", context.path_groups)


def _measures(context: PageContext, suffix: str, group: NDArray[np.integer]) -> dict[str, NDArray[np.generic]]:
    """Measure the group (n_blocks,) of each block."""
    index = np.arange(len(context))
    size = np.bincount(group)
    words, links = np.bincount(group, context.words), np.bincount(group, context.linked)
    first, last = np.empty(len(size)), np.empty(len(size))
    first[group[::-1]] = index[::-1]  # of several assignments the last one holds
    last[group] = index
    some = np.maximum(words, 1)
    measures = {
        "size": size,
        "share": words / context.n_words,
        "density": words / size,
        "links": links / some,
        "prose": np.bincount(group, context.prose) / some,
        "tight": size / (last - first + 1),
    }
    return {f"{measure}{suffix}": values[group] for measure, values in measures.items()}


def like_siblings(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Count the siblings of ancestors that have their tag and class, and measure their texts."""
    nodes, n_tags = context.nodes, len(context.nodes.names)
    has_ancestors = np.zeros(len(nodes) + 1, dtype=bool)  # the last entry is the parent of roots, which are siblings
    has_ancestors[nodes.parent[context.levels(GROUP_LEVELS)]] = True
    elements = np.flatnonzero((nodes.tag != 0) & has_ancestors[nodes.parent]).astype(np.int64, copy=False)
    classes = context.attribute_values.more_classes(nodes, elements)
    kind = nodes.tag[elements] + n_tags * classes[elements].astype(np.int64)
    key = (nodes.parent[elements].astype(np.int64) + 1) * (int(kind.max()) + 1) + kind
    group = number_keys(key.astype(np.uint64))
    size = np.bincount(group)
    of_node = np.zeros(len(nodes), dtype=np.intp)
    of_node[elements] = group
    here = of_node[context.levels(GROUP_LEVELS)]
    totals = context.total_of(elements, np.array([context.words, context.linked]))
    words, links = (np.bincount(group, total) for total in totals)
    measures = {"alike": size, "wordsalike": words / size, "linksalike": links / np.maximum(words, 1)}
    return {
        f"{name}{k}up": row
        for name, values in measures.items()
        for k, row in zip(GROUP_LEVELS, values[here], strict=True)
    }


def _rows(suffix: str, what: str) -> dict[str, ColumnRange]:
    return {
        f"size{suffix}": f"blocks with the same {what}",
        f"share{suffix}": ("their words / words of the page", 0, 1),
        f"density{suffix}": "their words / their number",
        f"links{suffix}": ("their linked words / words", 0, 1),
        f"prose{suffix}": ("their running text / words", 0, 1),
        f"tight{suffix}": ("their number / blocks from the first to the last of them", 0, 1),
    }


def _level(k: int) -> dict[str, ColumnRange]:
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
    *columns_of(like_siblings, _SOURCE, {name: row for k in GROUP_LEVELS for name, row in _level(k).items()}),
)
