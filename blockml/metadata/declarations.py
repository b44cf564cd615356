"""Declarations of a page in ``meta`` elements."""

from __future__ import annotations

from typing import TypeVar

from blockml.page import Nodes

_Known = TypeVar("_Known")


def declarations(nodes: Nodes, known: dict[str, _Known]) -> list[tuple[_Known, str]]:
    """Look up the names of the ``meta`` elements; return the entries with the contents.

    The first of the attributes ``property``, ``name`` and ``http-equiv`` with a value gives the name of the
    declaration. Elements with an unknown name or without content are skipped.

    Parameters
    ----------
    nodes
        The nodes of a page.
    known
        Entries by ASCII names in lower case.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<meta name=Author content=Ann><meta name=author><meta name=robots content=all><p>x")
    >>> declarations(page.nodes, {"author": 1})
    [(1, 'Ann')]
    """
    found = []
    for node in nodes.indices("meta").tolist():
        attributes = nodes.attributes[node]
        content = attributes.get("content")
        name = attributes.get("property") or attributes.get("name") or attributes.get("http-equiv") or ""
        if content and name.isascii() and (entry := known.get(name.lower())) is not None:
            found.append((entry, content))
    return found
