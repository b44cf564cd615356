"""Lines of a page's source, with the tags and stretches of text on each."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.heuristics.token_stream import TokenStream
from blockml.text.characters import code_points
from blockml.text.words import find_words

#: Maximum characters of text on a line; longer lines are broken (our choice: about the length of hand-written lines).
LINE_LENGTH = 65

#: Elements that are removed first, with their tags (Weninger et al. 2010).
_REMOVED = frozenset({"script", "/script", "style", "/style"})
_BREAK = re.compile(r"\r\n?|\n")
# Inside a piece of text only comments are markup.
_COMMENT = re.compile(r"<!--.*?(?:--!?>|\Z)|<[!?/][^>]*+(?:>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class SourceLines:
    """Non-empty lines of a page, and the stretches of text on them."""

    n_chars: NDArray[np.int64]  #: (n_lines,) characters of text.
    n_tags: NDArray[np.int64]  #: (n_lines,) tags that begin there.
    line: NDArray[np.int64]  #: (n_stretches,) line of each stretch of text.
    block: NDArray[np.int32]  #: (n_stretches,) its block; -1 for none.
    n_words: NDArray[np.int64]  #: (n_stretches,) its words.

    @property
    def ratio(self) -> NDArray[np.float64]:
        """(n_lines,) tag ratio: characters of text divided by tags, or by 1 without tags."""
        return self.n_chars / np.maximum(self.n_tags, 1)


def split_lines(stream: TokenStream, *, rewrap: bool = True) -> SourceLines:
    """Split tags and texts into the lines of the source.

    Parameters
    ----------
    stream
        The page; the tags of scripts and styles are left out.
    rewrap
        Break lines with more than :data:`LINE_LENGTH` characters of text, between words or before a text. Tags do not
        count, because long attributes would separate a tag from its text.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.heuristics.token_stream import token_stream
    >>> page = blockml.parse("<div><a>Home</a><a>News</a></div>\\n\\n<p>Cats rule the world, really.</p>")
    >>> split_lines(token_stream(page)).ratio.round(3).tolist()
    [1.333, 14.0]
    """
    lines, pieces, texts = [], [], []
    for line, piece, text in _wrapped(stream, LINE_LENGTH if rewrap else sys.maxsize):
        lines.append(line)
        pieces.append(piece)
        texts.append(text)
    n_lines = lines[-1] + 1 if lines else 0
    row = np.array(lines, dtype=np.int64)
    n_chars = np.array([len(text) for text in texts], dtype=np.int64)
    owner, _ = find_words(texts, "cjk")
    is_text = n_chars > 0
    return SourceLines(
        n_chars=np.bincount(row, n_chars, n_lines).astype(np.int64),
        n_tags=np.bincount(row[~is_text], minlength=n_lines),
        line=row[is_text],
        block=stream.block[np.array(pieces, dtype=np.intp)][is_text],
        n_words=np.bincount(owner, minlength=len(texts))[is_text],
    )


def _wrapped(stream: TokenStream, width: int) -> Iterator[tuple[int, int, str]]:
    """Line and piece of each tag, with an empty text, and of each stretch of text; no line is empty."""
    line, room, last = -1, width, -1
    for source_line, piece, text in _source_lines(stream):
        if source_line != last:
            line, room, last = line + 1, width, source_line
        done = 0
        while len(text) - done > room:
            cut = text.rfind(" ", done, done + room + 1)
            if cut < 0 and room == width:
                cut = done + width  # a script without blanks, or text without words
            if cut > 0:
                yield line, piece, text[done:cut]
                done = cut + 1 if text[cut] == " " else cut
            line, room = line + 1, width
        yield line, piece, text[done:]
        room -= len(text) - done


def _source_lines(stream: TokenStream) -> Iterator[tuple[int, int, str]]:
    """Source line and piece of each tag, with an empty text, and of each stretch of text that is on one line."""
    signs = code_points([stream.source, ""])
    breaks = np.flatnonzero((signs[:-1] == ord("\n")) | ((signs[:-1] == ord("\r")) & (signs[1:] != ord("\n")))) + 1
    borders = np.append(stream.start, len(stream.source))
    line_of_border = np.searchsorted(breaks, borders, side="right").tolist()
    for piece, (name, text) in enumerate(zip(stream.names, stream.texts, strict=True)):
        line = line_of_border[piece]
        if name:
            if name not in _REMOVED:
                yield line, piece, ""
        elif line == line_of_border[piece + 1]:
            yield line, piece, text.strip()
        else:
            written = stream.source[borders[piece] : borders[piece + 1]]
            written = _COMMENT.sub(lambda comment: "\n" * len(_BREAK.findall(comment[0])), written)
            for number, part in enumerate(_BREAK.split(written), start=line):
                stretch = " ".join(html.unescape(part).split())
                if stretch:
                    yield number, piece, stretch
