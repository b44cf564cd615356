"""Characters and words of texts, by hand and in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.features.page_context import PageContext
from blockml.features.text import text

ZEROS = ("linkedwords", "linkshare", "digits", "capitals", "ideographs", "clauses", "clauserate", "endsclause")


def rows(html: str, tokenizer: str = "space") -> list[dict[str, float]]:
    """Return the columns of each block by name."""
    view = PageContext(blockml.parse(html, tokenizer=tokenizer))
    columns = {name: values.astype(float).tolist() for name, values in text(view).items()}
    return [{name: values[block] for name, values in columns.items()} for block in range(len(view))]


def row(html: str, tokenizer: str = "space") -> dict[str, float]:
    """Return the columns of the only block."""
    (only,) = rows(html, tokenizer)
    return only


def test_a_sentence() -> None:
    """A sentence of 5 words has the expected value in each column."""
    assert row("<p>In 2024, <a>the Cat</a> sat.") == pytest.approx(
        {
            "words": 5,
            "chars": 21,
            "wordlen": 15 / 5,
            "linkedwords": 2,
            "linkshare": 2 / 5,
            "freewords": 3,
            "digits": 4 / 15,
            "capitals": 2 / 15,
            "ideographs": 0,
            "sentences": 1,
            "clauses": 1,
            "signs": 2 / 21,
            "clauserate": 1 / 5,
            "endssentence": 1,
            "endsclause": 0,
            "startscapital": 1,
            "startsdigit": 0,
            "startssign": 0,
            "prose": 0,
        }
    )


def test_no_words() -> None:
    """Text without words is counted, and nothing is divided by zero."""
    found = row("<p>***,")
    assert found == dict.fromkeys(found, 0) | {
        "chars": 4, "wordlen": 1, "clauses": 1, "clauserate": 1, "signs": 1, "endsclause": 1, "startssign": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ("end.", "endssentence"),
        ("end?", "endssentence"),
        ("终。", "endssentence"),
        ("समाप्त।", "endssentence"),
        ("نهاية؟", "endssentence"),
        ("end:", "endsclause"),
        ("终，", "endsclause"),
        ("Änd", "startscapital"),
        ("Ωmega", "startscapital"),
        ("7 up", "startsdigit"),
        ("٧ up", "startsdigit"),
        ("– up", "startssign"),
        ("“Up”", "startssign"),
    ],
)
def test_beginnings_and_ends(written: str, column: str) -> None:
    """Starts and ends of texts are recognised in any script, for each block separately."""
    before, found, after = rows(f"<p>plain<p>{written}<p>plain")
    assert (before[column], found[column], after[column]) == (0, 1, 0)


def test_running_text() -> None:
    """Ten unlinked words are running text."""
    assert [item["prose"] for item in rows("<p>" + "w " * 10 + "<p>" + "w " * 9 + "<p><a>" + "w " * 10)] == [1, 0, 0]


SHAPES = st.text(st.sampled_from("abcxyzABCXYZ 0189.,;:!?-'\"()"), min_size=1, max_size=60)
SCRIPTS = {
    "Greek": ("αβγδεζΑΒΓΔΕΖ", "abcxyzABCXYZ"),
    "Cyrillic": ("абвэюяАБВЭЮЯ", "abcxyzABCXYZ"),
    "Armenian": ("աբգդեզԱԲԳԴԵԶ", "abcxyzABCXYZ"),
}


@pytest.mark.parametrize("script", SCRIPTS)
@given(paragraphs=st.lists(SHAPES, min_size=1, max_size=4), linked=SHAPES)
def test_letters_of_other_scripts_count_equally(script: str, paragraphs: list[str], linked: str) -> None:
    """Replacing letters by those of another script with capitals doesn't change the columns."""
    letters, latin = SCRIPTS[script]
    table = str.maketrans(latin, letters)

    def page(change: bool) -> str:  # noqa: FBT001
        texts = [item.translate(table) if change else item for item in (*paragraphs, linked)]
        return "".join(f"<p>{item}</p>" for item in texts[:-1]) + f"<p><a>{texts[-1]}</a></p>"

    assert rows(page(change=True)) == rows(page(change=False))


@given(paragraph=SHAPES)
def test_scripts_without_capitals(paragraph: str) -> None:
    """Letters of scripts without capitals count as lower case."""
    hebrew = paragraph.lower().translate(str.maketrans("abcxyz", "אבגדהו"))
    assert rows(f"<p>{hebrew}") == rows(f"<p>{paragraph.lower()}")


def test_scripts_without_spaces_have_words() -> None:
    """The tokenizer ``cjk`` gives one word per ideograph, and the default one word per run."""
    sentence = "这是一个很长的句子，里面有字。"
    alone = row(f"<p>{sentence}", "cjk")
    assert alone["words"] == 13
    assert alone["wordlen"] == alone["ideographs"] == alone["prose"] == alone["endssentence"] == 1
    assert alone["clauserate"] == pytest.approx(1 / 13)
    assert row(f"<p>{sentence}")["words"] == 1
    assert row("<p>abc 你好", "cjk")["ideographs"] == pytest.approx(2 / 5)


@pytest.mark.parametrize("written", ["สวัสดี", "カタカナ・ー", "你好！"])
def test_marks_and_signs_are_not_letters(written: str) -> None:
    """The share of ideographs ignores marks and punctuation."""
    assert row(f"<p>{written}", "cjk")["ideographs"] == 1


def test_circled_capitals_are_signs() -> None:
    """Circled capitals count as signs, because Unicode doesn't classify them as letters."""
    found = row("<p>ⒶⒷ")
    assert found["capitals"] == 0
    assert found["signs"] == 1


def test_plain_words_have_nothing_special() -> None:
    """Plain words have no digits, capitals, signs or ends of sentences."""
    found = row("<p>plain words")
    assert all(found[name] == 0 for name in (*ZEROS, "signs", "sentences", "endssentence", "startscapital", "prose"))
