"""Site templates learnt from the pages of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from blockml.batch.items import Item
from blockml.evaluation.site_pages import MAX_SITE_PAGES
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.parsing.options import ParsingOptions
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.templates.frequency import MIN_TRAIN
from blockml.templates.site import SiteTemplate

__all__ = ["learn_sites"]


def learn_sites(
    read: Callable[[], Iterable[Item]],
    parsing: ParsingOptions = ParsingOptions(),  # noqa: B008 (frozen)
    *,
    limits: Limits = Limits(),
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Mapping[str, SiteTemplate]:
    """Learn the template of each site that has enough pages.

    Parameters
    ----------
    read
        Returns the pages; called twice, first to count the pages of each site. Pages without a site and pages that
        cannot be read are ignored.
    parsing
        Parsing options of the extractor.
    limits
        Limits on each page.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its sites are done, and how many there are (None if unknown).

    Returns
    -------
    Mapping[str, SiteTemplate]
        Template by :attr:`~blockml.batch.Item.site`, learnt from its first 50 pages. Sites with fewer than four pages
        are left out.

    Examples
    --------
    >>> names = ("cats", "dogs", "birds", "fish")
    >>> items = [Item(name, html=f"<p>Home</p><p>About {name}.</p>", site="animals.example") for name in names]
    >>> learn_sites(lambda: items)
    {'animals.example': SiteTemplate('animals.example', 4 pages, 1 layout, ...)}
    """
    import joblib  # slow, and extraction of one page does not need it

    sizes = Counter(item.site for item in read() if item.site)
    wanted = {site: min(n, MAX_SITE_PAGES) for site, n in sizes.items() if n >= MIN_TRAIN}
    tasks = (joblib.delayed(_learn)(site, group, parsing, limits) for site, group in _groups(read(), wanted))
    with joblib.Parallel(n_jobs=jobs, return_as="generator") as parallel:
        return dict(tracked(parallel(tasks), progress, "templates of sites", len(wanted)))


def _groups(items: Iterable[Item], wanted: Mapping[str, int]) -> Iterator[tuple[str, list[Item]]]:
    """Yield the first ``wanted`` items of each site as soon as they are complete, so that few stay in memory."""
    groups: dict[str, list[Item]] = {site: [] for site in wanted}
    for item in items:
        if item.site in groups:
            groups[item.site].append(item)
            if len(groups[item.site]) == wanted[item.site]:
                yield item.site, groups.pop(item.site)


def _learn(site: str, items: Iterable[Item], parsing: ParsingOptions, limits: Limits) -> tuple[str, SiteTemplate]:
    pages: list[Page] = []
    for item in items:
        try:
            html = item.read(limits.bytes + 1)
        except OSError:  # prediction reports it
            continue
        pages.append(parse(html, url=item.url, charset=item.charset, limits=limits, **parsing.options()))
    return site, SiteTemplate.learn(pages, name=Path(site).name)
