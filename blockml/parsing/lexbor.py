"""Feed the builder from the tree that lexbor builds, through the C functions of the parsers' libraries.

selectolax is an optional package, loaded only for this back end. It creates an object for each node that is accessed,
which costs more than the parse, so the C extension walks the tree by lexbor's own functions.

The standard's algorithm is not linear: nearly every tag searches the stack of open elements, text reopens formatting
elements that were left open, and each attribute of a tag is compared with those before it. Lexbor could take hours and
all memory for a few hostile megabytes, and has no limits. So :func:`is_costly` bounds the cost from the source, and
costlier pages go to libxml2.

Both packages export the public functions of the parser they contain. The extension calls them only in versions
whose data structures were tested, and only if a sample page gives the same nodes as the package's public interface.
Otherwise pages are parsed through that interface, which is slower and gives the same result.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal

import numpy as np

from blockml._kernel.protocol import Addresses
from blockml.errors import needed
from blockml.page import Nodes
from blockml.parsing.builder import DROPPED, NodesBuilder, new_builder
from blockml.parsing.limits import Limits
from blockml.parsing.tags import count_attributes
from blockml.text.words import lazy_pattern

__all__ = [
    "SAMPLE",
    "addresses",
    "are_equal",
    "feed",
    "has_many_attributes",
    "is_costly",
    "lexbor_addresses",
    "parse_selectolax",
    "usable_addresses",
]


#: Versions of selectolax whose lexbor the C extension was tested with; the end is excluded.
_TESTED_SELECTOLAX = ((1, 0), (1, 1))

#: Maximum start tags: lexbor takes 0.25 s if none of them is closed (0.6 s for 16,000). Three of 2,857 labelled pages
#: have more.
_MAX_START_TAGS = 10_000

#: Maximum tags, including comments and everything else after ``<``: lexbor may search the open elements at each end
#: tag, and an end tag ``</p>`` without an element creates one. Well-formed pages have two tags per start tag.
_MAX_TAGS = 4 * _MAX_START_TAGS

#: Maximum reopened elements of any page, and per byte of longer pages. Lexbor needs 370 bytes for each. Their number is
#: at most the start tags times the formatting elements with attributes that may be left open. All bounds together send
#: 44 of 3,000 labelled pages to libxml2.
_MAX_REOPENED, _REOPENED_PER_BYTE = 200_000, 0.25

#: Maximum attributes of one tag: each is compared with all before it, which takes 0.4 s for this many.
_MAX_ATTRIBUTES = 10_000

#: Formatting elements with attributes. The standard reopens at most three with equal attributes ("Noah's Ark clause"),
#: and at most one <a> or <nobr>.
_FORMATTING = lazy_pattern(rb"<(?:b|big|code|em|font|i|s|small|strike|strong|tt|u)[\s/]", re.IGNORECASE)

#: A formatting element that is closed: well-formed tags, and no markup in it except links, spans and pictures. The
#: repeats have a maximum, because each round takes 250 bytes; an element with more counts as one that is left open.
_TAG_END = rb"""(?:\s++[^\s"'<>/=]++(?:\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>=`/]++))?){0,20}\s*+/?>[^<>]*+"""
_CLOSED = lazy_pattern(
    rb"<(b|big|code|em|font|i|s|small|strike|strong|tt|u)(?=[\s/])" + _TAG_END +
    rb"(?:<(?:a|span|br|img|/a|/span)" + _TAG_END + rb"){0,100}</\1\s*+>",
    re.IGNORECASE,
)  # fmt: skip

_START_TAG = lazy_pattern(rb"<[a-zA-Z]")

#: Bytes that may separate two attributes.
_SEPARATORS = b" \t\n\r\f/\"'"

#: Tag number of text nodes in lexbor's public header lexbor/tag/const.h.
_TEXT = 2


def is_costly(source: bytes) -> bool:
    """Tell whether the standard's algorithm could take more than about a second.

    Parameters
    ----------
    source
        A page in UTF-8.

    Examples
    --------
    >>> is_costly(b"<div><p>cats" * 1000), is_costly(b"<div>" * 20_000)
    (False, True)
    """
    data = np.frombuffer(source, dtype=np.uint8)
    opens = data[:-1] == ord("<")
    most = max(_MAX_REOPENED, len(source) * _REOPENED_PER_BYTE)
    # The product below is at most (n / 2) ** 2 for n tags, which is under the limit for most pages.
    if (n_tags := int(np.count_nonzero(opens))) ** 2 > 4 * most:
        if n_tags > _MAX_TAGS:
            return True
        n_started = int(np.count_nonzero(opens & ((data[1:] | 0x20) - ord("a") < 26)))  # unsigned: bytes below "a" wrap
        if n_started > _MAX_START_TAGS:
            return True
        n_formatting = len(_FORMATTING.findall(source))
        # One more, because a closed element is open for a while.
        if n_started * n_formatting > most and n_started * (n_formatting - len(_CLOSED.findall(source)) + 1) > most:
            return True
    return has_many_attributes(source)


def has_many_attributes(source: bytes, most: int = _MAX_ATTRIBUTES) -> bool:
    """Tell whether a tag has more than ``most`` attributes, so that comparing each with those before it is slow.

    Examples
    --------
    >>> has_many_attributes(b"<p" + b" a" * 30 + b">", 20), has_many_attributes(b"<p id='" + b"a " * 30 + b"'>", 20)
    (True, False)
    """
    for run in _long_runs(source, 2 * most):
        tag = _START_TAG.search(run)
        rest = run[tag.start() :] if tag else b""
        n_separators = len(rest) - len(rest.translate(None, _SEPARATORS))
        if n_separators > most and count_attributes(rest) > most:  # a long value has separators too
            return True
    return False


def _long_runs(source: bytes, min_length: int) -> Iterator[bytes]:
    """Yield runs of at least ``min_length`` bytes without a ``>``; a tag of that length is within one of them.

    A tag with a ``>`` in a quoted value is missed. Broken markup may put a whole article into a tag, but not thousands
    of such values.
    """
    position = 0
    while position + min_length <= len(source):
        last = source.rfind(b">", position, position + min_length)
        if last < 0:
            last = source.find(b">", position + min_length)
            if last < 0:
                last = len(source)
            yield source[position:last]
        position = last + 1


def feed(source: bytes, builder: NodesBuilder) -> None:
    """Parse a page and send its tree to a builder.

    Parameters
    ----------
    source
        The page in UTF-8. Check :func:`is_costly` first.
    builder
        Receives the events.

    Raises
    ------
    MissingExtraError
        selectolax is not installed.
    LimitReached
        The builder has reached its node limit.
    """
    with needed("the back end lexbor", "fast"):
        import selectolax.lexbor  # noqa: F401 (is it installed?)
    if builder.parse_lexbor and (functions := lexbor_addresses()):
        builder.parse_lexbor(source, functions)
    else:
        parse_selectolax(source, builder)


@functools.cache
def lexbor_addresses() -> Addresses | None:
    """Return the functions of lexbor that the C extension calls; None if it must use selectolax's public interface."""
    import selectolax.lexbor

    names = (
        "lxb_html_document_create",
        "lxb_html_document_dom_opt_set_noi",
        "lxb_html_document_parse",
        "lxb_html_document_destroy",
        "lxb_dom_document_root",
        "lxb_dom_document_destroy_text_noi",
        "lxb_dom_node_type_noi",
        "lxb_dom_node_tag_id_noi",
        "lxb_dom_node_first_child_noi",
        "lxb_dom_node_next_noi",
        "lxb_dom_node_text_content",
        "lxb_html_serialize_pretty_cb",
        "lxb_dom_element_qualified_name",
        "lxb_dom_element_first_attribute_noi",
        "lxb_dom_element_next_attribute_noi",
        "lxb_dom_attr_qualified_name",
        "lxb_dom_attr_value_noi",
    )
    version = tuple(int(number) for number in re.findall(r"\d+", selectolax.__version__)[:3])
    module, tested = selectolax.lexbor, _TESTED_SELECTOLAX
    return usable_addresses(
        module, names, version=version, tested=tested, parse="parse_lexbor", parse_public=parse_selectolax
    )


def parse_selectolax(source: bytes, builder: NodesBuilder) -> None:
    """Parse a page through selectolax's public interface and walk its tree, without recursion."""
    from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

    start, data, end = builder.start, builder.data, builder.end
    names: dict[int, str | None] = {}  # by tag number; None for comments and processing instructions
    name: str | None
    open_elements: list[tuple[Any, str]] = []
    # One parser per call: sharing one is not safe. Lexbor's events would copy the selected option into
    # <selectedcontent>, so that the page would contain it twice.
    node: Any = LexborHTMLParser(source, options=LexborDocumentOptions.WO_EVENTS).root
    while True:
        # Every property creates an object, so each is read once; the tag number is the cheapest.
        number = node.tag_id
        if number == _TEXT:
            data(node.text_content)
        else:
            try:
                name = names[number]
            except KeyError:
                name = names[number] = node.tag.lower() if node.is_element_node else None
            if name is not None:
                attributes = node.attributes
                if None in attributes.values():
                    attributes = {key: value or "" for key, value in attributes.items()}
                start(name, attributes)
                if name not in DROPPED and (child := node.first_child) is not None:
                    open_elements.append((node, name))
                    node = child
                    continue
                end(name)
        while (following := node.next) is None:
            if not open_elements:
                return
            node, name = open_elements.pop()
            end(name)
        node = following


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
