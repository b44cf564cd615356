"""Effects of the choice of the HTML parser: speed, blocks, extractions, and models trained with another parser.

Needs BLOCKML_CORPORA and selectolax. Back ends are compared on the same pages, with intervals of paired
differences, because released models were trained on WCXB. html5lib is slow and runs on a fixed sample.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean, median

import numpy as np
from lxml import etree
from numpy.typing import NDArray

import blockml
from blockml.cli.output import note, print_rows
from blockml.datasets import Dataset, LabelledPage, open_dataset
from blockml.evaluation import bag_scores, paired_difference
from blockml.extractors.trained_extractor import TrainedExtractor
from blockml.page import Page
from blockml.parsing import Limits, build, parse
from blockml.parsing.decoding import decode
from blockml.parsing.limits import ParsingOptions
from blockml.training import BlockTable, build_table, fit_tree, folds, recipe, to_trees, tune

DATASETS: Mapping[str, str] = {
    "wcxb": "wcxb",
    "l3s-gn1": "l3s-gn1/pages_annotated",
    "cleaneval": "cleaneval",
    "cleanportaleval": "cleanportaleval",
}
MODELS = ("kim2013", "default")
FAST, SLOW = ("lxml", "lexbor"), "html5lib"
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Study:
    """Pages of a data set, and those on which the slow back end runs."""

    datasets: Mapping[str, Dataset]
    sample: int
    folds: int
    seed: int

    def pages(self, name: str, *backends: str) -> list[LabelledPage]:
        """Return the pages on which the given back ends are compared."""
        pages = list(self.datasets[name].pages)
        if SLOW not in backends or len(pages) <= self.sample:
            return pages
        return random.Random(self.seed).sample(pages, self.sample)  # noqa: S311 (a sample, no secret)


def speed(study: Study) -> Iterator[Row]:
    """Measure CPU time from text to nodes, in turns page by page; the minimum of several rounds counts."""
    pages = study.pages("wcxb", SLOW)
    best: dict[str, list[float]] = {}
    for labelled in pages:
        source = decode(labelled.load()[0], labelled.charset).utf8
        works = {"lxml's tree": lambda source=source: tree(source)} | {
            name: lambda source=source, name=name: build(source, name, Limits()).nodes() for name in (*FAST, SLOW)
        }
        for name, work in works.items():
            best.setdefault(name, []).append(min(seconds(work) for _ in range(1 if name == SLOW else 5)))
    for name, times in best.items():
        yield {
            "back end": name,
            "pages": len(times),
            "ms mean": f"{1000 * mean(times):.2f}",
            "ms median": f"{1000 * median(times):.2f}",
            "of lxml": f"{mean(times) / mean(best['lxml']):.2f}",
        }


def tree(source: bytes) -> object:
    """Parse to lxml's tree, which is the floor."""
    return etree.fromstring(source, etree.HTMLParser(encoding="utf-8", huge_tree=True))


def seconds(work: Callable[[], object]) -> float:
    """Measure the CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def agreement(study: Study) -> Iterator[Row]:
    """Count the pages on which the blocks of two back ends differ."""
    for name, pair in product(study.datasets, ((*FAST,), ("lxml", SLOW), ("lexbor", SLOW))):
        counts = {"count": 0, "count by > 5 %": 0, "texts": 0, "length by > 5 %": 0}
        pages = study.pages(name, *pair)
        for labelled in pages:
            differs = difference(*(parsed(labelled, backend) for backend in pair))
            for key in counts:
                counts[key] += differs[key]
            if differs["length by > 5 %"]:
                note(f"{name} {labelled.id}: {' and '.join(pair)} differ in the length of the text")
        yield {"data set": name, "back ends": ", ".join(pair), "pages": len(pages)} | counts


def parsed(labelled: LabelledPage, backend: str) -> Page:
    """Parse a page."""
    return parse(labelled.load()[0], url=labelled.url, charset=labelled.charset, backend=backend)


def difference(a: Page, b: Page) -> dict[str, bool]:
    """Compare two parses of a page: the number of blocks, their texts, and the length of the text."""
    lengths = [sum(len(text) for text in page.blocks.texts) for page in (a, b)]
    return {
        "count": len(a.blocks) != len(b.blocks),
        "count by > 5 %": is_far(len(a.blocks), len(b.blocks)),
        "texts": a.blocks.texts != b.blocks.texts,
        "length by > 5 %": is_far(*lengths),
    }


def is_far(a: int, b: int) -> bool:
    """Return whether two counts differ by more than 5 % of the larger."""
    return abs(a - b) > 0.05 * max(a, b)


def prediction(study: Study) -> Iterator[Row]:
    """Compare predictions of the released models, which were trained with lxml, on pages parsed by other back ends."""
    for name, model in product(study.datasets, MODELS):
        alone = scores(study.pages(name), model, FAST)
        sample = {page.id for page in study.pages(name, SLOW)}
        slow = scores(study.pages(name, SLOW), model, (SLOW,))[SLOW]
        for backend, found in (("lexbor", alone["lexbor"]), (SLOW, slow), (f"{SLOW} - lexbor", slow)):
            base = alone["lexbor" if "-" in backend else "lxml"]
            ids = [page.id for page in study.datasets[name].pages if page.id in found]
            sites = [page.site for page in study.datasets[name].pages if page.id in found]
            known = [base[page] for page in ids]
            yield {
                "data set": name,
                "model": model,
                "back end": backend if "-" in backend else f"{backend} - lxml",
                "pages": len(ids),
                "sample": len(sample) if SLOW in backend else "all",
                "other score": sum(found[page] != base[page] for page in ids),
                "F1 before": f"{mean(known):.4f}",
                "difference": signed(paired_difference([found[page] for page in ids], known, groups=sites)),
            }


def scores(pages: Sequence[LabelledPage], model: str, backends: Sequence[str]) -> dict[str, dict[str, float]]:
    """Compute the bag-of-words F1 of each page with a gold text, by back end."""
    trained = blockml.load(model)
    if not isinstance(trained, TrainedExtractor):
        raise TypeError(model)
    asked = {
        backend: TrainedExtractor(replace(trained.model, parsing=replace(trained.model.parsing, backend=backend)))
        for backend in backends
    }
    found: dict[str, dict[str, float]] = {backend: {} for backend in backends}
    for labelled in pages:
        html, gold = labelled.load()
        text = gold.text() if gold else None
        if text is None:
            continue
        for backend, extractor in asked.items():
            result = blockml.extract(html, url=labelled.url, charset=labelled.charset, model=extractor)
            found[backend][labelled.id] = bag_scores(text, result.text).f1
    return found


def signed(found: tuple[float, ...]) -> str:
    """Format a difference and its interval."""
    return f"{found[0]:+.4f} [{found[1]:+.4f}, {found[2]:+.4f}]"


def training(study: Study) -> Iterator[Row]:
    """Train on pages parsed by one back end and test on pages parsed by another, with the same folds by site."""
    chosen = recipe("kim2013")
    tables = {
        backend: build_table([study.datasets["wcxb"]], replace(chosen, parsing=ParsingOptions(backend=backend)))
        for backend in FAST
    }
    first = tables[FAST[0]]
    fold = np.zeros(len(first.pages), dtype=np.int64)
    fold[first.page_of_row] = folds(first, "site", study.folds, study.seed)
    kept = {pair: np.zeros(len(tables[pair[1]].main), dtype=bool) for pair in product(FAST, FAST)}
    for number, learnt in product(range(study.folds), FAST):
        note(f"fold {number}, pages of {learnt}")
        table = tables[learnt]
        rows = (fold[table.page_of_row] != number) & table.trainable
        tuning = tune(table, chosen, rows, study.seed)
        trees = to_trees(fit_tree(chosen, table.matrix[rows], table.main[rows], study.seed), tuning.shrinkage)
        for tested in FAST:
            here = fold[tables[tested].page_of_row] == number
            probabilities = trees.predict(tables[tested].matrix[here]).astype(np.float32)
            kept[learnt, tested][here] = probabilities >= np.float32(tuning.threshold)
    f1 = {pair: page_f1(tables[pair[1]], kept[pair]) for pair in kept}
    sites = [first.pages[page].site for page in first.pages_with_text()]
    for learnt, tested in kept:
        yield {
            "trained on": learnt,
            "tested on": tested,
            "pages": len(sites),
            "page F1": f"{f1[learnt, tested].mean():.4f}",
            "against lxml on lxml": signed(paired_difference(f1[learnt, tested], f1["lxml", "lxml"], groups=sites)),
            "against trained as tested": signed(
                paired_difference(f1[learnt, tested], f1[tested, tested], groups=sites)
            ),
        }


def page_f1(table: BlockTable, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Compute the bag-of-words F1 of each page with a gold text."""
    return table.page_f1(kept, table.pages_with_text())


SECTIONS: Mapping[str, Callable[[Study], Iterator[Row]]] = {
    "speed": speed,
    "agreement": agreement,
    "prediction": prediction,
    "training": training,
}


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--sample", type=int, default=150, help="pages of a data set that html5lib sees")
    parser.add_argument("--folds", type=int, default=5, help="of the section training")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    corpora = os.environ.get("BLOCKML_CORPORA")
    if not corpora:
        note("BLOCKML_CORPORA names no folder of corpora")
        return 3
    opened = {name: open_dataset(f"{name}={Path(corpora) / DATASETS[name]}") for name in arguments.datasets}
    study = Study(opened, arguments.sample, arguments.folds, arguments.seed)
    for name in arguments.sections or SECTIONS:
        print(f"\n{name}\n")
        print_rows(list(SECTIONS[name](study)), "table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
