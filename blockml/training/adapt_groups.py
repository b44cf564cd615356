"""Adaptation of a model to each site, host or template in labelled pages that gains from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blockml.datasets import Dataset, LabelledPage
from blockml.errors import BlockmlError, UsageError, check_name
from blockml.extractors.routed import Route, RouteTemplate, template_features, write_routed
from blockml.model import Model
from blockml.parsing import parse
from blockml.storage.names import safe_file_name
from blockml.templates.grouping import SITE_DISTANCE, SITE_THRESHOLD, cluster_pages
from blockml.text.plurals import counted
from blockml.text.public_suffixes import split_host
from blockml.training.adapt import LEAST_PAGES, Adaptation, adapt, check_base
from blockml.training.checks import pages_with_gold

#: Legal values of ``by``: groups of pages that get a model.
ADAPTED_BY = ("site", "template")


@dataclass(frozen=True, slots=True, eq=False)
class PageGroup:
    """Labelled pages of one site, host or template."""

    site: str
    pages: frozenset[tuple[str, str]]  #: Data set and id of each page.
    host: str | None = None
    template: RouteTemplate | None = None
    part: str = ""  #: Name within the site.

    @property
    def name(self) -> str:
        """Name of the group in messages, and of its model."""
        return f"{self.site} {self.part}".strip()


@dataclass(frozen=True, slots=True, eq=False)
class GroupAdaptation:
    """Result of cross-validation on a group, or the reason why the group has no model."""

    group: PageGroup
    found: Adaptation | None  #: None if adaptation was not possible.
    reason: str = ""  #: Why the group has no model; empty if it has one.

    def __str__(self) -> str:
        return f"{self.group.name}: {self.reason or self.found}"


@dataclass(frozen=True, slots=True, eq=False)
class Adapted:
    """Models for groups of pages, and the groups without one."""

    base: Model
    groups: tuple[GroupAdaptation, ...]

    @property
    def accepted(self) -> list[GroupAdaptation]:
        """Groups with a model."""
        return [item for item in self.groups if not item.reason]

    def save(self, folder: Path) -> None:
        """Write a folder that can be loaded as a model: see :func:`blockml.extractors.routed.write_routed`."""
        routes, facts = {}, {}
        for item in self.accepted:
            if item.found is not None and item.found.model is not None:
                name = safe_file_name(item.group.name.replace(" ", "-"))
                routes[name] = Route(item.group.site, item.found.model, item.group.host, item.group.template)
                facts[name] = item.found.summary()
        refused = [{"group": item.group.name, "pages": len(item.group.pages), "reason": item.reason}
                   for item in self.groups if item.reason]  # fmt: skip
        write_routed(folder, self.base, routes, refused, facts)


def adapt_groups(
    base: Model,
    datasets: Sequence[Dataset],
    *,
    by: str = "site",
    command: str = "",
    report: Callable[[str], None] = lambda _: None,
    accept_defects: bool = False,
) -> Adapted:
    """Adapt a model to each site, or each template of a site, that gains from it in cross-validation.

    Sites are registrable domains of the pages' URLs. If a site does not gain as a whole, each of its hosts with
    enough pages is tried. Templates are clusters of a site's labelled pages by structure.

    Parameters
    ----------
    base
        The model.
    datasets
        Labelled pages with URLs.
    by
        ``site`` or ``template``.
    command, report, accept_defects
        See :func:`blockml.training.adapt.adapt`.

    Raises
    ------
    UnknownNameError
        ``by`` has another value.
    UsageError
        The model can't be adapted, or no page has a URL.
    DatasetError
        No page of a data set has gold for its whole text, or a page can't be read.
    """
    check_name("group", by, ADAPTED_BY)
    check_base(base)
    sites: dict[str, list[tuple[Dataset, LabelledPage]]] = defaultdict(list)
    n_unknown = 0
    datasets = pages_with_gold(datasets, report, whole_text=True)
    for dataset in datasets:
        for page in dataset.pages:
            site = split_host(page.url)[0]
            if site and page.trusted:
                sites[site].append((dataset, page))
            n_unknown += page.trusted and not site
    if n_unknown:
        report(f"left out {counted(n_unknown, 'page')} without a URL, which routing needs")
    if not sites:
        raise UsageError("no finished page has a URL, which is needed to route pages to models")

    results: list[GroupAdaptation] = []

    def tried(group: PageGroup) -> bool:
        results.append(_adapt_group(base, datasets, group, command=command, accept_defects=accept_defects))
        report(str(results[-1]))
        return not results[-1].reason

    for site in sorted(sites):
        groups = [PageGroup(site, _keys(sites[site]))] if by == "site" else list(_templates(base, site, sites[site]))
        accepted = [tried(group) for group in groups]
        if by == "site" and not any(accepted):
            for group in _hosts(site, sites[site]):
                tried(group)
    return Adapted(base, tuple(results))


def _keys(pages: Sequence[tuple[Dataset, LabelledPage]]) -> frozenset[tuple[str, str]]:
    return frozenset((dataset.name, page.id) for dataset, page in pages)


def _adapt_group(
    base: Model, datasets: Sequence[Dataset], group: PageGroup, *, command: str, accept_defects: bool
) -> GroupAdaptation:
    if len(group.pages) < LEAST_PAGES:
        pages = counted(len(group.pages), "labelled page")
        return GroupAdaptation(group, None, f"{pages}, but at least {LEAST_PAGES} are needed")
    parts = [
        replace(dataset, pages=kept)
        for dataset in datasets
        if (kept := tuple(page for page in dataset.pages if (dataset.name, page.id) in group.pages))
    ]
    try:
        found = adapt(base, parts, name=f"{base.name}-{group.name.replace(' ', '-')}", command=command,
                      accept_defects=accept_defects)  # fmt: skip
    except BlockmlError as error:
        return GroupAdaptation(group, None, str(error))
    if found.model is None:
        return GroupAdaptation(group, found, f"does not gain; {found}")
    return GroupAdaptation(group, found)


def _hosts(site: str, pages: Sequence[tuple[Dataset, LabelledPage]]) -> Iterator[PageGroup]:
    """Yield the hosts of a site that have enough pages, if the site has several hosts."""
    hosts: dict[str, list[tuple[Dataset, LabelledPage]]] = defaultdict(list)
    for pair in pages:
        hosts[split_host(pair[1].url)[1]].append(pair)
    for host, its_pages in sorted(hosts.items()) if len(hosts) > 1 else ():
        if len(its_pages) >= LEAST_PAGES:
            yield PageGroup(site, _keys(its_pages), host=host, part=host.removesuffix(site).rstrip(".") or "host")


def _templates(base: Model, site: str, pages: Sequence[tuple[Dataset, LabelledPage]]) -> Iterator[PageGroup]:
    """Yield the templates of a site, or the whole site if its labelled pages have only one."""
    if len(pages) < 2 * LEAST_PAGES:
        yield PageGroup(site, _keys(pages))
        return
    parsed = [parse(page.load()[0], url=page.url, charset=page.charset, **base.parsing.options()) for _, page in pages]
    names = [str(number) for number in range(len(pages))]
    result: Any = cluster_pages(parsed, names, distance=SITE_DISTANCE, threshold=SITE_THRESHOLD, pictures=False)
    labels = [row["cluster"] for row in result["pages"]]
    if len(set(labels)) == 1:
        yield PageGroup(site, _keys(pages))
        return
    for cluster in result["clusters"]:
        members = [number for number, label in enumerate(labels) if label == cluster["number"]]
        features = tuple(template_features(parsed[number]) for number in members)
        template = RouteTemplate(features, SITE_THRESHOLD)
        part = f"template-{cluster['number'] + 1}"
        yield PageGroup(site, _keys([pages[number] for number in members]), template=template, part=part)
