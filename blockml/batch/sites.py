"""Pages of many sites in, the template of each site out: what prediction site by site needs to know beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from blockml.batch.inputs import Item
from blockml.evaluation.site_pages import MAX_SITE_PAGES
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.parsing.options import ParsingOptions
from blockml.templates.frequency import MIN_TRAIN
from blockml.templates.site import SiteTemplate

__all__ = ["learn_sites"]


def learn_sites(
    read: Callable[[], Iterable[Item]],
    parsing: ParsingOptions = ParsingOptions(),  # noqa: B008 (frozen)
    *,
    limits: Limits = Limits(),
    jobs: int = 1,
) -> Mapping[str, SiteTemplate]:
    """Learn the template of every site that has enough pages.

    Parameters
    ----------
    read
        Gives the pages, each time it is called: they are gone through twice, to know which sites are large enough
        before any page is kept. Pages without a site, and those that can't be read, teach nothing.
    parsing
        How the extractor wants its pages parsed.
    limits
        Bounds on each page.
    jobs
        Processes. The result does not depend on it.

    Returns
    -------
    Mapping[str, SiteTemplate]
        By :attr:`~blockml.batch.Item.site`; of each the first 50 pages are learnt. Sites with fewer than four are left
        out.

    Examples
    --------
    >>> names = ("cats", "dogs", "birds", "fish")
    >>> items = [Item(name, html=f"<p>Home</p><p>About {name}.</p>", site="animals.example") for name in names]
    >>> learn_sites(lambda: items)
    {'animals.example': SiteTemplate('animals.example', 4 pages, 1 layout, ...)}
    """
    sizes = Counter(item.site for item in read() if item.site)
    wanted = {site: min(n, MAX_SITE_PAGES) for site, n in sizes.items() if n >= MIN_TRAIN}
    groups = _full(read(), wanted)
    if jobs == 1:
        return dict(_learn(site, group, parsing, limits) for site, group in groups)
    import joblib

    with joblib.Parallel(n_jobs=jobs) as parallel:
        learnt = parallel(joblib.delayed(_learn)(site, group, parsing, limits) for site, group in groups)
    return dict(learnt)


def _full(items: Iterable[Item], wanted: Mapping[str, int]) -> Iterator[tuple[str, list[Item]]]:
    """Pages of a site as soon as there are as many as wanted, so that few wait."""
    missing = dict(wanted)
    waiting: dict[str, list[Item]] = {}
    for item in items:
        if missing.get(item.site):
            waiting.setdefault(item.site, []).append(item)
            missing[item.site] -= 1
            if not missing[item.site]:
                yield item.site, waiting.pop(item.site)


def _learn(site: str, items: Iterable[Item], parsing: ParsingOptions, limits: Limits) -> tuple[str, SiteTemplate]:
    return site, SiteTemplate.learn(list(_pages(items, parsing, limits)), name=Path(site).name)


def _pages(items: Iterable[Item], parsing: ParsingOptions, limits: Limits) -> Iterator[Page]:
    options = parsing.options()
    for item in items:
        try:
            html = item.read(limits.bytes + 1)
        except OSError:  # prediction will say so
            continue
        yield parse(html, url=item.url, charset=item.charset, limits=limits, **options)
