"""Gain from other pages of a site: frequency-based extraction, its parameters, and models with their columns.

Needs BLOCKML_CORPORA: labelled pages with several pages per template, CleanPortalEval (by portal) and the Big9 half of
ir-research-big9-chaos (by site and year). Models are trained on these and on ``data/sites``, by folds over sites, or
on WCXB and ``data/sites``. Scores are bag-of-words F1 of pages with a gold text; intervals resample whole sites.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import note, print_rows
from blockml.datasets import Dataset, LabelledPage, open_dataset
from blockml.document.text import render_text
from blockml.evaluation import bag_scores, bootstrap_mean, paired_difference
from blockml.evaluation.page_results import PageResult, evaluate_extractor
from blockml.extract import extract_page
from blockml.extractors import Extractor, resolve
from blockml.features import feature_set
from blockml.features.site_pages import UNKNOWN
from blockml.parsing.limits import ParsingOptions
from blockml.sites.fitting import group_by_site, parse_pages
from blockml.sites.knowledge import Unrepeated, from_links
from blockml.sites.template_methods import TextFrequency
from blockml.templates.frequency import THETA
from blockml.templates.linked import find_subdigraph
from blockml.templates.linked.folder import FolderSource
from blockml.templates.mapping import page_template, template_share
from blockml.templates.site import SiteTemplate
from blockml.training import BlockTable, build_table, cross_validate, fit_tree, recipe, to_trees, tune

ROOT = Path(__file__).resolve().parents[2]

_COLUMNS = feature_set("kim2013-site").columns

#: Minimum number of pages of a template; with fewer only the fallback applies.
LEAST = 4

SYSTEMS = ("plain", "accb", "dsc", "kim2013", "df", "blockdf", "entropy", "ibdf", "etdm")
THETAS = (0.1, 0.2, THETA, 0.5, 0.75, 0.9)
SIZES = (4, 5, 6, 8, 10, 15, 30)


def siblings_only(dataset: Dataset) -> Dataset:
    """Return the pages of templates with enough pages."""
    groups = [group for group in group_by_site(dataset.pages) if len(group) >= LEAST]
    return replace(dataset, pages=tuple(page for group in groups for page in group))


def read(corpora: Path) -> dict[str, Dataset]:
    """Return the data sets by name."""
    portals = open_dataset(f"cleanportaleval={corpora / 'cleanportaleval'}")
    both = open_dataset(f"big9={corpora / 'ir-research-big9-chaos'}")
    return {
        "cleanportaleval": siblings_only(portals),
        "big9": siblings_only(replace(both, pages=tuple(page for page in both.pages if page.extra.get("cluster")))),
    }


def systems() -> dict[str, Extractor]:
    """Return the extractors by name."""
    named = {name: resolve(name) for name in SYSTEMS}
    named["entropy, theta by page"] = resolve("entropy", {"theta": None})
    for name in ("accb", "kim2013", "stacking"):
        named[f"{name}, less what repeats"] = Unrepeated([TextFrequency(fallback="plain"), resolve(name)])
    return named


def compared(datasets: Mapping[str, Dataset], jobs: int) -> Iterator[dict[str, object]]:
    """Compute word scores of every system, and differences from two single-page extractors."""
    for name, dataset in datasets.items():
        results: dict[str, list[PageResult]] = {}
        for system, extractor in systems().items():
            note(f"{name}: {system}")
            results[system] = [page for page in evaluate_extractor(extractor, dataset, jobs=jobs) if page.bag]
        f1 = {system: np.array([page.bag.f1 for page in pages if page.bag]) for system, pages in results.items()}
        for system, pages in results.items():
            bags = [page.bag for page in pages if page.bag]
            sites = [page.site for page in pages]
            row: dict[str, object] = {
                "pages of": name,
                "system": system,
                "precision": f"{np.mean([bag.precision for bag in bags]):.3f}",
                "recall": f"{np.mean([bag.recall for bag in bags]):.3f}",
                "recall >= .99": f"{np.mean([bag.recall >= 0.99 for bag in bags]):.0%}",
                "F1": f"{f1[system].mean():.3f}",
                "LCS F1": f"{np.mean([page.lcs.f1 for page in pages if page.lcs]):.3f}",
            }
            for other in ("accb", "kim2013"):
                gain = paired_difference(f1[system], f1[other], groups=sites)
                row[f"minus {other}"] = f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
            row["ms"] = f"{1000 * np.median([page.seconds for page in pages]):.1f}"
            yield row


def by_parameter(datasets: Mapping[str, Dataset]) -> Iterator[dict[str, object]]:
    """Evaluate the document-frequency rule by threshold and number of pages."""
    for name, dataset in datasets.items():
        found: dict[tuple[str, float, float], list[tuple[float, float, float]]] = {}
        for group in group_by_site(dataset.pages):
            pages = list(parse_pages(group, ParsingOptions()))
            golds = [gold.text() if (gold := page.load()[1]) else None for page in group]
            rng = np.random.default_rng(0)
            for number, (page, text) in enumerate(zip(pages, golds, strict=True)):
                if text is None:
                    continue
                others = rng.permutation([i for i in range(len(pages)) if i != number]).tolist()
                runs = [("theta", theta, len(pages)) for theta in THETAS]
                runs += [("pages", THETA, size) for size in SIZES if size <= len(pages)]
                for kind, theta, size in runs:
                    site = SiteTemplate.count([page, *(pages[i] for i in others[: size - 1])])
                    extractor = TextFrequency(site, theta=theta, fallback="plain", min_train=2)
                    bag = bag_scores(text, extract_page(page, extractor).text)
                    key = (kind, round(theta, 3), size if kind == "pages" else 0)
                    found.setdefault(key, []).append((bag.precision, bag.recall, bag.f1))
        for (varied, share, learnt), scores in sorted(found.items()):
            precision, recall, f1 = np.mean(scores, axis=0)
            yield {
                "pages of": name,
                "varied": varied,
                "theta": share,
                "learnt": learnt or "all",
                "precision": f"{precision:.3f}",
                "recall": f"{recall:.3f}",
                "F1": f"{f1:.3f}",
                "n": len(scores),
            }


def rarely(table: BlockTable) -> NDArray[np.bool_]:
    """Return (n_rows,) blocks that the document-frequency rule keeps, from a table with these columns."""
    return np.asarray(table.matrix[:, _COLUMNS.index("sitetext_0")] <= np.float32(THETA))


def folded(datasets: Mapping[str, Dataset], jobs: int, n_folds: int) -> Iterator[dict[str, object]]:
    """Cross-validate models with and without columns about the site, by site."""
    pages = [*datasets.values(), open_dataset(f"data={ROOT / 'data' / 'sites'}")]
    tables = {name: build_table(pages, recipe(name), jobs=jobs) for name in ("kim2013", "kim2013-site")}
    kept = {}
    for name, table in tables.items():
        note(f"{n_folds} folds by site: {name}")
        kept[name] = cross_validate(table, recipe(name), "site", n_folds=n_folds, jobs=jobs).kept
    rare = rarely(tables["kim2013-site"])
    kept |= {f"{name}, less what repeats": kept[name] & rare for name in tables}
    yield from _rows("trained on other sites of these", kept, tables["kim2013"])


def transferred(datasets: Mapping[str, Dataset], corpora: Path, jobs: int) -> Iterator[dict[str, object]]:
    """Evaluate models trained on WCXB and ``data/sites``, where few pages have other pages of their site."""
    sources = [open_dataset(f"wcxb={corpora / 'wcxb'}"), open_dataset(f"data={ROOT / 'data' / 'sites'}")]
    kept: dict[str, NDArray[np.bool_]] = {}
    tests = {}
    for name in ("kim2013", "kim2013-site"):
        note(f"trained on WCXB: {name}")
        chosen = recipe(name)
        table = build_table(sources, chosen, jobs=jobs)
        rows = table.trainable
        tuning = tune(table, chosen, rows)
        trees = to_trees(fit_tree(chosen, table.matrix[rows], table.main[rows], 0), tuning.shrinkage)
        tests[name] = build_table(list(datasets.values()), chosen, jobs=jobs)
        kept[name] = trees.predict(tests[name].matrix).astype(np.float32) >= np.float32(tuning.threshold)
        if name == "kim2013-site":
            unknown = tests[name].matrix.copy()
            unknown[:, [name.startswith("site") for name in _COLUMNS]] = UNKNOWN
            scores = trees.predict(unknown).astype(np.float32)
            kept["kim2013-site, no site pages given"] = scores >= np.float32(tuning.threshold)
    rare = rarely(tests["kim2013-site"])
    kept |= {f"{name}, less what repeats": kept[name] & rare for name in ("kim2013", "kim2013-site")}
    yield from _rows("trained on WCXB", kept, tests["kim2013"])


def _rows(training: str, kept: Mapping[str, NDArray[np.bool_]], table: BlockTable) -> Iterator[dict[str, object]]:
    scored = table.pages_with_text()
    names = [table.pages[number].id.partition("/")[0] for number in scored]
    f1 = {system: table.page_f1(rows, scored) for system, rows in kept.items()}
    for name in [*dict.fromkeys(names), "all"]:
        chosen = np.array([name in ("all", item) for item in names])
        sites = [table.pages[number].site for number, one in zip(scored, chosen, strict=True) if one]
        for system, values in f1.items():
            mean = bootstrap_mean(values[chosen], groups=sites)
            gain = paired_difference(values[chosen], f1["kim2013"][chosen], groups=sites)
            yield {
                "": training,
                "pages of": name,
                "n": int(chosen.sum()),
                "model": system,
                "F1": f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]",
                "minus kim2013": f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]",
            }


def linked(jobs: int) -> Iterator[dict[str, object]]:
    """Evaluate the procedure that starts from one page (links, pages of its template, content) on ``data/sites``."""
    dataset = open_dataset(f"data={ROOT / 'data' / 'sites'}")
    runs: dict[str, dict[str, object]] = {f"df, {metric}": {"metric": metric} for metric in ("cp", "cps", "ctss")}
    runs |= {f"df, at most {n} pages": {"max_pages": n} for n in (4, 8, 16, 32)}
    runs |= {f"df, at most 8 pages, {order}": {"max_pages": 8, "order": order} for order in ("hierarchy", "menu")}
    sites = group_by_site(dataset.pages)
    with joblib.Parallel(n_jobs=jobs) as parallel:
        found = [row for rows in parallel(joblib.delayed(_linked)(site, runs) for site in sites) for row in rows]
    for name in dict.fromkeys(row[0] for row in found):
        rows = np.array([row[1:] for row in found if row[0] == name])
        precision, recall, f1, loaded, learnt, fallbacks = rows.mean(axis=0)
        yield {
            "from one page": name,
            "precision": f"{precision:.3f}",
            "recall": f"{recall:.3f}",
            "F1": f"{f1:.3f}",
            "pages loaded": f"{loaded:.1f}",
            "learnt from": f"{learnt:.1f}",
            "fallback": f"{fallbacks:.0%}",
        }


def _linked(
    site: Sequence[LabelledPage], runs: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, float, float, float, float, float, float]]:
    """Score each run on each page of a site: precision, recall, F1, pages loaded, pages learnt from, fallback."""
    source = FolderSource(site[0].path.parent.parent)
    rows: list[tuple[str, float, float, float, float, float, float]] = []
    for labelled in site:
        gold, page = labelled.load()[1], source.get(labelled.url or "")
        text = gold.text() if gold else None
        if page is None or text is None:
            continue
        for name, options in runs.items():
            extractor, training = from_links(TextFrequency(), page, source, **options)
            result = extract_page(page, extractor)
            bag = bag_scores(text, result.text)
            learnt = len(training.pages)
            fallback = any("the template" in remark for remark in result.remarks)
            rows.append((name, bag.precision, bag.recall, bag.f1, training.n_loaded, learnt, fallback))
        graph = find_subdigraph(page, source)
        for name, equality, votes in (("etdm, hybex, all", "hybex", None), ("etdm, blockml, 2 votes", "blockml", 2)):
            template = page_template(page, graph.pages, equality=equality, min_votes=votes)
            kept = np.ones(len(page.blocks), dtype=bool)
            if template is not None:
                kept = template_share(page, template.nodes) < 0.5
            bag = bag_scores(text, render_text(page, kept))
            rows.append((name, bag.precision, bag.recall, bag.f1, graph.n_loaded, len(graph.pages), template is None))
        for name in ("plain", "accb", "dsc", "kim2013"):
            bag = bag_scores(text, extract_page(page, resolve(name)).text)
            rows.append((name, bag.precision, bag.recall, bag.f1, 1, 0, 0))
    return rows


def show(rows: Sequence[dict[str, object]]) -> None:
    """Print a table."""
    print_rows(rows, "table")
    print()


def main() -> int:
    """Print the selected tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="systems, parameters, links, folds, transfer (default: all)"
    )
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    folder = os.environ.get("BLOCKML_CORPORA")
    if not folder:
        note("set BLOCKML_CORPORA to the folder of the labelled corpora")
        return 2
    corpora = Path(folder)
    datasets = read(corpora)
    parts = arguments.parts or ["systems", "parameters", "links", "folds", "transfer"]
    if "systems" in parts:
        show(list(compared({**datasets, "data": open_dataset(f"data={ROOT / 'data' / 'sites'}")}, arguments.jobs)))
    if "parameters" in parts:
        show(list(by_parameter(datasets)))
    if "links" in parts:
        show(list(linked(arguments.jobs)))
    if "folds" in parts:
        show(list(folded(datasets, arguments.jobs, arguments.folds)))
    if "transfer" in parts:
        show(list(transferred(datasets, corpora, arguments.jobs)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
