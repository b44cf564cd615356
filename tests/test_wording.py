"""Names and sentences are those of the field: phrases that only their author understands stay at zero."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: What readers stumbled over, as regular expressions without regard to case.
BANNED = (
    r"\bin one go\b", r"\bat one go\b", r"\bforet(old|ell)", r"\bverdicts?\b", r"\bwholenets?\b", r"\bwholepage",
    r"\bnets in whole numbers\b", r"\btwins?\b", r"\btaken for\b",
    r"\b(is|are|be|been) told (of|whether|by|what|which)\b", r"\bthere is none\b", r"\bthere are none\b",
    r"\bdear(er|ly)?\b", r"\bgrown anew\b", r"\btrained anew\b", r"\bin hindsight\b", r"\bnever seen\b",
    r"\bcare with\b", r"\blean(s|ing)?\b", r"\bstep by step\b", r"\bjudges?\b", r"\bjudgements?\b", r"\bareas\b",
    r"\bwhose border\b", r"\bfit pages\b", r"\bpages fit for\b", r"\bsiblings? pages?\b", r"\bis known of\b",
    r"\bwhat is known\b", r"\ball that\b", r"\bcautions?\b", r"\bdoubts?\b", r"\blooks alike\b", r"\bbuilt alike\b",
    r"\bare alike\b", r"\bkept back\b", r"\bworth knowing\b", r"\bonce more in C\b", r"\bsay so\b",
    r"\bas they stand\b", r"\bbeside the text\b", r"\bhas its say\b", r"\blearns what the main\b",
    r"(?<![a-z])(judge|twin|verdict|hindsight)(?=_)", r"(?<=_)(twin|verdict|hindsight)(?![a-z])",
)  # fmt: skip
#: How docstrings don't begin.
BANNED_STARTS = (
    r"What\b", r"The same\b", r"All that\b", r"As (it|they|before|above)\b", r"Of (a|the|what)\b", r"By how much\b",
    r"These\b", r"Such\b", r"Whatever\b", r"Who\b", r"Where\b", r"And\b", r"Nor\b", r"But\b", r"Else\b",
)  # fmt: skip
PHRASES = re.compile("|".join(BANNED), re.IGNORECASE)
STARTS = re.compile(r'"""(' + "|".join(BANNED_STARTS) + ")")
SOURCES = sorted(
    path
    for pattern in (
        "blockml/**/*.py",
        "blockml/**/*.pyi",
        "blockml/_kernel/*.[ch]",
        "research/**/*.py",
        "blockml/reports/templates/*",
        "tests/**/*.py",
        "tools/**/*.py",
        "*.py",
    )
    for path in ROOT.glob(pattern)
    if path != Path(__file__)
)
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "Makefile")),
    *sorted(path for folder in ("docs", "models", "research") for path in (ROOT / folder).rglob("*.md")),
]


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_language(path: Path) -> None:
    """No line has a banned phrase, and no docstring begins with a banned word."""
    found = [
        f"{number}: {match[0]!r}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for match in (*PHRASES.finditer(line), *STARTS.finditer(line))
    ]
    assert found == []
