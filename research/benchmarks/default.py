"""Measurements of the model recipe `default`: its parts, families of features, number of pages, calibration.

Needs the folder of labelled corpora. Everything is measured on WCXB by folds over sites: page bag F1, averaged over
pages, with 95 % bootstrap intervals; differences are paired over pages. Sections that are run together share their
work.

``parts``        trees, MLPs, and rules by which blocks are kept
``calibration``  probabilities of blocks, and the predicted F1 of pages
``fresh``        results on folds of another seed
``learning``     training on an eighth, a quarter, half and all of the sites
``texts``        out-of-fold texts, as files for ``blockml compare --outputs``
``ablation``     gain and cost of each family of features
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from blockml.cli.output import note, write_output
from blockml.datasets import open_dataset
from blockml.evaluation.bootstrap import Difference, Interval
from blockml.training import recipe
from research.benchmarks.default_families import ablation
from research.benchmarks.default_parts import fresh, learning, parts
from research.benchmarks.default_study import Study, Table
from research.benchmarks.default_texts import texts
from research.benchmarks.default_trust import trust

Section = Callable[[Study, argparse.Namespace], dict[str, Table]]
SECTIONS: Mapping[str, Section] = {
    "parts": lambda study, _: parts(study),
    "calibration": lambda study, options: trust(study, options.figures),
    "fresh": lambda study, _: fresh(study),
    "learning": lambda study, options: learning(study, options.figures),
    "texts": lambda study, options: texts(study, Path(options.texts)),
    "ablation": lambda study, options: ablation(study, full=options.full, timed=options.timed),
}


def markdown(rows: Table) -> str:
    """Format rows as a Markdown table."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([cell(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value: object) -> str:
    """Format one value; scores have no zero before the point."""
    if isinstance(value, Difference):
        return f"{score(value.mean, '+')} [{score(value.low, '+')}, {score(value.high, '+')}]"
    if isinstance(value, Interval):
        return f"{score(value.mean)} [{score(value.low)}, {score(value.high)}]"
    if isinstance(value, float):
        return score(value)
    return "" if value is None else str(value)


def score(value: float, sign: str = "-") -> str:
    """Format three decimals, without the zero before the point."""
    value = round(value, 3) or 0.0  # no negative zero
    return f"{value:{sign}.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:{sign}.3f}"


def plain(value: object) -> object:
    """Convert values for JSON; intervals become mappings."""
    if isinstance(value, Interval | Difference):
        return {name: plain(part) for name, part in value._asdict().items()}
    return value.item() if isinstance(value, np.generic) else value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the selected sections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA", ""))
    parser.add_argument("--dataset", default="wcxb", help="folder of the data set within it (default: %(default)s)")
    parser.add_argument("--pages", type=int, help="number of pages, drawn at random, for a trial")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trees", type=int, help="trees instead of the recipe's own number")
    parser.add_argument("--mlps", type=int, help="MLPs instead of the recipe's own number, from 1")
    parser.add_argument("--full", action="store_true", help="ablation with MLPs and all trees")
    parser.add_argument("--timed", type=int, default=60, help="pages for timing (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--figures", default="research/studies", help="folder of the figures (default: %(default)s)")
    parser.add_argument("--texts", default="out/held-out", help="folder of the texts (default: %(default)s)")
    options = parser.parse_args(argv)
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}")
    if not options.corpora:
        note("BLOCKML_CORPORA names no folder of corpora")
        return 3
    study = opened(options)
    results: dict[str, dict[str, Table]] = {}
    for name in options.sections or SECTIONS:
        start = time.perf_counter()
        results[name] = SECTIONS[name](study, options)
        note(f"{name}: {time.perf_counter() - start:.0f} s")
        if options.format == "table":
            for title, rows in results[name].items():
                write_output(f"### {title}\n\n{markdown(rows)}\n\n", None)
    if options.format == "json":
        held = {
            name: {
                title: [{key: plain(value) for key, value in row.items()} for row in rows] for title, rows in t.items()
            }
            for name, t in results.items()
        }
        write_output(json.dumps(held, indent=2), None)
    return 0


def opened(options: argparse.Namespace) -> Study:
    """Read the pages and measure them."""
    start = time.perf_counter()
    dataset = open_dataset(Path(options.corpora) / options.dataset)
    if options.pages:
        drawn = np.random.default_rng(options.seed).permutation(len(dataset))[: options.pages]
        dataset = replace(dataset, pages=tuple([dataset.pages[i] for i in sorted(drawn.tolist())]))
    chosen = recipe("default")
    chosen = replace(chosen, n_mlps=chosen.n_mlps if options.mlps is None else options.mlps)
    if options.trees is not None:
        chosen = chosen.but(n_trees=options.trees)
    study = Study.opened(dataset, chosen, n_folds=options.folds, seed=options.seed, jobs=options.jobs)
    groups = ", ".join(f"{name} {int(pages.sum())}" for name, pages in study.groups.items())
    note(f"{len(study.table.main)} blocks; pages: {groups}; {time.perf_counter() - start:.0f} s")
    return study


if __name__ == "__main__":
    sys.exit(main())
