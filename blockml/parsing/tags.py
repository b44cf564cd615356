"""Tags of a page as the tokenizer of the HTML standard reads them, without a parser.

Comments, attributes, scripts and other raw text contain no tags, and a name ends only at white space, a slash or ``>``.
Rules that depend on the tree are left out: in ``svg`` and ``math`` a CDATA section is read as a comment, and titles,
styles and scripts as raw text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

__all__ = ["attributes", "count_attributes", "lowered", "names", "tags"]

#: Parts of the expressions below: white space (as members of a set), the end of a name, attributes and the end of a
#: tag, and the content of a script, which may contain ``<!-- <script> ... </script> -->``.
_PARTS = {
    b"SPACE": rb"\t\n\f\r ",
    b"END": rb"(?=[\t\n\f\r />])",
    b"REST": rb"""
        (?:[^>"']*+>
          |(?:[SPACE/]*+[^SPACE/>][^SPACE/>=]*+
              (?:[SPACE]*+=[SPACE]*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^SPACE>"'][^SPACE>]*+)?+)?+)*+
           [SPACE/]*+>)""",
    b"NESTED": rb"<scriptEND(?:[^<-]++|-(?!->)|<(?!/scriptEND))*+(?:</scriptEND)?+",
    b"ESCAPED": rb"<!--(?:-?>|(?:[^<-]++|-(?!->)|NESTED|<(?!/?scriptEND))*+(?:-->)?+)",
    b"SCRIPT": rb"(?:[^<]++|ESCAPED|<(?!/scriptEND))*+",
}
_TAG = rb"""
    <(?:(?i:(?P<raw>(?:style|xmp|iframe|noembed|noframes|title|textarea)END)REST(?:[^<]++|<(?!/(?P=raw)END))*+
           |(?P<script>scriptEND)RESTSCRIPT
           |(?P<plain>plaintextEND)REST.*+)
       |(?P<closes>/?)(?P<name>[a-zA-Z][^SPACE/>]*+)REST
       |/?[a-zA-Z].*+  # a tag that the page ends in
       |!--(?:-?>|.*?(?:--!?>|\Z))
       |[!?/][^>]*+>?)"""
_ATTRIBUTE = rb"""
    [SPACE/]*+(?P<name>[^SPACE/>][^SPACE/>=]*+)
    (?:[SPACE]*+=[SPACE]*+(?:"(?P<double>[^"]*+)"?|'(?P<single>[^']*+)'?|(?P<bare>[^SPACE>"'][^SPACE>]*+))?+)?+"""
for _name, _part in reversed(_PARTS.items()):
    _TAG, _ATTRIBUTE = _TAG.replace(_name, _part), _ATTRIBUTE.replace(_name, _part)
#: Compiles an expression once, when the first page needs it: few pages do.
_compiled = functools.cache(re.compile)


def tags(source: bytes) -> Iterator[re.Match[bytes]]:
    """Iterate over the tags and comments of a page in UTF-8, each with the text that it hides.

    Groups are ``closes`` and ``name``; ``raw``, ``script`` and ``plain`` are names of start tags whose content has no
    tags.
    """
    return _compiled(_TAG, re.DOTALL | re.VERBOSE).finditer(source)


def names(source: bytes) -> Iterator[tuple[bool, bytes]]:
    """Yield whether each tag of a page in UTF-8 is an end tag, and its name.

    Examples
    --------
    >>> list(names(b"<P-x title='</p>'><!-- <b> --></p-X ><style><i></style>"))
    [(False, b'p-x'), (True, b'p-x'), (False, b'style'), (True, b'style')]
    """
    for tag in tags(source):
        name = tag["name"] or tag["raw"] or tag["script"] or tag["plain"]
        if name is not None:
            yield bool(tag["closes"]), lowered(name)


def attributes(tag: re.Match[bytes]) -> dict[bytes, bytes]:
    """Return the attributes of a start tag that :func:`tags` found, without decoding character references.

    Examples
    --------
    >>> attributes(next(tags(b"<slot NAME='a b' hidden part=x/ name=c>")))
    {b'name': b'a b', b'hidden': b'', b'part': b'x/'}
    """
    held: dict[bytes, bytes] = {}
    for found in _compiled(_ATTRIBUTE, re.VERBOSE).finditer(tag[0], len(tag["name"]) + 1):
        held.setdefault(lowered(found["name"]), found["double"] or found["single"] or found["bare"] or b"")
    return held


def count_attributes(tag: bytes) -> int:
    """Count the attributes of a start tag, also repeated ones; its end may be missing.

    Examples
    --------
    >>> count_attributes(b"<p a='b c' d=e='f g/h"), count_attributes(b"<p")
    (4, 0)
    """
    name = re.match(rb"<[^\t\n\f\r />]*+", tag)
    return sum(1 for _ in _compiled(_ATTRIBUTE, re.VERBOSE).finditer(tag, name.end() if name else 0))


def lowered(name: bytes) -> bytes:
    """Normalise a name like parsers do: to lower case, with U+FFFD for null bytes."""
    return name.lower().replace(b"\0", b"\xef\xbf\xbd")
