"""Tags of a page as the tokenizer of the HTML standard reads them, without a parser.

Comments, attributes, scripts and other raw text hold no tags, and a name ends only at white space, a slash or ``>``.
What depends on the tree is left out: a CDATA section in ``svg`` or ``math`` is read as a comment, and titles, styles and
scripts there as raw text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

__all__ = ["Tag", "n_start_tags", "tags"]

#: White space of the HTML standard, as part of a character class.
_SPACE = rb"\t\n\f\r "
#: What follows a name that is complete.
_END = rb"(?=[%b/>])" % _SPACE
#: The attributes of a tag; a quoted value may contain ``>``. At the end of the page a tag may be incomplete.
_ATTRIBUTES = (
    rb"""(?:[_/]*+[^_/>][^_/>=]*+(?:[_]*+=[_]*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^_>"'][^_>]*+)?+)?+)*+[_/]*+"""
).replace(b"_", _SPACE)
_TOKEN = re.compile(
    rb"<(?:(/?)([a-zA-Z][^%b/>]*+)(?:[^>\"']*+>|%b(?:>|(\Z)))|!--(?:-?>|.*?(?:--!?>|\Z))|[!?/][^>]*+>?)"
    % (_SPACE, _ATTRIBUTES),
    re.DOTALL,
)
#: Elements without tags in them, to the end tag of their name.
_RAW = {
    name: re.compile(rb"</%b%b" % (name, _END), re.IGNORECASE)
    for name in b"style xmp iframe noembed noframes title textarea".split()
}
_SCRIPT = re.compile(rb"(<!--)|(-->)|<(/?)script%b" % _END, re.IGNORECASE)


class Tag(NamedTuple):
    """A tag in the source."""

    start: int  #: Byte where it starts.
    end: int  #: Byte where it ends, excluded.
    closes: bool  #: Whether it is an end tag.
    name: bytes  #: In lower case; null bytes are U+FFFD.


def tags(source: bytes) -> Iterator[Tag]:
    """Yield the tags of a page in UTF-8.

    Examples
    --------
    >>> [(tag.closes, tag.name) for tag in tags(b"<P-x title='</p>'><!-- <b> --></p-X ><style><i></style>")]
    [(False, b'p-x'), (True, b'p-x'), (False, b'style'), (True, b'style')]
    """
    place = 0
    while found := _TOKEN.search(source, place):
        place = found.end()
        name = found[2]
        if name is None or found[3] is not None:
            continue
        name = name.lower().replace(b"\0", b"\xef\xbf\xbd")
        yield Tag(found.start(), place, bool(found[1]), name)
        if found[1]:
            continue
        if name in _RAW:
            end = _RAW[name].search(source, place)
            place = end.start() if end else len(source)
        elif name == b"script":
            place = _script_end(source, place)
        elif name == b"plaintext":
            return


def _script_end(source: bytes, place: int) -> int:
    """Return where the end tag of a script starts: not within ``<!-- <script> ... </script> -->``."""
    escaped = nested = False
    while found := _SCRIPT.search(source, place):
        place = found.end()
        if found[1]:
            escaped = True
            place -= 2  # the same hyphens may end it: <!-->
        elif found[2]:
            escaped = nested = False
        elif not found[3]:
            nested = escaped
        elif not nested:
            return found.start()
        else:
            nested = False
    return len(source)


def n_start_tags(source: bytes) -> int:
    """Count everything that could be a start tag: ``<`` before a letter.

    Examples
    --------
    >>> n_start_tags(b"<p>1 < 2 <!-- <b> --></p>")
    2
    """
    data = np.frombuffer(source, np.uint8)
    places = (data[:-1] == ord("<")).nonzero()[0]
    return int(np.count_nonzero((data[places + 1] | 0x20) - ord("a") < 26))  # unsigned: bytes below "a" wrap
