"""Files of a comparison, and its pages."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml.datasets import TextGold
from blockml.errors import DatasetError
from blockml.evaluation.comparison.store import Store, draw_sample
from tests.evaluation.comparison.fakes import dataset

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=150) | st.sampled_from(
    ["..", ".", "/", "a/../b", "C:\\x", "accb:radius=60", "x" * 400, "%2E"]
)


@given(names, names, names)
def test_any_name_has_a_file_of_its_own_inside(dataset_name: str, one: str, other: str) -> None:
    """Names of systems and data sets may contain any characters."""
    store = Store(Path("/top"))
    path = store.table("scores", dataset_name, one)
    assert path.resolve().parent.parent == Path("/top/scores")
    assert len(path.name) < 120
    assert (path == store.table("scores", dataset_name, other)) == (one == other)


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    """Some tools give them."""
    store = Store(tmp_path)
    rows = [{"id": "a", "text": "\ud800 你好 \x00"}]
    store.write("outputs", "d", "s", rows, {})
    assert list(store.read("outputs", "d", "s")) == rows


def test_same_rows_are_the_same_bytes(tmp_path: Path) -> None:
    """Zipping adds no date."""
    store = Store(tmp_path)
    first = store.write("outputs", "d", "s", [{"id": "a"}], {})
    assert store.write("outputs", "d", "s", [{"id": "a"}], {}) == first


def test_description_that_is_no_json_is_none(tmp_path: Path) -> None:
    """The table is then made again."""
    store = Store(tmp_path)
    store.write("scores", "d", "s", [{"id": "a"}], {"version": 1})
    assert store.stale("scores", "d", "s", {"version": 1}) is None
    assert store.stale("scores", "d", "t", {"version": 1}) == ""
    (tmp_path / "scores" / "d" / "s.json").write_text("{")
    assert store.stale("scores", "d", "s", {"version": 1}) == "the file is damaged"


@pytest.mark.parametrize("damage", [b"{", b"[" * 100_000, b'{"sha256": "0"}', b"[]", b"\xff"])
def test_a_table_that_is_not_as_described_is_not_read(tmp_path: Path, damage: bytes) -> None:
    """The error names the file."""
    store = Store(tmp_path)
    store.write("scores", "d", "s", [{"id": "a"}], {})
    (tmp_path / "scores" / "d" / "s.json").write_bytes(damage)
    with pytest.raises(DatasetError, match=r"s\.jsonl: the file or its description is damaged"):
        list(store.read("scores", "d", "s"))


@pytest.mark.parametrize("line", [b"{", b"[]", b"[" * 100_000, b"\xff", b'{"text": "x"}', b"x" * 2000], ids=range(6))
def test_lines_that_are_no_records_are_named(tmp_path: Path, line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checksum of a table is no signature: whoever wrote the table wrote it too."""
    monkeypatch.setattr("blockml.datasets.records._MAX_LINE", 1000 if line[:1] == b"x" else 10**6)
    store = Store(tmp_path)
    store.write("outputs", "d", "s", [{"id": "a"}], {})
    table = store.table("outputs", "d", "s")
    table.write_bytes(gzip.compress(b'{"id": "a"}\n' + line + b"\n"))
    sha256 = hashlib.sha256(table.read_bytes()).hexdigest()
    table.with_name("s.json").write_text(json.dumps({"sha256": sha256}))
    with pytest.raises(DatasetError, match=r"s\.jsonl\.gz: line 2 is (no record|longer)"):
        list(store.read("outputs", "d", "s"))


@pytest.mark.parametrize(
    "damage",
    [b"{", b"[]", b"[" * 100_000, b"\xff", b'{"datasets": ["d"]}', b'{"datasets": [1], "systems": [2]}',
     b'{"datasets": 1, "systems": ["s"]}', b'{"datasets": ["\\ud800"], "systems": ["s"]}'],
)  # fmt: skip
def test_a_damaged_list_of_tables_is_named(tmp_path: Path, damage: bytes) -> None:
    """It is no missing comparison, and no error of another kind."""
    (tmp_path / "contents.json").write_bytes(damage)
    with pytest.raises(DatasetError, match=r"contents\.json: damaged"):
        list(Store(tmp_path).contents("scores"))


def test_sample_keeps_the_order_and_is_drawn_by_the_seed(tmp_path: Path) -> None:
    """A limit above the number of pages changes nothing."""
    pages = dataset(tmp_path, {str(i): f"text {i}" for i in range(30)})
    whole = draw_sample(pages)
    assert [page.id for page in whole.dataset.pages] == [page.id for page in pages.pages]
    assert draw_sample(pages, 99) == whole
    drawn = {seed: [int(page.id) for page in draw_sample(pages, 5, seed).dataset.pages] for seed in range(4)}
    assert all(ids == sorted(ids) and len(ids) == 5 for ids in drawn.values())
    assert len({tuple(ids) for ids in drawn.values()}) > 1
    assert drawn[1] == [int(page.id) for page in draw_sample(pages, 5, 1).dataset.pages]
    assert draw_sample(pages, 5).checksum == whole.checksum
    assert draw_sample(pages, 5).pages != whole.pages


def test_change_of_gold_or_url_is_noticed(tmp_path: Path) -> None:
    """Gold and URL have separate fingerprints, wherever the gold is stored."""
    pages = dataset(tmp_path, {"a": "text"})
    before = draw_sample(pages)
    regolded = draw_sample(replace(pages, pages=(replace(pages.pages[0], gold=TextGold("other")),)))
    assert (regolded.gold != before.gold, regolded.pages == before.pages) == (True, True)
    inside = replace(pages.pages[0], gold=None, reader=lambda path: (path.read_bytes(), TextGold("text")))
    assert draw_sample(replace(pages, pages=(inside,))).gold == before.gold
    moved = draw_sample(replace(pages, pages=(replace(pages.pages[0], url="http://example.com"),)))
    assert (moved.gold == before.gold, moved.pages != before.pages) == (True, True)


def test_data_sets_that_cannot_be_compared_on_are_refused(tmp_path: Path) -> None:
    """Pages without gold are left out; none left, two pages of one id, or a lost file are errors."""
    pages = dataset(tmp_path, {"a": "text", "b": "text"})
    a, b = pages.pages
    assert [page.id for page in draw_sample(replace(pages, pages=(a, replace(b, gold=None)))).dataset.pages] == ["a"]
    with pytest.raises(DatasetError, match="no page has gold"):
        draw_sample(replace(pages, pages=(replace(a, gold=None),)))
    with pytest.raises(DatasetError, match="occurs twice"):
        draw_sample(replace(pages, pages=(a, replace(b, id="a"))))
    b.path.unlink()
    with pytest.raises(DatasetError, match="can't be read"):
        draw_sample(pages)
