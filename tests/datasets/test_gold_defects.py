"""Pages unfit to train on or to judge by."""

from __future__ import annotations

from pathlib import Path

from blockml.datasets import Dataset, LabelledPage, TextGold
from blockml.datasets.gold_defects import UNFIT_FOR_JUDGING, UNFIT_FOR_TRAINING, defects
from blockml.datasets.validation import KINDS


def dataset(folder: Path, *, flags: tuple[str, ...] = ()) -> Dataset:
    """A sound page, a wrong one, one that is only repeated, and one with flags."""
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


def test_flags_come_first_and_sound_pages_are_left_out(tmp_path: Path) -> None:
    """Flags in their own order, then kinds, sorted; each once; in the order of the data set."""
    found = defects(dataset(tmp_path, flags=("z", "empty gold", "a")))
    assert list(found.items()) == [
        ("wrong", ("words missing",)),
        ("twice", ("repetition",)),
        ("flagged", ("z", "empty gold", "a", "stand-in page")),
    ]


def test_kinds_are_chosen(tmp_path: Path) -> None:
    """Kinds that don't count are not named; flags always are."""
    found = defects(dataset(tmp_path, flags=("seen",)), kinds={"repetition"})
    assert found == {"twice": ("repetition",), "flagged": ("seen",)}


def test_processes_do_not_matter(tmp_path: Path) -> None:
    """One or two."""
    made = dataset(tmp_path)
    assert defects(made, jobs=2) == defects(made)


def test_uses() -> None:
    """Labels don't suffer from a repetition, nor counts of words from another order."""
    either = UNFIT_FOR_TRAINING | UNFIT_FOR_JUDGING
    assert either <= set(KINDS)
    assert either - (UNFIT_FOR_TRAINING & UNFIT_FOR_JUDGING) == {"other order", "repetition"}
