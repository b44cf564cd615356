"""Parts of a survey that need the pages themselves: templates of large sites, and views of a few pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from blockml.batch import Inputs, read_items
from blockml.batch.items import Item
from blockml.datasets import TextGold
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.surveying.records import record_id
from blockml.surveying.sites import PageNote, SiteStats
from blockml.templates.grouping import SITE_DISTANCE, SITE_THRESHOLD, PageSummary, cluster_pages, summarise_page

#: Maximum runs of kept or removed blocks that a view shows, and characters of each.
_RUNS, _KEPT_CHARACTERS, _REMOVED_CHARACTERS = 60, 500, 160
#: Minimum number of pages of a site to cluster them by template.
LARGE_SITE = 10


@dataclass(frozen=True, slots=True)
class BlockRun:
    """Consecutive blocks of a page that were all kept, or all removed."""

    kept: bool
    text: str
    n_blocks: int


@dataclass(slots=True)
class PagesRead:
    """Pages of the inputs that a survey shows or clusters, by record id."""

    views: dict[str, list[BlockRun]] = field(default_factory=dict)
    summaries: dict[str, PageSummary] = field(default_factory=dict)


def read_chosen_pages(
    inputs: Inputs, texts: Mapping[str, str], clustered: frozenset[str], progress: ProgressCallback = ignore_progress
) -> PagesRead:
    """Read the inputs until all chosen pages are found.

    Parameters
    ----------
    inputs
        The inputs of the run.
    texts
        Text of the record of each page to view, by id.
    clustered
        Ids of the pages to cluster.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).
    """
    found, left = PagesRead(), {*texts, *clustered}
    for item in tracked(read_items(inputs), progress, "pages of the inputs"):
        page_id = record_id(item.id)
        if page_id not in left:
            continue
        left.discard(page_id)
        if (page := _parsed(item)) is not None:
            if page_id in texts:
                found.views[page_id] = runs_of(page, texts[page_id])
            if page_id in clustered:
                found.summaries[page_id] = summarise_page(page)
        if not left:
            break
    return found


def _parsed(item: Item) -> Page | None:
    try:
        html = item.read(Limits().bytes + 1)
    except OSError:  # the run's record reports it
        return None
    return parse(html, url=item.url, charset=item.charset)


def runs_of(page: Page, text: str) -> list[BlockRun]:
    """Return the blocks of a page in runs that are kept or removed, found by aligning the text with the page.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Home<p>Cats rule the world.<p>They do.<p>Imprint")
    >>> [(run.kept, run.text) for run in runs_of(page, "Cats rule the world.\\nThey do.")]
    [(False, 'Home'), (True, 'Cats rule the world. They do.'), (False, 'Imprint')]
    """
    kept = TextGold(text).label(page).main.tolist() if text else [False] * len(page.blocks)
    runs = []
    for is_kept, group in groupby(zip(kept, page.blocks.texts, strict=True), key=lambda pair: pair[0]):
        texts = [block for _, block in group]
        joined = " ".join(texts)
        most = _KEPT_CHARACTERS if is_kept else _REMOVED_CHARACTERS
        cut = joined if len(joined) <= most else f"{joined[: most // 2]} … {joined[-most // 2 :]}"
        runs.append(BlockRun(bool(is_kept), cut, len(texts)))
        if len(runs) == _RUNS:
            break
    return runs


def template_rows(sites: Sequence[SiteStats], pages: PagesRead) -> list[dict[str, Any]]:
    """Cluster the sampled pages of each large site by structure and return a row for each cluster.

    Raises
    ------
    MissingExtraError
        scipy is not installed.
    """
    rows = []
    for site in sites:
        notes = [note for note in site.sample() if note.record_id in pages.summaries]
        notes = list({note.record_id: note for note in notes}.values())
        if len(notes) < 2:
            continue
        summaries = [pages.summaries[note.record_id] for note in notes]
        result = cluster_pages(
            summaries,
            [note.record_id for note in notes],
            distance=SITE_DISTANCE,
            threshold=SITE_THRESHOLD,
            pictures=False,
        )
        for cluster in result["clusters"]:
            members = [note for note, row in zip(notes, result["pages"], strict=True)
                       if row["cluster"] == cluster["number"]]  # fmt: skip
            rows.append(_template_row(site, len(notes), cluster, members))
    return sorted(rows, key=lambda row: -row["expected_loss"])


def _template_row(
    site: SiteStats, n_sampled: int, cluster: Mapping[str, Any], members: Sequence[PageNote]
) -> dict[str, Any]:
    confidences = [note.confidence for note in members if note.confidence is not None]
    mean = sum(confidences) / len(confidences) if confidences else None
    share = len(members) / n_sampled
    medoid = next(note for note in members if note.record_id == cluster["median"])
    return {
        "site": site.name,
        "template": cluster["number"],
        "sampled_pages": len(members),
        "share": share,
        "pages": round(share * site.n_pages),
        "confidence": mean,
        "expected_loss": share * site.n_pages * (1 - mean) if mean is not None else 0.0,
        "kept_share": sum(note.kept_share for note in members) / len(members),
        "repeated_words": cluster["common_words"],
        "medoid": medoid.record_id,
        "medoid_title": medoid.title,
    }
