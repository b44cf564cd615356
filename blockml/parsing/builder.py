"""Collect parser events into nodes; flatten pages that nest too deeply, and join what is over the limits.

Every back end calls ``start``, ``data`` and ``end`` of the same builder, in document order. Parsers don't build their
own tree: lxml's has a depth limit, and building and walking it costs more than these calls.

Parsers search all open elements at an end tag and copy them for misnested formatting, so that the time of a page with
deep nesting grows with its square. Tags beyond the limit, and end tags that close nothing there, are removed; all text
is kept. Elements whose content isn't text of the page keep their tags.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml._kernel.protocol import Addresses
from blockml.page import Blocks, Flag, Nodes, Separator
from blockml.page.attributes import NO_ATTRIBUTES, Attributes
from blockml.parsing.limits import Limits
from blockml.parsing.segmentation import VOID, common_ancestor
from blockml.parsing.tags import tags
from blockml.text.words import INVISIBLE, lazy_pattern

__all__ = ["CLOSED_BY_THE_NEXT", "LimitReached", "NodesBuilder", "flattened", "join_rest", "new_builder"]


#: Elements whose content is not text of the page: code, or markup that browsers show only as a substitute. They are
#: kept as childless nodes because they separate texts like any other element.
DROPPED = frozenset({"script", "style", "template", "iframe", "noembed", "noframes"})

#: Elements in which white space is significant.
PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp"})

#: Elements that set a flag for themselves and their descendants.
FLAGGED: Mapping[Flag, frozenset[str]] = {
    Flag.HEAD: frozenset({"head", "title"}),
    Flag.LINK: frozenset({"a"}),
    Flag.NOSCRIPT: frozenset({"noscript"}),
    Flag.PREFORMATTED: PREFORMATTED,
    Flag.DROPPED: DROPPED,
}

_HIDES = lazy_pattern(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
#: Styles and classes that may hide an element in another way. Only ASCII, as in the C extension.
_CONCEALING: Mapping[str, re.Pattern[str]] = {
    "style": lazy_pattern(r"(?:opacity|font-size)\s*:\s*[0.]|-[0-9]{3}", re.IGNORECASE | re.ASCII),
    "class": lazy_pattern(r"sr-only|visually|screen", re.IGNORECASE | re.ASCII),
}

#: Elements allowed in ``head`` (HTML standard, "metadata content"); any other one ends it.
_HEAD_CONTENT = frozenset({"base", "basefont", "bgsound", "link", "meta", "noscript", "title"}) | DROPPED

#: Kinds of elements that the builder distinguishes.
_PLAIN, _VOID, _DROPPED, _HEAD, _BODY, _PREFORMATTED = range(6)
_KINDS: Mapping[str, int] = {
    **dict.fromkeys(VOID, _VOID),
    **dict.fromkeys(DROPPED, _DROPPED),
    **dict.fromkeys(PREFORMATTED, _PREFORMATTED),
    "head": _HEAD,
    "body": _BODY,
}

#: Properties of element names for the C extension: kind in bits 0-7, flags in bits 8-15, membership of _HEAD_CONTENT in
#: bit 16.
_NAME_PROPERTIES: Mapping[str, int] = {
    name: _KINDS.get(name, _PLAIN)
    | sum(flag for flag, names in FLAGGED.items() if name in names) << 8
    | (name in _HEAD_CONTENT) << 16
    for name in (*_KINDS, *_HEAD_CONTENT, *frozenset().union(*FLAGGED.values()))
}


class LimitReached(Exception):  # noqa: N818 (ends a parse early; callers of the package never get it)
    """The page has more nodes than the limit allows."""


@dataclass(slots=True)
class NodesBuilder:
    """Functions that collect the parser events of one page; made by :func:`new_builder`.

    They are compiled functions, or closures over local lists, and not methods: they run once per tag, and attribute
    look-ups on ``self`` would double their cost. None of them refers to the builder, so a page is freed without a
    garbage collection.
    """

    start: Callable[[str, Mapping[str, str]], None]  #: Open an element with a name and attributes.
    end: Callable[[str], None]  #: Close the innermost element, which has this name.
    data: Callable[[str], None]  #: Add text.
    close: Callable[[], None]  #: End the page; may be called again.
    #: Count the tags that the parser reads next, each with the open elements that it may search; tell whether the
    #: budget of steps allows them.
    spend: Callable[[int], bool]
    #: Tell whether elements were flattened at the depth limit, nodes were left out at the node limit, and the budget of
    #: steps was spent.
    limits_hit: Callable[[], tuple[bool, bool, bool]]
    nodes: Callable[[], Nodes]  #: Return the nodes of a closed page.
    #: Parse a page in UTF-8 by the functions of libxml2 at these addresses; None without the C extension.
    parse_libxml2: Callable[[bytes, Addresses], None] | None = None
    #: Parse a page in UTF-8 by the functions of lexbor at these addresses; None without the C extension.
    parse_lexbor: Callable[[bytes, Addresses], None] | None = None
    warnings: list[str] = field(default_factory=list)  #: Warnings of the back end.


def new_builder(limits: Limits, max_steps: int = Limits().steps_of(0)) -> NodesBuilder:
    """Return a builder for one page: the compiled one if the C extension is installed."""
    if _kernel.compiled is None:
        return _python_builder(limits, max_steps)
    functions = _kernel.compiled.nodes_builder(
        _NAME_PROPERTIES, limits.nodes, limits.depth, max_steps, LimitReached, _HIDES, INVISIBLE
    )
    start, end, data, close, spend, limits_hit, columns, parse_libxml2, parse_lexbor = functions

    def nodes() -> Nodes:
        names, tag, parent, depth, ends, flags, texts, number, given, pairs, set_ends = columns()
        tag, parent, depth, ends, number = (
            np.frombuffer(column, np.int32) for column in (tag, parent, depth, ends, number)
        )
        attributes = Attributes(number, given, pairs, np.frombuffer(set_ends, np.int64))
        return Nodes(names, tag, parent, depth, ends, np.frombuffer(flags, np.uint8), attributes, texts)

    return NodesBuilder(start, end, data, close, spend, limits_hit, nodes, parse_libxml2, parse_lexbor)


def _python_builder(limits: Limits, max_steps: int) -> NodesBuilder:
    """Return the reference implementation of the builder."""
    # Arrays take a tenth of the memory of lists of int.
    ids: dict[str, int] = {"#text": 0}  # index of each name
    tags, parents, ends = array("i"), array("i"), array("i")
    attributes: list[Mapping[str, str]] = []
    texts: list[str] = []
    path: list[int] = [-1]  # open nodes
    dropped: list[str] = []  # the open dropped element and what is open inside it
    pieces: list[str] = []  # text since the last tag
    space = ""  # white space since the last text
    n_preformatted = 0  # open preformatted elements
    n_flattened = 0  # open elements beyond the depth limit
    n_unclosed = 0  # start tags without an end tag, which the parser has open
    steps = 0  # unclosed elements, summed over tags
    has_head = False
    head_level = 0  # length of path while only head and its ancestors are open
    max_nodes, max_depth = limits.nodes, limits.depth
    too_deep = too_many = too_costly = False
    kind_of = _KINDS.get

    def add(tag: str, attribute: Mapping[str, str], text: str) -> int:
        nonlocal too_many
        node = len(tags)
        if node >= max_nodes:
            too_many = True
            raise LimitReached
        tags.append(ids.setdefault(tag, len(ids)))
        parents.append(path[-1])
        attributes.append(dict(attribute) if attribute else NO_ATTRIBUTES)  # mappings of lxml can't be pickled
        texts.append(text)
        ends.append(node + 1)
        return node

    def leave_head() -> None:
        # libxml2 keeps unknown elements in a head without an end tag; the HTML standard starts the body there.
        nonlocal head_level
        head_level = 0
        ends[path.pop()] = len(tags)
        path.append(add("body", NO_ATTRIBUTES, ""))

    def store_space(text: str) -> None:
        """Keep white space for the next text: a single blank, unless it is preformatted or may be an indent."""
        nonlocal space
        if n_preformatted:
            space += text
        elif text not in ("", " ") and "\n" not in text:
            space = text
        else:
            space = space or (text[:1] and " ")

    def flush() -> None:
        nonlocal space
        text = "".join(pieces)
        pieces.clear()
        if not text or text.isspace():
            # White space only separates its neighbours: it is prepended to the next text.
            store_space(text)
            return
        if not text.isprintable():  # a fast test that most texts pass
            text = INVISIBLE.sub("", text)
            if not text or text.isspace():
                store_space(text)
                return
        if head_level and len(path) == head_level:
            leave_head()
        if space:
            text = space + text
            space = ""
        add("#text", NO_ATTRIBUTES, text)

    def start(tag: str, attribute: Mapping[str, str]) -> None:
        nonlocal space, n_preformatted, n_flattened, n_unclosed, has_head, head_level, too_deep
        n_unclosed += 1
        if dropped:
            dropped.append(tag)
            return
        if pieces:
            flush()
        if head_level and len(path) == head_level and tag not in _HEAD_CONTENT:
            leave_head()
        kind = kind_of(tag, _PLAIN)
        if kind == _BODY and not has_head:
            # The HTML standard's tree always has a head; libxml2 omits an empty one.
            has_head = True
            add("head", NO_ATTRIBUTES, "")
        node = add(tag, attribute, "")
        if kind == _VOID:
            return  # not opened, because libxml2 puts text into void elements that it doesn't know
        if kind == _DROPPED:
            dropped.append(tag)
        elif len(path) > max_depth:
            too_deep = True
            n_flattened += 1
        else:
            path.append(node)
            if kind == _HEAD:
                has_head = True
                head_level = len(path)
            elif kind == _PREFORMATTED:
                n_preformatted += 1
                space = ""

    def end(tag: str) -> None:
        nonlocal n_preformatted, n_flattened, n_unclosed, head_level, space
        if n_unclosed:
            n_unclosed -= 1
        if dropped:
            dropped.pop()
            if not dropped:
                pieces.clear()
            return
        if pieces:
            flush()
        kind = kind_of(tag, _PLAIN)
        if kind == _VOID or len(path) == 1:
            return
        if n_flattened:
            n_flattened -= 1
            pieces.append(" ")  # the end of a flattened element still separates texts
            return
        if len(path) == head_level:
            head_level = 0
        ends[path.pop()] = len(tags)
        if kind == _PREFORMATTED and n_preformatted:  # there may be more ends than starts
            n_preformatted -= 1
            if not n_preformatted:
                space = space and " "

    def close() -> None:
        try:
            if pieces and not dropped:
                flush()
        finally:  # also if the text exceeds the node limit
            for node in path[1:]:
                ends[node] = len(tags)
            del path[1:]

    def spend(n_tags: int) -> bool:
        nonlocal steps, too_costly
        steps += n_unclosed * n_tags
        too_costly = steps > max_steps
        return not too_costly

    def limits_hit() -> tuple[bool, bool, bool]:
        return too_deep, too_many, too_costly

    def nodes() -> Nodes:
        tag_column = np.array(tags, dtype=np.int32)
        end_column = np.array(ends, dtype=np.int32)
        n = len(tags)
        depth = (
            np.arange(n) - np.bincount(end_column, minlength=n + 1)[:n].cumsum()
        )  # number of nodes before it minus those closed
        return Nodes(
            names=tuple(ids),
            tag=tag_column,
            parent=np.array(parents, dtype=np.int32),
            depth=depth.astype(np.int32),
            end=end_column,
            flags=_flags(tuple(ids), tag_column, end_column, attributes),
            attributes=attributes,
            texts=texts,
        )

    return NodesBuilder(start, end, pieces.append, close, spend, limits_hit, nodes)


def _flags(
    names: tuple[str, ...], tag: NDArray[np.int32], end: NDArray[np.int32], attributes: list[Mapping[str, str]]
) -> NDArray[np.uint8]:
    """Return (n,) :class:`Flag` bits of each node, inherited from its ancestors."""
    n = len(tag)
    hidden = [
        node
        for node, attribute in enumerate(attributes)
        if attribute
        and ("hidden" in attribute or ("style" in attribute and _HIDES.search(attribute["style"]) is not None))
    ]
    concealed = [
        node
        for node, attribute in enumerate(attributes)
        if attribute and any(pattern.search(attribute.get(name) or "") for name, pattern in _CONCEALING.items())
    ]
    flagged = {Flag.HIDDEN: np.array(hidden, dtype=np.intp), Flag.CONCEALED: np.array(concealed, dtype=np.intp)}
    for flag, elements in FLAGGED.items():
        flagged[flag] = np.flatnonzero(np.array([name in elements for name in names])[tag])
    flags = np.zeros(n, dtype=np.uint8)
    for flag, nodes in flagged.items():
        if len(nodes):
            n_opened = np.bincount(nodes, minlength=n + 1) - np.bincount(end[nodes], minlength=n + 1)
            flags[n_opened[:n].cumsum() > 0] |= np.uint8(flag)
    return flags


#: Elements that hold rows and no text.
_OF_ROWS = frozenset({"table", "thead", "tbody", "tfoot", "tr"})


def join_rest(nodes: Nodes, blocks: Blocks, n_blocks: int) -> tuple[Nodes, Blocks]:
    """Return a page's tree and blocks, in which the last block joins all later ones, and one node their nodes.

    The joined block's text node is the last node. It is a child of the deepest element around the block that may hold
    text: what follows the rows of a table is behind the table, where an HTML parser would put it before.

    Parameters
    ----------
    nodes
        The tree.
    blocks
        More than ``n_blocks`` blocks of the page.
    n_blocks
        Number of blocks to return, at least 1.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>one<p>two<p>three<p>four")
    >>> nodes, blocks = join_rest(page.nodes, page.blocks, 2)
    >>> blocks.texts, nodes.texts[-1], len(nodes), nodes.xpath(len(nodes) - 1)
    (('one', 'two three four'), 'two three four', 7, '/html/body')
    """
    first = n_blocks - 1
    start = int(blocks.node[first])
    is_glued = (blocks.separators[first + 1 :] == Separator.GLUED).tolist()
    rest = zip(blocks.texts[first + 1 :], is_glued, strict=True)
    text = blocks.texts[first] + "".join([text if glued else " " + text for text, glued in rest])
    parent = int(common_ancestor(nodes, blocks.node[first : first + 1], blocks.last_node[-1:])[0])
    while parent >= 0 and nodes.name(parent) in _OF_ROWS:
        parent = int(nodes.parent[parent])
    if parent < 0 and nodes.parent[start] >= 0:  # content after </html> has a separate root
        parent = nodes.ancestors(start)[-1]
    flags = nodes.flags[parent if parent >= 0 else start]

    def cut(column: NDArray[np.int32], last: int) -> NDArray[np.int32]:
        return np.append(column[:first], np.int32(last))

    joined = Blocks(
        texts=(*blocks.texts[:first], text),
        n_words=cut(blocks.n_words, blocks.n_words[first:].sum()),
        n_linked=cut(blocks.n_linked, blocks.n_linked[first:].sum()),
        first_line=blocks.first_line[:n_blocks].copy(),
        last_line=cut(blocks.last_line, blocks.last_line[-1]),
        parent=cut(blocks.parent, parent),
        node=blocks.node[:n_blocks].copy(),
        last_node=cut(blocks.last_node, start),
        flags=np.append(blocks.flags[:first], flags),
        separators=blocks.separators[:n_blocks].copy(),
        word_lengths=blocks.word_lengths,
        parents=(*blocks.parents[:first], nodes.name(parent) if parent >= 0 else ""),
    )
    return _with_last(nodes, start, parent, text), joined


def _with_last(nodes: Nodes, n: int, parent: int, text: str) -> Nodes:
    """Return the first ``n`` nodes and, as last node, a text in an element that is open there; -1 for no element."""
    end = np.minimum(nodes.end[:n], n)
    around = [parent, *nodes.ancestors(parent)] if parent >= 0 else []
    end[around] = n + 1
    depth, flags = np.int32(len(around)), nodes.flags[parent if parent >= 0 else n]
    return Nodes(
        names=nodes.names,
        tag=np.append(nodes.tag[:n], np.int32(0)),
        parent=np.append(nodes.parent[:n], np.int32(parent)),
        depth=np.append(nodes.depth[:n], depth),
        end=np.append(end, np.int32(n + 1)),
        flags=np.append(nodes.flags[:n], flags),
        attributes=_first_attributes(nodes, n),
        texts=[*nodes.texts[:n], text],
    )


def _first_attributes(nodes: Nodes, n: int) -> Sequence[Mapping[str, str]]:
    """Return the attributes of the first nodes, and an empty set for one more."""
    held = nodes.attributes
    if not isinstance(held, Attributes):
        return [*held[:n], NO_ATTRIBUTES]
    number = np.append(held.number[:n], np.int32(0))
    n_sets = int(number.max()) + 1
    return Attributes(number, held.given[:n_sets], held.pairs[: int(held.ends[n_sets - 1])], held.ends[:n_sets].copy())


#: Elements that a parser closes when the next one starts, so that a run of them doesn't nest.
CLOSED_BY_THE_NEXT = frozenset(
    name.encode() for name in "p li td th tr dt dd option tbody thead tfoot html head body".split()
)
_VOID_START = frozenset(name.encode() for name in VOID)
_KEPT = _VOID_START | {name.encode() for name in DROPPED} | {b"title", b"textarea", b"xmp", b"plaintext"}
#: Minimum number of open elements to remove an end tag without a start tag (our choice: fewer are cheap to search).
_FEW = 256


def flattened(source: bytes, depth: int) -> tuple[bytes, bool]:
    """Remove the tags of elements deeper than ``depth``; tell whether there were any.

    Examples
    --------
    >>> flattened(b"<b><i><u>deep</u></i></b> text", 2)
    (b'<b><i>deep</i></b> text', True)
    >>> flattened(b"<p>one<p>two<br>" * 9, 2)[1]
    False
    """
    kept: list[bytes] = []
    path: list[bytes] = []  # names of open elements
    opened: Counter[bytes] = Counter()
    dropped: Counter[bytes] = Counter()
    begin = n_open = 0
    for tag in tags(source):
        name = tag.name
        if name in _KEPT:
            continue
        if not tag.closes:
            if n_open < depth or name in CLOSED_BY_THE_NEXT:
                path.append(name)
                opened[name] += 1
                n_open += name not in CLOSED_BY_THE_NEXT
                continue
            dropped[name] += 1
        elif dropped[name]:
            dropped[name] -= 1
        elif opened[name]:
            while path:
                last = path.pop()
                opened[last] -= 1
                n_open -= last not in CLOSED_BY_THE_NEXT
                if last == name:
                    break
            continue
        elif n_open < _FEW:
            continue
        kept.append(source[begin : tag.start])
        begin = tag.end
    kept.append(source[begin:])
    return b"".join(kept), len(kept) > 1
