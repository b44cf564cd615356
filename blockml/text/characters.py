"""Character classes of whole pages at once, and invisible characters."""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Texts of permalinks written by Sphinx and its Read the Docs theme.
PILCROWS = frozenset({"¶", "\uf0c1"})
#: Permalink signs that end a heading without a space: pilcrows, chains, icons and zero-width characters.
GLUED_SIGNS = "¶🔗\uf0c1\u200b\u2060\ufeff "
_SIGN = re.compile(rf"[#§{GLUED_SIGNS}\ufe0f\u200c\u200d\ue000-\uf8ff\s]+")

SPACE = 1  #: white space as in ``str.split``
ALNUM = 2  #: letters, digits and other numbers: ``str.isalnum``
CJK = 4  #: ideographs, kana and Thai letters: scripts written without spaces between words
JOINER = 8  #: punctuation at which boilerpipe does not split words (Kohlschütter et al. 2010, public source)
DIGIT = 16  #: decimal digits of any script
UPPER = 32  #: capital letters of scripts that have them
SENTENCE = 64  #: punctuation that ends a sentence, in any script
CLAUSE = 128  #: commas, semicolons and colons of any script

#: Classes that are known from patterns, from ranges of code points, and from lists of characters.
_PATTERNS = {SPACE: r"\s+", ALNUM: r"[^\W_]+", DIGIT: r"\d+"}
_FIRST_CJK = (0xE00, 0x3040, 0x3400, 0x4E00, 0xF900, 0x20000)
_AFTER_CJK = (0xF00, 0x3100, 0x4DC0, 0xA000, 0xFB00, 0x40000)
_SIGNS = {
    JOINER: "\"'.,!@-:;$?()/",
    # Full stops, question and exclamation marks: Latin, Armenian, Arabic, Devanagari, Ethiopic, Khmer, ideographic.
    SENTENCE: ".!?…։؟۔।॥።៕。！？｡",
    CLAUSE: ",;:、，；：،؛",
}

#: Scripts whose spelling uses joiners (Arabic to Mongolian and their extensions), and emoji, which they combine.
_JOINED = "\u0600-\u1cff\u2190-\u2bff\ua800-\uabff\ufb50-\ufefe\U00010000-\U0010ffff"
#: Thai, Lao, Burmese, Khmer and their relatives, in which a zero-width space separates words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\ua9e0-\uaa7f"
#: Characters that are not part of a text as readers see it. Matches are removed from the texts of pages: control
#: characters other than white space, soft hyphens, word joiners, byte order marks; zero-width spaces except between
#: letters of ``_UNSPACED``; and joiners except next to a character of ``_JOINED``.
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u2060\ufeff]"
    f"|\u200b(?:(?<![{_UNSPACED}].)|(?![{_UNSPACED}]))"
    f"|[\u200c\u200d](?<![{_JOINED}].)(?![{_JOINED}])"
)

#: Upper bound of the code points of capital letters (Unicode 15; Adlam and the mathematical alphabets end before).
_LAST_CAPITAL = 0x1F200
#: Characters whose case is examined together.
_RUN = 64
#: Upper bound of classified code points: planes 4 to 13 are unassigned, 14 to 16 contain tags and private-use
#: characters.
LAST_CLASSIFIED = 0x40000
#: Planes 2 and 3, from here on, hold only ideographs; code points of a plane.
_FIRST_EXTENSION, _PLANE = 0x20000, 0x10000


def readable(text: str) -> str:
    """Return a text without the characters that :data:`INVISIBLE` matches.

    Examples
    --------
    >>> readable("Gar\\xadten\\u200bhaus \\ufeff")
    'Gartenhaus '
    """
    return text if text.isprintable() else INVISIBLE.sub("", text)


def is_permalink_sign(text: str) -> bool:
    """Tell whether a text consists only of permalink signs.

    Examples
    --------
    >>> [is_permalink_sign(text) for text in ("#", " ¶", "\u200b", "#1", "")]
    [True, True, True, False, False]
    """
    return _SIGN.fullmatch(text) is not None


@functools.cache
def class_table() -> NDArray[np.uint8]:
    """Return the class bits of every code point, a read-only uint8 array of length 0x110000.

    Examples
    --------
    >>> table = class_table()
    >>> len(table), bool(table[ord("7")] & DIGIT), table.flags.writeable
    (1114112, True, False)
    """
    table = np.zeros(0x110000, dtype=np.uint8)
    for begin in range(0, LAST_CLASSIFIED, _PLANE):  # all characters at once would take megabytes
        signs, part = characters(begin, begin + _PLANE), table[begin : begin + _PLANE]
        for bit, pattern in _PATTERNS.items():
            if begin < _FIRST_EXTENSION or bit == ALNUM:
                for run in re.compile(pattern).finditer(signs):
                    part[run.start() : run.end()] |= bit
    for first, stop in zip(_FIRST_CJK, _AFTER_CJK, strict=True):
        table[first:stop] |= CJK
    for bit, known in _SIGNS.items():
        table[list(map(ord, known))] |= bit
    capitals = characters(0, _LAST_CAPITAL)
    for begin in range(0, _LAST_CAPITAL, _RUN):
        signs = capitals[begin : begin + _RUN]
        if not f"a{signs}".islower():  # few runs have a capital or title letter
            table[begin : begin + _RUN] |= np.array([sign.isupper() for sign in signs]) * np.uint8(UPPER)
    table.flags.writeable = False
    return table


def characters(first: int, stop: int) -> str:
    """Return all characters from a code point up to another one, in order."""
    return codecs.decode(np.arange(first, stop, dtype="<u4").data, "utf-32-le", "surrogatepass")


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
