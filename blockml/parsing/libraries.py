"""Find C functions of the parsers inside lxml and selectolax, so that the C extension parses without Python objects.

Both packages export the public functions of the parser they contain. The extension calls them only in versions
whose data structures were tested, and only if a sample page gives the same nodes as the package's public interface.
Otherwise pages are parsed through that interface, which is slower and gives the same result.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Literal

import numpy as np

from blockml._kernel.protocol import Addresses
from blockml.page import Nodes
from blockml.parsing.builder import NodesBuilder, new_builder
from blockml.parsing.limits import Limits

__all__ = ["SAMPLE", "addresses", "are_equal", "usable_addresses"]

#: Page of the self-test: attributes, entities, comments, scripts, tables, code, text in two writing systems.
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
    parse: Literal["parse_libxml2", "parse_lexbor"],
    parse_public: Callable[[bytes, NodesBuilder], None],
) -> Addresses | None:
    """Find functions of a library and test them with :data:`SAMPLE`.

    Parameters
    ----------
    module
        A compiled module that contains the library.
    names
        Names of C functions.
    version
        Version of the library.
    tested
        Range of tested versions; the end is excluded.
    parse
        Field of :class:`~blockml.parsing.builder.NodesBuilder` that calls the functions.
    parse_public
        Parser that uses the package's public interface.

    Returns
    -------
    Addresses or None
        Addresses in the order of the names; None if there is no C extension, the version was not tested, a function is
        missing, or the nodes differ.
    """
    found = addresses(module, names) if tested[0] <= version < tested[1] else None
    direct, public = new_builder(Limits()), new_builder(Limits())
    parse_direct = getattr(direct, parse)
    if found is None or parse_direct is None:
        return None
    parse_direct(SAMPLE, found)
    parse_public(SAMPLE, public)
    direct.close()
    public.close()
    return found if are_equal(direct.nodes(), public.nodes()) else None


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
    """Return the addresses of C functions in the file of a compiled module; None unless all are found.

    Examples
    --------
    >>> from lxml import etree
    >>> addresses(etree, ["htmlNoSuchFunction"]) is None
    True
    """
    if module.__file__ is None:
        return None
    try:
        library = ctypes.CDLL(module.__file__)  # which is already loaded
        found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
    except (AttributeError, OSError):
        return None
    return tuple([address for address in found if address]) if all(found) else None
