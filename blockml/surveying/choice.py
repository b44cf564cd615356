"""Choice of pages to label, and parts of a survey that need the pages themselves."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from blockml.batch import Inputs, read_items
from blockml.batch.readers.work_units import Item
from blockml.datasets import TextGold
from blockml.errors import InputError, UsageError, check_name
from blockml.labelling.store import PageToLabel, in_own_folders, page_of_item
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.storage.atomic import safe_file_name
from blockml.storage.spool import Spool
from blockml.surveying.page_kinds import SURVEYED_KINDS, WORTH_LABELS, page_kind
from blockml.surveying.run_output import Record, RunOutput, record_id
from blockml.surveying.sites import NO_SITE, PageNote, SiteStats
from blockml.templates.grouping import SITE_DISTANCE, SITE_THRESHOLD, PageSummary, cluster_pages, summarise_page
from blockml.text.sketches import min_hashes


@dataclass(frozen=True, slots=True)
class ChosenPage:
    """A page to label."""

    id: str
    site: str
    rank: int  #: Its place among the site's pages to label, starting at 1; pages already labelled come first.
    of: int  #: Number of pages to label from the site.
    confidence: float
    url: str | None = None
    kind: str = ""  #: One of :data:`blockml.surveying.page_kinds.SURVEYED_KINDS`.


@dataclass(slots=True)
class _Site:
    """Unlabelled pages of a site with the lowest confidence."""

    n_pages: int = 0
    loss: float = 0.0
    #: The least sure pages: their -confidence, -number, id, MinHashes of the text, address, and kind.
    least: list[tuple[float, int, str, frozenset[tuple[int, ...]], str | None, str]] = field(default_factory=list)
    texts: set[tuple[int, ...]] = field(default_factory=set)  #: MinHashes of the texts of these pages.

    def consider(self, place: tuple[float, int], record: Record, kind: str, wanted: int) -> None:
        """Add a page to the ``wanted`` least sure ones if it is one of them, and neither a copy nor repeats an id."""
        same = next((page for page in self.least if page[2] == record.id), None)  # a hostile output may repeat ids
        if place <= same[:2] if same else len(self.least) >= wanted and place <= self.least[0][:2]:
            return
        hashes = min_hashes((record.text or "").split()).tolist()
        text = frozenset({tuple(hashes[:3]), tuple(hashes[3:])})
        others = self.texts - same[3] if same else self.texts
        if not others.isdisjoint(text):
            return
        if same:
            self.least.remove(same)
            heapq.heapify(self.least)
        self.texts = others | text
        heapq.heappush(self.least, (*place, record.id, text, record.url, kind))
        if len(self.least) > wanted:
            self.texts -= heapq.heappop(self.least)[3]


def choose_pages(
    output: RunOutput,
    *,
    pages: int = 50,
    per_site: int = 5,
    labelled: Collection[tuple[str, str]] = (),
    kinds: Collection[str] = WORTH_LABELS,
) -> list[ChosenPage]:
    """Choose pages to label, site by site.

    Sites with most pages × (1 - confidence) come first, each with its lowest-confidence pages. Sites with fewer than
    ``per_site`` pages are left out, since a model can't be adapted to them. Of near-duplicate pages only one is chosen.

    Parameters
    ----------
    output
        Output of a run.
    pages
        Number of pages.
    per_site
        Number of pages of each site, including those already labelled.
    labelled
        Site and id of each page already labelled, which is not chosen again.
    kinds
        Kinds of pages to choose from, of :data:`blockml.surveying.page_kinds.SURVEYED_KINDS`: by default not lists,
        search results, sitemaps and accounts.

    Raises
    ------
    UnknownNameError
        A kind is unknown.
    UsageError
        No record has a confidence, or a number is not positive.

    Examples
    --------
    >>> rows = [{"id": f"{site}/{n}", "text": f"{n}", "confidence": sure}
    ...         for site, sure in (("cats", 0.5), ("dogs", 0.9)) for n in range(6)]
    >>> chosen = choose_pages(RunOutput(rows), pages=3, per_site=2, labelled=[("cats", "cats/0")])
    >>> [(page.id, page.rank, page.of) for page in chosen]
    [('cats/1', 2, 2), ('dogs/0', 1, 2), ('dogs/1', 2, 2)]
    """
    for name, value in (("pages", pages), ("per_site", per_site)):
        if value < 1:
            raise UsageError(f"{name} must be positive, got {value}")
    for kind in kinds:
        check_name("kind of pages", kind, SURVEYED_KINDS)
    done = {record_id(page_id) for _, page_id in labelled}
    n_done = Counter(site for site, _ in labelled)
    sites: dict[str, _Site] = {}
    n_records = n_rated = 0
    for number, record in enumerate(output):
        n_records += 1
        if record.failed or record.confidence is None:
            continue
        n_rated += 1
        if (kind := page_kind(record)) not in kinds:
            continue
        site = sites.setdefault(record.site, _Site())
        site.n_pages += 1
        site.loss += 1 - record.confidence
        if record.id not in done and (wanted := per_site - n_done[record.site]) > 0:
            site.consider((-record.confidence, -number), record, kind, wanted)
    if not n_rated:
        output.refuse_without_records(n_records)
        raise UsageError("pages are chosen by confidence, but no record has one", source=output.name)
    ranked = sorted(sites.items(), key=lambda item: (-item[1].loss, item[0]))
    chosen: list[ChosenPage] = []
    taken: set[str] = set()  # sites may share ids too
    for name, site in ranked:
        if site.n_pages < per_site:
            continue
        least = {item[2]: item for item in sorted(site.least, key=lambda item: item[:2]) if item[2] not in taken}
        taken.update(least)
        of = n_done[name] + len(least)
        for rank, (sure, _, page_id, _, url, kind) in enumerate(reversed(least.values()), n_done[name] + 1):
            chosen.append(ChosenPage(page_id, name, rank, of, -sure, url, kind))
    return chosen[:pages]


def chosen_pages(chosen: Sequence[ChosenPage], inputs: Inputs) -> list[PageToLabel]:
    """Read the chosen pages from the inputs of the run; pages that are not found are left out.

    Raises
    ------
    InputError
        None of them is found.
    """
    wanted = {page.id: (order, page) for order, page in enumerate(chosen)}
    found: dict[str, PageToLabel] = {}
    with Spool() as spool:
        for item in read_items(inputs):
            page_id = record_id(item.id)
            if page_id in wanted and page_id not in found and (page := _to_label(item, *wanted[page_id], spool)):
                found[page_id] = page
                if len(found) == len(wanted):
                    break
    if wanted and not found:
        raise InputError(
            "none of the chosen pages is in the inputs; give the inputs of the run", source=inputs.names[0]
        )
    return in_own_folders(sorted(found.values(), key=lambda page: page.order))


def _to_label(item: Item, order: int, chosen: ChosenPage, spool: Spool) -> PageToLabel | None:
    page_id = f"{safe_file_name(chosen.site or 'no-site')}/{safe_file_name(chosen.id)}"
    page = page_of_item(item, page_id, spool, site=chosen.site, record=chosen.id)
    if page is not None:
        page.note, page.order = f"{chosen.rank} of {chosen.of} from {chosen.site or NO_SITE}", order
    return page


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
        notes = [note for note in site.sample() if note.record.id in pages.summaries]
        notes = list({note.record.id: note for note in notes}.values())
        if len(notes) < 2:
            continue
        summaries = [pages.summaries[note.record.id] for note in notes]
        result = cluster_pages(
            summaries,
            [note.record.id for note in notes],
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
    confidences = [note.record.confidence for note in members if note.record.confidence is not None]
    mean = sum(confidences) / len(confidences) if confidences else None
    share = len(members) / n_sampled
    medoid = next(note for note in members if note.record.id == cluster["median"])
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
        "medoid": medoid.record.id,
        "medoid_title": medoid.record.title,
    }
