"""Adapting a model to pages of one site: accepted where the model is wrong, and refused where it is right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.cli import main
from blockml.datasets import Dataset, open_dataset, read_labels, write_labels
from blockml.errors import DatasetError, UsageError
from blockml.extractors import trained
from blockml.model import load_model, render_card, save_model
from blockml.page import Label
from blockml.training import adapt
from blockml.training.adaptation import _accepted, fit_correction, prepare_page

BASE = trained("default").model
WORDS = (
    "river stone lantern harbour winter market garden violin copper meadow thunder paper window bridge candle forest"
).split()


def sentence(number: int, length: int = 28) -> str:
    """Return running text that differs from number to number."""
    return " ".join(
        WORDS[(number * 7 + k * (number % 5 + 2) + k // 3) % len(WORDS)] for k in range(length)
    ).capitalize()


def page_of(number: int, *, odd: bool) -> tuple[str, list[tuple[str, Label]]]:
    """Return a page and its labels; on odd sites a long teaser is not content, on others the model is right."""
    teaser = sentence(number + 50, 60)
    story = [f"{sentence(number * 11 + k)}." for k in range(4)]
    html = (
        f"<title>Story {number}</title><nav><a href=/>Home</a> <a href=/a>About us</a></nav>"
        f"<main><h1>Story {number} of the valley</h1>{''.join(f'<p class=story>{text}</p>' for text in story)}</main>"
        f"<main><div class=club-{number}><p class='club-teaser'>{teaser}.</p></div></main>"
    )
    if not odd:
        found = blockml.extract(html)
        kept = [Label.MAIN if keep else Label.OTHER for keep in found.kept]
        return html, list(zip(found.page.blocks.texts, kept, strict=True))
    others = {f"{teaser}.": Label.RELATED, "Home": Label.NAVIGATION, "About us": Label.NAVIGATION}
    texts = blockml.parse(html, **BASE.parsing.options()).blocks.texts
    return html, [(text, others.get(text, Label.MAIN)) for text in texts]


def site(folder: Path, numbers: range, *, odd: bool) -> Dataset:
    """Write page folders."""
    for number in numbers:
        html, labels = page_of(number, odd=odd)
        place = folder / f"p{number}"
        place.mkdir(parents=True)
        (place / "page.html").write_text(html)
        write_labels(place / "labels.jsonl", [text for text, _ in labels], [label for _, label in labels])
    return open_dataset(folder)


def test_adaptation_helps_on_other_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Adapting to five pages makes the model right on others, as does the file written by the command."""
    site(tmp_path / "mine", range(5), odd=True)
    others = [page_of(number, odd=True) for number in range(20, 26)]
    output = tmp_path / "adapted.blockml"
    given = ["train", "--base", "default", "--dataset", str(tmp_path / "mine"), "-o", str(output)]
    assert main(given) == 0
    assert "5 pages better, 0 worse" in capsys.readouterr().err
    for html, labels in others:
        gold = [label is Label.MAIN for _, label in labels]
        assert blockml.extract(html).kept.tolist() != gold
        assert blockml.extract(html, model=output).kept.tolist() == gold
    card = Path(f"{output}.md").read_text()
    assert "Adapted from default" in card
    assert "5 pages it was adapted to" in card


def test_adaptation_is_refused_where_it_cannot_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages on which the model is right give no file, but a reason and exit code 1; more labels would not help."""
    site(tmp_path / "mine", range(5), odd=False)
    output = tmp_path / "adapted.blockml"
    assert main(["train", "--base", "default", "--dataset", str(tmp_path / "mine"), "-o", str(output)]) == 1
    err = capsys.readouterr().err
    assert "no model written: default is already right about these pages" in err
    assert "label more" not in err
    assert not output.exists()


def test_labels_that_do_not_help_are_told_from_a_model_that_is_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that is wrong, but on too few pages with a pattern, has the advice to label more."""
    site(tmp_path / "mine", range(5), odd=False)
    for number in range(3):
        place = tmp_path / "mine" / f"p{number}" / "labels.jsonl"
        rows = [json.loads(line) for line in place.read_text().splitlines()]
        rows[number + 2]["label"] = "other"  # of one paragraph, another one on each page
        place.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    output = tmp_path / "adapted.blockml"
    assert main(["train", "--base", "default", "--dataset", str(tmp_path / "mine"), "-o", str(output)]) == 1
    assert "adapting default to these pages would not help; label more, or keep it" in capsys.readouterr().err


def test_labels_without_a_pattern_are_refused(tmp_path: Path) -> None:
    """Random gold, which depends on nothing in the page, gives no model in almost all cases."""
    accepted = 0
    for seed in range(4):
        draw = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        site(folder, range(6), odd=False)
        for path in folder.glob("*/labels.jsonl"):
            runs = read_labels(path).runs
            texts = [text for text, _ in runs]
            write_labels(path, texts, [Label.MAIN if draw.random() < 0.5 else Label.OTHER for _ in runs])
        accepted += adapt(BASE, [open_dataset(folder)]).model is not None
    assert accepted <= 1


def test_pages_without_content_are_not_gold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Empty gold texts are defects as in training, and labels without content cannot be learnt from."""
    pages = site(tmp_path / "mine", range(6), odd=True)
    labels = sorted(pages.path.glob("*/labels.jsonl"))
    output = tmp_path / "adapted.blockml"
    given = ["train", "--base", "default", "--dataset", str(pages.path), "-o", str(output)]
    for path in labels:
        write_labels(path, [text for text, _ in read_labels(path).runs], [Label.OTHER for _ in read_labels(path).runs])
    assert main(given) == 2
    assert "blocks is content, so there is nothing to learn" in capsys.readouterr().err
    for path in labels:
        path.rename(path.with_name("expected.txt"))
        path.with_name("expected.txt").write_text("")
    assert main(given) == 2
    assert "gold of 6 of 6 pages of mine is defective: empty gold (6)" in capsys.readouterr().err
    assert main([*given, "--accept-defects"]) == 2
    assert "at least 4 labelled pages, got 0; left out 6 pages" in capsys.readouterr().err
    assert not output.exists()


def test_defective_and_unfinished_pages_are_left_out(tmp_path: Path) -> None:
    """Defective and unfinished pages are left out, and unfinished ones do not count as defects."""
    alone = adapt(BASE, [site(tmp_path / "alone", range(5), odd=True)])
    site(tmp_path / "mine", range(11), odd=True)
    for number in range(5, 10):
        (tmp_path / "mine" / f"p{number}" / "meta.json").write_text('{"flags": ["unfinished"]}')
    (tmp_path / "mine" / "p10" / "labels.jsonl").unlink()
    (tmp_path / "mine" / "p10" / "expected.txt").write_text("")
    said: list[str] = []
    found = adapt(BASE, [open_dataset(tmp_path / "mine")], report=said.append)
    assert said[0].startswith("5 pages; left out 6 pages: flagged, defective, or repeating others; measuring")
    assert (found.before, found.after) == (alone.before, alone.after)
    assert found.model is not None
    assert found.model.training[-1]["flagged_pages"] == 6


def test_repeated_pages_count_once(tmp_path: Path) -> None:
    """Copies of a page count once, in one folder or in two, so that none is measured by a model that learnt it."""
    for number in range(4):
        site(tmp_path / "copies" / str(number), range(1), odd=True)
    with pytest.raises(UsageError, match="at least 4 labelled pages, got 1; left out 3 pages"):
        adapt(BASE, [open_dataset(tmp_path / "copies")])
    pages = site(tmp_path / "mine", range(5), odd=True)
    once, twice = adapt(BASE, [pages]), adapt(BASE, [pages, open_dataset(f"again={pages.path}")])
    assert once.after == twice.after
    assert twice.model is not None
    assert [entry["blocks"] > 0 for entry in twice.model.training[-2:]] == [True, False]
    with pytest.raises(UsageError, match="data sets need different names, got mine, mine"):
        adapt(BASE, [pages, pages])


def test_as_many_losses_as_gains_are_refused() -> None:
    """A model is refused if as many pages lose as gain, even with a mean gain."""
    before = np.full(4, 0.5)
    assert _accepted(before, np.array([0.7, 0.7, 0.4, 0.5]))
    assert not _accepted(before, np.array([0.8, 0.5, 0.4, 0.5]))


def test_an_adapted_model_is_stored_and_not_adapted_twice(tmp_path: Path) -> None:
    """An adapted model keeps its correction in the file and cannot be adapted again."""
    pages = site(tmp_path / "mine", range(5), odd=True)
    model = adapt(BASE, [pages], name="mine").model
    assert model is not None
    save_model(model, tmp_path / "mine.blockml")
    stored = load_model(tmp_path / "mine.blockml")
    assert stored.correction is not None
    assert model.correction is not None
    assert stored.correction.keys.tolist() == model.correction.keys.tolist()
    assert render_card(stored) == render_card(model)
    with pytest.raises(UsageError, match="already adapted"):
        adapt(stored, [pages])


def test_keys_of_one_page_have_no_weight(tmp_path: Path) -> None:
    """Keys that occur on a single page, which say nothing about others, have no weight."""
    pages = site(tmp_path / "mine", range(4), odd=True)
    prepared = [prepare_page(BASE, page) for page in pages.pages]
    correction = fit_correction(prepared, 1.0)
    held = [set(page.keys.keys.tolist()) for page in prepared]
    assert len(correction.keys) > 10
    assert all(sum(key in keys for keys in held) > 1 for key in correction.keys.tolist())


def test_wrong_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong calls are refused with what is missing."""
    pages = site(tmp_path / "mine", range(3), odd=True)
    with pytest.raises(UsageError, match="at least 4 labelled pages, got 3"):
        adapt(BASE, [pages])
    site(tmp_path / "more", range(4), odd=True)
    (tmp_path / "more" / "p0" / "labels.jsonl").unlink()
    lines: list[str] = []
    with pytest.raises(UsageError, match="at least 4 labelled pages, got 3"):
        adapt(BASE, [open_dataset(tmp_path / "more")], report=lines.append)
    assert lines == ["more: left out 1 page without gold for a whole text"]
    for file in (tmp_path / "more").glob("*/labels.jsonl"):
        file.unlink()
    with pytest.raises(DatasetError, match="no page has gold for its whole text"):
        adapt(BASE, [open_dataset(tmp_path / "more")])
    given = ["train", "--base", "default", "--dataset", str(tmp_path / "mine"), "-o", str(tmp_path / "x.blockml")]
    assert main([*given, "--set", "min_leaf=3"]) == 2
    assert main([*given[:2], "nothing", *given[3:]]) == 2
    assert "unknown model 'nothing'; choose one of: (path of a model file), default" in capsys.readouterr().err


def test_written_labels_are_read_back(tmp_path: Path) -> None:
    """Labels of any text are read back as they were written."""
    texts, labels = ["Zeile\u2028zwei", '"quoted" \\', "日本"], [Label.MAIN, Label.COMMENT, Label.OTHER]
    write_labels(tmp_path / "labels.jsonl", texts, labels)
    assert read_labels(tmp_path / "labels.jsonl").runs == tuple(zip(texts, labels, strict=True))
    assert [json.loads(line)["text"] for line in (tmp_path / "labels.jsonl").read_text().split("\n")[:-1]] == texts
