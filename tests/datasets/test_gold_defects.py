"""Pages whose gold is invalid for training or evaluation."""

from __future__ import annotations

from pathlib import Path

from blockml.datasets import (
    INVALID_FOR_EVALUATION,
    INVALID_FOR_TRAINING,
    Dataset,
    FindingKind,
    LabelledPage,
    TextGold,
    gold_defects,
)


def dataset(folder: Path, *, flags: tuple[str, ...] = ()) -> Dataset:
    """Return a data set with a valid page, an invalid one, one with a repetition, and one with flags."""
    words = " ".join(f"w{i}" for i in range(40))
    made = {
        "sound": (f"<p>{words} sound", f"{words} sound", ()),
        "wrong": ("<p>nothing of it", "another page", ()),
        "twice": (f"<p>{words} twice", f"{words} {words} twice", ()),
        "flagged": ("<h1>Page not found", "", flags),
    }
    pages = []
    for name, (html, gold, own) in made.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
        pages.append(LabelledPage(name, name, folder / f"{name}.html", TextGold(gold), flags=own))
    return Dataset("made", folder, "folders", tuple(pages))


def test_flags_come_first_and_valid_pages_are_left_out(tmp_path: Path) -> None:
    """The flags of a page come first, then the kinds in sorted order, without duplicates."""
    found = gold_defects(dataset(tmp_path, flags=("z", "empty gold", "a")))
    assert list(found.items()) == [
        ("wrong", ("missing words",)),
        ("twice", ("repetition",)),
        ("flagged", ("z", "empty gold", "a", "soft error")),
    ]


def test_kinds_can_be_selected(tmp_path: Path) -> None:
    """Only the selected kinds are reported, but flags always are."""
    found = gold_defects(dataset(tmp_path, flags=("seen",)), kinds={FindingKind.REPETITION})
    assert found == {"twice": ("repetition",), "flagged": ("seen",)}


def test_the_number_of_processes_does_not_matter(tmp_path: Path) -> None:
    """One and two processes give the same defects."""
    made = dataset(tmp_path)
    assert gold_defects(made, jobs=2) == gold_defects(made)


def test_kinds_that_invalidate_gold() -> None:
    """Repetitions don't invalidate block labels, and word order doesn't invalidate bag-of-words scores."""
    either = INVALID_FOR_TRAINING | INVALID_FOR_EVALUATION
    assert either <= set(FindingKind)
    assert either - (INVALID_FOR_TRAINING & INVALID_FOR_EVALUATION) == {"word order", "repetition"}
