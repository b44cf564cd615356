"""Functions of the C libraries inside lxml and selectolax, through which the C extension parses without Python objects.

Both packages export the public functions of the parser that they contain. The extension uses them only in versions
whose layout was tested, and only if a sample page gives the same nodes as the packages' public interface; otherwise
pages go through that interface, which is slower and gives the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TypeAlias

import numpy as np

from blockml.page import Nodes

__all__ = ["SAMPLE", "Addresses", "addresses", "are_equal", "usable_addresses"]

Addresses: TypeAlias = tuple[int, ...]
"""Addresses of C functions in this process."""

#: What the self-test parses: attributes, entities, comments, scripts, tables, code, text in two scripts.
SAMPLE = (
    "<!doctype html><html lang=en><head><title>A &amp; B</title><meta name=x content='y z'><script>if (a < b) c()"
    "</script></head><body class='one two' ID=top><!-- note --><p hidden>Caf\u00e9 &eacute; \u4f60\u597d "
    '<b title="q&quot;">bold</b><br>line<table><tr><td>1<td colspan=2>2</table><pre>  a\n b</pre><ul><li>x<li>y</ul>'
    "<svg><path d=M0/></svg><a href=/x?a=1&amp;b=2>link</a></body></html>after"
).encode()


def usable_addresses(
    module: ModuleType,
    names: Sequence[str],
    *,
    version: tuple[int, ...],
    tested: tuple[tuple[int, ...], tuple[int, ...]],
    direct: Callable[[Addresses], Nodes],
    public: Callable[[], Nodes],
) -> Addresses | None:
    """Find functions of a library and test them once.

    Parameters
    ----------
    module
        A compiled module.
    names
        Names of C functions.
    version
        Version of the library.
    tested
        The first version that was tested, and the first one behind those.
    direct, public
        Parse :data:`SAMPLE` by these functions, and by the package's public interface.

    Returns
    -------
    Addresses or None
        In the order of the names; None if the version was not tested, a function is missing, or the nodes differ.
    """
    first, behind = tested
    if not first <= version < behind:
        return None
    found = addresses(module, names)
    return found if found is not None and are_equal(direct(found), public()) else None


def are_equal(one: Nodes, other: Nodes) -> bool:
    """Tell whether two trees have the same nodes, attributes and texts."""
    columns = ("tag", "parent", "depth", "end", "flags")
    return (
        one.names == other.names
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
        and list(one.texts) == list(other.texts)
        and [dict(item) for item in one.attributes] == [dict(item) for item in other.attributes]
    )


def addresses(module: ModuleType, names: Sequence[str]) -> Addresses | None:
    """Find functions in the library that a compiled module is.

    Parameters
    ----------
    module
        A compiled module.
    names
        Names of C functions.

    Returns
    -------
    Addresses or None
        In the order of the names; None unless all are there.

    Examples
    --------
    >>> from lxml import etree
    >>> addresses(etree, ["htmlNoSuchFunction"]) is None
    True
    """
    if module.__file__ is None:
        return None
    try:
        library = ctypes.CDLL(module.__file__)  # is loaded already
        found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
    except (AttributeError, OSError):
        return None
    return tuple([address for address in found if address]) if all(found) else None
