"""Pages to label: chosen by site and confidence, read from the inputs of a run, never chosen twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockml.batch import find_inputs
from blockml.cli import main
from blockml.datasets import open_dataset
from blockml.errors import InputError, UsageError
from blockml.extractors import resolve
from blockml.labelling.store import LabelStore, labelled_pages
from blockml.page import Label
from blockml.surveying import RunOutput, choose_pages, chosen_pages, survey
from blockml.surveying.run_output import record_id

PAGE = "<title>{0}</title><a href=/>Home</a><h1>Cats {0}</h1><p>Cats rule the world, and nobody has asked them to.</p>"


def rows_of(sizes: dict[str, tuple[int, float]]) -> list[dict[str, Any]]:
    """Return records of sites with decreasing confidence."""
    return [
        {"id": f"{site}/{n}", "url": f"https://{site}/{n}", "text": f"Cat {n} of {site}", "confidence": sure - n / 100}
        for site, (count, sure) in sizes.items() for n in range(count)
    ]  # fmt: skip


def test_sites_by_weight_and_their_least_certain_pages() -> None:
    """Large unsure sites are chosen first, with their least certain pages; small sites are left out."""
    rows = rows_of({"few.example": (3, 0.2), "sure.example": (9, 0.99), "unsure.example": (8, 0.6)})
    chosen = choose_pages(RunOutput(rows), pages=7, per_site=5)
    assert [(page.site, page.rank, page.of) for page in chosen] == [
        *(("unsure.example", rank, 5) for rank in range(1, 6)), ("sure.example", 1, 5), ("sure.example", 2, 5),
    ]  # fmt: skip
    assert [page.id for page in chosen[:2]] == ["unsure.example/7", "unsure.example/6"]


def test_lists_and_sitemaps_are_not_worth_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages of kinds without content are not chosen unless asked for, and the choice can be printed."""
    paths = ["tag/a", "category/b", "sitemap.xml", "search?q=x", "login.php", *(f"story-{n}.html" for n in range(6))]
    rows = [
        {"id": path, "url": f"https://a.example/{path}", "text": f"{path} text", "confidence": 0.1 + n / 20}
        for n, path in enumerate(paths)
    ]
    chosen = choose_pages(RunOutput(rows))
    assert [page.id for page in chosen] == [f"story-{n}.html" for n in range(5)]
    assert {(page.kind, page.url) for page in chosen[:1]} == {("other", "https://a.example/story-0.html")}
    lists = choose_pages(RunOutput(rows), per_site=2, kinds=["list"])
    assert [(page.id, page.kind) for page in lists] == [("tag/a", "list"), ("category/b", "list")]
    with pytest.raises(UsageError, match="unknown kind of pages 'lists'; did you mean 'list'"):
        choose_pages(RunOutput(rows), kinds=["lists"])
    output = tmp_path / "out.jsonl"
    output.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = ["label", str(tmp_path / "crawl.warc.gz"), "--survey", str(output), "--list"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert [line.split() for line in printed.out.splitlines()][1] == [
        "a.example", "1", "of", "5", "0.350", "other", "story-0.html", "https://a.example/story-0.html",
    ]  # fmt: skip
    assert "5 pages of 1 site to label; 0 already labelled" in printed.err
    assert main([*command, "--kinds", "list,search", "--per-site", "3"]) == 0
    assert "tag/a" in capsys.readouterr().out
    assert main(["label", str(tmp_path), "--list"]) == 2


def test_repeated_texts_are_chosen_once() -> None:
    """A near copy of a chosen text is not chosen, because it teaches nothing new."""
    words = [" ".join(f"w{k}-{kind}" for k in range(300)) for kind in range(3)]
    rows = [
        {"id": str(n), "url": f"https://a.example/{n}", "text": f"{words[n // 4]} {n}", "confidence": 0.5}
        for n in range(12)
    ]
    assert [page.id for page in choose_pages(RunOutput(rows))] == ["0", "4", "8"]


def test_a_copy_of_a_page_that_was_replaced_is_chosen() -> None:
    """A text counts as a copy only of pages that are still chosen when the output has been read."""
    texts = ["one", "two", "three", "four", "one"]
    rows = [
        {"id": f"{n}", "url": "https://a.example/", "text": f"cats {text}", "confidence": 0.9 - n / 10}
        for n, text in enumerate(texts)
    ]
    assert [page.id for page in choose_pages(RunOutput(rows), per_site=3)] == ["4", "3", "2"]


def test_ids_that_repeat_are_chosen_once() -> None:
    """Records with equal ids, of one site or of two, are one page: the first with the id in the inputs."""
    rows = rows_of({"a.example": (6, 0.6), "b.example": (6, 0.7)})
    for row in rows[::2]:
        row["id"] = "same"
    chosen = choose_pages(RunOutput(rows), per_site=3)
    assert sorted(page.id for page in chosen) == ["a.example/3", "a.example/5", "b.example/3", "b.example/5", "same"]


def test_labelled_pages_are_not_chosen_again() -> None:
    """Labelled pages count towards their site and are not chosen again."""
    rows = rows_of({"cats.example": (9, 0.9)})
    done = [("cats.example", f"cats.example/{n}") for n in (8, 7, 3)]
    chosen = choose_pages(RunOutput(rows), per_site=5, labelled=done)
    assert [(page.id, page.rank, page.of) for page in chosen] == [("cats.example/6", 4, 5), ("cats.example/5", 5, 5)]
    assert choose_pages(RunOutput(rows), per_site=3, labelled=done) == []


def test_wrong_calls() -> None:
    """An output without confidences, and a number of pages below 1, are refused."""
    with pytest.raises(UsageError, match="by confidence, but no record has one"):
        choose_pages(RunOutput([{"id": "a"}]))
    with pytest.raises(UsageError, match="per_site must be positive, got 0"):
        choose_pages(RunOutput([{"id": "a", "confidence": 1}]), per_site=0)


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Path]:
    """Return the inputs of a run with hostile ids, and its output."""
    rows = rows_of({"cats.example": (6, 0.9)})
    for row in rows:
        row["id"] = f"../../{row['id']}?<x>"
    inputs, output = tmp_path / "crawl.jsonl", tmp_path / "out.jsonl"
    pages = [{"id": row["id"], "url": row["url"], "html": PAGE.format(n)} for n, row in enumerate(rows)]
    for path, lines in ((inputs, pages), (output, rows)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return inputs, output


def test_labels_become_a_data_set_with_sites(run: tuple[Path, Path], tmp_path: Path) -> None:
    """Labelled pages are read from the inputs, stored in folders inside the output, and not asked again."""
    inputs, output = run
    labelled = tmp_path / "labelled"
    chosen = choose_pages(RunOutput(output), per_site=5)
    store = LabelStore(chosen_pages(chosen, find_inputs([str(inputs)])), labelled, resolve("kim2013"))
    store.rank()
    first, second, *_ = store.pages.values()
    assert [page.note for page in store.pages.values()] == [f"{n} of 5 from cats.example" for n in range(1, 6)]
    for page, done in ((first, True), (second, False)):
        parsed, _ = store.propose(page)
        store.save(page, parsed, [Label.NAVIGATION, Label.HEADING, Label.MAIN], done=done)
    assert not {path.name for path in tmp_path.iterdir()} - {"crawl.jsonl", "out.jsonl", "labelled"}
    assert labelled_pages(labelled) == [("cats.example", chosen[0].id)]
    (found,) = [found for found in open_dataset(labelled).pages if found.trusted]
    assert (found.url, found.site) == ("https://cats.example/5", "cats.example")
    assert found.load()[0] == PAGE.format(5).encode()
    again = choose_pages(RunOutput(output), per_site=5, labelled=labelled_pages(labelled))
    assert [(page.id, page.rank) for page in again[:2]] == [(chosen[1].id, 2), (chosen[2].id, 3)]


def test_pages_with_long_ids_are_found(tmp_path: Path) -> None:
    """Ids that a survey cuts, with equal starts, lead to their pages, also for views."""
    ids = [f"https://a.example/{'é?' * 500}{n}" for n in range(3)]
    path = tmp_path / "crawl.jsonl"
    path.write_text("".join(json.dumps({"id": name, "html": PAGE.format(name[-1])}) + "\n" for name in ids))
    rows = [{"id": name, "text": f"Cats {name[-1]}", "confidence": 0.5} for name in ids]
    chosen = choose_pages(RunOutput(rows), per_site=3)
    pages = chosen_pages(chosen, find_inputs([str(path)]))
    assert [page.meta["record"] for page in pages] == [page.id for page in chosen]
    assert len({page.id for page in pages}) == 3
    assert len(survey(rows, inputs=path).views) == 3


def test_other_inputs_are_refused(run: tuple[Path, Path], tmp_path: Path) -> None:
    """Inputs of another run, which have other ids, are refused."""
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "x", "html": "<p>a"}\n')
    with pytest.raises(InputError, match="none of the chosen pages is in the inputs"):
        chosen_pages(choose_pages(RunOutput(run[1])), find_inputs([str(other)]))


def test_the_command_refuses_options_without_effect(
    run: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options without an effect are refused, and so are inputs whose sites all have enough labelled pages."""
    pytest.importorskip("bottle")
    pytest.importorskip("nh3")
    inputs, output = map(str, run)
    assert main(["label", inputs, "--per-site", "3"]) == 2
    assert main(["label", inputs, inputs]) == 2
    assert main(["label", inputs, "--survey", str(tmp_path / "none")]) == 3
    folder = tmp_path / "labelled" / "a" / "b"
    folder.mkdir(parents=True)
    for n in range(2):
        place = folder / str(n)
        place.mkdir()
        (place / "labels.jsonl").touch()
        (place / "meta.json").write_text(json.dumps({"site": "cats.example", "record": f"{n}"}))
    call = ["label", inputs, "--survey", output, "--per-site", "2", "-o", str(tmp_path / "labelled"), "--no-browser"]
    assert main(call) == 0
    assert "nothing to label: every site has 2 labelled pages already" in capsys.readouterr().err


def test_pages_with_long_ids_are_never_chosen_twice() -> None:
    """Labels name a page by its whole id, and records by a shortened one."""
    rows = [row | {"id": f"{number}{'x' * 600}"} for number, row in enumerate(rows_of({"a.example": (6, 0.9)}))]
    done = [("a.example", rows[5]["id"])]
    chosen = choose_pages(RunOutput(rows), per_site=3, labelled=done)
    assert len(chosen) == 2
    assert not {page.id for page in chosen} & {record_id(rows[5]["id"])}


def test_repeated_ids_of_a_site_cost_no_other_page_its_place() -> None:
    """Of records with equal ids one is chosen, the others leave their places, and ranks follow the confidence."""
    rows = rows_of({"a.example": (12, 0.8)})
    for row in rows[:6]:
        row |= {"id": "same", "confidence": 0.1}
    chosen = choose_pages(RunOutput(rows), per_site=3)
    assert [(page.id, page.rank, page.of) for page in chosen] == [
        ("same", 1, 3), ("a.example/11", 2, 3), ("a.example/10", 3, 3),
    ]  # fmt: skip
