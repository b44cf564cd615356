"""The benchmark of held-out collections counts words of kept link blocks outside the gold, and empty texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import train
from blockml import extractors
from blockml.datasets import LabelledPage, open_dataset
from blockml.evaluation import Difference
from blockml.evaluation.comparison import System, SystemOutput
from blockml.model import Model
from research.benchmarks import held_out
from research.benchmarks.held_out import Scored, beside_others, scored, trust

STORY = " ".join(
    f"<p>The cats of house number {i} sleep all day, and they hunt all night, as cats do.</p>" for i in range(9)
)
LINKS = '<div><a href="/a">Ten dogs that you will not believe exist, by our own reporters</a></div>'


def written(folder: Path, links: str) -> LabelledPage:
    """Write a page whose gold is its story without the links, and open it."""
    folder.mkdir(parents=True)
    (folder / "page.html").write_text(f"<article><h1>Cats</h1>{STORY}{links}</article>", encoding="utf-8")
    texts = [part.split("</p>")[0] for part in STORY.split("<p>")[1:]]
    lines = [json.dumps({"text": text, "label": "main"}) for text in texts]
    (folder / "labels.jsonl").write_text(
        "\n".join([*lines, json.dumps({"text": "Cats", "label": "main"})]), encoding="utf-8"
    )
    return open_dataset(f"some={folder.parent}").pages[0]


def test_teasers_are_kept_links_outside_the_gold(tmp_path: Path) -> None:
    """An extractor that keeps all blocks keeps the twelve words of the link outside the gold."""
    pages = written(tmp_path / "a" / "x", ""), written(tmp_path / "b" / "x", LINKS)
    without, beside = (scored(page, [], "plain") for page in pages)
    assert without is not None
    assert beside is not None
    assert (without.teasers, beside.teasers) == (0, 12)
    assert without.f1 == [1.0]
    assert beside.f1[0] < 1
    assert not without.is_empty
    assert without.script == "Latn"


def test_a_tool_that_fails_gives_no_text(tmp_path: Path) -> None:
    """A page on which another tool raises counts as one without a text."""

    def fail(html: str, url: str | None) -> SystemOutput:
        raise ValueError(len(html), url)

    system = System("other", "peer", "1", lambda *_: fail, "other")
    found = scored(written(tmp_path / "a" / "x", LINKS), [system])
    assert found is not None
    assert found.f1[1] == 0


def page(f1: float, confidence: float, teasers: int, share: float = 0.0) -> Scored:
    """Return the result of one page, next to a tool with an F1 of .5."""
    return Scored("en", "Latn", [f1, 0.5], confidence, is_empty=False, teasers=teasers, teaser_share=share)


def test_tables() -> None:
    """Only certain pages with enough words of teasers count, and differences are from the best other tool."""
    pages = [
        page(1, 0.95, 0),
        page(0.8, 0.95, held_out.TEASERS),
        page(0.6, 0.5, 100, 0.5),
        page(0.9, 0.92, held_out.TEASERS - 1, 0.5),
    ]
    [row] = trust({"some": pages})
    assert row["teasers 5% of the text"] == "0.0%"
    [large] = trust({"some": [*pages[1:], page(1, 0.95, held_out.TEASERS, held_out.TEASER_SHARE)]})
    assert (large["certain, with teasers"], large["teasers 5% of the text"]) == ("50.0%", "25.0%")
    assert (row["certain"], row["certain, with teasers"], row["without text"]) == ("75.0%", "25.0%", 0)
    assert row["F1 of the least sure tenth"] == pytest.approx(0.6)
    [row] = beside_others({"some": pages}, ["default", "other"])
    assert row["best other"] == "other"
    difference = row["difference"]
    assert isinstance(difference, Difference)
    assert difference.mean == pytest.approx(0.325)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command measures all pages of a collection with the released model."""
    for name in ("x", "y"):
        written(tmp_path / "some" / name, LINKS)
    assert held_out.main(["--corpora", str(tmp_path), "--collections", "some"]) == 0
    assert "| some | 2 |" in capsys.readouterr().out


def test_collections_are_left_out_of_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --train-without the model is trained on the other collections and extracts the pages."""
    used: list[str] = []

    def trained(release: train.Release, *_: object) -> Model:
        used.extend(release.corpora)
        return extractors.trained("kim2013").model

    monkeypatch.setattr(train, "trained", trained)
    for name in ("x", "y"):
        written(tmp_path / "some" / name, LINKS)
    assert held_out.main(["--corpora", str(tmp_path), "--collections", "some", "--train-without", "fundus"]) == 0
    assert "wcxb" in used
    assert "fundus" not in used
