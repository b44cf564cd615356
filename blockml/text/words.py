"""Characters, words and tokens of many texts at once, and counts with their nouns."""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, AnyStr, Final, cast

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, check_name


class _LazyPattern:
    """A regular expression that is compiled when one of its attributes is read; see :func:`lazy_pattern`."""

    def __init__(self, *arguments: Any) -> None:  # noqa: ANN401 (those of ``re.compile``)
        self._arguments = arguments

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (any attribute)
        value = getattr(re.compile(*self._arguments), name)  # ``re`` keeps what it compiled
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled on first use.

    Most pages need few of those that are known, and compiling all of them takes longer than a page.

    Examples
    --------
    >>> lazy_pattern("[a-z]+").findall("an example")
    ['an', 'example']
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


#: Definition of a word by name of the tokenizer.
TOKENIZERS: Mapping[str, str] = {
    "space": "pieces between white space that contain a letter or digit",
    "boilerpipe": "like 'space', but also split between letters and punctuation that does not join words",
    "cjk": "like 'space', but each ideograph, kana or Thai letter is a word",
}

_NO_WORDS = np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32)


def find_words(texts: Sequence[str], tokenizer: str = "space") -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find the words of each text.

    Parameters
    ----------
    texts
        Texts; a word never extends over several texts.
    tokenizer
        A key of :data:`TOKENIZERS`. The default is boilerpipe's test of a word applied to white-space pieces;
        boilerpipe's own splitting gives the same count on ordinary prose (Kohlschütter et al. 2010, public source).

    Returns
    -------
    owner, length
        (n_words,) index of the text of each word, and its length in characters.

    Raises
    ------
    UnknownNameError
        The tokenizer is unknown.

    Examples
    --------
    >>> owner, length = find_words(["Two words", "--", "and three more…"])
    >>> owner.tolist(), length.tolist()
    ([0, 0, 2, 2, 2], [3, 5, 3, 5, 5])
    """
    owner, _, length = find_spans(texts, tokenizer)
    return owner, length


def find_spans(
    texts: Sequence[str], tokenizer: str = "space"
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Find the words of each text with their positions.

    Parameters
    ----------
    texts, tokenizer
        See :func:`find_words`.

    Returns
    -------
    owner, start, length
        (n_words,) index of the text of each word, index of its first character, and its length in characters.

    Raises
    ------
    UnknownNameError
        The tokenizer is unknown.

    Examples
    --------
    >>> [column.tolist() for column in find_spans(["Two words", "--", "and more"])]
    [[0, 0, 2, 2], [0, 4, 0, 4], [3, 5, 3, 4]]
    """
    check_name("tokenizer", tokenizer, TOKENIZERS)
    if not texts:
        return _NO_WORDS
    kinds = classes(code_points(texts))
    solid = (kinds & SPACE) == 0
    begins = solid.copy()
    begins[1:] &= ~solid[:-1]
    if tokenizer == "boilerpipe":
        is_letter, is_joiner = (kinds & ALNUM) > 0, (kinds & JOINER) > 0
        is_border = (is_letter[1:] != is_letter[:-1]) & ~is_joiner[1:] & ~is_joiner[:-1]
        begins[1:] |= is_border & solid[1:] & solid[:-1]
    elif tokenizer == "cjk":
        single = (kinds & CJK) > 0
        begins |= single
        begins[1:] |= single[:-1] & solid[1:]
    starts = np.flatnonzero(begins)
    if not len(starts):
        return _NO_WORDS
    is_word = np.add.reduceat((kinds & ALNUM) > 0, starts, dtype=np.int32) > 0
    length = np.add.reduceat(solid, starts, dtype=np.int32)[is_word]
    first = np.cumsum([0, *[len(text) + 1 for text in texts]])
    owner = np.searchsorted(first, starts[is_word], side="right") - 1
    return owner.astype(np.int32), starts[is_word] - first[owner], length


#: Texts of permalinks written by Sphinx and its Read the Docs theme.
PILCROWS = frozenset({"¶", "\uf0c1"})
#: Permalink signs that end a heading without a space: pilcrows, chains, icons and zero-width characters.
GLUED_SIGNS = "¶🔗\uf0c1\u200b\u2060\ufeff "
_SIGN = lazy_pattern(rf"[#§{GLUED_SIGNS}\ufe0f\u200c\u200d\ue000-\uf8ff\s]+")

SPACE = 1  #: white space as in ``str.split``
ALNUM = 2  #: letters, digits and other numbers: ``str.isalnum``
CJK = 4  #: ideographs, kana and Thai letters: scripts written without spaces between words
JOINER = 8  #: punctuation at which boilerpipe does not split words (Kohlschütter et al. 2010, public source)
DIGIT = 16  #: decimal digits of any script
UPPER = 32  #: capital letters of scripts that have them
SENTENCE = 64  #: punctuation that ends a sentence, in any script
CLAUSE = 128  #: commas, semicolons and colons of any script

#: Classes that are known from methods of ``str``, from ranges of code points, and from lists of characters.
_TESTS = {SPACE: np.char.isspace, ALNUM: np.char.isalnum, DIGIT: np.char.isdecimal, UPPER: np.char.isupper}
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
INVISIBLE = lazy_pattern(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u2060\ufeff]"
    f"|\u200b(?:(?<![{_UNSPACED}].)|(?![{_UNSPACED}]))"
    f"|[\u200c\u200d](?<![{_JOINED}].)(?![{_JOINED}])"
)

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
        signs, part = np.arange(begin, begin + _PLANE, dtype=np.uint32).view("U1"), table[begin : begin + _PLANE]
        for bit, test in _TESTS.items():
            if begin < _FIRST_EXTENSION or bit == ALNUM:
                part |= test(signs) * np.uint8(bit)
    for first, stop in zip(_FIRST_CJK, _AFTER_CJK, strict=True):
        table[first:stop] |= CJK
    for bit, known in _SIGNS.items():
        table[list(map(ord, known))] |= bit
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


#: Token modes: words of letters, digits and underscores, or pieces between white space.
MODES: Final = ("w", "ws")

#: A word of mode ``"w"``, like in the public content extraction benchmarks.
WORD: Final = lazy_pattern(r"\w+")


def metric_tokens(text: str, mode: str = "w") -> list[str]:
    r"""Split a text into tokens, without invisible characters such as soft hyphens.

    Parameters
    ----------
    text
        Plain text.
    mode
        ``"w"``: the matches of ``\w+`` in the lower-cased text, as in public content extraction benchmarks.
        ``"ws"``: the pieces between white space, with case and punctuation (the words of Gottron 2007).

    Returns
    -------
    list of str
        Tokens in text order.

    Raises
    ------
    UnknownNameError
        The mode is unknown.

    Examples
    --------
    >>> metric_tokens("The cat's mat.")
    ['the', 'cat', 's', 'mat']
    >>> metric_tokens("The cat's mat.", mode="ws")
    ['The', "cat's", 'mat.']
    """
    if not text.isascii():  # because gold texts may contain them and texts of blocks don't
        text = readable(text)
    if mode == "w":
        return WORD.findall(text.lower())
    if mode == "ws":
        return text.split()
    raise UnknownNameError("token mode", mode, MODES)


def token_lists(texts: Iterable[str]) -> list[list[str]]:
    """Return the :func:`metric_tokens` of each text.

    Examples
    --------
    >>> token_lists(["The cat's mat.", "Mat"])
    [['the', 'cat', 's', 'mat'], ['mat']]
    """
    return [metric_tokens(text) for text in texts]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "page"), counted(1200, "page")
    ('1 page', '1,200 pages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
