"""Word segmentation, compared with a reference that reads one character at a time."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.errors import UnknownNameError
from blockml.text.words import ALNUM, CJK, SPACE, TOKENIZERS, class_table, classes, code_points, find_spans, find_words
from tests.strategies import messy_texts, slow_words


def words(text: str, tokenizer: str = "space") -> list[int]:
    """Return the lengths of the words of one text."""
    lengths: list[int] = find_words([text], tokenizer)[1].tolist()
    return lengths


@pytest.mark.parametrize(
    ("text", "space", "boilerpipe", "cjk"),
    [
        ("", 0, 0, 0),
        ("   \u00a0\n", 0, 0, 0),
        ("one two", 2, 2, 2),
        ("one\u00a0two\u3000three", 3, 3, 3),
        ("-- … *", 0, 0, 0),
        ("don't e-mail a.b@c.d 3:45 $5 and/or (x)", 7, 7, 7),
        ("cats|dogs", 1, 2, 1),
        ("50% C++", 2, 2, 2),
        ("“Quoted”", 1, 1, 1),
        ("你好世界", 1, 1, 4),
        ("Python 你好3次", 2, 2, 5),
        ("สวัสดี", 1, 2, 4),
        ("² ½ Ⅷ ٣", 4, 4, 4),
        ("zero\u200bwidth", 1, 2, 1),
    ],
)
def test_counts(text: str, space: int, boilerpipe: int, cjk: int) -> None:
    """Each tokenizer finds the expected number of words."""
    assert [len(words(text, name)) for name in ("space", "boilerpipe", "cjk")] == [space, boilerpipe, cjk]


def test_words_end_at_the_end_of_a_text() -> None:
    """Words of two texts are separate, even if a text is empty or the first doesn't end in a space."""
    owner, length = find_words(["ab", "", "cd", " ", "e f"])
    assert owner.tolist() == [0, 2, 4, 4]
    assert length.tolist() == [2, 2, 1, 1]
    assert [len(column) for column in find_words([])] == [0, 0]


def test_tokenizer_of_a_page() -> None:
    """The tokenizer given to ``parse`` counts the words of blocks."""
    counts = {name: int(blockml.parse("<p>你好|世界 ok", tokenizer=name).blocks.n_words[0]) for name in TOKENIZERS}
    assert counts == {"space": 2, "boilerpipe": 3, "cjk": 5}


def test_unknown_tokenizer_is_refused() -> None:
    """An unknown tokenizer is refused with the legal ones."""
    with pytest.raises(UnknownNameError, match="boilerpipe, cjk, space"):
        find_words([], "ws")


@given(st.lists(messy_texts, max_size=6), st.sampled_from(sorted(TOKENIZERS)))
def test_words_are_those_of_the_slow_reference(texts: list[str], tokenizer: str) -> None:
    """Words have the same owners and lengths as when reading one character at a time."""
    texts = [re.sub("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]", "", text) for text in texts]
    owner, length = find_words(texts, tokenizer)
    expected = [(number, len(word)) for number, text in enumerate(texts) for word in slow_words(text, tokenizer)]
    assert list(zip(owner.tolist(), length.tolist(), strict=True)) == expected


#: A letter or digit next to a sign that is neither white space nor a joining sign.
_LETTER, _SIGN = r"[^\W_]", r"[^\w\s\"'.,!@\-:;$?()/]|_"
_BORDER = re.compile(rf"(?<={_LETTER})(?={_SIGN})|(?:(?<=_)|(?<=[^\w\s\"'.,!@\-:;$?()/]))(?={_LETTER})")


@given(messy_texts)
def test_boilerpipe_words_by_regular_expression(text: str) -> None:
    """Boilerpipe's words are split at white space and at signs that don't join words, and have a letter or digit."""
    pieces = _BORDER.sub(" ", text).split()
    assert words(text, "boilerpipe") == [len(piece) for piece in pieces if re.search(_LETTER, piece)]


def test_classes_of_all_characters() -> None:
    """The table of character classes agrees with Python's methods for each character."""
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    kinds = classes(code_points(["".join(characters)]))
    assert ((kinds & SPACE) > 0).tolist() == [char.isspace() for char in characters]
    assert ((kinds & ALNUM) > 0).tolist() == [char.isalnum() for char in characters]
    assert all((kinds[characters.index(char)] & CJK) > 0 for char in "你ア々豈ก𠀀" if char != "々")


@given(st.lists(messy_texts, max_size=5), st.sampled_from(sorted(TOKENIZERS)))
def test_spans_are_the_words_at_their_place(texts: list[str], tokenizer: str) -> None:
    """Spans are the words of ``find_words``, and each one cut out of its text is one word."""
    owner, start, length = find_spans(texts, tokenizer)
    known_owner, known_length = find_words(texts, tokenizer)
    assert owner.tolist() == known_owner.tolist()
    assert length.tolist() == known_length.tolist()
    for text, first, size in zip(owner.tolist(), start.tolist(), length.tolist(), strict=True):
        word = texts[text][first : first + size]
        assert len(word) == size
        assert find_words([word], tokenizer)[1].tolist() == [size]


def test_no_class_has_members_beyond_the_table() -> None:
    """The table covers all characters of this Python's Unicode that have a class."""
    beyond = np.arange(0x40000, 0x110000, dtype="<u4").tobytes().decode("utf-32-le")
    assert not re.search(r"[^\W_]|\s|\d", beyond)
    assert not any(map(str.isupper, beyond))
    assert not class_table()[0x40000:].any()
