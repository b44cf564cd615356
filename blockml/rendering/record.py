"""Records of an extraction, for JSON."""

from __future__ import annotations

from typing import Any

from blockml.page import Extraction

__all__ = ["SCHEMA_VERSION", "block_records", "page_record"]

#: Incremented when a field is removed or changes its meaning.
SCHEMA_VERSION = 1


def page_record(extraction: Extraction, *, metadata: bool = True) -> dict[str, Any]:
    """Return the record of a page: url, status, title, text, confidence, counts, model, warnings, metadata.

    Parameters
    ----------
    extraction
        The extraction.
    metadata
        Whether title and metadata are read, which takes about a quarter of a parse; otherwise they are None.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import Plain
    >>> record = page_record(blockml.extract("<p>One</p>", model=Plain()))
    >>> record["status"], record["text"], record["n_kept"]
    ('ok', 'One', 1)
    """
    return {
        "url": extraction.page.url,
        "status": str(extraction.status),
        "title": extraction.title if metadata else None,
        "text": extraction.text,
        "confidence": round(extraction.confidence, 4),
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
