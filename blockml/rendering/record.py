"""An extraction as a plain dictionary, for JSON."""

from __future__ import annotations

from typing import Any

from blockml.page import Extraction

__all__ = ["SCHEMA_VERSION", "block_records", "page_record"]

#: Rises when a field changes its meaning or goes away.
SCHEMA_VERSION = 1


def page_record(extraction: Extraction) -> dict[str, Any]:
    """Fields of one page: url, status, text, confidence, counts, model, warnings.

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
        "text": extraction.text,
        "confidence": round(extraction.confidence, 4),
        "n_blocks": len(extraction.kept),
        "n_kept": int(extraction.kept.sum()),
        "model": extraction.model,
        "warnings": list(extraction.warnings),
    }


def block_records(extraction: Extraction) -> list[dict[str, Any]]:
    """One record per block: index, text, score, kept, reason, xpath, label (None if the model tells only yes or no)."""
    blocks = extraction.page.blocks
    xpaths = extraction.page.nodes.xpaths(blocks.parent.tolist())
    scores, kept = extraction.scores.tolist(), extraction.kept.tolist()
    labels = [None] * len(blocks) if extraction.labels is None else [str(label) for label in extraction.labels]
    rows = zip(blocks.texts, scores, kept, extraction.reasons, xpaths, labels, strict=True)
    return [
        {
            "index": index,
            "text": text,
            "score": round(score, 4),
            "kept": keep,
            "reason": str(reason),
            "xpath": xpath,
            "label": label,
        }
        for index, (text, score, keep, reason, xpath, label) in enumerate(rows)
    ]
