"""Views of pages as HTML files: why each block was kept or dropped, at any threshold, beside the document."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import BlockLabels, Gold, LabelledPage, TextGold
from blockml.datasets.gold import ignored_text
from blockml.decision.decide import decide
from blockml.document.nodes import Block, Cell, Code, Heading, Item, List, Note, Paragraph, children_of, text_of
from blockml.errors import MissingExtraError, UsageError
from blockml.evaluation import bag_scores, block_scores
from blockml.extractors import Extractor, TrainedExtractor
from blockml.extractors.extractor import PageCurve
from blockml.extractors.matrix import page_matrix
from blockml.labelling.sanitised import sanitised
from blockml.model.contributions import contributions
from blockml.options import Options
from blockml.page import Extraction, Flag, Page
from blockml.page.bounds import MAX_RATIO, Budget
from blockml.parsing import parse
from blockml.parsing.hiding import hiding_names
from blockml.reports.curves import curve_svg
from blockml.reports.templating import NONE, figure, shorten, write_html
from blockml.storage.atomic import safe_file_name

#: Bytes that a view may have in addition to 8 for each byte of its page.
VIEW_SPARE = 1 << 20
#: Bytes of a listed block and its script data, without its text; maximum characters of its text and of headings.
_LISTED, _MAX_TEXT, _MAX_HEADING = 1_200, 2_000, 300


@dataclass(frozen=True, slots=True)
class PagePredictions:
    """A labelled page and the predictions of several systems for it."""

    dataset: str
    page: LabelledPage
    #: System to the extracted text, to the indices of the kept blocks, or to (n_blocks,) whether each block is kept;
    #: blocks are those of :func:`blockml.parse` by default
    systems: Mapping[str, Sequence[int] | NDArray[np.bool_] | str]


def view_name(dataset: str, page_id: str) -> str:
    """Return the path of a page's view relative to the report, with ``/`` as separator.

    Names that are not safe file names on every system are changed, and made unique with a hash.

    Examples
    --------
    >>> view_name("news", "0001")
    'pages/news/0001.html'
    >>> view_name("news", "../a b")
    'pages/news/a_b-2c2c791a.html'
    """
    return f"pages/{safe_file_name(dataset)}/{safe_file_name(page_id)}.html"


def write_view(
    result: Extraction,
    path: str | os.PathLike[str],
    *,
    gold: Gold | None = None,
    explain: Sequence[str] = (),
    threshold: float | None = None,
    curve: PageCurve | None = None,
    extractor: Extractor | None = None,
    options: Options = Options(),  # noqa: B008 (frozen)
) -> Path:
    """Write why each block of a page was kept or dropped, as a self-contained HTML file.

    The file has at most 8 bytes per byte of the page plus a megabyte, not counting ``curve``. If it needs more, it
    lists only the first blocks, without the slider and contributions, or omits the page itself, and shows a warning.

    Raises UsageError if the numbers of notes and blocks differ, and the errors of
    :func:`blockml.reports.templating.write_html`.

    Parameters
    ----------
    result
        The extraction.
    path
        The file; missing folders are created.
    gold
        Gold standard; if given, blocks are marked as right, missed or superfluous.
    explain
        (n_blocks,) notes as returned by :meth:`blockml.extractors.Extractor.explain`, or empty.
    threshold
        The decision threshold to draw.
    curve
        Curve along the page that decided, as returned by :meth:`blockml.extractors.Extractor.curve`.
    extractor
        The extractor of ``result``: with it, the view has a slider for the threshold, and for a trained model the
        contributions of its features.
    options
        The options of ``result``, for the labels to include and exclude at other thresholds.
    """
    page, blocks = result.page, result.page.blocks
    extractor = None if extractor is None else extractor.at_page(page)
    if explain and len(explain) != len(blocks):
        raise UsageError(f"there are {len(blocks)} blocks but {len(explain)} notes; there must be one per block")
    labels = None if gold is None else gold.label(page)
    content = None if gold is None else gold.text()
    ignored = "" if gold is None else ignored_text(gold)
    budget = Budget(page, MAX_RATIO, VIEW_SPARE)
    budget.spend(_size(result.text), "text")
    rendered, warnings = _rendered(page, budget)
    xpaths = _listed(page, explain, budget)
    is_whole = len(xpaths) == len(blocks) and budget.spend(_script_size(blocks.texts), "texts at other thresholds")
    data = live_data(result, threshold, labels, extractor if is_whole else None, options)
    agreements, hidden = _agreements(labels, result.kept), hiding_names(page)
    nodes = document_rows(result, budget)
    rules = None if result.rules is None else result.rules.by_block
    lines: list[dict[str, Any]] = []
    for i, block in enumerate(islice(blocks, len(xpaths))):
        kept = bool(result.kept[i])
        lines.append(
            {
                "text": shorten(block.text, _MAX_TEXT),
                "score": float(result.scores[i]),
                "probability": float(result.probabilities[i]),
                "label": "" if result.labels is None else str(result.labels[i]),
                "kept": kept,
                "reason": str(result.reasons[i]).replace("_", " ") + (f": {rules[i]}" if rules and rules[i] else ""),
                "hidden": (hidden[i] or "").replace("_", " "),
                "note": explain[i] if explain else "",
                "parent": block.parent,
                "words": block.n_words,
                "link_density": block.n_linked / block.n_words if block.n_words else 0.0,
                "xpath": xpaths[i],
                "agreement": agreements[i],
                # Blocks are coloured by the kind of error, or else by the decision.
                "group": agreements[i] if agreements[i] in ("missed", "superfluous") else "kept" if kept else "dropped",
            }
        )
    return write_html(
        "view.html.jinja",
        path,
        live_data=figure(data),
        live_script=figure(script()),
        script_policy=figure(script_policy()),
        rendered=None if rendered is None else figure(rendered),
        left_out=(*budget.warnings, *warnings),
        shown_labels=sorted({line["label"] for line in lines} - {""}),
        can_slide=is_whole and extractor is not None and threshold is not None,
        explains=is_whole and isinstance(extractor, TrainedExtractor),
        result=result,
        page=page,
        heading=shorten(page.title or page.url or "A page", _MAX_HEADING),
        page_title=shorten(page.title or NONE, _MAX_HEADING),
        lines=lines,
        nodes=nodes,
        n_blocks=len(blocks),
        threshold=threshold,
        curve=None if curve is None else curve_svg(curve, result.kept),
        words=(int(blocks.n_words[result.kept].sum()), int(blocks.n_words.sum())),
        with_gold=labels is not None,
        word_scores=None if content is None else bag_scores(content, result.text, ignored=ignored),
        block_scores=None if labels is None else block_scores(labels.main[labels.known], result.kept[labels.known]),
    )


def _rendered(page: Page, budget: Budget) -> tuple[str | None, tuple[str, ...]]:
    """Return the page as harmless HTML (None without nh3, or if it is too long), and warnings about omitted parts."""
    own = Budget(page)
    try:
        written = sanitised(page, own)
    except MissingExtraError:
        return None, ()
    size = len(written.encode())
    if size + VIEW_SPARE // 2 > budget.left:  # the other half is for the list of blocks
        budget.leave_out("parts of the page itself")
        return None, ()
    budget.spend(size, "tags")
    return written, own.warnings


def _listed(page: Page, explain: Sequence[str], budget: Budget) -> list[str]:
    """Return the paths of the first blocks, as many as the budget allows a view to list."""
    blocks = page.blocks
    found = page.nodes.xpaths(blocks.parent[: budget.left // _LISTED].tolist())
    for row, (text, xpath) in enumerate(zip(blocks.texts, found, strict=False)):
        note = explain[row] if explain else ""
        size = _LISTED + _size(text[:_MAX_TEXT]) + _size(note) + _size(xpath)
        if not budget.spend(size, "blocks"):
            return found[:row]
    return found


def _script_size(texts: Iterable[str]) -> int:
    """Return the maximum bytes of texts in the script's data, where an angle bracket takes six."""
    return sum(len(json.dumps(text)) + 5 * (text.count("<") + text.count(">")) for text in texts)


def _size(text: str) -> int:
    """Return the bytes of a text in HTML."""
    return len(html.escape(text).encode("utf-8", "replace"))


def _agreements(labels: BlockLabels | None, kept: NDArray[np.bool_]) -> list[str]:
    """Return ``right``, ``missed``, ``superfluous`` or, without gold, an empty string, for each block."""
    if labels is None:
        return [""] * len(kept)
    found = np.where(labels.main == kept, "right", np.where(kept, "superfluous", "missed"))
    return [str(agreement) for agreement in np.where(labels.known, found, "")]


def write_page_views(items: Iterable[PagePredictions], directory: str | os.PathLike[str]) -> list[Path]:
    """Write which system keeps which block, one self-contained HTML file per page.

    The files contain the text of the pages, and are subject to the terms of the data set. Pages are read and parsed one
    at a time. The files are written to the report's directory, named by :func:`view_name`, and returned. Raises
    UsageError if the number of predictions of a system differs from the number of blocks, DatasetError if a page can't
    be read, and the errors of :func:`blockml.reports.templating.write_html`.
    """
    paths = []
    for item in items:
        source, gold = item.page.load()
        page = parse(source, url=item.page.url, charset=item.page.charset)
        labels = None if gold is None else gold.label(page)
        columns = [_column(name, page, predicted, labels) for name, predicted in item.systems.items()]
        columns.sort(key=lambda column: -(column["f1"] or 0))
        path = Path(directory, view_name(item.dataset, item.page.id))
        paths.append(write_html("systems.html.jinja", path, item=item, page=page, columns=columns, gold=_truth(labels)))
    return paths


def _truth(labels: BlockLabels | None) -> list[bool | None] | None:
    """Return whether each block is content, None where the gold doesn't tell."""
    if labels is None:
        return None
    return [bool(main) if known else None for main, known in zip(labels.main, labels.known, strict=True)]


def _column(
    system: str, page: Page, predicted: Sequence[int] | NDArray[np.bool_] | str, labels: BlockLabels | None
) -> dict[str, Any]:
    """Return name, F1 (over blocks with gold, weighted by words), and decision and agreement on each block."""
    if isinstance(predicted, str):
        # The blocks of an extracted text are found like those of a gold text.
        kept = TextGold(predicted).label(page).main
    elif isinstance(predicted, np.ndarray):
        kept = predicted.astype(bool)
    else:
        kept = np.isin(np.arange(len(page.blocks)), predicted)
    if kept.shape != (len(page.blocks),):
        raise UsageError(f"{system} has predictions for {kept.size} blocks, but the page has {len(page.blocks)}")
    f1 = None
    if labels is not None:
        known = labels.known
        f1 = block_scores(labels.main[known], kept[known], weights=page.blocks.n_words[known]).f1
    return {"system": system, "f1": f1, "cells": list(zip(kept.tolist(), _agreements(labels, kept), strict=True))}


#: Steps of the threshold in the view.
_STEPS = 100


def live_data(
    result: Extraction,
    threshold: float | None,
    labels: BlockLabels | None,
    extractor: Extractor | None,
    options: Options,
) -> str:
    """Collect the data of a page view's script, as JSON without characters that could close its element.

    Parameters
    ----------
    result
        The extraction.
    threshold
        The decision threshold; without it, or without ``extractor``, decisions can't be changed in the view.
    labels
        Gold of the blocks, if known.
    extractor
        The extractor of ``result``.
    options
        The options of ``result``.
    """
    page, blocks = result.page, result.page.blocks
    data: dict[str, Any] = {
        "kept": result.kept.astype(int).tolist(),
        "truth": _truth(labels),
        "threshold": threshold,
        "scores": None,
        "asked_for": None,
        "by_rule": None,
        "families": {},
    }
    if result.rules is not None:  # a rule decides at any threshold
        pairs = zip(result.rules.by_block, result.kept.tolist(), strict=True)
        data["by_rule"] = [kept if name else None for name, kept in pairs]
    if extractor is not None and threshold is not None:
        # At threshold 0 all blocks are kept except those that another rule removes at any threshold.
        policy = replace(extractor.policy, threshold=0.0)
        included, excluded = options.labels(extractor)
        prediction = extractor.predict(page)
        found = decide(policy, page, prediction, include=included, exclude=excluded)
        # Units are kept or removed as a whole, so a block has the largest threshold that keeps it.
        reached = np.where(found.kept | found.overruled, np.float32(0), np.float32(-1))
        for value in sorted({*(step / _STEPS for step in range(1, _STEPS + 1)), threshold}):
            kept = decide(replace(policy, threshold=value), page, prediction, include=included, exclude=excluded).kept
            reached[kept] = value
        data["scores"] = [float(score) for score in reached]
        data["overruled"] = found.overruled.astype(int).tolist()
        data["texts"] = _texts(result)
        data["separators"] = blocks.separators.tolist()
        data["code"] = ((blocks.flags & int(Flag.PREFORMATTED)) != 0).astype(int).tolist()
        data["cells"] = np.cumsum(page.nodes.named({"td", "th"}))[blocks.node].tolist() if len(blocks) else []
        if included:
            data["asked_for"] = [label in included for label in found.labels or ()]
    if isinstance(extractor, TrainedExtractor):
        matrix = page_matrix(page, extractor.model.features)
        found_families = contributions(extractor.model, matrix)
        data["families"] = {name: np.round(values, 2).tolist() for name, values in found_families.items()}
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


def _texts(result: Extraction) -> list[str]:
    """Return the text of each block, with the white space of the source in preformatted elements."""
    page, blocks = result.page, result.page.blocks
    texts = list(blocks.texts)
    nodes = page.nodes.texts
    for row in np.flatnonzero((blocks.flags & int(Flag.PREFORMATTED)) != 0).tolist():
        texts[row] = "".join(nodes[int(blocks.node[row]) : int(blocks.last_node[row]) + 1])
    return texts


def script() -> str:
    """Return the script of page views."""
    return (files("blockml.reports") / "templates" / "view.js").read_text(encoding="utf-8")


def script_policy() -> str:
    """Return the source expression of the content security policy that allows only this script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()}'"


#: Bytes of a row without its text, and maximum characters of the text.
_ROW, _MAX_NODE_TEXT = 420, 300
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
        text = "" if inner and not _is_leaf(block) else shorten(text_of((block,)), _MAX_NODE_TEXT)
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
