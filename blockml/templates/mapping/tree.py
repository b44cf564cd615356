"""Trees of elements and texts as columns, the input of tree mappings, and their file format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Flag, Nodes, Page
from blockml.text.sketches import stable_hash64

#: Stored columns and their types; ``nodes`` refers to a page and isn't stored.
_COLUMNS: Mapping[str, str] = {
    "tag": "int32",
    "parent": "int32",
    "end": "int32",
    "n_children": "int32",
    "n_siblings": "int32",
    "position": "int32",
    "ids": "int32",
    "classes": "int32",
    "attributes": "int32",
    "texts": "uint64",
}
#: Tables of distinct values, and the columns of indices into them.
_TABLES: Mapping[str, str] = {
    "names": "tag",
    "id_table": "ids",
    "class_table": "classes",
    "attribute_table": "attributes",
}

_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Elements and texts of a page in document order, without scripts, styles and frames.

    ``n`` is the number of rows; the descendants of row ``i`` are ``i + 1 … end[i] - 1``. Numbers of children and
    positions refer to the whole page, even after :meth:`restricted`; otherwise mappings would depend on the order of
    pages. Elements flagged :attr:`~blockml.page.Flag.DROPPED` are removed before counting; comments and white space
    between elements are not nodes.
    """

    names: tuple[str, ...]  #: Element names; ``names[0]`` is ``#text``
    tag: NDArray[np.int32]  #: (n,) index into ``names``
    parent: NDArray[np.int32]  #: (n,) row of the parent; -1 for a root
    end: NDArray[np.int32]  #: (n,) row one past the last descendant
    n_children: NDArray[np.int32]  #: (n,) child nodes on the page: elements and texts
    #: (n,) child nodes of the parent on the page, including the row itself; for a root the number of roots
    n_siblings: NDArray[np.int32]
    position: NDArray[np.int32]  #: (n,) position among these, from 0
    id_table: tuple[str, ...]  #: Distinct ids
    ids: NDArray[np.int32]  #: (n,) index into ``id_table``; -1 without an id
    class_table: tuple[frozenset[str], ...]  #: Distinct sets of class names; the first one is empty
    classes: NDArray[np.int32]  #: (n,) index into ``class_table``
    #: Distinct sets of other attributes, as names and values; the first one is empty
    attribute_table: tuple[frozenset[tuple[str, str]], ...]
    attributes: NDArray[np.int32]  #: (n,) index into ``attribute_table``
    texts: NDArray[np.uint64]  #: (n,) :func:`text_hashes` of a text; 0 for an element
    nodes: NDArray[np.int32]  #: (n,) index in ``page.nodes``; -1 for a stored tree

    def __len__(self) -> int:
        return len(self.tag)

    def name(self, row: int) -> str:
        """Return the element name of a row, or ``#text``."""
        return self.names[int(self.tag[row])]

    def restricted(self, mask: NDArray[np.bool_]) -> Tree:
        """Return the rows of an (n,) mask as a tree; numbers of children and positions still refer to the whole page.

        Raises UsageError for a mask of another length, or one that keeps a row without its parent.

        Examples
        --------
        >>> import blockml
        >>> tree = tree_of(blockml.parse("<ul><li>a<li>b</ul>"))
        >>> part = tree.restricted(np.arange(len(tree)) < 6)
        >>> [part.name(row) for row in range(len(part))], part.n_children.tolist()
        (['html', 'head', 'body', 'ul', 'li', '#text'], [2, 0, 1, 2, 1, 0])
        """
        mask = np.asarray(mask, dtype=bool)
        if mask.shape != self.tag.shape:
            raise UsageError(f"mask of shape {mask.shape} for a tree of {len(self)} rows")
        if (mask & ~np.append(mask, [True])[self.parent]).any():
            raise UsageError("a row can't be kept without its parent")
        rows = np.flatnonzero(mask)
        before = np.concatenate([[0], np.cumsum(mask)]).astype(np.int32)
        kept: dict[str, Any] = {name: getattr(self, name)[rows] for name in (*_COLUMNS, "nodes")}
        kept |= {"parent": np.append(before[:-1], np.int32(-1))[kept["parent"]], "end": before[kept["end"]]}
        for table, column in _TABLES.items():
            kept[table], kept[column] = _used(getattr(self, table), kept[column], keep_first=column != "ids")
        return Tree(**kept)

    def arrays(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, list[str]]]:
        """Return the arrays and lists of strings from which :meth:`from_arrays` restores the tree; texts as hashes."""
        arrays: dict[str, NDArray[np.generic]] = {name: getattr(self, name) for name in _COLUMNS}
        strings = {
            "names": list(self.names),
            "id_table": list(self.id_table),
            "class_table": [" ".join(sorted(names)) for names in self.class_table],
            "attribute_table": [json.dumps(sorted(pairs)) for pairs in self.attribute_table],
        }
        return arrays, strings

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], strings: Mapping[str, Sequence[str]]) -> Tree:
        """Restore a tree from the result of :meth:`arrays`, ignoring other entries.

        Everything is checked so that no mapping can fail or loop; raises UsageError with what is missing or damaged.

        Examples
        --------
        >>> import blockml
        >>> tree = tree_of(blockml.parse("<p class=a>text"))
        >>> Tree.from_arrays(*tree.arrays()).class_table == tree.class_table
        True
        """
        if missing := [name for name in _COLUMNS if name not in arrays] + [n for n in _TABLES if n not in strings]:
            raise UsageError(f"a tree lacks {', '.join(missing)}")
        columns = {name: np.asarray(arrays[name]) for name in _COLUMNS}
        for name, column in columns.items():
            if column.dtype != np.dtype(_COLUMNS[name]) or column.shape != (len(columns["tag"]),):
                raise UsageError(f"a tree's {name!r} must be one {_COLUMNS[name]} per row")
        if any(not isinstance(text, str) for name in _TABLES for text in strings[name]):
            raise UsageError("a tree's tables must contain strings")
        tree = cls(
            names=tuple(strings["names"]),
            id_table=tuple(strings["id_table"]),
            class_table=tuple(frozenset(text.split()) for text in strings["class_table"]),
            attribute_table=tuple(_pairs(text) for text in strings["attribute_table"]),
            nodes=np.full(len(columns["tag"]), -1, dtype=np.int32),
            **columns,
        )
        _check(tree)
        return tree


def text_hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Hash texts with normalised white space to 64 bits, (n_texts,), equal on every machine; 0 is for elements."""
    return np.maximum(stable_hash64(" ".join(text.split()) for text in texts), np.uint64(1))


def tree_of(page: Page) -> Tree:
    """Build the tree of a page.

    Examples
    --------
    >>> import blockml
    >>> tree = tree_of(blockml.parse("<script>x</script><p id=a class='b c'>text"))
    >>> [tree.name(row) for row in range(len(tree))], tree.nodes.tolist()
    (['html', 'head', 'body', 'p', '#text'], [0, 1, 3, 4, 5])
    """
    nodes = page.nodes
    kept = (nodes.flags & Flag.DROPPED) == 0
    rows = np.flatnonzero(kept)
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
    parent = np.append(before[:-1], np.int32(-1))[nodes.parent[rows]]
    # Sorted by parent, the children of each parent are adjacent and in document order.
    order = np.argsort(parent, kind="stable")
    counts = np.bincount(parent + 1, minlength=len(rows) + 1).astype(np.int32)
    first = np.cumsum(counts) - counts
    position = np.empty(len(rows), dtype=np.int32)
    position[order] = np.arange(len(rows)) - first[parent[order] + 1]
    return Tree(
        names=nodes.names,
        tag=nodes.tag[rows],
        parent=parent,
        end=before[nodes.end[rows]],
        n_children=counts[1:],
        n_siblings=counts[parent + 1],
        position=position,
        nodes=rows.astype(np.int32),
        **_attribute_columns(nodes, rows),
    )


def _attribute_columns(nodes: Nodes, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return the columns and tables of a tree that come from attributes and texts."""
    id_codes: dict[str, int] = {}
    class_codes: dict[frozenset[str], int] = {frozenset(): 0}
    attribute_codes: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
    codes: list[tuple[int, int, int]] = []
    for node in rows.tolist():
        values = nodes.attributes[node]
        if not values:
            codes.append((-1, 0, 0))
            continue
        name = values.get("id", "").strip()
        classes = frozenset(values.get("class", "").split())
        others = frozenset(item for item in values.items() if item[0] not in {"id", "class"})
        id_code = id_codes.setdefault(name, len(id_codes)) if name else -1
        class_code = class_codes.setdefault(classes, len(class_codes))
        codes.append((id_code, class_code, attribute_codes.setdefault(others, len(attribute_codes))))
    columns = np.array(codes, dtype=np.int32).reshape(-1, 3)
    texts = np.zeros(len(rows), dtype=np.uint64)
    is_text = nodes.tag[rows] == 0
    texts[is_text] = text_hashes([nodes.texts[node] for node in rows[is_text].tolist()])
    return {
        "id_table": tuple(id_codes),
        "ids": columns[:, 0].copy(),
        "class_table": tuple(class_codes),
        "classes": columns[:, 1].copy(),
        "attribute_table": tuple(attribute_codes),
        "attributes": columns[:, 2].copy(),
        "texts": texts,
    }


def _used(
    table: tuple[_Entry, ...], codes: NDArray[np.int32], *, keep_first: bool
) -> tuple[tuple[_Entry, ...], NDArray[np.int32]]:
    """Return the entries of a table that occur, and the codes renumbered accordingly."""
    occurs = np.zeros(len(table) + 1, dtype=bool)  # code -1, "none", leads to the extra entry
    occurs[codes] = True
    occurs[-1] = False
    if keep_first:
        occurs[0] = True
    new = np.append(np.cumsum(occurs[:-1]) - 1, -1).astype(np.int32)
    return tuple(table[code] for code in np.flatnonzero(occurs).tolist()), new[codes]


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    """Parse attributes as stored in a file."""
    try:
        pairs = json.loads(text)
        found = frozenset((name, value) for name, value in pairs)
    except (ValueError, TypeError, RecursionError):
        raise UsageError(f"unreadable attributes of a tree: {text[:80]!r}") from None
    if any(not isinstance(part, str) for pair in found for part in pair):
        raise UsageError(f"a tree's attributes must be names and values: {text[:80]!r}")
    return found


def _check(tree: Tree) -> None:
    """Raise UsageError unless the rows form a tree and all codes and numbers are in range."""
    if tree.names[:1] != ("#text",):
        raise UsageError("a tree's first name must be '#text'")
    if tree.class_table[:1] != (frozenset(),) or tree.attribute_table[:1] != (frozenset(),):
        raise UsageError("a tree's first class and attribute sets must be empty")
    for table, name in _TABLES.items():
        column, lowest = getattr(tree, name), -1 if name == "ids" else 0
        if ((column < lowest) | (column >= len(getattr(tree, table)))).any():
            raise UsageError("a tree has a code outside of its tables")
    open_rows: list[int] = []
    ends = tree.end.tolist()
    for row, (parent, end) in enumerate(zip(tree.parent.tolist(), ends, strict=True)):
        while open_rows and ends[open_rows[-1]] <= row:
            open_rows.pop()
        outer = open_rows[-1] if open_rows else -1
        if parent != outer or not row < end <= (ends[outer] if open_rows else len(ends)):
            raise UsageError(f"row {row} of a tree is not inside its parent")
        open_rows.append(row)
    present = np.bincount(tree.parent + 1, minlength=len(tree) + 1)[1:]
    if (present > tree.n_children).any():
        raise UsageError("a row of a tree has more children than its number of children")
    if ((tree.position < 0) | (tree.position >= tree.n_siblings)).any():
        raise UsageError("a position in a tree exceeds the number of siblings")
    if ((tree.tag == 0) & (present > 0)).any():
        raise UsageError("a text in a tree has children")
