"""Alarte et al. 2014: nodes of templates by equality and rule, compared with the frame that a generator wrote."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import LabelledPage, open_dataset
from blockml.evaluation import block_scores, bootstrap_mean, lcs_scores, paired_difference
from blockml.extract import extract_page
from blockml.extractors import resolve
from blockml.page import Page
from blockml.parsing import parse
from blockml.sites.fitting import group_by_site
from blockml.templates.linked import find_subdigraph
from blockml.templates.linked.folder import FolderSource, open_source
from blockml.templates.mapping import page_template, tree_of
from blockml.templates.site import SiteTemplate
from research.benchmarks.papers.common import DATA, corpus, limited, show, signed, spread
from tools.synthetic_sites.annotate import annotate
from tools.synthetic_sites.build import SITES

__all__ = ["frames", "nodes_section"]

#: Ways to find a template, as options of :func:`blockml.templates.mapping.page_template`.
RULES: Mapping[str, dict[str, Any]] = {
    f"{equality}, {title}": {"equality": equality, **options}
    for equality in ("hybex", "blockml", "strict")
    for title, options in (
        ("all pages (definition 3.3)", {}),
        ("successive (algorithm 2)", {"successive": True}),
        ("2 votes", {"min_votes": 2}),
        ("all pages, optimal matching", {"matching": "optimal"}),
    )
}

#: Parameters of the generators' frames for the content of a single page.
_SLOTS = ("body", "toc", "aside")

_SLOT = "x-slot"
_SLOT_TAGS = re.compile(f"</?{_SLOT}>")


@dataclass(frozen=True, slots=True)
class Framed:
    """Synthetic page with the rows of its tree that its site's frame wrote."""

    url: str
    site: str
    page: Page
    in_frame: NDArray[np.bool_]  #: (n_rows,) of the page's tree.
    judged: NDArray[np.bool_]  #: (n_rows,) rows of the body.


def frames(seed: int = 0) -> list[Framed]:
    """Generate the pages of ``data/sites``, and mark the nodes that their sites' frames wrote.

    What a page passes to its site's frame (body, table of contents, aside) belongs to the page, unless most pages of
    the site pass the same.
    """
    return [framed for module in SITES for framed in _framed(module, seed)]


def _framed(module: ModuleType, seed: int) -> Iterator[Framed]:
    document: Callable[..., str] = vars(module)["_document"]
    signature = inspect.signature(document)
    calls: list[dict[str, str]] = []

    def recorded(*arguments: str) -> str:
        calls.append(dict(signature.bind(*arguments).arguments))
        return document(*arguments)

    with mock.patch.object(module, "_document", recorded):
        module.pages(seed)
    usual = {
        slot
        for slot in _SLOTS
        if slot in signature.parameters and Counter(call[slot] for call in calls).most_common(1)[0][1] > len(calls) / 2
    }
    common = {slot: Counter(call[slot] for call in calls).most_common(1)[0][0] for slot in usual}

    def slotted(*arguments: str) -> str:
        values = dict(signature.bind(*arguments).arguments)
        for slot in set(_SLOTS) & set(values):
            if values[slot] != common.get(slot):
                values[slot] = f"<{_SLOT}>{values[slot]}</{_SLOT}>"
        return document(**values)

    with mock.patch.object(module, "_document", slotted):
        for source in module.pages(seed):
            yield _read(source.url, source.site, annotate(source.html)[0])


def _read(url: str, site: str, html: str) -> Framed:
    """Read a page whose slots are elements."""
    page, with_slots = parse(_SLOT_TAGS.sub("", html), url=url), parse(html, url=url)
    tree, slotted = tree_of(page), tree_of(with_slots)
    is_slot = np.array([slotted.name(row) == _SLOT for row in range(len(slotted))])
    inside = np.zeros(len(slotted), dtype=bool)
    for row in np.flatnonzero(is_slot).tolist():
        inside[row : slotted.end[row]] = True
    kept = np.flatnonzero(~is_slot)
    names = [slotted.name(row) for row in kept.tolist()]
    if names != [tree.name(row) for row in range(len(tree))]:
        raise ValueError(f"{url}: the slots change the tree")
    body = names.index("body")
    judged = np.zeros(len(tree), dtype=bool)
    judged[body : tree.end[body]] = True
    return Framed(url, site, page, ~inside[kept], judged)


def nodes_section(corpora: Path | None, jobs: int) -> None:
    """Print scores of nodes, differences between definition and algorithm, and scores of the main container."""
    made = frames()
    if corpora is None:
        made = [item for item in made if item.site in {framed.site for framed in made[:20]}]
    folder = DATA / "sites"
    found = joblib.Parallel(n_jobs=jobs)(joblib.delayed(_scores)(item, folder / item.site) for item in made)
    by_rule: dict[str, list[tuple[str, tuple[float, ...]]]] = {}
    for site, scores in [row for row in found if row]:
        for rule, values in scores.items():
            by_rule.setdefault(rule, []).append((site, values))
    rows: list[dict[str, object]] = []
    for rule, results in by_rule.items():
        values, sites = np.array([row for _, row in results]), [site for site, _ in results]
        names = ("P", "R", "F1")
        cells = {name: spread(bootstrap_mean(values[:, place], groups=sites)) for place, name in enumerate(names)}
        rows.append({"rule": rule, "pages": len(sites), **cells, "texts: P": float(values[:, 3].mean()),
                     "texts: R": float(values[:, 4].mean())})  # fmt: skip
    show(f"Template nodes of the body, {len({item.site for item in made})} generated sites", rows)
    if corpora is not None:
        show("Definition 3.3 against algorithm 2 on real sites", list(_compared(corpora / "sites", jobs)))
    show("Content: page minus template, with and without the main container", list(_contents(corpora, jobs)))


def _scores(item: Framed, folder: Path) -> tuple[str, dict[str, tuple[float, ...]]] | None:
    """Score every rule on the page's complete subdigraph: nodes, then only texts; None without other pages."""
    graph = find_subdigraph(item.page, FolderSource(folder))
    is_text = tree_of(item.page).tag == 0
    scores: dict[str, tuple[float, ...]] = {}
    for rule, options in RULES.items():
        template = page_template(item.page, graph.pages, **options)
        if template is None:
            return None
        nodes = block_scores(item.in_frame[item.judged], template.mask[item.judged])
        texts = block_scores(item.in_frame[item.judged & is_text], template.mask[item.judged & is_text])
        scores[rule] = (nodes.precision, nodes.recall, nodes.f1, texts.precision, texts.recall)
    return item.site, scores


def _compared(folder: Path, jobs: int) -> Iterator[dict[str, object]]:
    """Count key pages, the first six of each site, on which definition and algorithm differ."""
    dataset = open_dataset(folder)
    sites = [limited_site[:6] for limited_site in group_by_site(dataset.pages)]
    found = joblib.Parallel(n_jobs=jobs)(joblib.delayed(_differences)(folder, site) for site in sites)
    for equality in ("hybex", "blockml", "strict"):
        rows = [row for rows in found for row in rows if row[0] == equality]
        yield {
            "equality": equality,
            "sites": len({site for _, site, _, _ in rows}),
            "key pages": len(rows),
            "differ": sum(extra > 0 for _, _, extra, _ in rows),
            "nodes more": sum(extra for _, _, extra, _ in rows),
            "nodes by definition": sum(nodes for _, _, _, nodes in rows),
        }


def _differences(folder: Path, site: Sequence[LabelledPage]) -> list[tuple[str, str, int, int]]:
    source = open_source(folder, site=site[0].site)
    rows = []
    for labelled in site:
        page = source.get(labelled.url or "") if labelled.url else None
        if page is None:
            continue
        graph = find_subdigraph(page, source)
        for equality in ("hybex", "blockml", "strict"):
            definition = page_template(page, graph.pages, equality=equality)
            algorithm = page_template(page, graph.pages, equality=equality, successive=True)
            if definition is not None and algorithm is not None:
                extra = int((definition.mask != algorithm.mask).sum())
                rows.append((equality, labelled.site, extra, int(definition.mask.sum())))
    return rows


def _contents(corpora: Path | None, jobs: int) -> Iterator[dict[str, object]]:
    """Score ETDM as an extractor, with and without the second stage, on pages with other pages of their template."""
    sets = {"data/sites": open_dataset(f"data={DATA / 'sites'}")}
    if corpora is None:
        sets = {"data/sites": limited(sets["data/sites"])}
    else:
        sets |= {name: corpus(corpora, name) for name in ("ir-research-big9-chaos", "cleanportaleval")}
    for name, dataset in sets.items():
        groups = [group for group in group_by_site(dataset.pages) if len(group) >= 4]
        found = joblib.Parallel(n_jobs=jobs)(joblib.delayed(_content)(group) for group in groups)
        rows = [row for rows in found for row in rows]
        sites = [site for site, _ in rows]
        values = np.array([scores for _, scores in rows])  # (n_pages, 2 systems, P R F1)
        for place, title in enumerate(("page minus template", "main container of it")):
            mean = values[:, place].mean(axis=0).tolist()
            row: dict[str, object] = {"pages of": name, "system": title, "pages": len(rows)}
            row |= {"P": mean[0], "R": mean[1], "F1": spread(bootstrap_mean(values[:, place, 2], groups=sites))}
            gain = paired_difference(values[:, place, 2], values[:, 0, 2], groups=sites)
            yield row | {"gain": signed(gain)}


def _content(group: Sequence[LabelledPage]) -> list[tuple[str, list[tuple[float, float, float]]]]:
    pages = [blockml.parse(labelled.load()[0], url=labelled.url, charset=labelled.charset) for labelled in group]
    template = SiteTemplate.learn(pages)
    rows = []
    for labelled, page in zip(group, pages, strict=True):
        gold = labelled.load()[1]
        text = gold.text() if gold else None
        if not text:
            continue
        scores = []
        for container in (False, True):
            extractor = resolve("etdm", {"container": container}).set_params(template=template)
            found = lcs_scores(text, extract_page(page, extractor).text)
            scores.append((found.precision, found.recall, found.f1))
        rows.append((labelled.site, scores))
    return rows
