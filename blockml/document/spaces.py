"""White space that a page shows: where a style keeps it, in listings outside of ``pre``, and at the start of verses."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.document.words import IN_TEXT, OF_SPACES
from blockml.page import Flag, Nodes

__all__ = ["KEEPS_ALL", "KEEPS_LINES", "NO_BREAK", "has_indent", "kept_spaces", "verse_indent", "verses", "with_indent"]

#: Kinds of kept white space: only line breaks, or also blanks.
KEEPS_LINES, KEEPS_ALL = 1, 2
NO_BREAK = "\xa0"
_KINDS = {"pre-line": KEEPS_LINES, **dict.fromkeys(("pre", "pre-wrap", "break-spaces", "preserve"), KEEPS_ALL)}
_STYLE = re.compile(r"(?:^|[;\s])white-space(?:-collapse)?\s*:\s*([a-z-]+)", re.IGNORECASE)
_CLASS = re.compile(r"(?:^|\s)whitespace-(pre(?:-line|-wrap)?|normal|nowrap|break-spaces)(?:\s|$)")
_MAX_INDENT = 60
#: Maximum characters of a verse; longer lines with an indent are paragraphs.
_MAX_VERSE = 80
#: Blanks that a browser shows. Ideographic ones indent paragraphs.
_INDENT = re.compile(r"[ \t\n]*(?=[\xa0\u2000-\u200a])([\xa0\u2000-\u200a \t\n]{2,60})")
_PREFORMATTED = int(Flag.PREFORMATTED)


def kept_spaces(nodes: Nodes) -> NDArray[np.int8] | None:
    """Return (n_nodes,) how styles and classes keep white space outside of ``pre``: 0 for not at all; None if none do.

    Examples
    --------
    >>> import blockml
    >>> kept_spaces(blockml.parse("<p style='white-space: pre-line'>a<b style='white-space: normal'>b</b>").nodes)
    array([0, 0, 0, 1, 1, 0, 0], dtype=int8)
    """
    found: NDArray[np.int8] | None = None
    held = nodes.with_words(IN_TEXT)
    for node in sorted({node for word in OF_SPACES for node in held[word]}):
        kind = _kind(nodes.attributes[node])
        if found is None and kind:
            found = np.zeros(len(nodes), dtype=np.int8)
        if found is not None and kind is not None:
            found[node : nodes.end[node]] = kind
    if found is not None:
        found[(nodes.flags & _PREFORMATTED) > 0] = 0
    return found


def _kind(attributes: Mapping[str, str]) -> int | None:
    """Return how an element keeps white space; None if its attributes say nothing."""
    for pattern, name in ((_STYLE, "style"), (_CLASS, "class")):
        if (value := attributes.get(name)) and (given := pattern.findall(value)):
            return _KINDS.get(given[-1].lower(), 0)
    return None


def verses(nodes: Nodes, texts: NDArray[np.signedinteger]) -> NDArray[np.intp]:
    """Return the places of those text nodes (n,) that directly follow a line break, or start an element that does."""
    if "br" not in nodes.names:
        return np.zeros(0, dtype=np.intp)
    tag, before = nodes.names.index("br"), texts - 1
    is_first = (nodes.parent[texts] == before) & (nodes.tag[before - 1] == tag)
    return np.asarray(((nodes.tag[before] == tag) | is_first).nonzero()[0])


def verse_indent(text: str) -> str:
    r"""Return the blanks that indent a verse, given the text of a line; empty for other lines.

    Examples
    --------
    >>> verse_indent("\xa0\xa0 a verse"), verse_indent(" words")
    ('   ', '')
    """
    match = _INDENT.match(text)
    return " " * len(match[1]) if match and len(text) - match.end() <= _MAX_VERSE else ""


def has_indent(line: str) -> bool:
    """Tell whether a text starts with more white space than separates words.

    Examples
    --------
    >>> has_indent("  to"), has_indent("\\tto"), has_indent(" to"), has_indent("  ")
    (True, True, False, False)
    """
    space = line[: len(line) - len(line.lstrip())]
    return space not in ("", " ") and len(space) < len(line)


def with_indent(line: str) -> str:
    """Return a line with single spaces, and its indent as blanks that Markdown and HTML show.

    Examples
    --------
    >>> with_indent("   to  be ")
    '\\xa0\\xa0\\xa0to be '
    """
    inner = line.expandtabs(4).lstrip()
    indent = min(len(line.expandtabs(4)) - len(inner), _MAX_INDENT)
    return NO_BREAK * indent + " ".join(inner.split()) + " " * inner[-1:].isspace()
