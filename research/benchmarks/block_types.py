"""Quality of the released model's block types, and their effect on extraction.

Needs BLOCKML_CORPORA. Block types are learnt from dataset-popular, WCXB (weak labels) and the synthetic pages in
``data``. They are measured on the manual labels of L3S-GN1, which is not used in training.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import print_rows
from blockml.datasets import Dataset, open_dataset
from blockml.evaluation.bootstrap import bootstrap_mean
from blockml.evaluation.page_results import evaluate_extractor
from blockml.extractors import TrainedExtractor, trained
from blockml.extractors.matrix import page_matrix
from blockml.model import Model
from blockml.page import Label
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions
from blockml.predictors.block_types import BlockTypes
from blockml.training import BlockTypeRows, block_type_rows, fit_block_types, recipe
from blockml.training.block_types import merged
from research.benchmarks.confusion import Confusion, confusion

ROOT = Path(__file__).resolve().parents[2]

REST = "rest"
#: Labels that L3S-GN1 distinguishes; all others are merged.
L3S = (Label.MAIN, Label.HEADING, Label.COMMENT, Label.RELATED)
THRESHOLDS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
BLANKS = (0.0, 0.5, 0.8)
#: Held-out collections, by folder.
UNSEEN = ("l3s-gn1", "cleaneval", "ir-research-big9-chaos", "cleanportaleval")


class Measured:
    """Gold labels, words, page numbers and features of all blocks of fully labelled pages."""

    def __init__(self, dataset: Dataset) -> None:
        parsing = ParsingOptions(tokenizer="cjk").options()
        matrices, names, words, sizes = [], [], [], []
        for labelled in dataset.pages:
            html, gold = labelled.load()
            page = parse(html, url=labelled.url, charset=labelled.charset, **parsing)
            told = gold.label(page) if gold is not None else None
            if told is None or told.labels is None or not told.known.any():
                continue
            matrices.append(page_matrix(page, recipe("default").features).values[told.known])
            names += [str(merged(label)) for label, known in zip(told.labels, told.known, strict=True) if known]
            words.append(page.blocks.n_words[told.known])
            sizes.append(int(told.known.sum()))
        self.matrix = np.concatenate(matrices)
        self.names = np.array(names)
        self.words = np.concatenate(words)
        self.page = np.repeat(np.arange(len(sizes)), sizes)


def l3s(corpora: Path) -> Measured:
    """Open L3S-GN1, which is not used in training."""
    return Measured(open_dataset(f"l3s={corpora / 'l3s-gn1' / 'pages_annotated'}", layout="annotated"))


def as_l3s(names: NDArray[np.str_]) -> list[str]:
    """Merge labels that L3S-GN1 does not distinguish."""
    wanted = {str(label) for label in L3S}
    return [name if name in wanted else REST for name in names.tolist()]


def table_of(what: str, table: Confusion) -> Iterator[dict[str, Any]]:
    """Format rows for printing."""
    return ({"measured on": what} | row for row in table.rows())


def on_l3s(types: BlockTypes, measured: Measured, name: str = "l3s-gn1") -> list[dict[str, Any]]:
    """Compute the confusion by blocks and by words."""
    predicted = np.array([str(label) for label in types.label(measured.matrix)])
    labels = [*map(str, L3S), REST]
    truth, said = as_l3s(measured.names), as_l3s(predicted)
    return [
        row
        for unit, weights in (("blocks", None), ("words", measured.words))
        for row in table_of(f"{name}, {unit}", confusion(truth, said, labels, weights))
    ]


def comments(types: BlockTypes, measured: Measured) -> list[dict[str, Any]]:
    """Evaluate thresholds on the probability of comments, on pages with and without comments."""
    probability = types.predict(measured.matrix)[:, types.labels.index(Label.COMMENT)]
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


def leaving_out(model: Model, corpora: Path, jobs: int) -> list[dict[str, Any]]:
    """Compute page F1 on held-out collections with comments removed, and without block types."""
    rows = []
    for name in UNSEEN:
        dataset = open_dataset(corpora / name)
        f1 = [
            np.array(
                [
                    page.bag.f1
                    for page in evaluate_extractor(TrainedExtractor(kind), dataset, jobs=jobs)
                    if page.bag is not None
                ]
            )
            for kind in (model, replace(model, block_types=None))
        ]
        gain = bootstrap_mean(f1[0] - f1[1])
        rows.append(
            {
                "data set": name,
                "pages": len(f1[0]),
                "comments left out": round(float(f1[0].mean()), 4),
                "kept": round(float(f1[1].mean()), 4),
                "difference": round(gain.mean, 4),
                "low": round(gain.low, 4),
                "high": round(gain.high, 4),
            }
        )
    return rows


def blanking(rows: BlockTypeRows, measured: Measured) -> list[dict[str, Any]]:
    """Evaluate training with hidden names in the markup of some weakly labelled pages."""
    result: list[dict[str, Any]] = []
    for share in BLANKS:
        types = fit_block_types(rows, blank=share)
        if types is None:
            continue
        table = on_l3s(types, measured, f"l3s-gn1, names hidden in {share:.0%} of pages")
        result += [{key: row[key] for key in ("measured on", "label", "precision", "recall", "f1")} for row in table]
    return result


def main(argv: Sequence[str] | None = None) -> None:
    """Print the selected tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["l3s", "comments", "leaving-out", "blanking"], nargs="+")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args(argv)
    corpora = Path(os.environ["BLOCKML_CORPORA"])
    model = trained("default").model
    if model.block_types is None:
        parser.error("the released model has no block types")
    for part in arguments.part:
        if part == "l3s":
            result = on_l3s(model.block_types, l3s(corpora))
        elif part == "comments":
            result = comments(model.block_types, l3s(corpora))
        elif part == "leaving-out":
            result = leaving_out(model, corpora, arguments.jobs)
        else:
            sets = [
                open_dataset(corpora / "wcxb"),
                *(open_dataset(ROOT / "data" / name) for name in ("sites", "pages")),
            ]
            result = blanking(block_type_rows(sets, jobs=arguments.jobs), l3s(corpora))
        print_rows(result, arguments.format)


if __name__ == "__main__":
    main()
