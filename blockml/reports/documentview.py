"""The document of an extraction as rows of a page view: each node with its blocks, their score and their reasons."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from blockml.document.nodes import Block, Cell, Code, Heading, Item, List, Note, Paragraph, children_of, text_of
from blockml.errors import UsageError
from blockml.page import Extraction
from blockml.page.bounds import Budget
from blockml.reports.templating import shorten

__all__ = ["DocumentRow", "document_rows"]

#: Bytes of a row without its text, and maximum characters of that.
_ROW, _MAX_TEXT = 420, 300
#: Maximum number of reasons that a row names.
_MAX_REASONS = 3


class DocumentRow(NamedTuple):
    """A node of a document."""

    depth: int  #: number of nodes around it
    kind: str  #: such as ``heading 2`` or ``item 3``
    text: str  #: of a node without others in it; shortened
    first: int  #: first block of the page in it; -1 without any
    last: int  #: last block
    score: float | None  #: mean score of its blocks, weighted by words
    reasons: str  #: of its kept blocks, the most frequent first


def document_rows(result: Extraction, budget: Budget) -> list[DocumentRow]:
    """Return the nodes of the document in order, as many as the budget pays for.

    Empty for an extraction without a document.

    Examples
    --------
    >>> import blockml
    >>> result = blockml.extract("<h1>Cats</h1><ul><li>All<li>of us</ul>", model="plain")
    >>> for row in document_rows(result, Budget(result.page)):
    ...     print(row.depth, row.kind, repr(row.text), row.first, row.last, row.score, row.reasons)
    0 heading 1 'Cats' 0 0 1.0 above threshold
    0 list '' 1 2 1.0 above threshold
    1 item 'All' 1 1 1.0 above threshold
    1 item 'of us' 2 2 1.0 above threshold
    """
    try:
        document = result.document
    except UsageError:
        return []
    weights = np.maximum(result.page.blocks.n_words, 1e-3)
    found: list[DocumentRow] = []
    for depth, block in _walk(document.children, 0):
        inner = children_of(block)
        text = "" if inner and not _is_leaf(block) else shorten(text_of((block,)), _MAX_TEXT)
        if not budget.spend(_ROW + len(html.escape(text).encode("utf-8", "replace")), "nodes of the document"):
            break
        score, reasons = None, ""
        if block.first >= 0:
            rows = np.arange(block.first, block.last + 1)
            rows = rows[result.kept[rows]]
            if len(rows):
                score = float((weights[rows] * result.scores[rows]).sum() / weights[rows].sum())
                names, counts = np.unique([str(result.reasons[row]) for row in rows.tolist()], return_counts=True)
                order = np.argsort(-counts, kind="stable")[:_MAX_REASONS]
                reasons = ", ".join(str(names[place]).replace("_", " ") for place in order)
        found.append(DocumentRow(depth, _kind(block), text, block.first, block.last, score, reasons))
    return found


def _walk(blocks: tuple[Block, ...], depth: int) -> Iterator[tuple[int, Block]]:
    """Iterate over blocks and those in them, with their depth; items and cells of one paragraph have no paragraph."""
    for block in blocks:
        yield depth, block
        if not _is_leaf(block):
            yield from _walk(children_of(block), depth + 1)


def _is_leaf(block: Block) -> bool:
    """Tell whether a container has one paragraph only, whose text is shown in its place."""
    inner = children_of(block)
    return isinstance(block, Item | Cell | Note) and len(inner) == 1 and isinstance(inner[0], Paragraph)


def _kind(block: Block) -> str:
    """Return the kind of a block, with what tells it from others of its kind."""
    name = type(block).__name__.lower()
    match block:
        case Heading():
            return f"{name} {block.level}"
        case List() if block.ordered:
            return f"numbered {name}"
        case Item() if block.number is not None:
            return f"{name} {block.number}"
        case Cell() if block.header:
            return f"header {name}"
        case Code() if block.language:
            return f"{name} ({block.language})"
        case Paragraph() if block.removed:
            return "removed caption"
    return name
