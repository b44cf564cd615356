"""How well blocks are told apart by what they are, and what it is worth to know readers' comments.

Needs BLOCKML_CORPORA. Areas are learnt from dataset-popular, WCXB (weak labels) and the made pages in ``data``. They
are measured on L3S-GN1, which nothing is learnt from, and by folds over sites on pages whose labels people gave.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.areas import Areas
from blockml.cli.output import print_rows
from blockml.datasets import Dataset, open_dataset
from blockml.evaluation.areas import Confusion, confusion
from blockml.features import build
from blockml.learning.areas import AREAS, AreaRows, area_rows, fit_areas, merged
from blockml.modelfile import Parsing
from blockml.page import Label
from blockml.parsing import parse

ROOT = Path(__file__).resolve().parent.parent

REST = "rest"
#: What people told apart in L3S-GN1; all else is one.
L3S = (Label.MAIN, Label.HEADING, Label.COMMENT, Label.RELATED)
THRESHOLDS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
BLANKS = (0.0, 0.5, 0.8)
FOLDS = 3


class Measured:
    """Pages with whole labels: gold names, words, page numbers, and a matrix of all blocks."""

    def __init__(self, dataset: Dataset) -> None:
        parsing = asdict(Parsing(tokenizer="cjk"))
        matrices, names, words, sizes = [], [], [], []
        for labelled in dataset.pages:
            html, gold = labelled.load()
            page = parse(html, url=labelled.url, charset=labelled.charset, **parsing)
            told = gold.label(page).labels if gold is not None else None
            if told is None or not len(page.blocks):
                continue
            matrices.append(build(page, "page"))
            names += [str(merged(label)) for label in told]
            words.append(page.blocks.n_words)
            sizes.append(len(told))
        self.matrix = np.concatenate(matrices)
        self.names = np.array(names)
        self.words = np.concatenate(words)
        self.page = np.repeat(np.arange(len(sizes)), sizes)


def training_sets(corpora: Path) -> list[Dataset]:
    """What areas may be learnt from: public domain, our own, annotations under CC-BY-4.0."""
    specs = [corpora / "dataset-popular", corpora / "wcxb", ROOT / "data" / "sites", ROOT / "data" / "pages"]
    return [open_dataset(spec) for spec in specs]


def l3s(corpora: Path) -> Measured:
    """The pages that are only measured on."""
    return Measured(open_dataset(f"l3s={corpora / 'l3s-gn1' / 'pages_annotated'}", layout="annotated"))


def as_l3s(names: NDArray[np.str_]) -> list[str]:
    """Names of labels that L3S-GN1 doesn't tell apart become one."""
    wanted = {str(label) for label in L3S}
    return [name if name in wanted else REST for name in names.tolist()]


def table_of(what: str, table: Confusion) -> Iterator[dict[str, Any]]:
    """Rows to print."""
    return ({"measured on": what} | row for row in table.rows())


def on_l3s(areas: Areas, measured: Measured, name: str = "l3s-gn1") -> list[dict[str, Any]]:
    """Confusion by blocks and by words."""
    predicted = np.array([str(label) for label in areas.label(measured.matrix)])
    labels = [*map(str, L3S), REST]
    truth, said = as_l3s(measured.names), as_l3s(predicted)
    return [
        row
        for unit, weights in (("blocks", None), ("words", measured.words))
        for row in table_of(f"{name}, {unit}", confusion(truth, said, labels, weights))
    ]


def comments(areas: Areas, measured: Measured) -> list[dict[str, Any]]:
    """What leaving out blocks by the probability of a comment costs and gains, on pages with comments and without."""
    probability = areas.predict(measured.matrix)[:, areas.labels.index(Label.COMMENT)]
    truth, words = measured.names, measured.words
    has = np.bincount(measured.page, truth == "comment") > 0
    rows = []
    for threshold in THRESHOLDS:
        out = probability >= threshold
        table = confusion(np.where(truth == "comment", "yes", "no"), np.where(out, "yes", "no"), ["no", "yes"], words)
        content = np.isin(truth, ["main", "heading"])
        lost = content & out
        hurt = np.bincount(measured.page, lost * words) > 0.1 * np.bincount(measured.page, content * words)
        rows.append(
            {
                "threshold": threshold,
                "precision": round(table.of("yes").precision, 3),
                "recall": round(table.of("yes").recall, 3),
                "f1": round(table.of("yes").f1, 3),
                "content words lost": round(float((lost * words).sum() / (content * words).sum()), 4),
                "pages losing a tenth": int(hurt.sum()),
                "of them without comments": int((hurt & ~has).sum()),
                "pages": len(has),
            }
        )
    return rows


def by_site(rows: AreaRows, whole: AreaRows, seed: int = 0) -> list[dict[str, Any]]:
    """Folds over sites of pages that people labelled, ``whole``; weakly labelled pages are learnt from in each."""
    sites = sorted(set(whole.sites))
    order = np.random.default_rng(seed).permutation(len(sites))
    fold_of = {sites[place]: number % FOLDS for number, place in enumerate(order.tolist())}
    fold, whole_fold = (np.array([fold_of.get(site, -1) for site in part.sites]) for part in (rows, whole))
    labels = list(map(str, AREAS))
    total = confusion([], [], labels)
    for number in range(FOLDS):
        areas = fit_areas(rows.of_pages(fold != number), seed=seed)
        left = whole.of_pages(whole_fold == number)
        total += confusion([labels[i] for i in left.label], list(map(str, areas.label(left.matrix))), labels)
    return list(table_of("pages labelled by people, folds over sites", total))


def blanking(rows: AreaRows, measured: Measured) -> list[dict[str, Any]]:
    """What it is worth to hide names in the markup from a part of the weakly labelled pages."""
    result: list[dict[str, Any]] = []
    for share in BLANKS:
        areas = fit_areas(rows, blank=share)
        table = on_l3s(areas, measured, f"l3s-gn1, names hidden in {share:.0%} of pages")
        result += [{key: row[key] for key in ("measured on", "label", "precision", "recall", "f1")} for row in table]
    return result


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["l3s", "comments", "sites", "blanking"], nargs="+")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    corpora = Path(os.environ["BLOCKML_CORPORA"])
    sets = training_sets(corpora)
    rows = area_rows(sets, seed=arguments.seed, jobs=arguments.jobs)
    result: list[dict[str, Any]] = []
    if {"l3s", "comments", "blanking"} & set(arguments.part):
        measured = l3s(corpora)
    if {"l3s", "comments"} & set(arguments.part):
        areas = fit_areas(rows, seed=arguments.seed)
    for part in arguments.part:
        if part == "l3s":
            result = on_l3s(areas, measured)
        elif part == "comments":
            result = comments(areas, measured)
        elif part == "blanking":
            result = blanking(rows, measured)
        else:
            people = [replace(data, pages=()) if data.name == "wcxb" else data for data in sets]
            result = by_site(rows, area_rows(people, most=None, jobs=arguments.jobs), arguments.seed)
        print_rows(result, arguments.format)


if __name__ == "__main__":
    main()
