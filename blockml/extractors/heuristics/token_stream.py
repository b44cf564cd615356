"""A page as a sequence of tags and texts, and of tokens: the input of content code vectors, slopes and tag ratios.

There are two views. ``raw`` has the tags as written in the source, and the texts of the source that the parser found
too. ``tree`` serialises the parsed tree. Both leave out tags whose names do not occur in the source, such as those that
the parser inserted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.errors import check_name
from blockml.page import Flag, Nodes, Page
from blockml.page.subtrees import block_of_texts
from blockml.parsing.builder import DROPPED
from blockml.parsing.segmentation import VOID
from blockml.text.words import find_words, readable

#: Views of a page as a sequence of tags and texts, by name.
VIEWS: Mapping[str, str] = {
    "raw": "tags as written in the source, with attributes",
    "tree": "tags of the repaired tree, with its attributes; what the source does not contain is left out",
}

#: Start of a tag, or a whole comment or declaration.
_MARKUP = re.compile(
    r"</?[a-zA-Z][^\s/>]*+|(?P<comment><!--.*?(?:--!?>|\Z)|<[!?][^>]*+(?:>|\Z)|</(?![a-zA-Z])[^>]*+(?:>|\Z))", re.DOTALL
)
#: End of a tag, or a quoted value before it. Quotes count after "=" only, and an unclosed tag or quote extends to the
#: end (HTML standard, section 13.2.5).
_END_OR_VALUE = re.compile(r"""(?P<end>>)|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))""")
_SPACE = re.compile(r"\s+")

#: Where tree and source differ: characters within which the next text of the tree is searched for in the source, in
#: addition to the length of preceding texts that were not found, up to the second number (our choice).
_WINDOW, _MOST_MISSED = 2000, 20_000

#: Tags that every tree contains.
_IMPLIED = frozenset({"html", "head", "body", "/html", "/head", "/body"})


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Tags and words in document order, as columns of ``n`` entries."""

    is_tag: NDArray[np.bool_]  #: (n,) whether it is a tag; else it is a word.
    piece: NDArray[np.int32]  #: (n,) index of its piece in the :class:`TokenStream` that it comes from.
    #: (n,) block of a word; -1 for tags and for words outside the blocks, such as the title's.
    block: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.piece)


@dataclass(frozen=True, slots=True, eq=False)
class TokenStream:
    """Tags and texts of a page in document order, as columns of ``n`` pieces."""

    names: tuple[str, ...]  #: (n,) name of a tag in lower case, ``/`` in front for end tags; empty for texts.
    texts: tuple[str, ...]  #: (n,) a text, each run of white space as one blank; empty for tags.
    n_chars: NDArray[np.int32]  #: (n,) characters of the text, or of the tag with its attributes and brackets.
    is_tag: NDArray[np.bool_]  #: (n,) whether it is a tag; else it is a text.
    block: NDArray[np.int32]  #: (n,) block of a text; -1 for tags and for texts outside the blocks, such as the title.
    start: NDArray[np.int64]  #: (n,) where it starts in ``source``.
    source: str  #: The source, or the tree written out.

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_anchor(self) -> NDArray[np.bool_]:
        """(n,) whether it is a start or end tag of ``a``."""
        return np.array([name in ("a", "/a") for name in self.names], dtype=bool)

    def without(self, pieces: NDArray[np.bool_]) -> TokenStream:
        """Return the sequence without some pieces."""
        kept = np.flatnonzero(~pieces)
        rows = kept.tolist()
        return TokenStream(
            names=tuple([self.names[row] for row in rows]),
            texts=tuple([self.texts[row] for row in rows]),
            n_chars=self.n_chars[kept],
            is_tag=self.is_tag[kept],
            block=self.block[kept],
            start=self.start[kept],
            source=self.source,
        )

    def tokens(self, tokenizer: str = "cjk") -> Tokens:
        """Split the texts into words.

        Parameters
        ----------
        tokenizer
            A key of :data:`blockml.text.words.TOKENIZERS`. The default counts what ``space`` counts, but letters
            of scripts without blanks singly.
        """
        owner, _ = find_words(self.texts, tokenizer)
        counts = np.where(self.is_tag, 1, np.bincount(owner, minlength=len(self)))
        piece = np.repeat(np.arange(len(self), dtype=np.int32), counts)
        return Tokens(self.is_tag[piece], piece, self.block[piece])


def token_stream(page: Page, view: str = "raw") -> TokenStream:
    """Convert a page to a sequence of tags and texts.

    Comments, contents of scripts and styles, and white space between two tags are left out.

    Parameters
    ----------
    page
        The page. For a page without a source (made from another page) the view is always ``tree``.
    view
        A key of :data:`VIEWS`.

    Raises
    ------
    UnknownNameError
        The view is unknown.

    Examples
    --------
    >>> import blockml
    >>> stream = token_stream(blockml.parse("<p class=x>ab <a>cd</a> ef</p>"))
    >>> stream.names, stream.texts[1:3], stream.n_chars.tolist()
    (('p', '', 'a', '', '/a', '', '/p'), ('ab ', ''), [11, 3, 3, 2, 4, 3, 4])
    """
    check_name("view", view, VIEWS)
    source = page.source
    if source is None:
        return _tree(page, None)
    pieces = _scan(source)
    return _raw(page, pieces, source) if view == "raw" else _tree(page, {piece.name for piece in pieces})


class _Piece(NamedTuple):
    """Tag or text of a source: an entry of :class:`TokenStream`."""

    name: str
    text: str
    n_chars: int
    start: int


def _scan(source: str) -> list[_Piece]:
    """Read tags and texts from a source."""
    pieces: list[_Piece] = []
    pending: list[str] = []  # text since the last tag, in parts separated by comments
    pending_start = position = 0

    def flush() -> None:
        text = "".join(pending)
        pending.clear()
        if text.isspace():
            return
        # Entities are decoded after tags have been recognised: "&lt;" never becomes a tag.
        if "&" in text:
            text = html.unescape(text)
        text = _SPACE.sub(" ", readable(text))
        if text.strip():
            pieces.append(_Piece("", text, len(text), pending_start))

    while match := _MARKUP.search(source, position):
        start = match.start()
        if start > position:
            if not pending:
                pending_start = position
            pending.append(source[position:start])
        position = match.end()
        if match["comment"] is not None:
            continue
        if pending:
            flush()
        name = match[0][1:].lower()
        position = _end_of_tag(source, position)
        pieces.append(_Piece(name, "", position - start, start))
        # As in libxml2, "/>" closes an element of raw text.
        if name in DROPPED and not source.endswith("/>", start, position):
            end_tag = re.compile(rf"</{name}[\s/>]", re.IGNORECASE).search(source, position)
            position = end_tag.start() if end_tag else len(source)
    if position < len(source):
        if not pending:
            pending_start = position
        pending.append(source[position:])
    if pending:
        flush()
    return pieces


def _end_of_tag(source: str, position: int) -> int:
    """Return where a tag whose name ends at a position ends: after its ``>``, or at the end of the page."""
    for found in _END_OR_VALUE.finditer(source, position):
        if found["end"]:
            return found.end()
    return len(source)


def _raw(page: Page, pieces: Sequence[_Piece], source: str) -> TokenStream:
    """Return the pieces of the source, without texts that the parser did not find."""
    is_tag = np.array([piece.text == "" for piece in pieces], dtype=bool)
    rows = np.flatnonzero(~is_tag)
    solid = ["".join(pieces[row].text.split()) for row in rows.tolist()]
    nodes = np.flatnonzero(page.nodes.tag == 0)
    node_of_text = _locate(solid, ["".join(page.nodes.texts[node].split()) for node in nodes.tolist()])
    found = node_of_text >= 0
    block = np.full(len(pieces), -1, dtype=np.int32)
    block[rows[found]] = block_of_texts(page.nodes, page.blocks)[nodes[node_of_text[found]]]
    stream = TokenStream(
        names=tuple([piece.name for piece in pieces]),
        texts=tuple([piece.text for piece in pieces]),
        n_chars=np.array([piece.n_chars for piece in pieces], dtype=np.int32),
        is_tag=is_tag,
        block=block,
        start=np.array([piece.start for piece in pieces], dtype=np.int64),
        source=source,
    )
    if found.all():
        return stream
    lost = np.zeros(len(stream), dtype=bool)
    lost[rows[~found]] = True
    return stream.without(lost)


def _locate(pieces: Sequence[str], nodes: Sequence[str]) -> NDArray[np.intp]:
    """Return the text node at the start of each text of the source, or -1; texts are given without white space.

    Tree and source mostly contain the same characters. If not, each text node is searched for after the one before.
    """
    # Parsers replace NUL by this character or drop it.
    pieces, nodes = ([text.replace("\ufffd", "") for text in texts] for texts in (pieces, nodes))
    written, found = "".join(pieces), "".join(nodes)
    lengths = np.array([len(text) for text in nodes], dtype=np.int64)
    if written == found:
        starts = np.cumsum(lengths) - lengths
    else:
        cursor, missed, places = 0, 0, []
        for text in nodes:
            place = written.find(text, cursor, cursor + len(text) + _WINDOW + min(missed, _MOST_MISSED))
            places.append(place)
            if place < 0:
                missed += len(text)
            else:
                cursor, missed = place + len(text), 0
        starts = np.array(places, dtype=np.int64)
    known = np.flatnonzero(starts >= 0)
    piece_lengths = np.array([len(text) for text in pieces], dtype=np.int64)
    piece_starts = np.cumsum(piece_lengths) - piece_lengths
    last = np.searchsorted(starts[known], piece_starts, side="right") - 1
    result = np.full(len(pieces), -1, dtype=np.intp)
    valid = last >= 0
    node = known[last[valid]]
    inside = piece_starts[valid] < starts[node] + lengths[node]
    result[np.flatnonzero(valid)[inside]] = node[inside]
    return result


def _tree(page: Page, written: set[str] | None) -> TokenStream:
    """Serialise the tree, without tags whose names the source does not contain.

    Without a source, only tags without attributes that every tree contains are left out.
    """
    names: list[str] = []
    texts: list[str] = []
    parts: list[str] = []
    text_nodes: list[int] = []
    for node, part, name in _events(page.nodes):
        implied = name in _IMPLIED and " " not in part if written is None else name not in written
        if name and implied:
            continue
        names.append(name)
        parts.append(part)
        texts.append("" if name else part)
        text_nodes.append(-1 if name else node)
    lengths = np.array([len(part) for part in parts], dtype=np.int32)
    block = np.append(block_of_texts(page.nodes, page.blocks), np.int32(-1))[text_nodes]  # -1 takes the entry appended
    return TokenStream(
        names=tuple(names),
        texts=tuple(texts),
        n_chars=lengths,
        is_tag=np.array(text_nodes, dtype=np.int64) < 0,
        block=block.astype(np.int32),
        start=(np.cumsum(lengths) - lengths).astype(np.int64),
        source="".join(parts),
    )


def _events(nodes: Nodes) -> Iterator[tuple[int, str, str]]:
    """Iterate over tags and texts in document order: node, serialisation and tag name."""
    open_nodes: list[int] = []
    dropped = (nodes.flags & Flag.DROPPED) > 0
    for node in range(len(nodes) + 1):
        while open_nodes and nodes.end[open_nodes[-1]] <= node:
            name = nodes.name(open_nodes.pop())
            yield -1, f"</{name}>", f"/{name}"
        if node == len(nodes):
            return
        name = nodes.name(node)
        if name == "#text":
            yield node, _SPACE.sub(" ", nodes.texts[node]), ""
            continue
        attributes = "".join([f' {key}="{value}"' for key, value in nodes.attributes[node].items()])
        yield node, f"<{name}{attributes}>", name
        if name not in VOID or dropped[node]:
            open_nodes.append(node)


def block_vote(scores: NDArray[np.float64], block: NDArray[np.int32], n_blocks: int) -> NDArray[np.float32]:
    """Score blocks by the upper median of the scores of their words.

    A block reaches a threshold exactly if at least half of its words do. A block without words scores 0.

    Parameters
    ----------
    scores
        (n,) one per word, in [0, 1].
    block
        (n,) the word's block; -1 for none.
    n_blocks
        Blocks of the page.

    Examples
    --------
    >>> block_vote(np.array([0.2, 0.9, 0.6, 1.0]), np.array([0, 0, 0, 2], np.int32), 3).tolist()
    [0.6..., 0.0, 1.0]
    """
    inside = block >= 0
    owner, values = block[inside], scores[inside]
    order = np.lexsort((-values, owner))
    counts = np.bincount(owner, minlength=n_blocks)
    result = np.zeros(n_blocks, dtype=np.float32)
    filled = np.flatnonzero(counts)
    first = (np.cumsum(counts) - counts)[filled]
    result[filled] = values[order][first + (counts[filled] - 1) // 2]
    return result


def block_share(chosen: NDArray[np.bool_], block: NDArray[np.int32], n_blocks: int) -> NDArray[np.float32]:
    """Compute the share of each block's words that were chosen; 0 for a block without words.

    Parameters
    ----------
    chosen
        (n,) one per word.
    block
        (n,) the word's block; -1 for none.
    n_blocks
        Blocks of the page.

    Examples
    --------
    >>> block_share(np.array([True, False, True]), np.array([0, 0, 2], np.int32), 3).tolist()
    [0.5, 0.0, 1.0]
    """
    inside = block >= 0
    counts = np.bincount(block[inside], minlength=n_blocks)
    hits = np.bincount(block[inside & chosen], minlength=n_blocks)
    return (hits / np.maximum(counts, 1)).astype(np.float32)
