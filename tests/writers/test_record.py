"""One table defines the records, their schema, their Arrow types and the table in the documentation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import blockml
from blockml.batch import BatchExtractor, Options
from blockml.batch.outputs import record_batch, schema
from blockml.records import (
    FAILURES,
    PAGE,
    RECORD,
    RECORD_FIELDS,
    SHARE,
    UNSURE,
    Field,
    FieldType,
    block_records,
    json_schema,
    page_record,
)
from tests.document.test_paragraphs import matches

ROOT = Path(__file__).parents[2]
HTML = "<title>Cats</title><p>Cats rule the world, and nobody has ever asked them to do so."


def test_the_documentation_has_the_table() -> None:
    """The table in docs/batch.md is this one; on failure, paste it from the message."""
    rows = [f"| `{field.name}` | {field.kind.name} | {field.description} |" for field in RECORD]
    table = "\n".join(["| field | type | value |", "|---|---|---|", *rows, ""])
    assert table in (ROOT / "docs" / "batch.md").read_text(encoding="utf-8"), f"docs/batch.md needs:\n{table}"


def test_records_of_a_batch_follow_the_schema() -> None:
    """Records of pages and of failures have all fields with their types, in the order of the table."""
    whole = json_schema()
    rows: list[dict[str, Any]] = [{"html": HTML, "url": "http://a.example/"}, {"html": None}, {"html": ""}]
    for model in ("kim2013", "bte"):
        records = list(BatchExtractor(model).records(rows))
        assert [record["status"] for record in records[1:]] == ["unreadable", "empty_page"]
        for record in records:
            assert list(record) == [field.name for field in RECORD]
            matches(json.loads(json.dumps(record)), whole["$defs"]["record"], whole)


def test_records_fit_their_arrow_types() -> None:
    """Records survive a round trip through Arrow, with sources as a list."""
    extractor = BatchExtractor("kim2013", Options(threshold=0.0))
    records = list(extractor.records([{"html": HTML}, {"html": None}]))
    back = record_batch(records, extractor.schema).to_pylist()
    assert [{**row, "metadata": None} for row in back] == [{**record, "metadata": None} for record in records]
    assert back[0]["metadata"]["title"] == "Cats"
    assert {"field": "title", "source": "title"} in back[0]["metadata"]["sources"]


def test_every_field_has_a_type() -> None:
    """A field or type without its definition cannot be constructed, and every field has an Arrow type."""
    with pytest.raises(TypeError, match="kind"):
        Field("language")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="arrow"):
        FieldType("text", {"type": "string"})  # type: ignore[call-arg]
    types = schema([field.name for field in RECORD]).types
    assert all(isinstance(kind, pa.DataType) for kind in types)


def test_an_added_field_is_in_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding a field to the table adds it to records, schema and Arrow types."""
    added = Field("share", SHARE, "Share of blocks that were kept.", lambda found: found.kept.mean())
    monkeypatch.setattr("blockml.records.PAGE", (*PAGE, added))
    monkeypatch.setattr("blockml.records.RECORD", (*RECORD, added))
    monkeypatch.setattr("blockml.batch.outputs.RECORD_FIELDS", {**RECORD_FIELDS, "share": added})
    assert page_record(blockml.extract(HTML, model="plain"))["share"] == 1
    made: dict[str, Any] = json_schema()
    assert {"share"} <= set(made["required"]) & set(made["properties"])
    assert made["$defs"]["record"]["properties"]["share"]["type"] == ["number", "null"]
    assert made["$defs"]["page"]["properties"]["share"]["description"] == added.description
    assert schema(["id", "share"]).types == [pa.string(), pa.float64()]


def test_statuses_of_failures_and_unsure_pages_are_only_in_batch_records() -> None:
    """Statuses of failures and unsure pages occur only in batches, because a single extraction returns or raises."""
    parts = json_schema()["$defs"]
    names = set(parts["record"]["properties"]["status"]["enum"]) - set(parts["page"]["properties"]["status"]["enum"])
    assert names == {*FAILURES, UNSURE}


def test_block_records_have_a_value_for_each_block() -> None:
    """Each block's record has all values; the label is null without labels."""
    (record,) = block_records(replace(blockml.extract(HTML, model="plain"), labels=None))
    names = "index text score kept reason xpath selector element_id rule label hidden"
    assert list(record) == names.split()
    assert (record["index"], record["kept"], record["label"]) == (0, True, None)
