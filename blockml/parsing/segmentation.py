"""Segment nodes into blocks and into the lines of the refined document."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Set

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.errors import check_name
from blockml.page import Blocks, Flag, Nodes, Separator
from blockml.text.words import DIGIT, TOKENIZERS, UPPER, class_table, find_words

__all__ = [
    "BREAKING",
    "PROFILES",
    "VOID",
    "common_ancestor",
    "document_lines",
    "own_line_starts",
    "own_lines",
    "segment",
]


#: Segmentation profiles: the elements that do not end a block.
PROFILES: Mapping[str, Set[str]] = {
    # "All HTML tags become group separators; the only exception is tag <a>" (Kim et al. 2013, section 2.2).
    "anchor": frozenset({"a"}),
    # The inline elements of boilerpipe since 1.2 (public source, DefaultTagActionMap).
    "boilerpipe": frozenset("a strike u b i em strong span sup sub code tt var abbr acronym font".split()),
}

#: Layout of elements (HTML standard, section 15.3 "rendering"); all others are inline.
_LAYOUT: Mapping[Separator, Set[str]] = {
    Separator.CELL: frozenset({"td", "th"}),
    Separator.LINE: frozenset("br dd dt li tr option optgroup caption figcaption legend summary".split()),
    Separator.PARAGRAPH: frozenset(
        "address article aside blockquote body button center details dialog dir div dl fieldset figure footer form "
        "frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend listing main menu nav ol p pre search section "
        "select table tbody textarea tfoot thead ul xmp".split()
    ),
}

#: First code point of the scripts without spaces between words (Unicode: CJK radicals and following blocks).
_FIRST_IDEOGRAPH = "\u2e80"

#: Elements that end the line of text before them.
BREAKING: Set[str] = frozenset().union(*_LAYOUT.values())

#: Elements with code, whose parts are adjacent elements of one word each or less.
_CODE_ELEMENTS: Set[str] = frozenset({"code", "kbd", "samp", "tt", "var"})

#: Properties of element names for the C extension; those of unknown names are ``_ENDS_BLOCK | _ENDS_WORD``.
_ENDS_BLOCK, _ENDS_WORD, _CELL, _LINE, _PARAGRAPH, _VOID, _CODE = (1 << bit for bit in range(7))
_LAYOUT_BITS = {Separator.CELL: _CELL, Separator.LINE: _LINE, Separator.PARAGRAPH: _PARAGRAPH}


def segment(nodes: Nodes, *, profile: str = "anchor", keep_wordless: bool = True, tokenizer: str = "space") -> Blocks:
    """Segment the text of a page into blocks.

    A block is a maximal run of text nodes without a start or end tag of a separating element between them. Text in
    ``head`` and ``title`` forms no block. The texts of all blocks are the visible text of the page.

    Parameters
    ----------
    nodes
        The tree.
    profile
        Key of :data:`PROFILES`: the elements that do not separate.
    keep_wordless
        Keep blocks without a letter or digit.
    tokenizer
        Key of :data:`blockml.text.words.TOKENIZERS`: the definition of words.

    Raises
    ------
    UnknownNameError
        The profile or tokenizer is unknown.
    """
    check_name("profile", profile, PROFILES)
    check_name("tokenizer", tokenizer, TOKENIZERS)
    if _kernel.compiled is None:
        blocks = _segment(nodes, profile, tokenizer)
    else:
        blocks = _segment_compiled(_kernel.compiled, nodes, profile, tokenizer)
    return blocks if keep_wordless else blocks.only(blocks.n_words > 0)


def _segment_compiled(compiled: _kernel.Compiled, nodes: Nodes, profile: str, tokenizer: str) -> Blocks:
    """Segment all nodes with the C extension."""
    tag, parent, depth, end = (
        np.ascontiguousarray(column, np.int32) for column in (nodes.tag, nodes.parent, nodes.depth, nodes.end)
    )
    columns, bits, word_lengths, texts, parents = compiled.segment_nodes(
        nodes.names, nodes.texts if isinstance(nodes.texts, list) else list(nodes.texts), _name_properties(profile),
        _ENDS_BLOCK | _ENDS_WORD, tuple(TOKENIZERS).index(tokenizer),
        (tag, parent, depth, end, np.ascontiguousarray(nodes.flags, np.uint8), class_table()),
    )  # fmt: skip
    # Rows by index: iterating over an array is slow, because it ends with an exception.
    wide, narrow = np.frombuffer(columns, np.int32).reshape(7, -1), np.frombuffer(bits, np.uint8).reshape(2, -1)
    return Blocks(
        texts, wide[0], wide[1], wide[2], wide[3], wide[4], wide[5], wide[6], narrow[0], narrow[1],
        np.frombuffer(word_lengths, np.int32), parents,
    )  # fmt: skip


@functools.cache
def _name_properties(profile: str) -> Mapping[str, int]:
    """Return property bits by name, for all names whose bits differ from those of unknown ones."""
    return {
        name: _ENDS_BLOCK * (name not in PROFILES[profile])
        | _ENDS_WORD * (name != "wbr")
        | sum(bit for separator, bit in _LAYOUT_BITS.items() if name in _LAYOUT[separator])
        | _VOID * (name in VOID)
        | _CODE * (name in _CODE_ELEMENTS)
        for name in {*BREAKING, *VOID, *PROFILES[profile], *_CODE_ELEMENTS, "wbr"}
    }


def _segment(nodes: Nodes, profile: str, tokenizer: str) -> Blocks:
    """Segment all nodes; the reference implementation."""
    text_nodes = np.flatnonzero((nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)).astype(np.int32)
    raw = [nodes.texts[node] for node in text_nodes.tolist()]
    separators = _separators(nodes, text_nodes, raw)
    is_first = _is_separated(nodes, text_nodes, (nodes.tag != 0) & ~nodes.named(PROFILES[profile]))
    owner, word_lengths = find_words(raw, tokenizer)
    starts = np.flatnonzero(is_first)
    stops = np.append(starts[1:], len(text_nodes))[: len(starts)]
    word_block = (np.cumsum(is_first) - 1)[owner]
    is_linked = (nodes.flags[text_nodes] & Flag.LINK)[owner] > 0
    lines = document_lines(nodes)[text_nodes]
    first_node, last_node = text_nodes[starts], text_nodes[stops - 1]
    parent = common_ancestor(nodes, first_node, last_node)
    glued = (separators == Separator.GLUED).tolist()
    texts = [  # block by block, because the pieces of all blocks would take more memory than the texts
        " ".join(
            "".join(
                [
                    piece if is_glued else " " + piece
                    for piece, is_glued in zip(raw[start:stop], glued[start:stop], strict=True)
                ]
            ).split()
        )
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    return Blocks(
        texts=tuple(texts),
        n_words=np.bincount(word_block, minlength=len(starts)).astype(np.int32),
        n_linked=np.bincount(word_block[is_linked], minlength=len(starts)).astype(np.int32),
        first_line=lines[starts],
        last_line=lines[stops - 1],
        parent=parent,
        node=first_node,
        last_node=last_node,
        flags=nodes.flags[first_node],
        separators=separators[starts],
        word_lengths=word_lengths,
        parents=tuple([nodes.name(node) if node >= 0 else "" for node in parent.tolist()]),
    )


def _is_separated(nodes: Nodes, text_nodes: NDArray[np.int32], separates: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_texts,) whether a separating tag is between a text and the previous one; True for the first.

    A tag is between two texts if the number of separating elements opened, or closed, before them differs.
    """
    opened = np.cumsum(separates)[text_nodes]
    closed = np.bincount(nodes.end[separates], minlength=len(nodes) + 1).cumsum()[text_nodes]
    result = np.ones(len(text_nodes), dtype=bool)
    result[1:] = (np.diff(opened) > 0) | (np.diff(closed) > 0)
    return result


def _separators(nodes: Nodes, text_nodes: NDArray[np.int32], raw: list[str]) -> NDArray[np.uint8]:
    """Return (n_texts,) the :class:`Separator` to the previous text."""
    # <wbr> is an optional line break inside a word.
    ends_word = (nodes.tag != 0) & ~nodes.named({"wbr"})
    opened = np.diff(np.cumsum(ends_word)[text_nodes]) > 0
    closed = np.diff(np.bincount(nodes.end[ends_word], minlength=len(nodes) + 1).cumsum()[text_nodes]) > 0
    spaced = np.array([a[-1:].isspace() or b[:1].isspace() for a, b in itertools.pairwise(raw)], dtype=bool)
    separators = np.zeros(len(text_nodes), dtype=np.uint8)
    separators[1:][spaced] = Separator.SPACE
    # Adjacent inline elements without a space between them, such as label and value in spans, are two words, unless
    # both sides are small letters outside of links, as in words of which a part is marked, or parts of code.
    outer = np.where(nodes.parent[text_nodes] < 0, -1, nodes.parent[nodes.parent[text_nodes]])
    of_code = (outer >= 0) & nodes.named(_CODE_ELEMENTS)[outer]
    is_linked, classes = (nodes.flags[text_nodes] & Flag.LINK) > 0, class_table()
    for place in np.flatnonzero(opened & closed & ~spaced).tolist():
        left, right = raw[place][-1:], raw[place + 1][:1]
        if not (left.isalnum() and right.isalnum() and left < _FIRST_IDEOGRAPH > right):
            continue
        are_small = not (classes[ord(left)] | classes[ord(right)]) & (DIGIT | UPPER)
        if are_small and not is_linked[place : place + 2].any():
            continue
        if not (of_code[place] and outer[place] == outer[place + 1]):
            separators[place + 1] = Separator.SPACE
    for separator, names in _LAYOUT.items():
        separators[_is_separated(nodes, text_nodes, nodes.named(names))] = separator
    separators[:1] = Separator.PARAGRAPH
    return separators


def common_ancestor(nodes: Nodes, first: NDArray[np.int32], last: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return (n_pairs,) the deepest ancestor of both text nodes of each pair; -1 without one.

    The shallowest node from ``first`` to ``last`` is a child of it, which gives its depth.
    """
    ranges = np.column_stack([first, last + 1]).ravel()
    depth = np.minimum.reduceat(np.append(nodes.depth, 0), ranges)[::2] - 1  # padded: reduceat needs valid indices
    ancestor = nodes.parent[first]
    while (is_deeper := (ancestor >= 0) & (nodes.depth[ancestor] > depth)).any():
        ancestor = np.where(is_deeper, nodes.parent[ancestor], ancestor)
    return ancestor


def own_lines(nodes: Nodes) -> NDArray[np.intp]:
    """Return the custom elements with text directly inside, and without text or inline elements beside them.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<x-a>One</x-a><x-a>Two</x-a><p>It is <x-time>noon</x-time>.").nodes
    >>> [nodes.texts[node + 1] for node in own_lines(nodes)]
    ['One', 'Two']
    """
    if not nodes.has_custom_elements:
        return np.zeros(0, dtype=np.intp)
    is_custom = np.array(["-" in name for name in nodes.names], dtype=bool)
    begins_line = np.array([name in BREAKING for name in nodes.names], dtype=bool) | is_custom
    inline, n = ~begins_line[nodes.tag], len(nodes) + 1
    has_inline, has_text = (np.bincount(nodes.parent[mask] + 1, minlength=n) > 0 for mask in (inline, nodes.tag == 0))
    parent = nodes.parent + 1
    is_line = is_custom[nodes.tag] & has_text[1:] & ~has_inline[parent] & (parent > 0)
    return np.asarray((is_line & begins_line[nodes.tag[nodes.parent]]).nonzero()[0])


def own_line_starts(nodes: Nodes, blocks: Blocks, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Return the places of those blocks that start a line because a custom element starts or ends before them.

    Parameters
    ----------
    nodes, blocks
        The page.
    rows
        (n_rows,) the blocks that are shown; None for all.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<x-a>One</x-a><x-a>Two</x-a>")
    >>> own_line_starts(page.nodes, page.blocks).tolist()
    [1]
    """
    own = own_lines(nodes)
    if not len(own):
        return own
    first, last = (blocks.node, blocks.last_node) if rows is None else (blocks.node[rows], blocks.last_node[rows])
    edges = np.sort(np.concatenate((own, nodes.end[own])))
    is_start = edges.searchsorted(first[1:], "right") > edges.searchsorted(last[:-1], "right")
    return is_start.nonzero()[0] + 1


#: Elements without an end tag (HTML standard, "void elements", and the obsolete ``param``).
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


def document_lines(nodes: Nodes) -> NDArray[np.int32]:
    """Return (n_nodes,) line number of each node's start tag or text, from 1.

    Scripts, styles and similar elements are pruned from the refined document; they get the line of the next node.
    """
    n = len(nodes)
    listed = (nodes.flags & Flag.DROPPED) == 0
    void = nodes.named(VOID)
    ended = listed & ~void & (nodes.tag != 0)
    starts_before = np.cumsum(listed) - listed
    ends_before = np.bincount(nodes.end[ended], minlength=n + 1)[:n].cumsum()
    numbers: NDArray[np.int32] = (1 + starts_before + ends_before).astype(np.int32)
    return numbers
