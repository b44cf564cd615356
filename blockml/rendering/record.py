"""Records of an extraction, for JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import resources
from typing import Any

from blockml.page import Chunk, Extraction, Paragraph

__all__ = ["SCHEMA_VERSION", "block_records", "chunk_record", "json_schema", "page_record", "paragraph_record"]

#: Incremented when a field is removed or changes its meaning.
SCHEMA_VERSION = 1


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output format ``json``, in the version :data:`SCHEMA_VERSION`.

    Its ``$defs`` have the schemas of the parts: ``page``, ``record`` (a line of ``blockml predict``), ``block``,
    ``paragraph``, ``chunk`` and ``metadata``.

    Examples
    --------
    >>> json_schema()["properties"]["schema_version"]
    {'const': 1}
    """
    file = resources.files("blockml.rendering") / f"extraction-{SCHEMA_VERSION}.schema.json"
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema


def page_record(extraction: Extraction, *, metadata: bool = True) -> dict[str, Any]:
    """Return the record of a page: url, status, title, text, confidence, article_probability, counts and so on.

    Parameters
    ----------
    extraction
        The extraction.
    metadata
        Whether title and metadata are read, which takes about a fifth of a parse; otherwise they are None.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import Plain
    >>> record = page_record(blockml.extract("<p>One</p>", model=Plain()))
    >>> record["status"], record["text"], record["n_kept"]
    ('ok', 'One', 1)
    """
    likely = extraction.article_probability
    return {
        "url": extraction.page.url,
        "status": str(extraction.status),
        "title": extraction.title if metadata else None,
        "text": extraction.text,
        "confidence": round(extraction.confidence, 4),
        "article_probability": None if likely is None else round(likely, 4),
        "n_blocks": len(extraction.kept),
        "n_kept": int(extraction.kept.sum()),
        "model": extraction.model,
        "warnings": list(extraction.warnings),
        "metadata": extraction.metadata.record() if metadata else None,
    }


def block_records(extraction: Extraction) -> list[dict[str, Any]]:
    """Return one record per block: index, text, score, kept, reason, xpath, label (None without block labels)."""
    blocks = extraction.page.blocks
    xpaths = extraction.page.nodes.xpaths(blocks.parent.tolist())
    scores = [round(score, 4) for score in extraction.scores.tolist()]
    kept = extraction.kept.tolist()
    labels = [None] * len(blocks) if extraction.labels is None else [str(label) for label in extraction.labels]
    reasons = map(str, extraction.reasons)
    names = ("index", "text", "score", "kept", "reason", "xpath", "label")
    rows = zip(range(len(blocks)), blocks.texts, scores, kept, reasons, xpaths, labels, strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def paragraph_record(paragraph: Paragraph) -> dict[str, Any]:
    """Return the record of a paragraph: its fields; ``start`` and ``end`` are None for a removed one."""
    record = asdict(paragraph)
    label = None if paragraph.label is None else str(paragraph.label)
    return {**record, "kind": str(paragraph.kind), "headings": list(paragraph.headings), "label": label,
            "blocks": list(paragraph.blocks)}  # fmt: skip


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """Return the record of a chunk: its fields."""
    return {**asdict(chunk), "headings": list(chunk.headings), "paragraphs": list(chunk.paragraphs)}
