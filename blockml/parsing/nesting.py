"""Flattens pages that nest too deeply to be parsed in reasonable time.

Parsers search all open elements at an end tag and copy them for misnested formatting, so that the time of a page with
deep nesting grows with its square. Tags beyond the limit, and end tags that close nothing there, are removed; all text
is kept. Elements whose content isn't text of the page keep their tags.
"""

from __future__ import annotations

from collections import Counter

from blockml.parsing.builder import DROPPED
from blockml.parsing.lines import VOID
from blockml.parsing.tags import tags

__all__ = ["CLOSED_BY_THE_NEXT", "flattened"]

#: Elements that a parser closes when the next one starts, so that a run of them doesn't nest.
CLOSED_BY_THE_NEXT = frozenset(
    name.encode() for name in "p li td th tr dt dd option tbody thead tfoot html head body".split()
)
_VOID = frozenset(name.encode() for name in VOID)
_KEPT = _VOID | {name.encode() for name in DROPPED} | {b"title", b"textarea", b"xmp", b"plaintext"}
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
