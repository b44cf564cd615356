"""The stored files of a comparison, and samples of pages."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml.datasets import TextGold
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.comparison import PageScore, Store, TaskResult, draw_sample
from research.fuzz.mutations import mutated
from tests.evaluation.comparison.fakes import dataset

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=150) | st.sampled_from(
    ["..", ".", "/", "a/../b", "C:\\x", "accb:radius=60", "x" * 400, "%2E"]
)


@given(names, names, names)
def test_any_name_has_a_separate_file_in_the_folder(dataset_name: str, one: str, other: str) -> None:
    """Names of systems and data sets may contain any characters, and different names have different files."""
    store = Store(Path("/top"))
    path = store.table("scores", dataset_name, one)
    assert path.resolve().parent.parent == Path("/top/scores")
    assert len(path.name) < 120
    assert (path == store.table("scores", dataset_name, other)) == (one == other)


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    """Lone surrogates, which some tools return, are stored and read unchanged."""
    store = Store(tmp_path)
    rows = [asdict(TaskResult("a", "ok", "\ud800 你好 \x00"))]
    store.write("outputs", "d", "s", rows, {})
    assert list(store.read("outputs", "d", "s")) == rows


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    """Compressed files contain no date, so equal rows give equal files."""
    store = Store(tmp_path)
    first = store.write("outputs", "d", "s", [{"id": "a"}], {})
    assert store.write("outputs", "d", "s", [{"id": "a"}], {}) == first


def test_an_invalid_description_makes_a_table_stale(tmp_path: Path) -> None:
    """A table whose description is not JSON has to be written again."""
    store = Store(tmp_path)
    store.write("scores", "d", "s", [{"id": "a"}], {"version": 1})
    assert store.stale("scores", "d", "s", {"version": 1}) is None
    assert store.stale("scores", "d", "t", {"version": 1}) == ""
    (tmp_path / "scores" / "d" / "s.json").write_text("{")
    assert store.stale("scores", "d", "s", {"version": 1}) == "the file is damaged"


@pytest.mark.parametrize("damage", [b"{", b"[" * 100_000, b'{"sha256": "0"}', b"[]", b"\xff"])
def test_a_table_that_does_not_match_its_description_is_refused(tmp_path: Path, damage: bytes) -> None:
    """The error names the table whose description is damaged or doesn't match."""
    store = Store(tmp_path)
    store.write("scores", "d", "s", [{"id": "a"}], {})
    (tmp_path / "scores" / "d" / "s.json").write_bytes(damage)
    with pytest.raises(DatasetError, match=r"s\.jsonl: the file or its description is damaged"):
        list(store.read("scores", "d", "s"))


ROW = asdict(TaskResult("a", "ok", "text", 0.1, 0.2, None, [0, 3], "ok"))
SCORE: dict[str, Any] = {item.name: 0.5 for item in fields(PageScore)}
SCORE |= {"id": "a", "site": "s", "page_type": None, "language": "en", "script": "latin", "outcome": "ok"}
SCORE |= {"gold_words": 9, "tp": 1, "fp": 2, "fn": 3, "tn": 4, "flagged": False, "approximate": False}


def replaced(store: Store, kind: str, table: bytes) -> None:
    """Write a table with a matching description, whose checksum proves nothing about its author."""
    store.write(kind, "d", "s", [{}], {})
    path = store.table(kind, "d", "s")
    path.write_bytes(gzip.compress(table) if path.suffix == ".gz" else table)
    path.with_name("s.json").write_text(json.dumps({"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}))


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"[" * 100_000, b"\xff", b'{"text": "x"}', b"x" * 2000, b"\0", b"NaN", b"1" * 5000, b"null", b"{}",
     json.dumps(ROW).encode()[:-1]],
    ids=range(12),
)  # fmt: skip
@pytest.mark.parametrize(("kind", "row"), [("outputs", ROW), ("scores", SCORE)])
def test_lines_that_are_not_rows_are_named(
    tmp_path: Path, line: bytes, kind: str, row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the file and the line."""
    monkeypatch.setattr("blockml.datasets.sources.MAX_LINE", 1000 if line[:1] == b"x" else 10**6)
    store = Store(tmp_path)
    replaced(store, kind, json.dumps(row).encode() + b"\n" + line + b"\n")
    with pytest.raises(DatasetError, match=r"s\.jsonl(\.gz)?: line 2( is longer than|: )"):
        list(store.read(kind, "d", "s"))


NUMBERS = [-1, 10**400, 2**60, float("nan"), float("inf"), True]
ODD: list[Any] = [*NUMBERS, None, "x", "", 0.5, [], [[]], [-1], [0.5], [True], {}, ["x"]]


@pytest.mark.parametrize(("kind", "row"), [("outputs", ROW), ("scores", SCORE)])
def test_values_of_odd_types_are_named(tmp_path: Path, kind: str, row: dict[str, Any]) -> None:
    """A value of another type than the one written is an error, and so are infinite numbers and missing fields."""
    store = Store(tmp_path)
    for name, usual in row.items():
        refused = []
        for value in ODD:
            replaced(store, kind, json.dumps({**row, name: value}).encode())
            try:
                (read,) = store.read(kind, "d", "s")
            except DatasetError as error:
                refused.append(value)
                message = str(error)
            else:
                numbers = isinstance(usual, float) and isinstance(read[name], int | float)
                assert type(read[name]) is type(usual) or numbers or usual is None or value is None
        assert f"line 1: the value of {name} is not of the type" in message
        assert {} in refused
        assert isinstance(usual, str | bool | None) or all(value in refused for value in NUMBERS[1:5])
        replaced(store, kind, json.dumps({key: value for key, value in row.items() if key != name}).encode())
        with pytest.raises(DatasetError, match="line 1: the fields are not id, "):
            list(store.read(kind, "d", "s"))


@pytest.mark.parametrize("described", [0, 1, 3, "2", None, [2]])
def test_a_table_that_lost_rows_is_refused(tmp_path: Path, described: object) -> None:
    """A table with another number of rows than its description says is an error."""
    store = Store(tmp_path)
    store.write("outputs", "d", "s", [ROW, {**ROW, "id": "b"}], {"pages": described})
    with pytest.raises(DatasetError, match=r"s\.jsonl\.gz: . or more rows, but the description says"):
        list(store.read("outputs", "d", "s"))
    store.write("outputs", "d", "s", [ROW, {**ROW, "id": "b"}], {"pages": 2})
    assert len(list(store.read("outputs", "d", "s"))) == 2


@pytest.mark.parametrize(
    "damage",
    [b"{", b"[]", b"[" * 100_000, b"\xff", b'{"datasets": ["d"]}', b'{"datasets": [1], "systems": [2]}',
     b'{"datasets": 1, "systems": ["s"]}', b'{"datasets": ["\\ud800"], "systems": ["s"]}'],
)  # fmt: skip
def test_a_damaged_list_of_tables_is_named(tmp_path: Path, damage: bytes) -> None:
    """A damaged list of tables is an error that names the file, not a missing comparison."""
    (tmp_path / "contents.json").write_bytes(damage)
    with pytest.raises(DatasetError, match=r"contents\.json: damaged"):
        list(Store(tmp_path).contents("scores"))


def test_a_sample_keeps_the_order_and_depends_on_the_seed(tmp_path: Path) -> None:
    """A sample is drawn by the seed in the order of the pages, and a limit above their number changes nothing."""
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


def test_changes_of_gold_or_url_are_noticed(tmp_path: Path) -> None:
    """Gold and URLs have separate fingerprints, which don't depend on where the gold is stored."""
    pages = dataset(tmp_path, {"a": "text"})
    before = draw_sample(pages)
    regolded = draw_sample(replace(pages, pages=(replace(pages.pages[0], gold=TextGold("other")),)))
    assert (regolded.gold != before.gold, regolded.pages == before.pages) == (True, True)
    inside = replace(pages.pages[0], gold=None, reader=lambda path: (path.read_bytes(), TextGold("text")))
    assert draw_sample(replace(pages, pages=(inside,))).gold == before.gold
    moved = draw_sample(replace(pages, pages=(replace(pages.pages[0], url="http://example.com"),)))
    assert (moved.gold == before.gold, moved.pages != before.pages) == (True, True)


def test_unusable_data_sets_are_refused(tmp_path: Path) -> None:
    """Pages without gold are left out, and no pages, duplicate ids and lost files are errors."""
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


@pytest.mark.parametrize(("kind", "row"), [("outputs", ROW), ("scores", SCORE)])
@pytest.mark.parametrize("file", ["table", "description", "both"])
def test_any_damage_is_noticed(tmp_path: Path, kind: str, row: dict[str, Any], file: str) -> None:
    """A damaged table or description gives an error or the rows that were written."""
    chance = random.Random(1)  # noqa: S311 (no secret)
    store, rows = Store(tmp_path), [row | {"id": name} for name in "abc"]
    store.write(kind, "d", "s", rows, {"pages": 3})
    table = store.table(kind, "d", "s")
    content = {path: path.read_bytes() for path in (table, table.with_name("s.json"))}
    changed = {"table": [table], "description": [table.with_name("s.json")], "both": list(content)}[file]
    for _ in range(200):
        for path, data in content.items():
            path.write_bytes(
                mutated(data, chance, (b"{", b"[", b"\0", b'"', b"NaN", b"9" * 99)) if path in changed else data
            )
        with suppress(DatasetError):
            assert list(store.read(kind, "d", "s")) == rows
        store.stale(kind, "d", "s", {"pages": 3})


def test_tables_of_another_version_are_replaced(tmp_path: Path) -> None:
    """Rows with other fields are an error, and a description of another version says what has changed."""
    store = Store(tmp_path)
    store.write("scores", "d", "s", [SCORE | {"precision": 1.0}], {"version": "9"})
    assert store.stale("scores", "d", "s", {"version": "1"}) == "version was '9', is '1'"
    with pytest.raises(DatasetError, match=r"line 1: the fields are not .*; compare again"):
        list(store.read("scores", "d", "s"))


#: A comparison in another process that holds the lock of a store.
HOLD = """
import sys
from pathlib import Path
from blockml.evaluation.comparison import Store
with Store(Path(sys.argv[1])).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_simultaneous_writers_do_not_mix_their_rows(tmp_path: Path) -> None:
    """A reader gets the table of one writer or an error, and a second comparison is refused."""
    store = Store(tmp_path)
    tables = {name: [SCORE | {"id": f"{name}{number}", "site": name} for number in range(40)] for name in "xy"}
    store.write("scores", "d", "s", tables["x"], {"pages": 40})

    def write(name: str) -> None:
        for _ in range(30):
            store.write("scores", "d", "s", tables[name], {"pages": 40})

    writers = [threading.Thread(target=write, args=(name,)) for name in tables]
    for writer in writers:
        writer.start()
    n_read = 0
    while any(writer.is_alive() for writer in writers):
        with suppress(DatasetError):
            found = list(store.read("scores", "d", "s"))
            assert found in tables.values()
            n_read += 1
    for writer in writers:
        writer.join()
    with suppress(DatasetError):  # a table of one writer with the description of the other
        assert list(store.read("scores", "d", "s")) in tables.values()
    assert n_read
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own program)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=f"another run writes this output: process {process.pid}"), store.locked():
            pass
        process.kill()
