"""Lenient JSON reader for scripts with small mistakes, in time linear in their length."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["lenient_json"]

_DECODER = json.JSONDecoder(strict=False)
#: Characters after a quote that ends a string; other quotes belong to the text.
_END = (
    r"(?=\s*(?::|[}\]]|[,;]\s*(?:[\"'“”{\[}\]/,;-]|\d|true\b|false\b|null\b|\w{1,40}\s*:|\Z)|//|/\*|\n\s*[\"'“”]|\Z))"
)
#: Compiled when they are first used, because most scripts are right: a token, for a string its first quote; and the end
#: of a string by its first quote, or an escape before it.
_PIECE = (
    r"(?P<quote>[\"'“”])|(?P<skipped>//[^\n]*|/\*.*?(?:\*/|\Z)|<!--|-->|<!\[CDATA\[|\]\]>|\s+)"
    r"|(?P<sign>[{}\[\]:,;])|(?P<word>[^\s{}\[\]:,;\"“”']+)"
)
_STRING_END = {quote: rf"\\(?:.|\Z)|(?P<end>{quote}){_END}" for quote in "\"'"} | dict.fromkeys(
    "“”", rf"(?P<end>[“”]){_END}"
)
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\(.?)|"', re.DOTALL)
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CLOSING = {"{": "}", "[": "]"}


def lenient_json(text: str) -> Any:  # noqa: ANN401 (parsed JSON)
    """Read JSON, or JSON with small mistakes; other texts raise ValueError.

    Text that :mod:`json` can read gives the same result; line breaks in strings are allowed. Otherwise commas are set
    again, so that superfluous and missing ones do not matter; comments, unpaired closing brackets and the marks of HTML
    comments and CDATA sections are skipped; quotes within strings, invalid escapes and missing brackets at the end are
    repaired. Several values in one text are returned as a list.

    Examples
    --------
    >>> lenient_json('{"name": "James "Jim" Lee", /* why? */ "n": [1, 2,],}')
    {'name': 'James "Jim" Lee', 'n': [1, 2]}
    >>> lenient_json('{"a": 1}; {"a": 2}')
    [{'a': 1}, {'a': 2}]
    """
    try:
        return _DECODER.decode(text)
    except ValueError:
        values = _DECODER.decode(_mended(_unescaped(text)))
    if not any(isinstance(value, dict | list) for value in values):
        raise ValueError("no object in the text")
    return values[0] if len(values) == 1 else values


def _unescaped(text: str) -> str:
    """Return a text without the escapes of its quotes, if all of them are escaped for HTML or JavaScript."""
    first = text.find('"')
    if first < 0:
        return html.unescape(text)
    return text.replace('\\"', '"') if text[first - 1 : first] == "\\" else text


def _mended(text: str) -> str:
    """Return valid JSON: a list of the values in a text."""
    pieces, open_brackets = ["["], ["["]
    for found in _tokens(text):
        before = pieces[-1]
        if found in (",", ";", "}", "]"):
            if before == ":":
                pieces.append("null")
            if found == _CLOSING[open_brackets[-1]] and len(open_brackets) > 1:
                pieces.append(found)
                open_brackets.pop()
            continue
        if found != ":" and before not in ("[", "{", ":"):
            pieces.append(",")
        if found in _CLOSING:
            open_brackets.append(found)
        pieces.append(found)
    if pieces[-1] == ":":
        pieces.append("null")
    pieces += [_CLOSING[bracket] for bracket in reversed(open_brackets)]
    return "".join(pieces)


def _tokens(text: str) -> Iterator[str]:
    """Yield brackets, commas, colons and values as JSON."""
    match, position = re.compile(_PIECE, re.DOTALL).match, 0
    while token := match(text, position):
        found, position = token[0], token.end()
        if token["quote"]:
            end, position = _end_of_string(text, position, found)
            yield _quoted(text[token.end() : end])
        elif token["sign"] or (token["word"] and _LITERAL.fullmatch(found)):
            yield found
        elif token["word"]:
            yield _quoted(found)


def _end_of_string(text: str, start: int, quote: str) -> tuple[int, int]:
    """Return where the content of a string ends, and where the string does: the text may end first."""
    for found in re.compile(_STRING_END[quote], re.DOTALL).finditer(text, start):
        if found["end"] or found[0] == "\\":
            return found.span()
    return len(text), len(text)


def _quoted(text: str) -> str:
    """Return a text as a JSON string."""
    return f'"{_ESCAPE.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    """Return JSON escapes unchanged, a quote escaped, and any other escape as its character."""
    return match[0] if match[1] else '\\"' if match[0] == '"' else match[2]
