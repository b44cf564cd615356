"""Findings of each kind, and similar pages without findings."""

from __future__ import annotations

from pathlib import Path

import pytest

import blockml
from blockml.datasets import FindingKind, Gold, RunGold, TextGold, open_dataset, validate
from blockml.datasets.validation import check_page
from blockml.page import Label

DATA = Path(__file__).parents[2] / "data"


def text(name: str, n: int = 60) -> str:
    """Return a text of ``n`` words that occur in no other text."""
    return " ".join(f"{name}{i}" for i in range(n))


def kinds(html: str, gold: Gold) -> list[str]:
    """Return the kinds of findings for one page."""
    return [kind for kind, _ in check_page(html.encode(), blockml.parse(html), gold).findings]


def paragraphs(*texts: str) -> str:
    """Return a page of paragraphs."""
    return "".join(f"<p>{text}</p>" for text in texts)


A, B, C = text("a"), text("b", 100), text("c", 100)
CASES: dict[str, tuple[str, str, list[str]]] = {
    "sound": (paragraphs(A, B), f"{A} {B}", []),
    "incomplete": (paragraphs(A, B, C), A, ["incomplete"]),
    "a closing remark of 100 words": (paragraphs(A, B), A, []),
    "a closing remark of 150 words of 1,500": (paragraphs(text("a", 1500), text("b", 150)), text("a", 1500), []),
    "repeated": (paragraphs(A, B), f"{A} {B} {A}", ["repetition"]),
    "a caption repeated": (paragraphs(text("a", 12), B), f"{text('a', 12)} {B} {text('a', 12)}", []),
    "word order": (paragraphs(A, B, C), f"{C} {A} {B}", ["word order"]),
    "a title moved": (paragraphs(text("a", 10), B), f"{B} {text('a', 10)}", []),
    "broken off in a sentence": (
        "<p>one two three four five six seven eight nine",
        "one two three four",
        ["truncation"],
    ),
    "broken off at a comma": ("<p>one two three, Four five six seven eight", "one two three,", ["truncation"]),
    "ends with its sentence": ("<p>one two three. Four five six seven eight nine", "one two three.", []),
    "ends before another sentence": ("<p>one two three<br>Four five six seven eight nine", "one two three", []),
    "soft error": ("<h1>Page not found</h1><p>Go home.", "Page not found Go home.", ["soft error"]),
    "soft error without gold": ("<h1>Page not found</h1>", "", ["soft error", "empty gold"]),
    "markup": (paragraphs(A), f"<p>{A}</p>", ["contamination"]),
    "markup that the page shows": ("<p>write &lt;p&gt; first", "write <p> first", []),
    "attributes that tools use, too": ("<p data-label='Price'>one <b data-block-type=2>two", "one two", []),
    "an attribute of a tool": ("<p data-label='main'>one two", "one two", ["contamination"]),
}


@pytest.mark.parametrize(("html", "gold", "found"), CASES.values(), ids=CASES)
def test_kinds(html: str, gold: str, found: list[str]) -> None:
    """Each kind of defect is found, and similar pages without defects give no findings."""
    assert kinds(html, TextGold(gold)) == found
    assert set(found) <= set(FindingKind)


def test_gold_with_labels_for_all_text_may_exclude_some() -> None:
    """Gold that labels the whole page may exclude text, or label an error page."""
    runs = RunGold(((A, Label.MAIN), (B, Label.COMMENT), (C, Label.COMMENT)))
    assert kinds(paragraphs(A, B, C), runs) == []
    assert kinds("<h1>Page not found</h1>", RunGold((("Page not found", Label.OTHER),))) == []


def test_the_number_of_processes_does_not_matter() -> None:
    """One and two processes give the same findings."""
    dataset = open_dataset(DATA / "pages")
    calls: list[tuple[str, int, int | None]] = []
    assert validate(dataset, jobs=2, progress=lambda *call: calls.append(call)) == validate(dataset)
    assert calls == [("gold of pages", done, len(dataset)) for done in range(len(dataset) + 1)]


def test_a_page_without_gold_contradicts_no_other(tmp_path: Path) -> None:
    """Copies with equal gold are duplicates, even if another copy has no gold, and only different gold contradicts."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.html").write_text(paragraphs(A, B), encoding="utf-8")
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{A} {B}", encoding="utf-8")
    assert {(item.page_id, item.kind) for item in validate(open_dataset(tmp_path))} == {
        (name, FindingKind.DUPLICATE) for name in ("a", "b", "c")
    }
    (tmp_path / "b.txt").write_text(A, encoding="utf-8")
    assert {(item.page_id, item.kind) for item in validate(open_dataset(tmp_path))} == {
        ("a", FindingKind.CONTRADICTION), ("b", FindingKind.CONTRADICTION), ("c", FindingKind.DUPLICATE),
    }  # fmt: skip
