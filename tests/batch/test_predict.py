"""Extraction of many pages: completeness, order and ids of records."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from blockml.batch import Item, find_inputs, predict, predict_to_file, read_items
from blockml.errors import InputError, UsageError
from blockml.extractors import Extractor, Plain, Traits
from blockml.page import Page
from blockml.parsing import Limits

FIELDS = [
    "id", "url", "status", "title", "text", "confidence", "n_blocks", "n_kept", "model", "warnings", "metadata",
    "error",
]  # fmt: skip


class Fragile(Extractor):
    """Extractor that fails on pages with the text "boom"."""

    traits: ClassVar[Traits] = Plain.traits

    @property
    def id(self) -> str:
        """Return the name."""
        return "fragile"

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score 1, or raise on the text "boom"."""
        if "boom" in page.blocks.texts:
            raise ZeroDivisionError("as asked")
        return np.ones(len(page.blocks), dtype=np.float32)


def pages(n: int) -> list[Item]:
    """Make pages 0 … n - 1."""
    return [Item(f"p{i}", html=f"<p>page {i}</p>") for i in range(n)]


def records(path: Path) -> list[dict[str, Any]]:
    """Parse a JSON lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("jobs", [1, 2])
def test_records_come_in_order(jobs: int) -> None:
    """One record per page, in the order of the input, with the documented fields."""
    result = list(predict(pages(40), Plain(), jobs=jobs))
    assert [record["id"] for record in result] == [f"p{i}" for i in range(40)]
    assert [record["text"] for record in result] == [f"page {i}" for i in range(40)]
    assert all(list(record) == FIELDS for record in result)


def test_one_failing_page_stops_nothing(tmp_path: Path) -> None:
    """A crash, an unreadable file, an empty page and an image are four different records."""
    (tmp_path / "broken.html.gz").write_bytes(b"no gzip")
    items = [
        Item("crash", html="<p>boom</p>"),
        Item("missing", path=tmp_path / "none.html"),
        Item("broken", path=tmp_path / "broken.html.gz"),
        Item("empty", html=""),
        Item("image", html=b"\x89PNG\r\n\x1a\n....."),
        Item("good", html="<p>fine</p>"),
    ]
    result = {record["id"]: record for record in predict(items, Fragile())}
    statuses = {name: record["status"] for name, record in result.items()}
    assert statuses == {
        "crash": "error",
        "missing": "error",
        "broken": "error",
        "empty": "empty_page",
        "image": "undecodable",
        "good": "ok",
    }
    assert result["crash"]["error"] == "ZeroDivisionError: as asked"
    assert "none.html" in result["missing"]["error"]
    assert result["good"]["error"] is None
    assert all(list(record) == FIELDS for record in result.values())


def test_limits_reach_the_pages() -> None:
    """A limit that was reached is reported in the record."""
    record = next(predict([Item("a", html="<p>" + "word " * 100)], Plain(), limits=Limits(bytes=50)))
    assert record["status"] == "truncated"
    assert "only the first 50" in record["warnings"][0]


def test_output_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    """Records are in OUT.part until the end; an older OUT is kept until then."""
    out = tmp_path / "sub" / "out.jsonl"
    out.parent.mkdir()
    out.write_text("old", encoding="utf-8")

    def interrupted(stream: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for number, record in enumerate(stream):
            if number == 20:
                raise KeyboardInterrupt
            yield record

    with pytest.raises(KeyboardInterrupt):
        predict_to_file(pages(40), Plain(), out, progress=interrupted)
    assert out.read_text(encoding="utf-8") == "old"
    out.unlink()
    assert 0 < len(records(out.with_name("out.jsonl.part"))) <= 20

    summary = predict_to_file(pages(40), Plain(), out, resume=True)
    assert summary.skipped == 20
    assert summary.n_pages == 20
    assert [record["id"] for record in records(out)] == [f"p{i}" for i in range(40)]
    assert not out.with_name("out.jsonl.part").exists()


def test_resume_repeats_failures_and_cut_lines(tmp_path: Path) -> None:
    """Only complete records without errors are kept."""
    out = tmp_path / "out.jsonl"
    predict_to_file([Item("a", html="<p>a"), Item("b", html="<p>boom"), Item("c", html="<p>c")], Fragile(), out)
    text = out.read_text(encoding="utf-8")
    out.write_text(text[:-20], encoding="utf-8")
    summary = predict_to_file([Item(i, html=f"<p>{i}\u2028x") for i in "abcd"], Fragile(), out, resume=True)
    assert summary.skipped == 1
    assert summary.statuses["ok"] == 3
    assert sorted(record["id"] for record in records(out)) == ["a", "b", "c", "d"]
    again = predict_to_file([Item(i, html="<p>x") for i in "abcd"], Fragile(), out, resume=True)
    assert (again.skipped, again.n_pages) == (4, 0)
    assert len(records(out)) == 4


def test_without_resume_everything_is_extracted(tmp_path: Path) -> None:
    """An old part file is ignored without ``resume``."""
    out = tmp_path / "out.jsonl"
    out.with_name("out.jsonl.part").write_text('{"id": "p0", "error": null}\n', encoding="utf-8")
    assert predict_to_file(pages(2), Plain(), out).n_pages == 2
    assert len(records(out)) == 2


def test_summary_counts_statuses(tmp_path: Path) -> None:
    """The line that the command prints."""
    items = [*pages(2), Item("e", html="")]
    assert str(predict_to_file(items, Plain(), tmp_path / "o")) == "3 pages: 1 empty_page, 2 ok"


def test_ids_of_files(tmp_path: Path) -> None:
    """Ids are names without suffix, or paths if names repeat; other files are ignored."""
    for name in ("a.html", "b.htm", "x/page.html", "y/page.html", "y/notes.txt", "z.HTML"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<p>{name}", encoding="utf-8")
    (tmp_path / "c.html.gz").write_bytes(gzip.compress(b"<p>zipped"))
    items = {item.id: item for item in read_items(find_inputs([str(tmp_path)]))}
    assert sorted(items) == ["a", "b", "c", "x/page", "y/page", "z"]
    assert items["c"].read() == b"<p>zipped"


def test_globs_and_single_files(tmp_path: Path) -> None:
    """A glob finds files, ** crosses folders, a plain file needn't be called .html."""
    (tmp_path / "d").mkdir()
    for name in ("a.html", "d/b.html", "page.txt"):
        (tmp_path / name).write_text("<p>x", encoding="utf-8")
    assert [path.name for path, _ in find_inputs([f"{tmp_path}/**/*.html"])] == ["a.html", "b.html"]
    assert [item.id for item in read_items(find_inputs([str(tmp_path / "page.txt")]))] == ["page.txt"]


@pytest.mark.parametrize("name", ["none.html", "none/*.html", "empty"])
def test_inputs_that_stand_for_nothing_are_errors(tmp_path: Path, name: str) -> None:
    """A misspelt name raises."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        find_inputs([str(tmp_path / name)])


def test_json_lines(tmp_path: Path) -> None:
    """Records have their own ids and URLs; invalid ones become records with an error."""
    lines = [
        '{"id": "one", "html": "<p>1", "url": "http://a.example/"}',
        '{"html": "<p>2"}',
        "{not json",
        '{"id": "four", "text": "no html"}',
        "",
        '{"id": "one", "html": "<p>again"}',
        '{"id": 7, "html": "<p>7", "url": null}',
    ]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    result = list(predict(read_items(find_inputs([str(path)])), Plain()))
    assert [record["id"] for record in result] == ["one", "in.jsonl:2", "in.jsonl:3", "in.jsonl:4", "one#2", "7"]
    assert [record["status"] for record in result] == ["ok", "ok", "error", "error", "ok", "ok"]
    assert result[0]["url"] == "http://a.example/"
    assert "not JSON" in result[2]["error"]
    assert result[3]["error"] == "the record has no string 'html'"


def test_odd_ids_stop_nothing(tmp_path: Path) -> None:
    """Ids with lone surrogates, and ids that look like numbered duplicates."""
    lines = [json.dumps({"id": name, "html": "<p>x"}) for name in ("\ud800", "a", "a", "a#2", "a")]
    path = tmp_path / "in.jsonl"
    path.write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    summary = predict_to_file(read_items(find_inputs([str(path)])), Plain(), tmp_path / "out.jsonl")
    assert summary.statuses["ok"] == 5
    assert [r["id"] for r in records(tmp_path / "out.jsonl")] == ["\\ud800", "a", "a#2", "a#2#2", "a#3"]


def test_damaged_archives_are_records(tmp_path: Path) -> None:
    """Truncated and damaged files give errors; the pages before the damage are kept."""
    whole = gzip.compress(b"".join(json.dumps({"html": "<p>x" * 50 + str(i)}).encode() + b"\n" for i in range(5000)))
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[:-200])
    spoilt = bytearray(gzip.compress(b"<p>" + bytes(range(256)) * 40))
    spoilt[60:80] = bytes(20)
    (tmp_path / "spoilt.html.gz").write_bytes(bytes(spoilt))
    files = find_inputs([str(tmp_path / "cut.jsonl.gz"), str(tmp_path / "spoilt.html.gz")])
    result = list(predict(read_items(files), Plain()))
    assert result[0]["status"] == "ok"
    assert [record["status"] for record in result[-2:]] == ["error", "error"]
    assert "cannot read the rest of the file" in result[-2]["error"]


def test_archives_are_unzipped_up_to_the_limit(tmp_path: Path) -> None:
    """A small file that holds a huge page costs no more than the limit."""
    path = tmp_path / "bomb.html.gz"
    path.write_bytes(gzip.compress(b"<p>word " * 10_000_000))
    item = next(iter(read_items(find_inputs([str(path)]))))
    assert len(item.read(1001)) == 1001
    assert next(predict([item], Plain(), limits=Limits(bytes=1000)))["status"] == "truncated"


def test_resume_does_not_mix_models(tmp_path: Path) -> None:
    """Records of another model are replaced."""
    out = tmp_path / "out.jsonl"
    predict_to_file(pages(3), Plain(), out)
    summary = predict_to_file(pages(3), Fragile(), out, resume=True)
    assert (summary.skipped, summary.n_pages) == (0, 3)
    assert {record["model"] for record in records(out)} == {"fragile"}


@pytest.mark.parametrize("name", ["folder", "file/out.jsonl"])
def test_impossible_output_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """The output path is checked before the first page is read, and no file is left behind."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    worked = []

    def items() -> Iterator[Item]:
        worked.append(1)
        yield Item("a", html="x")

    with pytest.raises(UsageError):
        predict_to_file(items(), Plain(), tmp_path / name)
    assert not worked
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
