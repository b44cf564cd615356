"""Why was each block kept or dropped, and which system keeps what: one HTML file a page."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import BlockLabels, Gold, LabelledPage, TextGold
from blockml.errors import UsageError
from blockml.evaluation import bag_scores, block_scores
from blockml.page import Extraction, Page
from blockml.parsing import parse
from blockml.reports.figures import profile
from blockml.reports.templating import write_html

__all__ = ["Judged", "view_name", "write_page_views", "write_view"]

#: Characters that a file name may have on every system and that need no quoting in a link.
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled page and what systems made of it."""

    dataset: str
    page: LabelledPage
    systems: Mapping[str, Sequence[int] | NDArray[np.bool_] | str]
    """System to the numbers of the blocks that it kept, or the decision on each, (n_blocks,), of the page as
    :func:`blockml.parse` cuts it by default; or to the extracted text."""


def view_name(dataset: str, page_id: str) -> str:
    """Path of a page's view below the folder of the report, with ``/`` between its parts.

    Names that could not be a file's everywhere are changed and made unique by a hash.

    Examples
    --------
    >>> view_name("news", "0001")
    'pages/news/0001.html'
    >>> view_name("news", "../a b")
    'pages/news/a_b-2c2c791a.html'
    """
    return f"pages/{_file_name(dataset)}/{_file_name(page_id)}.html"


def _file_name(text: str) -> str:
    name = _UNSAFE.sub("_", text)[:_LONGEST_NAME].strip("._")
    if name and name == text:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name}-{digest}" if name else digest


@dataclass(frozen=True, slots=True)
class BlockLine:
    """What a view tells of one block."""

    text: str
    score: float
    kept: bool
    reason: str
    note: str
    parent: str
    words: int
    link_density: float
    """Share of its words that are linked; 0 for a block without words."""
    xpath: str
    verdict: str
    """``right``, ``missed``, ``superfluous``, or empty where there is no gold for it."""

    @property
    def group(self) -> str:
        """What it is coloured by: the kind of mistake, if it is one, else the decision."""
        return self.verdict if self.verdict in ("missed", "superfluous") else "kept" if self.kept else "dropped"


def write_view(
    result: Extraction,
    path: str | os.PathLike[str],
    *,
    gold: Gold | None = None,
    explain: Sequence[str] = (),
    threshold: float | None = None,
    title: str | None = None,
) -> Path:
    """Write why each block of a page was kept or dropped, as one self-contained HTML file.

    Parameters
    ----------
    result
        The extraction.
    path
        The file; missing folders are made.
    gold
        What should have been kept; blocks are then marked as right, missed or superfluous.
    explain
        (n_blocks,) notes as :meth:`blockml.extractors.Extractor.explain` gives them; none if empty.
    threshold
        The threshold of the decision, to be drawn.
    title
        Heading; the page's title or URL if None.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UsageError
        There are not as many notes as blocks.
    MissingExtraError
        jinja2 is not installed.
    OSError
        The file can't be written.
    """
    page = result.page
    if explain and len(explain) != len(page.blocks):
        raise UsageError(f"there are {len(page.blocks)} blocks but {len(explain)} notes; there must be one per block")
    labels = None if gold is None else gold.label(page)
    content = None if gold is None else gold.text()
    lines = _lines(result, explain, labels)
    return write_html(
        "view.html.jinja",
        path,
        result=result,
        page=page,
        heading=title or page.title or page.url or "A page",
        lines=lines,
        profile=profile([line.score for line in lines], [line.group for line in lines], threshold),
        threshold=threshold,
        words=(int(page.blocks.n_words[result.kept].sum()), int(page.blocks.n_words.sum())),
        judged=labels is not None,
        word_scores=None if content is None else bag_scores(content, result.text),
        block_scores=None if labels is None else block_scores(labels.main[labels.known], result.kept[labels.known]),
    )


def _lines(result: Extraction, explain: Sequence[str], labels: BlockLabels | None) -> list[BlockLine]:
    page, blocks = result.page, result.page.blocks
    xpaths = page.nodes.xpaths(blocks.parent.tolist())
    verdicts = [""] * len(blocks) if labels is None else _verdicts(labels, result.kept)
    notes = explain or [""] * len(blocks)
    return [
        BlockLine(
            text=block.text,
            score=float(result.scores[i]),
            kept=bool(result.kept[i]),
            reason=str(result.reasons[i]).replace("_", " "),
            note=notes[i],
            parent=block.parent,
            words=block.n_words,
            link_density=block.n_linked / block.n_words if block.n_words else 0.0,
            xpath=xpaths[i],
            verdict=verdicts[i],
        )
        for i, block in enumerate(blocks)
    ]


def _verdicts(labels: BlockLabels, kept: NDArray[np.bool_]) -> list[str]:
    """``right``, ``missed``, ``superfluous`` or empty, for each block."""
    verdicts = np.where(labels.main == kept, "right", np.where(kept, "superfluous", "missed"))
    return [str(verdict) for verdict in np.where(labels.known, verdicts, "")]


@dataclass(frozen=True, slots=True)
class Column:
    """One system's decisions on a page."""

    system: str
    f1: float | None
    """F1 over the blocks, each counted by its words; None without gold."""
    cells: tuple[tuple[bool, str], ...]
    """Whether each block was kept, and the verdict as in :class:`BlockLine`."""


def write_page_views(items: Iterable[Judged], directory: str | os.PathLike[str]) -> list[Path]:
    """Write which system keeps which block, one self-contained HTML file a page.

    The files hold the pages' text: they belong to whoever holds the data set.

    Parameters
    ----------
    items
        Labelled pages with what systems made of them. Pages are read and parsed one after the other.
    directory
        Folder of the report; the files are named by :func:`view_name` below it.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    UsageError
        A system decided on another number of blocks than the page has.
    DatasetError
        A page can't be read.
    MissingExtraError
        jinja2 is not installed.
    OSError
        A file can't be written.
    """
    return [_write_page_view(item, Path(directory)) for item in items]


def _write_page_view(item: Judged, folder: Path) -> Path:
    html, gold = item.page.load()
    page = parse(html, url=item.page.url, charset=item.page.charset)
    labels = None if gold is None else gold.label(page)
    columns = [_column(name, page, decision, labels) for name, decision in item.systems.items()]
    columns.sort(key=lambda column: -(column.f1 or 0))
    return write_html(
        "systems.html.jinja",
        folder / view_name(item.dataset, item.page.id),
        item=item,
        page=page,
        columns=columns,
        gold=None if labels is None else [bool(main) if known else None for main, known in _pairs(labels)],
    )


def _pairs(labels: BlockLabels) -> Iterable[tuple[bool, bool]]:
    return zip(labels.main.tolist(), labels.known.tolist(), strict=True)


def _column(
    system: str, page: Page, decision: Sequence[int] | NDArray[np.bool_] | str, labels: BlockLabels | None
) -> Column:
    if isinstance(decision, str):
        # A text has no blocks: those that it holds are found as those of a gold text are.
        kept = TextGold(decision).label(page).main
    elif isinstance(decision, np.ndarray):
        kept = decision.astype(bool)
    else:
        kept = np.isin(np.arange(len(page.blocks)), decision)
    if kept.shape != (len(page.blocks),):
        raise UsageError(f"{system} decided on {kept.size} blocks, but the page has {len(page.blocks)}")
    verdicts = [""] * len(kept) if labels is None else _verdicts(labels, kept)
    f1 = None
    if labels is not None:
        known = labels.known
        f1 = block_scores(labels.main[known], kept[known], weights=page.blocks.n_words[known]).f1
    return Column(system, f1, tuple(zip(kept.tolist(), verdicts, strict=True)))
