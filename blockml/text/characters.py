"""Look-up table of character classes, to classify the characters of whole pages at once."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Texts of links to themselves, by Sphinx and its theme of Read the Docs.
PILCROWS = frozenset({"¶", "\uf0c1"})

SPACE = 1  #: white space as in ``str.split``
ALNUM = 2  #: letters, digits and other numbers: ``str.isalnum``
CJK = 4  #: ideographs, kana and Thai letters: scripts written without spaces between words
JOINER = 8  #: punctuation at which boilerpipe does not split words (Kohlschütter et al. 2010, public source)
DIGIT = 16  #: decimal digits of any script
UPPER = 32  #: capital letters of scripts that have them
SENTENCE = 64  #: punctuation that ends a sentence, in any script
CLAUSE = 128  #: commas, semicolons and colons of any script

_PATTERNS = {
    SPACE: r"\s+",
    ALNUM: r"[^\W_]+",
    CJK: "[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+",
    JOINER: r"[\"'.,!@\-:;$?()/]+",
    DIGIT: r"\d+",
    # Full stops, question and exclamation marks: Latin, Armenian, Arabic, Devanagari, Ethiopic, Khmer, ideographic.
    SENTENCE: "[.!?…։؟۔।॥።៕。！？｡]+",
    CLAUSE: "[,;:、，；：،؛]+",
}

#: Upper bound of the code points of capital letters (Unicode 15; Adlam and the mathematical alphabets end before).
_LAST_CAPITAL = 0x1F200
#: Upper bound of classified code points: planes 4 to 13 are unassigned, 14 to 16 hold tags and private-use characters.
_LAST_CLASSIFIED = 0x40000


@functools.cache
def class_table() -> NDArray[np.uint8]:
    """Return the class bits of every code point, a read-only uint8 array of length 0x110000.

    Examples
    --------
    >>> table = class_table()
    >>> len(table), bool(table[ord("7")] & DIGIT), table.flags.writeable
    (1114112, True, False)
    """
    everything = np.arange(_LAST_CLASSIFIED, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    table = np.zeros(0x110000, dtype=np.uint8)
    for bit, pattern in _PATTERNS.items():
        for run in re.finditer(pattern, everything):
            table[run.start() : run.end()] |= bit
    table[:_LAST_CAPITAL] |= np.array([chr(point).isupper() for point in range(_LAST_CAPITAL)]) * np.uint8(UPPER)
    table.flags.writeable = False
    return table


def code_points(texts: Sequence[str], separator: str = "\n") -> NDArray[np.uint32]:
    """Return the code points of the texts joined by ``separator`` as one array.

    Examples
    --------
    >>> code_points(["a", "é"]).tolist()
    [97, 10, 233]
    """
    return np.frombuffer(separator.join(texts).encode("utf-32-le"), dtype="<u4")


def classes(points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return the class bits of code points.

    Examples
    --------
    >>> (classes(code_points(["a 你"])) & ALNUM > 0).tolist()
    [True, False, True]
    """
    return class_table()[points]
