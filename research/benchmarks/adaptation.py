"""Adaptation of the default model to sites: page F1 on other pages of the site, before and after.

For each site or template with at least ten labelled pages, five pages are labelled block by block, as by clicks:
page folders with ``labels.jsonl``, whose labels are those of the gold. ``blockml train --base default`` adapts to
them, and both models are measured on the other pages, with the interval of a paired bootstrap over pages::

    BLOCKML_CORPORA=DIR python -m research.benchmarks.adaptation
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from blockml.cli.output import note, print_rows
from blockml.datasets import Dataset, LabelledPage, open_dataset
from blockml.datasets.folders import write_labels
from blockml.evaluation.bootstrap import paired_difference
from blockml.evaluation.page_results import evaluate_extractor
from blockml.extractors import TrainedExtractor, trained
from blockml.model import Model
from blockml.page import Label
from blockml.parsing import parse
from blockml.training import adapt

#: Data sets with several pages of a site that the default model was not trained on.
DATASETS = ("cleanportaleval", "l3s-gn1", "dragnet-2012", "ir-research-big9-chaos")
LABELLED = 5


def click(page: LabelledPage, folder: Path, model: Model) -> None:
    """Write a page folder with the labels that somebody who follows the gold would click."""
    html, gold = page.load()
    if gold is None:
        return
    folder.mkdir(parents=True)
    (folder / "page.html").write_bytes(html)
    (folder / "meta.json").write_text(json.dumps({"id": page.id, "url": page.url, "encoding": page.charset}))
    parsed = parse(html, url=page.url, charset=page.charset, **model.parsing.options())
    main = gold.label(parsed).main.tolist()
    write_labels(folder / "labels.jsonl", parsed.blocks.texts, [Label.MAIN if kept else Label.OTHER for kept in main])


def page_f1(model: Model, dataset: Dataset) -> list[float]:
    """Return the bag-of-words F1 of each page by the whole gold text."""
    values = [result.metric("bag_f1") for result in evaluate_extractor(TrainedExtractor(model), dataset)]
    return [value for value in values if value is not None]


def groups(dataset: Dataset, least: int) -> dict[str, list[LabelledPage]]:
    """Return the pages with valid gold of each site or template that has enough of them, in the data set's order."""
    found: dict[str, list[LabelledPage]] = defaultdict(list)
    for page in dataset.pages:
        if page.trusted:
            found[page.template_group].append(page)
    return {name: pages for name, pages in found.items() if len(pages) >= least}


def measure(base: Model, dataset: Dataset, name: str, pages: Sequence[LabelledPage]) -> dict[str, object]:
    """Adapt to the first pages of a group and measure on the others."""
    with tempfile.TemporaryDirectory() as folder:
        for number, page in enumerate(pages[:LABELLED]):
            click(page, Path(folder, "clicked", str(number)), base)
        found = adapt(base, [open_dataset(Path(folder, "clicked"))])
    others = replace(dataset, pages=tuple(pages[LABELLED:]))
    before = page_f1(base, others)
    after = before if found.model is None else page_f1(found.model, others)
    gain = paired_difference(after, before)
    return {
        "data set": dataset.name,
        "group": name,
        "pages": len(before),
        "adapted": found.model is not None,
        "before": round(float(np.mean(before)), 3),
        "after": round(float(np.mean(after)), 3),
        "difference": round(gain.mean, 3),
        "low": round(gain.low, 3),
        "high": round(gain.high, 3),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all groups and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dataset", action="append", metavar="NAME", help="folders below BLOCKML_CORPORA")
    parser.add_argument("--least", type=int, default=10, metavar="N", help="pages that a group needs")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    arguments = parser.parse_args(argv)
    corpora = os.environ.get("BLOCKML_CORPORA")
    if not corpora:
        note("set BLOCKML_CORPORA to the folder of the labelled corpora")
        return 2
    base = trained("default").model
    rows = []
    for name in arguments.dataset or DATASETS:
        dataset = open_dataset(Path(corpora) / name)
        rows += [measure(base, dataset, *group) for group in groups(dataset, arguments.least).items()]
    print_rows(rows, arguments.format)
    worse = [str(row["group"]) for row in rows if float(str(row["high"])) < 0]
    better = sum(float(str(row["low"])) > 0 for row in rows)
    means = [np.mean([float(str(row[column])) for row in rows]) for column in ("before", "after")]
    note(
        f"{len(rows)} groups, {sum(bool(row['adapted']) for row in rows)} adapted: mean F1 {means[0]:.3f} before, "
        f"{means[1]:.3f} after; {better} significantly better, {len(worse)} significantly worse {', '.join(worse)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
