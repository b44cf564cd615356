"""Tags of a page as the tokenizer of the HTML standard reads them, without a parser.

Comments, attributes, scripts and other raw text contain no tags, and a name ends only at white space, a slash or ``>``.
Rules that depend on the tree are left out: in ``svg`` and ``math`` a CDATA section is read as a comment, and titles,
styles and scripts as raw text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Tag", "attributes", "count_attributes", "tags", "without_nulls"]

# No repeat of a group is possessive: Python 3.11.2, which many systems have, matches those wrongly.
_SPACE = rb"\t\n\f\r "
_NAME_END = rb"(?=[\t\n\f\r />])"
#: A tag up to the end of its name, or a whole comment, declaration or other markup without a name.
_MARKUP = rb"<(?:(?P<closes>/?)(?P<name>[a-zA-Z][^" + _SPACE + rb"/>]*+)|!--(?:-?>|.*?(?:--!?>|\Z))|[!?/][^>]*+>?)"
_ATTRIBUTE = rb"""
    [SPACE/]*+(?P<name>[^SPACE/>][^SPACE/>=]*+)
    (?:[SPACE]*+=[SPACE]*+(?:"(?P<double>[^"]*+)"?|'(?P<single>[^']*+)'?|(?P<bare>[^SPACE>"'][^SPACE>]*+))?)?
""".replace(b"SPACE", _SPACE)
#: The end of a tag without quotes, and of any tag after its attributes.
_PLAIN_END, _END = rb"""[^>"']*+>""", rb"[" + _SPACE + rb"/]*+>"
#: Elements whose content has no tags but their own end tag.
_RAW = frozenset(b"style xmp iframe noembed noframes title textarea script plaintext".split())
#: What begins and ends the content of a script, which may contain ``<!-- <script> ... </script> -->``.
_SCRIPT = rb"<!--(?P<empty>-?>)?|-->|<(?P<closes>/?)script" + _NAME_END
#: Null bytes that don't part the characters which begin a tag, a comment or a character reference.
_NULLS = rb"(?<![<&!?/-])\0+"
#: Compiles an expression once, when the first page needs it: few pages do.
_compiled = functools.cache(re.compile)


class Tag(NamedTuple):
    """A start or end tag in the source of a page."""

    name: bytes  #: Lower case; U+FFFD instead of null bytes.
    closes: bool  #: Whether it is an end tag.
    start: int
    end: int  #: Where the tag ends, or the raw text after it.
    source: bytes  #: As written, from start to end.


def tags(source: bytes) -> Iterator[Tag]:
    """Iterate over the tags of a page in UTF-8; raw text belongs to the start tag before it.

    A tag that the page ends in is not one, nor is anything after it.

    Examples
    --------
    >>> [(tag.closes, tag.name) for tag in tags(b"<P-x title='</p>'><!-- <b> --></p-X ><style><i></style>")]
    [(False, b'p-x'), (True, b'p-x'), (False, b'style'), (True, b'style')]
    """
    search = _compiled(_MARKUP, re.DOTALL).search
    position = 0
    while (found := search(source, position)) is not None:
        start, position = found.span()
        closes, name = found.groups()
        if name is None:
            continue
        if source.startswith(b">", position):  # most tags have no attributes
            position += 1
        elif (position := _end_of_tag(source, position)) < 0:
            return
        name = name.lower()
        if not closes and name in _RAW:
            position = _end_of_raw_text(source, position, name)
        yield Tag(_with_replacements(name), bool(closes), start, position, source[start:position])


def _end_of_tag(source: bytes, position: int) -> int:
    """Return where the tag whose name ends at a position ends; -1 if the page ends before."""
    if plain := _compiled(_PLAIN_END).match(source, position):
        return plain.end()
    attribute = _compiled(_ATTRIBUTE, re.VERBOSE).match
    while found := attribute(source, position):
        position = found.end()
    end = _compiled(_END).match(source, position)
    return end.end() if end else -1


def _end_of_raw_text(source: bytes, position: int, name: bytes) -> int:
    """Return where the raw text of an element ends: at its end tag, or at the end of the page."""
    if name == b"plaintext":
        return len(source)
    if name != b"script":
        found = _compiled(b"</" + name + _NAME_END, re.IGNORECASE).search(source, position)
        return found.start() if found else len(source)
    depth = 0  # 1 in a comment, 2 in a script in a comment (HTML standard, "script data escaped state")
    for found in _compiled(_SCRIPT, re.IGNORECASE).finditer(source, position):
        if found["closes"] is None:
            opens = depth == 0 and found[0].startswith(b"<") and not found["empty"]
            ends = found[0].endswith(b">")
            depth = 1 if opens else 0 if ends else depth
        elif not found["closes"]:
            depth = 2 if depth == 1 else depth
        elif depth < 2:
            return found.start()
        else:
            depth = 1
    return len(source)


def attributes(tag: Tag) -> dict[bytes, bytes]:
    """Return the attributes of a start tag, without decoding character references.

    Examples
    --------
    >>> attributes(next(tags(b"<slot NAME='a b' hidden part=x/ name=c>")))
    {b'name': b'a b', b'hidden': b'', b'part': b'x/'}
    """
    held: dict[bytes, bytes] = {}
    for found in _attributes(tag.source):
        name = _with_replacements(found["name"].lower())
        held.setdefault(name, found["double"] or found["single"] or found["bare"] or b"")
    return held


def count_attributes(tag: bytes) -> int:
    """Count the attributes of a start tag, also repeated ones; its end may be missing.

    Examples
    --------
    >>> count_attributes(b"<p a='b c' d=e='f g/h"), count_attributes(b"<p")
    (4, 0)
    """
    return sum(1 for _ in _attributes(tag))


def _attributes(tag: bytes) -> Iterator[re.Match[bytes]]:
    """Iterate over the attributes of a start tag."""
    name = re.match(rb"<[^\t\n\f\r />]*+", tag)
    position = name.end() if name else 0
    match = _compiled(_ATTRIBUTE, re.VERBOSE).match
    while found := match(tag, position):  # a search would begin again at each blank
        yield found
        position = found.end()


def _with_replacements(name: bytes) -> bytes:
    """Replace null bytes of a name by U+FFFD, as parsers do."""
    return name.replace(b"\0", b"\xef\xbf\xbd")


def without_nulls(source: bytes) -> bytes:
    """Remove the null bytes of a page that are outside of tags and raw text, as browsers do, but libxml2 doesn't.

    Examples
    --------
    >>> without_nulls(b"<p title='a\\0b'>He\\0llo <\\0b><title>x\\0y</title>")
    b"<p title='a\\x00b'>Hello <\\x00b><title>x\\x00y</title>"
    """
    nulls = _compiled(_NULLS)
    parts: list[bytes] = []
    place = 0
    for tag in tags(source):
        parts += nulls.sub(b"", source[place : tag.start]), tag.source
        place = tag.end
    parts.append(nulls.sub(b"", source[place:]))
    return b"".join(parts)
