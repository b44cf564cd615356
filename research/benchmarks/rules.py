"""Learnt rules on pages that they were not learnt from, beside ``default``, adapted models and hand-written rules.

For each site or template with at least eight pages with gold, rules are learnt from the labels and from the decisions
of ``default`` on three quarters of the pages, and measured on the others, in four folds; so is a model adapted to the
same pages. ``--from 5 10 20`` learns from so many pages instead, and measures on the others. ``--by-hand`` compares
hand-written rules (the folder ``site-rules``) with ``default`` on the pages of all collections whose sites have some.
``--cost`` compares the CPU time of rules, on the pages of ``data/sites``, with that of the parse and of ``default``::

    BLOCKML_CORPORA=DIR python -m research.benchmarks.rules [--from N …] [--by-hand] [--cost]

Scores are F1 of the bags of words of a page against its gold text. Intervals resample groups. In the rows "or
default", ``default`` extracts refused groups, and pages from which the rules keep nothing, as a folder of models does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import blockml
from blockml.cli.output import note, print_rows
from blockml.datasets import Dataset, LabelledPage, open_dataset
from blockml.datasets.gold import ignored_text
from blockml.errors import BlockmlError, UsageError
from blockml.evaluation import bag_scores, bootstrap_mean
from blockml.extractors import Extractor, TrainedExtractor, trained
from blockml.extractors.routed import RulesExtractor
from blockml.rules import AnyRules, compile_selector
from blockml.text.addresses import split_host
from blockml.training import adapt
from blockml.training.rule_learning import learn_rules

#: Data sets with several pages of a site.
DATASETS = ("cleanportaleval", "l3s-gn1", "dragnet-2012", "ir-research-big9-chaos", "cleaneval", "wcxb")
#: Data sets without, whose sites may have hand-written rules.
MORE = ("fundus", "magic-html", "mercury", "chinese-web-content", "ftr-articles", "recipes")
LEAST, FOLDS = 8, 4


def page_f1(
    extractor: Extractor,
    pages: Sequence[LabelledPage],
    rules: AnyRules | None = None,
    fallback: Extractor | None = None,
) -> list[float]:
    """Return the F1 of each page; the fallback extracts pages from which the extractor keeps nothing."""
    values = []
    for page in pages:
        html, gold = page.load()
        text = None if gold is None else gold.text()
        if gold is not None and text is not None:
            found = blockml.extract(html, url=page.url, charset=page.charset, model=extractor, rules=rules)
            if fallback is not None and not found.text:
                found = blockml.extract(html, url=page.url, charset=page.charset, model=fallback)
            values.append(bag_scores(text, found.text, ignored=ignored_text(gold)).f1)
    return values


def groups(least: int, names: Sequence[str]) -> Iterator[tuple[str, Dataset, list[LabelledPage]]]:
    """Yield the groups of pages of all data sets."""
    for name in names:
        dataset = open_dataset(Path(os.environ["BLOCKML_CORPORA"]) / name)
        found: dict[str, list[LabelledPage]] = defaultdict(list)
        for page in dataset.pages:
            if page.trusted:
                found[page.template_group].append(page)
        yield from ((f"{name} {group}", dataset, pages) for group, pages in found.items() if len(pages) >= least)


def measure(
    group: str, dataset: Dataset, train: Sequence[LabelledPage], test: Sequence[LabelledPage], *, only_rules: bool
) -> dict[str, Any]:
    """Learn from some pages of a group and measure on others; return mean F1 of each system and what was refused."""
    default = trained("default")
    base = float(np.mean(page_f1(default, test)))
    row: dict[str, Any] = {"group": group, "default": base}
    for against, use_labels in (("labels", True), ("decisions", False)):
        found = learn_rules(train, model=default, site="*", use_labels=use_labels)
        row[f"{against} accepted"] = bool(found.rules.by_site)
        row[f"{against} or default"] = base
        if found.rules.by_site:
            row[f"{against} or default"] = float(np.mean(page_f1(RulesExtractor(found.rules), test, fallback=default)))
        row[f"{against} foretold"] = [result.learnt.f1 for result in found.results if result.learnt is not None]
        if not found.rules.by_site:
            found = learn_rules(train, model=default, site="*", use_labels=use_labels, least_f1=0.0)
        if found.rules.by_site:
            row[against] = float(np.mean(page_f1(RulesExtractor(found.rules), test)))
            if not only_rules:
                row[f"default + {against}"] = float(np.mean(page_f1(default, test, found.rules)))
        else:
            row |= {against: 0.0, f"default + {against}": base}
    if only_rules:
        return row
    try:
        model = adapt(default.model, [replace(dataset, pages=tuple(train))]).model
    except BlockmlError as error:
        note(f"{group}: {error}")
        model = None
    row["adapted"] = base if model is None else float(np.mean(page_f1(TrainedExtractor(model), test)))
    return row


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return mean F1 of each system over groups, and its paired difference from ``default``, with intervals."""
    by_group: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_group[row["group"]].append(row)
    found = []
    systems = ["default", "labels", "labels or default", "default + labels", "decisions", "decisions or default",
               "default + decisions", "adapted"]  # fmt: skip
    for system in systems:
        if any(system not in row for row in rows):
            continue
        for only in (False, True):
            against = "labels" if "labels" in system else "decisions"
            if only and system in {"adapted", "labels or default", "decisions or default"}:
                continue
            # A group of which one fold is accepted has the page of another layout in that fold's test.
            chosen = [own for own in by_group.values() if not only or all(row[f"{against} accepted"] for row in own)]
            if not chosen:
                continue
            values = np.array([np.mean([row[system] for row in own]) for own in chosen])
            gains = np.array([np.mean([row[system] - row["default"] for row in own]) for own in chosen])
            gain = bootstrap_mean(gains)
            pages = f"accepted in all folds by {against}" if only else "all"
            found.append({
                "system": system, "groups": len(values), "pages of": pages,
                "f1": round(float(values.mean()), 3), "difference": round(gain.mean, 3), "low": round(gain.low, 3),
                "high": round(gain.high, 3),
            })  # fmt: skip
    return found


def hand_written() -> Mapping[str, Any]:
    """Return the hand-written rules by host, without those that our selectors can't express."""
    path = Path(os.environ["BLOCKML_CORPORA"], "site-rules", "rules.jsonl.gz")
    found = {}
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in map(json.loads, stream):
            within, drop = list[str](), list[str]()
            for text in line["rules"].splitlines():
                key, _, value = (part.strip() for part in text.partition(":"))
                if key == "strip_id_or_class" and value:
                    value = value.strip("'\"")
                    drop.append(f"//*[contains(@id, '{value}') or contains(@class, '{value}')]")
                elif key in {"body", "strip"} and value:
                    (within if key == "body" else drop).append(value)
            layouts = [{"within": body, "drop": _legal(drop)} for body in _legal(within)[:20]]
            found[line["site"].removeprefix("www.")] = [layout if layout["drop"] else {"within": layout["within"]}
                                                         for layout in layouts]  # fmt: skip
    return {site: layouts for site, layouts in found.items() if layouts}


def _legal(texts: Sequence[str]) -> list[str]:
    legal = []
    for text in texts:
        try:
            compile_selector(text)
        except UsageError:
            continue
        if text.startswith(("/", "(", "./")):
            legal.append(text)
    return legal[:150]


def by_hand(names: Sequence[str]) -> list[dict[str, Any]]:
    """Compare hand-written rules with ``default`` on all pages whose sites have some."""
    sites, default = hand_written(), trained("default")
    pages = defaultdict(list)
    for name in names:
        for page in open_dataset(Path(os.environ["BLOCKML_CORPORA"]) / name).pages:
            host = split_host(page.url)[1].removeprefix("www.")
            if host in sites and page.trusted:
                pages[host].append(page)
    rows = []
    for host, own in pages.items():
        extractor = RulesExtractor({host: sites[host]})
        for page in own:
            html, _ = page.load()
            matched = extractor.matches(blockml.parse(html, url=page.url, charset=page.charset))
            values = [page_f1(extractor, [page]), page_f1(default, [page])]
            if values[0]:
                rows.append({"site": host, "matched": matched, "by hand": values[0][0], "default": values[1][0]})
    return rows


def cost(rounds: int = 8) -> list[dict[str, Any]]:
    """Return the CPU time of a page with rules and without, in turns: the median round, and its ratio to others."""
    dataset = open_dataset(Path(__file__).resolve().parents[2] / "data" / "sites")
    pages = [(page.load()[0], page.url) for page in dataset.pages]
    rules, default = learn_rules(dataset, model="default").rules, trained("default")
    ways: dict[str, Callable[..., object]] = {
        "parse": blockml.parse,
        "default": partial(blockml.extract, model=default),
        "default with rules": partial(blockml.extract, model=default, rules=rules),
        "rules:FILE": partial(blockml.extract, model=RulesExtractor(rules)),
    }
    times = defaultdict[str, list[float]](list)
    for _ in range(rounds + 1):
        for name, run in ways.items():
            start = time.process_time()
            for html, url in pages:
                run(html, url=url)
            times[name].append(1000 * (time.process_time() - start) / len(pages))
    medians = {name: float(np.median(values[1:])) for name, values in times.items()}
    return [
        {"of": name, "ms": round(ms, 2), "of default": round(ms / medians["default"], 2), "rules": len(rules.names())}
        for name, ms in medians.items()
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dataset", action="append", metavar="NAME", help="folders below BLOCKML_CORPORA")
    parser.add_argument(
        "--from", type=int, nargs="+", default=[], metavar="N", dest="sizes", help="pages to learn from"
    )
    parser.add_argument("--by-hand", action="store_true", help="measure hand-written rules")
    parser.add_argument("--only-rules", action="store_true", help="measure no adapted models and no rules on top")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="measure every Nth group only")
    parser.add_argument("--rows", metavar="FILE", help="also write the scores of each group and fold as JSON lines")
    parser.add_argument("--cost", action="store_true", help="measure only the CPU time, on data/sites")
    arguments = parser.parse_args(argv)
    if arguments.cost:
        print_rows(cost(), "table")
        return 0
    if not os.environ.get("BLOCKML_CORPORA"):
        note("set BLOCKML_CORPORA to the folder of the labelled corpora")
        return 2
    if arguments.by_hand:
        rows = by_hand(arguments.dataset or (*DATASETS, *MORE))
        matched = [row for row in rows if row["matched"]]
        for name, chosen in (("all", rows), ("matched", matched)):
            means = [round(float(np.mean([row[key] for row in chosen])), 3) for key in ("by hand", "default")]
            note(
                f"{name}: {len(chosen)} pages of {len({row['site'] for row in chosen})} sites: by hand, default {means}"
            )
        return 0
    for size in arguments.sizes or [0]:
        rows = []
        found = list(groups(max(LEAST, size + 3), arguments.dataset or DATASETS))[:: arguments.every]
        for number, (name, dataset, pages) in enumerate(found, 1):
            folds = [(pages[:size], pages[size:])] if size else [
                ([page for n, page in enumerate(pages) if n % FOLDS != fold], pages[fold::FOLDS])
                for fold in range(FOLDS)
            ]  # fmt: skip
            rows += [measure(name, dataset, *fold, only_rules=arguments.only_rules) for fold in folds]
            note(f"{number} of {len(found)}: {name}")
        if arguments.rows:
            Path(arguments.rows).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        print_rows(summary(rows), "table")
        for against in ("labels", "decisions"):
            refused = np.mean([not row[f"{against} accepted"] for row in rows])
            note(f"learnt from {size or 'three quarters'}, {against}: {refused:.0%} of {len(rows)} refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
