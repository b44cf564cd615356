"""Bound on open elements before a page is parsed.

Parsers search all open elements at an end tag and copy them for misnested formatting, so that the time of a page with
deep nesting grows with its square. Tags beyond the limit, and end tags that close nothing there, are taken out; all
text stays. Elements whose content isn't text of the page keep their tags.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from blockml.parsing.builder import DROPPED
from blockml.parsing.lines import VOID

__all__ = ["bounded"]

#: Elements that a parser closes when the next one begins, so that a run of them doesn't nest.
_CLOSED_BY_THE_NEXT = frozenset(
    name.encode() for name in "p li td th tr dt dd option tbody thead tfoot html head body".split()
)
_VOID = frozenset(name.encode() for name in VOID)
_RAW = {name: re.compile(rb"</%b\b" % name, re.IGNORECASE) for name in (b"script", b"style", b"title", b"textarea")}
_KEPT = _VOID | {name.encode() for name in DROPPED} | set(_RAW)
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>\x00]*)[^>]*>?")
#: Tags of a name up to which all of them count as open at the same time, which saves the look at their order.
_RARE = 30
#: Characters of a name by which tags are counted.
_NAME = 8
#: 255 for bytes that are neither ASCII letters nor digits, and the bit of lower case in each byte.
_NO_NAME = np.array([0 if chr(byte).isascii() and chr(byte).isalnum() else 255 for byte in range(256)], dtype=np.uint8)
_LOWER_CASE = np.uint64(0x2020202020202020)
#: Names that are not counted, as :func:`_eight_bytes` gives them; 0 is no name.
_NOT_COUNTED = {0, *(int.from_bytes(name[:_NAME], "little") for name in _CLOSED_BY_THE_NEXT | _VOID)}
#: Open elements from which on an end tag without a start tag is taken out (our choice: cheap to search below).
_FEW = 256


def bounded(source: bytes, depth: int) -> tuple[bytes, bool]:
    """Take tags out of a page whose elements may nest deeper than ``depth``; tell whether there were any.

    Examples
    --------
    >>> bounded(b"<b><i><u>deep</u></i></b> text", 2)
    (b'<b><i>deep</i></b> text', True)
    >>> bounded(b"<p>one<p>two<br>" * 9, 2)[1]
    False
    """
    if _deepest(source, depth) <= depth:
        return source, False
    kept: list[bytes] = []
    path: list[bytes] = []  # names of open elements
    opened: Counter[bytes] = Counter()
    dropped: Counter[bytes] = Counter()
    begin = place = n_open = 0
    while tag := _TAG.search(source, place):
        place = tag.end()
        name = tag[2].lower()
        if name in _KEPT:
            if name in _RAW and not tag[1]:
                end = _RAW[name].search(source, place)
                place = end.start() if end else len(source)
            continue
        if not tag[1]:
            if n_open < depth or name in _CLOSED_BY_THE_NEXT:
                path.append(name)
                opened[name] += 1
                n_open += name not in _CLOSED_BY_THE_NEXT
                continue
            dropped[name] += 1
        elif dropped[name]:
            dropped[name] -= 1
        elif opened[name]:
            while path:
                last = path.pop()
                opened[last] -= 1
                n_open -= last not in _CLOSED_BY_THE_NEXT
                if last == name:
                    break
            continue
        elif n_open < _FEW:
            continue
        kept.append(source[begin : tag.start()])
        begin = tag.end()
    kept.append(source[begin:])
    return b"".join(kept), len(kept) > 1


def _deepest(source: bytes, enough: int) -> int:
    """Return an upper bound of the number of open elements: for each name the largest excess of start tags, summed.

    With at most ``enough`` start tags it is 0.
    """
    content = np.frombuffer(source, np.uint8)
    is_tag = content == ord("<")
    if np.count_nonzero(is_tag) <= enough:
        return 0
    places = is_tag.nonzero()[0]
    content = np.frombuffer(source + bytes(_NAME + 2), np.uint8)
    ends = content[places + 1] == ord("/")
    if len(places) - np.count_nonzero(ends) <= enough:
        return 0
    letters = _eight_bytes(content, places + 1 + ends)
    others = _NO_NAME[letters.view(np.uint8)].view(np.uint64)  # ones in each byte that isn't part of a name
    # Bits below the first of them: those of the name.
    keys = (letters | _LOWER_CASE) & ((others & (~others + np.uint64(1))) - np.uint64(1))
    deepest = 0
    found, counts = np.unique(keys, return_counts=True)
    for key, count in zip(found.tolist(), counts.tolist(), strict=True):
        if key in _NOT_COUNTED:
            continue
        if count <= _RARE:
            deepest += count
            continue
        steps = np.where(ends[keys == key], -1, 1).cumsum()
        deepest += int((steps - np.minimum(np.minimum.accumulate(steps), 0)).max())
    return deepest


def _eight_bytes(content: NDArray[np.uint8], places: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Return the eight bytes from each place on as one number, the first byte lowest."""
    windows: NDArray[np.uint64] = np.ndarray(len(content) - _NAME + 1, np.dtype("<u8"), content, strides=(1,))
    return windows[places].astype(np.uint64, copy=False)
