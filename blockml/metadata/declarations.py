"""Declarations of a page by ``meta`` elements."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import TypeVar

from blockml import _kernel
from blockml.page import Attributes, Nodes

_Known = TypeVar("_Known")
#: Attributes that name what an element declares; the first one with a value counts.
_NAMES = ("property", "name", "http-equiv")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def declarations(nodes: Nodes, known: dict[str, _Known]) -> list[tuple[_Known, str]]:
    """Look up the names of the ``meta`` elements; return the entries with the contents.

    Elements with an unknown name or without content are passed over.

    Parameters
    ----------
    nodes
        The nodes of a page.
    known
        Entries by the ASCII lower case of a ``property``, ``name`` or ``http-equiv``, of at most 63 bytes.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<meta name=Author content=Ann><meta name=author><meta name=robots content=all><p>x")
    >>> declarations(page.nodes, {"author": 1})
    [(1, 'Ann')]
    """
    held, elements = nodes.attributes, nodes.indices("meta")
    if _kernel.compiled is not None and isinstance(held, Attributes) and len(held.mapped()) == 1:
        return _kernel.compiled.declarations(held.pairs, known, *held.spans(elements))
    found = (_declaration(held[node], known) for node in elements.tolist())
    return [item for item in found if item is not None]


def _declaration(attributes: Mapping[str, str], known: dict[str, _Known]) -> tuple[_Known, str] | None:
    """Look up the name of an element with some attributes; return the entry and the content."""
    content = attributes.get("content")
    name = next((value for key in _NAMES if (value := attributes.get(key))), "")
    found = known.get(name.translate(_LOWER))
    return (found, content) if content and found is not None else None
