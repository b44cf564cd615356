"""Nodes to text blocks: every separating tag ends a block, an anchor never does (Kim et al. 2013, section 2.2)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Set

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.errors import UnknownNameError
from blockml.page import Blocks, Flag, Nodes, Separator
from blockml.parsing.lines import VOID, line_numbers
from blockml.text.characters import class_table
from blockml.text.words import TOKENIZERS, find_words

__all__ = ["BREAKING", "PROFILES", "segment"]

#: Segmentation profiles: the elements that do not end a block.
PROFILES: Mapping[str, Set[str]] = {
    # "All HTML tags become group separators; the only exception is tag <a>" (Kim et al. 2013, section 2.2).
    "anchor": frozenset({"a"}),
    # The inline elements of boilerpipe since 1.2 (public source, DefaultTagActionMap).
    "boilerpipe": frozenset("a strike u b i em strong span sup sub code tt var abbr acronym font".split()),
}

#: How elements lay out text (HTML standard, section 15.3 "rendering"); all others run on in the line.
_LAYOUT: Mapping[Separator, Set[str]] = {
    Separator.CELL: frozenset({"td", "th"}),
    Separator.LINE: frozenset("br dd dt li tr option optgroup caption figcaption legend summary".split()),
    Separator.PARAGRAPH: frozenset(
        "address article aside blockquote body button center details dialog dir div dl fieldset figure footer form "
        "frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend listing main menu nav ol p pre search section "
        "select table tbody textarea tfoot thead ul xmp".split()
    ),
}

#: Scripts from here on put no space between words (Unicode: CJK radicals and what follows).
_FIRST_IDEOGRAPH = "\u2e80"

#: Elements that end the line of text before them.
BREAKING: Set[str] = frozenset().union(*_LAYOUT.values())


def segment(nodes: Nodes, *, profile: str = "anchor", keep_wordless: bool = True, tokenizer: str = "space") -> Blocks:
    """Cut the text of a page into blocks.

    A block is a maximal run of texts with no start or end tag of a separating element between them. Text in
    ``head`` and ``title`` makes no block. The joined texts of all blocks are the visible text of the page.

    Parameters
    ----------
    nodes
        The tree.
    profile
        Which elements do not separate: a key of :data:`PROFILES`.
    keep_wordless
        Keep blocks without a letter or digit.
    tokenizer
        What is a word: a key of :data:`blockml.text.words.TOKENIZERS`.

    Raises
    ------
    UnknownNameError
        No such profile or tokenizer.
    """
    if profile not in PROFILES:
        raise UnknownNameError("profile", profile, PROFILES)
    if tokenizer not in TOKENIZERS:
        raise UnknownNameError("tokenizer", tokenizer, TOKENIZERS)
    if _kernel.compiled is None:
        blocks = _in_python(nodes, profile, tokenizer)
    else:
        blocks = _compiled(_kernel.compiled, nodes, profile, tokenizer)
    return blocks if keep_wordless else _select(blocks, blocks.n_words > 0)


#: What the compiled segmentation knows of a name.
_SEPARATES, _PART, _CELL, _LINE, _PARAGRAPH, _VOID = (1 << bit for bit in range(6))
_LAYOUT_BITS = {Separator.CELL: _CELL, Separator.LINE: _LINE, Separator.PARAGRAPH: _PARAGRAPH}
_PROPERTIES: Mapping[str, int] = {
    name: sum(bit for joint, bit in _LAYOUT_BITS.items() if name in _LAYOUT[joint]) | _VOID * (name in VOID)
    for name in BREAKING | VOID
}


def _compiled(compiled: _kernel.Compiled, nodes: Nodes, profile: str, tokenizer: str) -> Blocks:
    """Blocks by the kernel."""
    columns, bits, word_lengths, texts, parents = compiled.cut_blocks(
        nodes.names,
        np.ascontiguousarray(nodes.tag, np.int32),
        np.ascontiguousarray(nodes.parent, np.int32),
        np.ascontiguousarray(nodes.depth, np.int32),
        np.ascontiguousarray(nodes.end, np.int32),
        np.ascontiguousarray(nodes.flags, np.uint8),
        nodes.texts if isinstance(nodes.texts, list) else list(nodes.texts),
        _known(profile),
        _SEPARATES | _PART,
        class_table(),
        tuple(TOKENIZERS).index(tokenizer),
    )
    # Rows by number: the end of an array's own iterator is dear, for numpy words an exception.
    wide, narrow = np.frombuffer(columns, np.int32).reshape(7, -1), np.frombuffer(bits, np.uint8).reshape(2, -1)
    return Blocks(
        texts=texts,
        n_words=wide[0],
        n_linked=wide[1],
        first_line=wide[2],
        last_line=wide[3],
        parent=wide[4],
        node=wide[5],
        last_node=wide[6],
        flags=narrow[0],
        separators=narrow[1],
        word_lengths=np.frombuffer(word_lengths, np.int32),
        parents=parents,
    )


@functools.cache
def _known(profile: str) -> Mapping[str, int]:
    """Properties of names; of any other they are those of an element that separates, and runs on in the line."""
    return {
        name: _PROPERTIES.get(name, 0) | _SEPARATES * (name not in PROFILES[profile]) | _PART * (name != "wbr")
        for name in {*_PROPERTIES, *PROFILES[profile], "wbr"}
    }


def _in_python(nodes: Nodes, profile: str, tokenizer: str) -> Blocks:
    """Blocks by counting over whole columns."""
    text_nodes = np.flatnonzero((nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)).astype(np.int32)
    if not len(text_nodes):
        return _no_blocks()
    raw = [nodes.texts[node] for node in text_nodes.tolist()]
    separators = _joints(nodes, text_nodes, raw)
    first = _separated(nodes, text_nodes, (nodes.tag != 0) & ~nodes.named(PROFILES[profile]))
    owner, length = find_words(raw, tokenizer)
    return _columns(nodes, text_nodes, raw, separators, first, owner, length)


def _separated(nodes: Nodes, text_nodes: NDArray[np.int32], separates: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n_texts,) whether a tag of a separating node stands between a text and the text before; True for the first.

    The number of such elements opened before two texts, and of those still open at them, is equal just when none
    was opened or closed between them.
    """
    n = len(nodes)
    opened = np.cumsum(separates)[text_nodes]
    closed = np.bincount(nodes.end[separates], minlength=n + 1).cumsum()[text_nodes]
    result = np.ones(len(text_nodes), dtype=bool)
    result[1:] = (np.diff(opened) > 0) | (np.diff(closed) > 0)
    return result


def _joints(nodes: Nodes, text_nodes: NDArray[np.int32], raw: list[str]) -> NDArray[np.uint8]:
    """(n_texts,) the :class:`Separator` to the text before."""
    n = len(nodes)
    # <wbr> says where a word may be broken: its parts are one word.
    parts = (nodes.tag != 0) & ~nodes.named({"wbr"})
    opened = np.diff(np.cumsum(parts)[text_nodes]) > 0
    closed = np.diff(np.bincount(nodes.end[parts], minlength=n + 1).cumsum()[text_nodes]) > 0
    spaced = np.array([a[-1:].isspace() or b[:1].isspace() for a, b in itertools.pairwise(raw)], dtype=bool)
    separators = np.zeros(len(text_nodes), dtype=np.uint8)
    separators[1:][spaced] = Separator.SPACE
    # Two inline siblings without a space between them, such as label and value in spans, are two words to a reader.
    for place in np.flatnonzero(opened & closed & ~spaced).tolist():
        left, right = raw[place][-1:], raw[place + 1][:1]
        if left.isalnum() and right.isalnum() and left < _FIRST_IDEOGRAPH > right:
            separators[place + 1] = Separator.SPACE
    for joint, names in _LAYOUT.items():
        separators[_separated(nodes, text_nodes, nodes.named(names))] = joint
    separators[0] = Separator.PARAGRAPH
    return separators


def _columns(
    nodes: Nodes,
    text_nodes: NDArray[np.int32],
    raw: list[str],
    separators: NDArray[np.uint8],
    first: NDArray[np.bool_],
    owner: NDArray[np.int32],
    length: NDArray[np.int32],
) -> Blocks:
    starts = np.flatnonzero(first)
    stops = np.append(starts[1:], len(text_nodes))
    n_blocks = len(starts)
    word_block = (np.cumsum(first) - 1)[owner]
    linked = (nodes.flags[text_nodes] & Flag.LINK)[owner] > 0
    lines = line_numbers(nodes)[text_nodes]
    first_node, last_node = text_nodes[starts], text_nodes[stops - 1]
    parent = _common_ancestor(nodes, first_node, last_node)
    glue = ["" if joint == Separator.GLUED else " " for joint in separators.tolist()]
    texts = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        text = raw[start] if stop == start + 1 else "".join(glue[i] + raw[i] for i in range(start, stop))
        texts.append(" ".join(text.split()))
    return Blocks(
        texts=tuple(texts),
        n_words=np.bincount(word_block, minlength=n_blocks).astype(np.int32),
        n_linked=np.bincount(word_block[linked], minlength=n_blocks).astype(np.int32),
        first_line=lines[starts],
        last_line=lines[stops - 1],
        parent=parent,
        node=first_node,
        last_node=last_node,
        flags=nodes.flags[first_node],
        separators=separators[starts],
        word_lengths=length,
        parents=tuple([nodes.name(node) if node >= 0 else "" for node in parent.tolist()]),
    )


def _common_ancestor(nodes: Nodes, first: NDArray[np.int32], last: NDArray[np.int32]) -> NDArray[np.int32]:
    """Deepest element above both of two text nodes, for each pair.

    The shallowest node after ``first``, up to ``last``, is a child of it: so its depth is known, and the way up
    from ``first`` leads there.
    """
    ancestor = nodes.parent[first]
    several = np.flatnonzero(last > first)
    if len(several):
        ranges = np.column_stack([first[several] + 1, last[several] + 1]).ravel()
        depth = np.append(nodes.depth, 0)  # reduceat wants every index inside the array
        target = np.minimum.reduceat(depth, ranges)[::2] - 1
        climbing = ancestor[several]
        while (above := (climbing >= 0) & (nodes.depth[climbing] > target)).any():
            climbing = np.where(above, nodes.parent[climbing], climbing)
        ancestor[several] = climbing
    return ancestor


def _select(blocks: Blocks, chosen: NDArray[np.bool_]) -> Blocks:
    """The chosen blocks; only blocks without words may be left out."""
    rows = np.flatnonzero(chosen).tolist()
    if not rows:
        return _no_blocks()
    # What is left out before a block parts it from the block before all the same.
    starts = np.array([0, *[row + 1 for row in rows[:-1]]])
    separators = np.maximum.reduceat(blocks.separators[: rows[-1] + 1], starts)
    separators[np.array(rows) > starts] = np.maximum(separators[np.array(rows) > starts], Separator.SPACE)
    return Blocks(
        texts=tuple([blocks.texts[row] for row in rows]),
        n_words=blocks.n_words[chosen],
        n_linked=blocks.n_linked[chosen],
        first_line=blocks.first_line[chosen],
        last_line=blocks.last_line[chosen],
        parent=blocks.parent[chosen],
        node=blocks.node[chosen],
        last_node=blocks.last_node[chosen],
        flags=blocks.flags[chosen],
        separators=separators,
        word_lengths=blocks.word_lengths,
        parents=tuple([blocks.parents[row] for row in rows]),
    )


def _no_blocks() -> Blocks:
    none, no_bits = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
    return Blocks(
        texts=(),
        n_words=none,
        n_linked=none,
        first_line=none,
        last_line=none,
        parent=none,
        node=none,
        last_node=none,
        flags=no_bits,
        separators=no_bits,
        word_lengths=none,
        parents=(),
    )
