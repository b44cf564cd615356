"""Engines give the same rows as blockml without an engine, and a page that fails loses only that page."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import blockml
from blockml.batch import BatchExtractor, Item, Options, PageExtractor, find_inputs, predict_to_file
from blockml.errors import UsageError
from blockml.extractors import resolve
from tests.batch.engines.pages import FIELDS, GUARDED, expected, killer, killing_rows, rows, warc

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only"),
    pytest.mark.exhaustive,
]


@pytest.fixture(scope="module")
def wanted() -> list[dict[str, Any]]:
    """Return the expected records of the pages."""
    return expected()


def warc_records(tmp_path: Path, file: Path) -> list[dict[str, Any]]:
    """Return the records that ``blockml predict`` writes for a WARC file."""
    pages = PageExtractor(resolve("kim2013"), Options(fields=FIELDS))
    predict_to_file(find_inputs([str(file)]), pages, tmp_path / "out.jsonl", guard=GUARDED.guard)
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]


# --- without an engine ------------------------------------------------------------------------------------------------


def test_iterables(wanted: list[dict[str, Any]]) -> None:
    """Rows and items both give records, even with an extractor that was pickled."""
    extractor = pickle.loads(pickle.dumps(GUARDED))  # noqa: S301
    assert list(extractor.records(rows())) == wanted
    assert list(extractor.records(Item(row["id"], html=row["html"], url=row["url"]) for row in rows())) == wanted
    extractor.close()


def test_tables(wanted: list[dict[str, Any]]) -> None:
    """Each row of a table gives one row, which starts with the columns to keep."""
    table = pa.Table.from_pylist([{**row, "number": number} for number, row in enumerate(rows())])
    extractor = replace(GUARDED, keep=("number",))
    result = extractor(table)
    extractor.close()
    assert result.column_names == ["number", *FIELDS]
    assert result.drop_columns("number").to_pylist() == wanted
    assert result["number"].to_pylist() == list(range(len(wanted)))


def test_cells_of_any_kind() -> None:
    """A cell without a page gives a row with the reason, and ids become strings."""
    extractor = BatchExtractor("plain", Options(fields=("id", "status", "error")))
    cells = [
        b"<p>x",
        "<p>x",
        None,
        float("nan"),
        5,
        pa.scalar("<p>x"),
        pa.scalar(None, pa.string()),
        bytearray(b"<p>x"),
    ]
    found = list(extractor.records({"html": cell, "id": number} for number, cell in enumerate(cells)))
    statuses = ["ok", "ok", "unreadable", "unreadable", "unreadable", "ok", "unreadable", "ok"]
    assert [record["status"] for record in found] == statuses
    assert [record["id"] for record in found] == [str(number) for number in range(8)]
    assert found[2]["error"] == "the column 'html' holds nothing, not bytes or text"
    assert [row["status"] for row in extractor(pa.table({"other": [1, 2]})).to_pylist()] == ["unreadable"] * 2
    with pytest.raises(UsageError, match="choose one of: none, process"):
        BatchExtractor(isolation="thread")


def test_columns_of_data_frames() -> None:
    """The result is a column of the same type as the input."""
    cells = ["<p>One two three.", None]
    options: Any = {"model": "kim2013", "threshold": 0.0}
    assert blockml.extract_column(cells, **options) == ["One two three.", ""]
    array = blockml.extract_column(pa.chunked_array([cells]), **options)
    assert array.to_pylist() == ["One two three.", ""]
    polars = pytest.importorskip("polars")
    assert blockml.extract_column(polars.Series("html", cells), **options).to_list() == ["One two three.", ""]
    pandas = pytest.importorskip("pandas")
    assert list(blockml.extract_column(pandas.Series(cells), **options)) == ["One two three.", ""]


def test_a_killed_worker(tmp_path: Path) -> None:
    """A killed worker is replaced, and its page is extracted again."""
    pages, records = killing_rows(tmp_path)
    extractor = killer("process")
    assert list(extractor.records(pages)) == records
    extractor.close()
    assert len(list(tmp_path.iterdir())) == 2


# --- engines ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Start Spark with two local cores; as on a cluster, a task is attempted four times before it fails."""
    spark = pytest.importorskip("pyspark.sql", reason="needs pyspark, of the extra spark")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, sys.path))
    made = spark.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
    yield made
    made.stop()


@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore")
def test_spark(session: Any, wanted: list[dict[str, Any]], tmp_path: Path) -> None:
    """A data frame of pages and a WARC file give the expected records."""
    from blockml.batch.engines.spark import extract_files, extract_frame

    frame = session.createDataFrame(rows(), "id string, html string, url string").repartition(3)
    found = {row["id"]: row.asDict() for row in extract_frame(frame, GUARDED).collect()}
    assert found == {record["id"]: record for record in wanted}
    file = warc(tmp_path / "a.warc.gz")
    table = [row.asDict() for row in extract_files(session, find_inputs([str(file)]), GUARDED).collect()]
    assert table == warc_records(tmp_path, file)


@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("isolation", ["none", "process"])
def test_killed_workers_of_spark(session: Any, tmp_path: Path, isolation: str) -> None:
    """All pages are extracted if a worker of Spark, or the guard's worker process, is killed."""
    from blockml.batch.engines.spark import extract_frame

    pages, records = killing_rows(tmp_path)
    frame = session.createDataFrame(pages, "id string, html string").repartition(3)
    found = sorted(
        (row.asDict() for row in extract_frame(frame, killer(isolation)).collect()), key=lambda row: row["id"]
    )
    assert found == records
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore")
def test_datatrove(wanted: list[dict[str, Any]], tmp_path: Path) -> None:
    """Every document is kept and has its status."""
    pytest.importorskip("datatrove", reason="needs datatrove")
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor

    from blockml.batch.engines.datatrove import ExtractPages, PlainExtractor, ReadPages

    documents = [Document(row["html"], row["id"], metadata={"url": row["url"]}) for row in rows()]
    found = list(ExtractPages(GUARDED).run(documents))
    assert [(doc.id, doc.text, doc.metadata["status"]) for doc in found] == [
        (record["id"], record["text"], record["status"]) for record in wanted
    ]
    file = warc(tmp_path / "a.warc.gz")
    made: list[tuple[str, str, str]] = []

    def collect(data: Any, rank: int, world_size: int) -> Iterator[Any]:  # noqa: ARG001
        for doc in data:
            made.append((doc.id, doc.text, doc.metadata["status"]))
            yield doc

    steps = [ReadPages(str(file)), ExtractPages(GUARDED), collect]
    LocalPipelineExecutor(steps, tasks=1, logging_dir=str(tmp_path / "log")).run()
    assert made == [(row["id"], row["text"], row["status"]) for row in warc_records(tmp_path, file)]
    assert PlainExtractor("bte").extract("<p>One two three.") == "One two three."
    pages, records = killing_rows(tmp_path)
    documents = [Document(row["html"], row["id"]) for row in pages]
    found = list(ExtractPages(killer("process")).run(documents))
    assert [{"id": doc.id, "status": doc.metadata["status"], "text": doc.text} for doc in found] == records


@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore")
def test_ray(wanted: list[dict[str, Any]], tmp_path: Path) -> None:
    """Two workers extract batches, and a killed worker of Ray or of the guard loses no page."""
    ray = pytest.importorskip("ray", reason="needs Ray")
    data = pytest.importorskip("ray.data", reason="needs Ray Data")

    from blockml.batch.engines.ray import extract_dataset

    killed = {isolation: killing_rows(tmp_path / isolation) for isolation in ("none", "process")}
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, sys.path))
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
    try:
        pages = data.from_items(rows()).repartition(4)
        found = {row["id"]: row for row in extract_dataset(pages, GUARDED).take_all()}
        for isolation, (made, records) in killed.items():
            (tmp_path / isolation).mkdir()
            again = extract_dataset(data.from_items(made).repartition(4), killer(isolation)).take_all()
            assert sorted(again, key=lambda row: row["id"]) == records
            assert len(list((tmp_path / isolation).iterdir())) == 2
    finally:
        ray.shutdown()
    assert found == {record["id"]: record for record in wanted}


@pytest.mark.filterwarnings("ignore")
def test_hugging_face_datasets(wanted: list[dict[str, Any]]) -> None:
    """The extractor can be passed to ``map`` of a data set in Arrow format."""
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face's datasets")
    pages = datasets.Dataset.from_list(rows()).with_format("arrow")
    # A given fingerprint spares the library hashing the extractor and its model.
    made = pages.map(GUARDED, batched=True, batch_size=8, remove_columns=pages.column_names, new_fingerprint="blockml")
    found = made.with_format(None)
    GUARDED.close()
    assert found.to_list() == wanted


@pytest.mark.filterwarnings("ignore")
def test_nemo_curator(wanted: list[dict[str, Any]]) -> None:
    """NeMo Curator's Common Crawl step accepts the adapter as its algorithm and returns the lines of each page."""
    steps = pytest.importorskip(
        "nemo_curator.stages.text.download.common_crawl.extract", reason="needs NeMo Curator", exc_type=ImportError
    )
    from blockml.batch.engines.nemo import HtmlExtractor

    step = steps.CommonCrawlHTMLExtractor(algorithm=HtmlExtractor("kim2013"), stop_lists=Languages())
    for row, record in zip(rows(), wanted, strict=True):
        if row["id"] != "poison":
            page = {"content": row["html"].encode(), "url": row["url"], "warc_id": row["id"], "source_id": "a.warc"}
            found = step.extract(page)
            assert (found["text"].split("\n\n") if found else []) == record["text"].split("\n") * bool(record["text"])


class Languages(dict[str, frozenset[str]]):
    """Stop lists without words for every language that the step may detect."""

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, _: str) -> frozenset[str]:
        return frozenset()


@pytest.mark.filterwarnings("ignore")
def test_duckdb_and_polars(wanted: list[dict[str, Any]]) -> None:
    """The lines in the documentation for DuckDB and polars work."""
    polars = pytest.importorskip("polars", reason="needs polars")
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB")
    table = pa.Table.from_pylist(rows())
    assert polars.from_arrow(GUARDED(table)).to_dicts() == wanted
    assert GUARDED(duckdb.from_arrow(table).arrow().read_all()).to_pylist() == wanted
    GUARDED.close()


# --- the command ----------------------------------------------------------------------------------------------------


def command(*arguments: object) -> tuple[int, str]:
    """Run ``blockml predict`` and return its exit code and messages."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    line = [sys.executable, "-m", "blockml", "predict", "--model", "kim2013", *map(str, arguments)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with pages in folders and a WARC file with a damaged member."""
    made = tmp_path / "in"
    for row in rows()[:3]:
        (made / row["id"]).mkdir(parents=True)
        (made / row["id"] / "page.html").write_text(row["html"], encoding="utf-8")
    warc(made / "a.warc.gz")
    return made


def records_of(files: Iterator[Path]) -> dict[str, dict[str, Any]]:
    """Return the records of part files by id, without the metadata's sources, which Arrow stores as a list."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        if file.suffix == ".parquet":
            made = pq.read_table(file).to_pylist()
        else:
            made = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        found |= {record["id"]: record | {"metadata": None} for record in made}
    return found


@pytest.mark.parametrize("engine", ["spark", "datatrove"])
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_the_command_with_an_engine(tmp_path: Path, folder: Path, engine: str, suffix: str) -> None:
    """The part files contain the same records as the output without an engine, including failures."""
    pytest.importorskip("pyspark" if engine == "spark" else "datatrove")
    assert command(folder, "-o", tmp_path / "plain.jsonl")[0] == 1
    wanted = records_of(iter([tmp_path / "plain.jsonl"]))
    out = tmp_path / f"out.{suffix}"
    options = ["--master", "local[2]"] if engine == "spark" else ["--tasks", "2", "--jobs", "2"]
    code, messages = command(folder, "-o", out, "--engine", engine, *options)
    assert code == 1, messages
    assert f"{len(wanted)} pages: " in messages
    assert "1 unreadable" in messages
    found = records_of(path for path in out.glob(f"*.{'json' if engine == 'spark' and suffix == 'jsonl' else suffix}"))
    assert found.keys() == wanted.keys()
    for name, record in wanted.items():
        assert {key: found[name].get(key) for key in record} == record, name
    assert "exists already" in command(folder, "-o", out, "--engine", engine)[1]
    if engine == "datatrove":
        assert command(folder, "-o", out, "--engine", engine, "--tasks", "2", "--resume")[0] == 1
        assert len(records_of(out.glob(f"*.{suffix}"))) == len(wanted)
