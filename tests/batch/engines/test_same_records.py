"""Every engine gives the records of ``blockml predict`` for the same odd inputs, field by field."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blockml.batch import BatchExtractor, Options, PageExtractor, find_inputs, predict_to_file
from blockml.batch.readers import Inputs
from blockml.extractors import resolve
from blockml.records import RECORD

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only"),
    pytest.mark.enable_socket,
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("ignore"),
]

FIELDS = tuple(item.name for item in RECORD)
EXTRACTOR = BatchExtractor("default", Options(fields=FIELDS))
TEXT = "<p>The cat sat on the mat and looked at the rain that fell, and it was a nice day for all of them.</p>"
#: Cells of pages, by id.
PAGES: Mapping[str, bytes | None] = {
    "ordinary": f"<title>Cats</title><h1>Cats</h1>{TEXT * 3}".encode(),
    "nothing": None,
    "empty": b"",
    "blank": b" \r\n\t",
    "no text": b"<title>x</title><script>y</script>",
    "plain text": b"Just some words without any markup, in one line.",
    "zero bytes": b"\0" * 100,
    "image": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
    "invalid utf-8": b"<p>caf\xe9 \xff\xfe words and more words</p>" + TEXT.encode(),
    "latin": "<meta charset=iso-8859-1><p>Crème brûlée for café guests</p>".encode("latin-1"),
    "utf-16": ("\ufeff" + TEXT).encode("utf-16-le"),
    "byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "deep": b"<div>" * 3000 + TEXT.encode(),
    "many blocks": TEXT.encode() * 500,
    "wide table": b"<table><tr>" + b"<td>x" * 500 + b"</table>",
    "comment": b"<!-- " + TEXT.encode(),
    "cut": TEXT.encode()[:40] + b"<a href='",
    "line\nend \u2028": TEXT.encode(),
    "caf\u00e9 \U0001f600": TEXT.encode(),
    "same": b"<p>one</p>",
    " same ": b"<p>two</p>",
    "metadata": b'<script type="application/ld+json">{"@type": "Article", "headline": "Cats", "author": "A. B."}'
    b"</script>" + TEXT.encode(),
}  # fmt: skip


def odd_rows() -> list[dict[str, Any]]:
    """Return the pages as rows, some with odd addresses and encodings."""
    urls = ["http://a.example/", None, "not a url", "http://[", "", "http://b\u00fccher.example/ä?x=1#y"]
    charsets = [None, None, "utf-8", "klingon", "windows-1252"]
    return [
        {"id": name, "html": html, "url": urls[number % len(urls)], "charset": charsets[number % len(charsets)]}
        for number, (name, html) in enumerate(PAGES.items())
    ]


def plain(value: Any) -> Any:
    """Return a value as JSON has it; tables have an object of texts as a list of pairs."""
    if isinstance(value, list) and value and all(isinstance(x, Mapping) and {*x} == {"field", "source"} for x in value):
        return {item["field"]: item["source"] for item in value}
    if hasattr(value, "asDict"):
        return plain(value.asDict())
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def by_id(records: Iterator[Mapping[str, Any]] | list[dict[str, Any]]) -> dict[str, Any]:
    """Return records by id, with absent and empty values of objects left out, which columns of tables have as null."""

    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: known(item) for name, item in value.items() if known(item) not in (None, {}, [])}
        return value

    made = [plain(record) for record in records]
    found = {record["id"]: {name: known(record.get(name)) for name in FIELDS} for record in made}
    assert len(found) == len(made)
    return found


def predicted(inputs: Inputs, folder: Path) -> dict[str, Any]:
    """Return the records of ``blockml predict``."""
    predict_to_file(inputs, PageExtractor(resolve("default"), EXTRACTOR.options), folder / "predicted.jsonl")
    return by_id(json_lines(folder / "predicted.jsonl"))


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, whose texts may contain other characters that end lines."""
    with path.open("rb") as stream:
        return [json.loads(line) for line in stream]


# --- tables -----------------------------------------------------------------------------------------------------------


def by_spark(file: Path) -> list[dict[str, Any]]:
    """Extract a table with Spark."""
    spark = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    from blockml.batch.engines.spark import extract_frame

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, sys.path))
    session = spark.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = session.read.parquet(str(file)).repartition(3)
        return [row.asDict(recursive=True) for row in extract_frame(frame, EXTRACTOR).collect()]
    finally:
        session.stop()


def by_ray(file: Path) -> list[dict[str, Any]]:
    """Extract a table with Ray Data."""
    ray = pytest.importorskip("ray", reason="needs Ray")
    data = pytest.importorskip("ray.data", reason="needs Ray Data")
    from blockml.batch.engines.ray import extract_dataset

    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, sys.path))
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
    try:
        return list(extract_dataset(data.read_parquet(str(file)).repartition(3), EXTRACTOR).take_all())
    finally:
        ray.shutdown()


def by_datasets(file: Path) -> list[dict[str, Any]]:
    """Extract a table with Hugging Face's datasets."""
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face's datasets")
    pages = datasets.Dataset(pq.read_table(file)).with_format("arrow")
    made = pages.map(EXTRACTOR, batched=True, batch_size=4, remove_columns=pages.column_names, new_fingerprint="odd")
    return list(made.with_format(None).to_list())


def by_polars(file: Path) -> list[dict[str, Any]]:
    """Extract a table with polars."""
    polars = pytest.importorskip("polars", reason="needs polars")
    return list(polars.from_arrow(EXTRACTOR(polars.read_parquet(file).to_arrow())).to_dicts())


def by_duckdb(file: Path) -> list[dict[str, Any]]:
    """Extract a table with DuckDB."""
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB")
    reader = duckdb.sql(f"select * from read_parquet('{file}')").arrow()  # noqa: S608 (our own file)
    return list(EXTRACTOR(reader.read_all()).to_pylist())


def by_datatrove(file: Path) -> list[dict[str, Any]]:
    """Extract a table with the steps of datatrove."""
    pytest.importorskip("datatrove", reason="needs datatrove")
    from blockml.batch.engines.datatrove import ExtractPages, ReadPages

    documents = ExtractPages(EXTRACTOR).run(ReadPages(str(file)).run())
    return [{"id": document.id, **document.metadata, "text": document.text} for document in documents]


def by_arrow(file: Path) -> list[dict[str, Any]]:
    """Extract a table without an engine, batch by batch."""
    return [row for batch in EXTRACTOR.partition(pq.read_table(file).to_batches(5)) for row in batch.to_pylist()]


def by_rows(file: Path) -> list[dict[str, Any]]:
    """Extract the rows of a table, in a worker process."""
    extractor = BatchExtractor("default", Options(fields=FIELDS), isolation="process")
    records = list(extractor.records(pq.read_table(file).to_pylist()))
    extractor.close()
    return records


ENGINES = (by_rows, by_arrow, by_spark, by_ray, by_datasets, by_polars, by_duckdb, by_datatrove)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table(tmp_path: Path, engine: Callable[[Path], list[dict[str, Any]]]) -> None:
    """A table of odd pages gives the same records with every engine."""
    names = {"id": pa.string(), "html": pa.binary(), "url": pa.string(), "charset": pa.string()}
    pq.write_table(pa.Table.from_pylist(odd_rows(), pa.schema(names)), tmp_path / "odd.parquet")
    expected = predicted(find_inputs([str(tmp_path / "odd.parquet")]), tmp_path)
    assert len(expected) == len(PAGES) > 20
    assert {record["status"] for record in expected.values()} >= {"ok", "unreadable", "undecodable", "empty_page"}
    found = by_id(engine(tmp_path / "odd.parquet"))
    assert found.keys() == expected.keys()
    for name, record in expected.items():
        assert found[name] == record, name


# --- files ------------------------------------------------------------------------------------------------------------


def odd_files(folder: Path) -> list[str]:
    """Write odd pages to files, archives and data sets; return the names of the inputs."""
    for number, (name, html) in enumerate(PAGES.items()):
        place = folder / "files" / ("a" if number % 2 else "b") / f"{name.strip()} {number}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(html or b"")
    (folder / "files" / "zipped.html.gz").write_bytes(gzip.compress(TEXT.encode()))
    (folder / "files" / "damaged.html.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    (folder / "files" / "gone.html").symlink_to(folder / "none.html")
    rows = [row | {"html": (row["html"] or b"").decode("latin-1")} for row in odd_rows()]
    lines = [json.dumps(row | {"id": f"line {row['id']}"}) for row in rows]
    (folder / "lines.jsonl").write_text("\n".join([*lines, "{broken", '{"id": "no html"}']), encoding="utf-8")
    members = []
    long = PAGES["ordinary"] or b""
    for number, body in enumerate((long, long[:-9], gzip.compress(long, 0)[:-30])):
        encoding = b"Content-Encoding: gzip\r\n" if number == 2 else b""
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + encoding + b"\r\n" + body
        extra = b"WARC-Truncated: length\r\n" if number == 1 else b""
        header = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:%d>\r\n%b" % (number, extra)
        header += b"Content-Type: application/http\r\nContent-Length: %d\r\n\r\n" % len(block)
        members.append(gzip.compress(header + block + b"\r\n\r\n", mtime=0))
    (folder / "a.warc.gz").write_bytes(b"".join(members) + members[0][:50])
    for name in ("one", "two"):
        made = folder / "set" / name
        made.mkdir(parents=True)
        (made / "page.html").write_bytes("<p>Crème brûlée for café guests".encode("latin-1"))
        (made / "expected.txt").write_text("x", encoding="utf-8")
        meta = {"id": f"my {name}", "url": f"http://{name}.example/", "encoding": "mac-roman"}
        (made / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return [str(folder / name) for name in ("files", "lines.jsonl", "a.warc.gz", "set")]


def files_by_datatrove(inputs: Inputs, folder: Path) -> list[dict[str, Any]]:
    """Extract files as the command does with datatrove."""
    pytest.importorskip("datatrove", reason="needs datatrove")
    from blockml.batch.engines.datatrove import run_locally

    run_locally(inputs, EXTRACTOR, folder / "out.jsonl", tasks=2)
    parts = sorted((folder / "out.jsonl").glob("*.jsonl"))
    return [row for part in parts for row in json_lines(part)]


def files_by_spark(inputs: Inputs, folder: Path) -> list[dict[str, Any]]:  # noqa: ARG001
    """Extract files with Spark."""
    spark = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    from blockml.batch.engines.spark import extract_files

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, sys.path))
    session = spark.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        return [row.asDict(recursive=True) for row in extract_files(session, inputs, EXTRACTOR).collect()]
    finally:
        session.stop()


def files_by_rows(inputs: Inputs, folder: Path) -> list[dict[str, Any]]:  # noqa: ARG001
    """Extract the items of files in this process."""
    from blockml.batch import read_items

    return list(EXTRACTOR.records(read_items(inputs)))


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("engine", [files_by_rows, files_by_datatrove, files_by_spark])
def test_files(
    tmp_path: Path,
    engine: Callable[[Inputs, Path], list[dict[str, Any]]],
    listed: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files, archives and data sets give the same ids, warnings and records with every engine."""
    names = odd_files(tmp_path / "in")
    if listed:  # as in --files-from, with names that differ in folders only
        for name in ("x", "y"):
            (tmp_path / "in" / name).mkdir()
            (tmp_path / "in" / name / "page.html").write_text(f"<p>{name}</p>{TEXT}", encoding="utf-8")
        monkeypatch.chdir(tmp_path / "in")
        names = ["x/page.html", "../in/y/page.html", str(tmp_path / "in" / "x" / "page.html"), *names]
    inputs = find_inputs(names, listed=listed)
    expected = predicted(inputs, tmp_path)
    assert {record["status"] for record in expected.values()} >= {"ok", "unreadable", "truncated", "empty_page"}
    assert "my one" in expected
    found = by_id(engine(inputs, tmp_path))
    assert found.keys() == expected.keys()
    for name, record in expected.items():
        assert found[name] == record, name


def test_datatroves_own_step_extracts_files(tmp_path: Path) -> None:
    """The pages that ``ReadPages`` reads have a text for datatrove's extractors, which drop pages without one."""
    pytest.importorskip("datatrove", reason="needs datatrove")
    from blockml.batch.engines.datatrove import PlainExtractor, ReadPages

    names = odd_files(tmp_path / "in")
    expected = predicted(find_inputs(names), tmp_path)
    documents = {document.id: document for document in PlainExtractor("default").run(ReadPages(*names).run())}
    assert {name: document.text for name, document in documents.items()} == {
        name: record["text"] for name, record in expected.items() if record["text"]
    }
    assert not any("html" in document.metadata for document in documents.values())
