"""Characters that are invisible to readers."""

import pytest

from blockml.text.words import MODES, metric_tokens, readable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Förder\xadmittel für Klein\xadst\xadbetriebe", "Fördermittel für Kleinstbetriebe"),
        ("www.\u200bharbour.\u200bexample", "www.harbour.example"),
        ("5\u202f000\xa0Euro form\u2060los", "5\u202f000\xa0Euro formlos"),
        ("\ufeffa\ufeffb\n\ufeff", "ab\n"),
        ("\u200b \u200b\u200b", " "),
        ("a\x00b\x1bc\x7fd\x9fe\x85\t", "abcde\x85\t"),
        ("日\u200b本", "日本"),  # an opportunity for a line break, not a word boundary
        ("ភាសា\u200bខ្មែរ ไทย\u200bแลนด์ ລາວ\u200bລາວ", "ភាសា\u200bខ្មែរ ไทย\u200bแลนด์ ລາວ\u200bລາວ"),
        ("ไทย\u200b \u200bไทย\u200b", "ไทย ไทย"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian
        ("क्\u200dष क्\u200cष", "क्\u200dष क्\u200cष"),  # Hindi
        ("ක්\u200dරීඩා", "ක්\u200dරීඩා"),  # Sinhala
        (
            "🧑\u200d💻 👨\u200d👩\u200d👧 ❤️\u200d🔥 🏴\u200d☠️ 🤷🏽\u200d♀️",
            "🧑\u200d💻 👨\u200d👩\u200d👧 ❤️\u200d🔥 🏴\u200d☠️ 🤷🏽\u200d♀️",
        ),
        ("Auf\u200clage \xa0\u200c\xa0\u200c\u200d", "Auflage \xa0\xa0"),
        ("Left\u200e-to-\u200fright", "Left\u200e-to-\u200fright"),  # directions of text
    ],
)
def test_readable_text(text: str, expected: str) -> None:
    """Invisible marks in words are removed; joiners and word boundaries of scripts that need them are kept."""
    assert readable(text) == expected


@pytest.mark.parametrize("mode", MODES)
def test_words_of_metrics(mode: str) -> None:
    """A gold text with soft hyphens has the same words as one without."""
    assert metric_tokens("Förder\xadmittel für Klein\u200bst\xadbetriebe", mode) == metric_tokens(
        "Fördermittel für Kleinstbetriebe", mode
    )
