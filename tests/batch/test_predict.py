"""Extraction of many pages: completeness, order and statuses of records, and the limits of the guard."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import blockml
from blockml.batch import BatchExtractor, Guard, Item, Options, PageExtractor, find_inputs, predict_items
from blockml.batch.packing import JsonLines
from blockml.batch.pool import WorkerError
from blockml.batch.readers import Reading
from blockml.batch.worker import Clock, Setup
from blockml.errors import UsageError
from blockml.extractors import Plain
from blockml.parsing import Limits
from blockml.records import RECORD
from tests.batch.archives import EXAMPLES
from tests.batch.poison import Poison

FIELDS = [item.name for item in RECORD]
GUARD = Guard(seconds=2.0, memory=1 << 30)


def pages(n: int) -> list[Item]:
    """Return pages with the numbers 0 to n - 1."""
    return [Item(f"p{i}", html=f"<p>page {i}</p>") for i in range(n)]


@pytest.mark.parametrize(("jobs", "isolation"), [(1, "none"), (1, "process"), (2, "process")])
def test_records_come_in_order(jobs: int, isolation: str) -> None:
    """Each page has one record with the documented fields, in the order of the input."""
    result = list(predict_items(pages(600), Plain(), jobs=jobs, isolation=isolation))
    assert [record["id"] for record in result] == [f"p{i}" for i in range(600)]
    assert [record["text"] for record in result] == [f"page {i}" for i in range(600)]
    assert all(list(record) == FIELDS for record in result)


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_failing_page_does_not_stop_the_others(tmp_path: Path, isolation: str) -> None:
    """Exceptions, unreadable files, empty pages, images and archives each have a record with their status."""
    (tmp_path / "broken.html.gz").write_bytes(b"no gzip")
    (tmp_path / "archive.html").write_bytes(b"WARC/1.0\r\nWARC-Type: response\r\n")
    items = [
        Item("raises", html="<p>raise"),
        Item("missing", path=tmp_path / "none.html"),
        Item("broken", path=tmp_path / "broken.html.gz"),
        Item("archive", path=tmp_path / "archive.html"),
        Item("invalid", error="not JSON"),
        Item("number", html=5),  # type: ignore[arg-type]
        Item("nul", path=Path("a\0b.html")),
        Item("empty", html=""),
        Item("image", html=b"\x89PNG\r\n\x1a\n....."),
        Item("good", html="<p>fine</p>"),
    ]
    result = {record["id"]: record for record in predict_items(items, Poison(), isolation=isolation)}
    statuses = {name: record["status"] for name, record in result.items()}
    assert statuses == {
        "raises": "crashed",
        "missing": "unreadable",
        "broken": "unreadable",
        "archive": "unreadable",
        "invalid": "unreadable",
        "number": "crashed",
        "nul": "crashed",
        "empty": "empty_page",
        "image": "undecodable",
        "good": "ok",
    }
    assert result["raises"]["error"] == "ZeroDivisionError: as asked"
    assert "none.html" in result["missing"]["error"]
    assert "a WARC file" in result["archive"]["error"]
    assert result["good"]["error"] is None
    assert all(list(record) == FIELDS for record in result.values())


@pytest.mark.exhaustive
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only")
@pytest.mark.parametrize("jobs", [1, 2])
def test_poison_pages_fail_without_affecting_others(jobs: int) -> None:
    """Pages that loop, hog memory, crash or exit have a record with the reason, and every other page is extracted."""
    poisons = {50: "loop", 333: "hog", 334: "segfault", 600: "exit", 999: "raise"}
    items = [Item(str(i), html=f"<p>{poisons.get(i, '')} page {i}") for i in range(1000)]
    result = list(predict_items(items, Poison(), jobs=jobs, guard=GUARD))
    assert [record["id"] for record in result] == [str(i) for i in range(1000)]
    failed = {int(record["id"]): (record["status"], record["error"]) for record in result if record["status"] != "ok"}
    assert failed == {
        50: ("timeout", "took longer than 2 seconds"),
        333: ("crashed", "needed more than 1,024 MB of memory"),
        334: ("crashed", "the process was killed by SIGSEGV"),
        600: ("crashed", "the process ended with exit code 9"),
        999: ("crashed", "ZeroDivisionError: as asked"),
    }


def children() -> list[int]:
    """Return the ids of the child processes, except joblib's resource tracker, which runs until the process exits."""
    numbers, found = list[str](), []
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread may have ended meanwhile
            numbers += (task / "children").read_text(encoding="ascii").split()
    for number in numbers:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process may have ended meanwhile
            if b"resource_tracker" not in Path(f"/proc/{number}/cmdline").read_bytes():
                found.append(int(number))
    return found


@pytest.mark.exhaustive
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes by /proc")
def test_killed_workers_lose_no_page() -> None:
    """If a worker is killed from outside, another one extracts its pages."""
    items = [Item(str(i), html=f"<p>page {i} " + "word " * 20000) for i in range(300)]
    result, others = [], set(children())
    for number, record in enumerate(predict_items(items, Plain(), jobs=2)):
        result.append(record)
        if number % 40 == 20:
            for process in {*children()} - others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
    assert [record["id"] for record in result] == [str(i) for i in range(300)]
    assert {record["status"] for record in result} == {"ok"}


@pytest.mark.exhaustive
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes by /proc")
@pytest.mark.parametrize(("n", "jobs", "expected"), [(3, 4, 1), (300, 2, 2)])
def test_no_more_workers_than_work(n: int, jobs: int, expected: int) -> None:
    """No more worker processes start than the pages can keep busy."""
    items = [Item(str(i), html=f"<p>page {i} " + "word " * 20000) for i in range(n)]
    others = set(children())
    records = predict_items(items, Plain(), jobs=jobs)
    assert next(records)["id"] == "0"
    assert len({*children()} - others) == expected
    assert len(list(records)) == n - 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes by /proc")
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """If the parent is killed, no worker or file is left behind, even if a page hangs."""
    program = tmp_path / "program.py"
    program.write_text(
        "from blockml.batch import Guard, Item, predict_items\n"
        "from tests.batch.poison import Poison\n"
        "print(next(predict_items([Item('a', html='<p>loop')], Poison(), guard=Guard(seconds=1.0))))\n",
        encoding="utf-8",
    )
    files = tmp_path / "files"
    files.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path)), "TMPDIR": str(files)}
    parent = subprocess.Popen([sys.executable, str(program)], env=environment)  # noqa: S603
    worker: list[str] = []
    while not worker:
        time.sleep(0.01)
        found = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text(encoding="ascii")
        worker = found.split()
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    status = Path(f"/proc/{worker[0]}/stat")
    for _ in range(1000):
        if not status.exists() or status.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
            assert list(files.iterdir()) == []
            return
        time.sleep(0.01)
    pytest.fail("the worker lives on")


def test_limits_reach_the_pages() -> None:
    """A record warns about a limit that was reached."""
    options = Options(limits=Limits(bytes=50))
    (record,) = predict_items([Item("a", html="<p>" + "word " * 100)], Plain(), options, isolation="none")
    assert record["status"] == "truncated"
    assert "only the first 50" in record["warnings"][0]


def test_fields_and_formats() -> None:
    """Records have the chosen fields in the chosen order and text in the chosen format."""
    options = Options(fields=("text", "id"), format="markdown")
    (record,) = predict_items([Item("a", html="<h2>One</h2><p>two")], Plain(), options, isolation="none")
    assert list(record) == ["text", "id"]
    assert "## One" in record["text"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fields": ("txt",)}, "choose one of: article_probability, comments, confidence"),
        ({"format": "pdf"}, "choose one of: html, markdown, tei, text"),
        ({"include": "main"}, "no block labels"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], words: str) -> None:
    """Invalid options are refused before any page is read."""

    def items() -> Iterator[Item]:
        raise AssertionError("a page was read")
        yield

    with pytest.raises(UsageError, match=words):
        predict_items(items(), Plain(), Options(**options))
    with pytest.raises(UsageError, match="choose one of: none, process"):
        predict_items(items(), Plain(), isolation="thread")
    for jobs in (0, -1, 1.5, "2"):
        with pytest.raises(UsageError, match="jobs must be a positive integer, got"):
            predict_items(items(), Plain(), jobs=jobs)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"extractor must be an extractor, as returned by .*resolve, got str"):
        predict_items(items(), "default")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"table must be a pyarrow\.Table, got list; pass rows to \.records\(\)"):
        BatchExtractor("plain")([{"html": "<p>row"}])
    table = pa.table({"html": ["<p>row"], "url": ["http://a.example"]})
    for keep in (("url",), ("html", "html", "url")):
        with pytest.raises(UsageError, match=f"two columns would be named {', '.join(dict.fromkeys(keep))};"):
            BatchExtractor("plain", keep=keep)(table)
        with pytest.raises(UsageError, match="two columns would be named"):
            next(BatchExtractor("plain", keep=keep).partition(table.to_batches()))
        assert len(list(BatchExtractor("plain", keep=keep).records([{"html": "<p>row"}]))) == 1  # keep is for tables
    kept = BatchExtractor("plain", Options(fields=("text",)), keep=("url",))(table)
    assert kept.to_pydict() == {"url": ["http://a.example"], "text": ["row"]}


@pytest.mark.skipif(sys.platform == "win32", reason="files without names")
def test_a_clock_has_no_file_that_a_kill_could_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a clock has no name, even before the worker starts."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    clock = Clock.create()
    assert list(tmp_path.iterdir()) == []
    clock.close()
    for record in predict_items(pages(3), Plain()):
        assert (record["status"], list(tmp_path.iterdir())) == ("ok", [])


def test_an_extractor_that_cannot_be_sent_is_an_error() -> None:
    """An extractor whose class can't be imported in a worker is an error."""

    class Local(Plain):
        pass

    with pytest.raises((AttributeError, TypeError, WorkerError)):
        list(predict_items(pages(1), Local()))


def test_a_clock_shows_how_long_a_page_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock measures the time since a page was started, and shows 0 between pages."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = Clock.create()
    theirs = Clock(mine.stream)
    assert theirs.seconds() == 0
    mine.start()
    time.sleep(0.01)
    assert theirs.seconds() > 0
    mine.stop()
    assert theirs.seconds() == 0
    mine.close()
    assert list(tmp_path.iterdir()) == []


def test_tables_in_memory() -> None:
    """Data frames and Arrow tables have a page in each row; a missing column is named."""
    table = pa.table({"id": ["a", "b"], "html": ["<p>Cats", "<p>Dogs"]})
    for given in (table, *table.to_batches()):
        records = list(blockml.predict(given, model="plain"))
        assert [(record["id"], record["text"]) for record in records] == [("a", "Cats"), ("b", "Dogs")]
    (record,) = blockml.predict([{"seite": "<p>Cats"}], model="plain")
    assert record["error"] == "no column 'html', only seite; name the column that has the pages"


def test_a_list_of_pages_as_text() -> None:
    """Strings name files, so pages given as strings are refused with the remedy."""
    with pytest.raises(UsageError, match="give pages as bytes, or as dicts with the key html"):
        blockml.predict(["<p>Cats"])


def test_workers_import_what_extraction_needs(tmp_path: Path) -> None:
    """A worker of a WARC file or of page files loads neither data sets, nor templates, evaluation and training."""
    (tmp_path / "a.html").write_text("<p>One", encoding="utf-8")
    (tmp_path / "a.warc").write_bytes(EXAMPLES["WARC"])
    units = list(find_inputs([str(tmp_path / "a.html"), str(tmp_path / "a.warc")]).units(Reading()))
    setup = Setup(PageExtractor(blockml.load("default")), JsonLines(), Guard(), 1000)
    code = (
        "import pickle, sys; from blockml.batch.worker import Reading\n"
        "setup, units = pickle.load(sys.stdin.buffer)\n"
        "for unit in units:\n"
        "    for item in unit.items(Reading(1000)): print(setup.pages.record(item).status)\n"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('blockml.')})"
    )
    run = subprocess.run(  # noqa: S603 (this Python)
        [sys.executable, "-c", code], input=pickle.dumps((setup, units)), capture_output=True, check=True
    )
    *statuses, loaded = run.stdout.decode().splitlines()
    assert statuses == ["ok", "ok"]
    assert not {"datasets", "templates", "evaluation", "training", "reports", "cli"} & set(loaded.split())
