"""Pages of many sites in, the template of each site out: what prediction site by site needs to know beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from blockml.batch.inputs import Item
from blockml.evaluation.siblings import MOST_SIBLINGS
from blockml.modelfile import Parsing
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.frequency import MIN_TRAIN
from blockml.templates.site import SiteTemplate

__all__ = ["learn_sites"]


def learn_sites(
    items: Iterable[Item],
    parsing: Parsing = Parsing(),  # noqa: B008 (frozen)
    *,
    limits: Limits = Limits(),
    jobs: int = 1,
) -> Mapping[str, SiteTemplate]:
    """Learn the template of every site that has enough pages.

    Parameters
    ----------
    items
        Pages; those without a site, and those that can't be read, teach nothing.
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
    >>> learn_sites(items)
    {'animals.example': SiteTemplate('animals.example', 4 pages, 1 layout)}
    """
    groups: dict[str, list[Item]] = {}
    for item in items:
        if item.site and len(groups.setdefault(item.site, [])) < MOST_SIBLINGS:
            groups[item.site].append(item)
    large = {site: group for site, group in groups.items() if len(group) >= MIN_TRAIN}
    if jobs == 1:
        return {site: _learn(site, group, parsing, limits) for site, group in large.items()}
    import joblib

    learnt = joblib.Parallel(n_jobs=jobs)(
        joblib.delayed(_learn)(site, group, parsing, limits) for site, group in large.items()
    )
    return dict(zip(large, learnt, strict=True))


def _learn(site: str, items: Iterable[Item], parsing: Parsing, limits: Limits) -> SiteTemplate:
    return SiteTemplate.learn(list(_pages(items, parsing, limits)), name=site)


def _pages(items: Iterable[Item], parsing: Parsing, limits: Limits) -> Iterator[Page]:
    options = asdict(parsing)
    for item in items:
        try:
            html = item.read(limits.bytes + 1)
        except OSError:  # prediction will say so
            continue
        yield parse(html, url=item.url, charset=item.charset, limits=limits, **options)
