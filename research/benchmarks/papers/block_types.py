"""Future work of Kim et al. 2013: block types other than main content, and classifiers other than one tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import note
from blockml.datasets import Dataset, open_dataset
from blockml.extractors.matrix import page_matrix
from blockml.page import Label
from blockml.parsing import parse
from blockml.training import (
    BlockTypeRows,
    block_type_rows,
    build_table,
    fit_block_types,
    fold_pages,
    folds,
    n_groups,
    recipe,
)
from blockml.training.block_types import merged
from research.benchmarks.papers.common import DATA, corpus, pooled_counts, pooled_f1, show, signed, spread

__all__ = ["types_section"]

#: Types that the paper names, and the other labels of the annotated home pages.
TYPES = (Label.NAVIGATION, Label.ADVERTISEMENT, Label.FOOTER, Label.RELATED, Label.COMMENT, Label.HEADING, Label.MAIN,
         Label.OTHER)  # fmt: skip

N_FOLDS = 5

_Bools = NDArray[np.bool_]
_Floats = NDArray[np.float32]


def learners() -> Mapping[str, Callable[[], Any]]:
    """Return the classifiers by name; they use the paper's 25 attributes, one-hot encoded."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": lambda: DecisionTreeClassifier(criterion="entropy", min_samples_leaf=10, random_state=0),
        "random forest": lambda: RandomForestClassifier(
            n_estimators=60, min_samples_leaf=5, max_features="sqrt", random_state=0
        ),
        "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }


def types_section(corpora: Path | None, jobs: int) -> None:
    """Print scores by block type on held-out pages, then of main content by classifier."""
    dataset = corpus(corpora, "dataset-popular")
    title = f"{dataset.name}: block types of unseen pages, 25 attributes"
    show(f"{title}, {N_FOLDS} folds over pages: F1 of blocks", list(_types(dataset, corpora, jobs)))
    for name in ("l3s-gn1", "wcxb") if corpora is not None else ("data",):
        found = corpus(corpora, name, "pages_annotated" if name == "l3s-gn1" else "")
        show(f"{name}: main content by classifier, folds over sites", list(_classifiers(found, jobs)))


class _LabelledBlocks:
    """Blocks with a label: attributes, label, page."""

    def __init__(self, dataset: Dataset) -> None:
        matrices, names, pages = [], [], []
        for number, labelled in enumerate(dataset.pages):
            html, gold = labelled.load()
            chosen = recipe("kim2013")
            page = parse(html, url=labelled.url, charset=labelled.charset, **chosen.parsing.options())
            found = None if gold is None else gold.label(page)
            if found is None or found.labels is None:
                continue
            matrices.append(page_matrix(page, chosen.features).values[found.known])
            names += [str(merged(label)) for label, known in zip(found.labels, found.known, strict=True) if known]
            pages += [number] * int(found.known.sum())
        self.matrix, self.names, self.page = np.concatenate(matrices), np.array(names), np.array(pages)


def _types(dataset: Dataset, corpora: Path | None, jobs: int) -> Iterator[dict[str, object]]:
    blocks, n_pages = _LabelledBlocks(dataset), len(dataset.pages)
    fold = fold_pages(np.arange(n_pages), N_FOLDS, 0)
    predicted: dict[str, NDArray[np.str_]] = {}
    for name, learner in learners().items():
        found = np.empty(len(blocks.names), dtype=blocks.names.dtype)
        for number in range(N_FOLDS):
            test = fold[blocks.page] == number
            found[test] = learner().fit(blocks.matrix[~test], blocks.names[~test]).predict(blocks.matrix[test])
        predicted[name] = found
        note(name)
    if corpora is not None:
        predicted["block types as shipped"] = _shipped(dataset, corpora, fold, jobs)
    for kind in TYPES:
        truth = blocks.names == kind
        if not truth.any():
            continue
        row: dict[str, object] = {"type": str(kind), "blocks": int(truth.sum())}
        row["pages"] = len(np.unique(blocks.page[truth]))
        counts = [pooled_counts(truth, found == kind, blocks.page, n_pages) for found in predicted.values()]
        for (name, found), interval in zip(predicted.items(), pooled_f1(counts).intervals(), strict=True):
            right, told = int((truth & (found == kind)).sum()), int((found == kind).sum())
            row[name] = f"{spread(interval)}, P {right / max(told, 1):.2f}, R {right / truth.sum():.2f}"
        yield row


def _shipped(dataset: Dataset, corpora: Path, fold: NDArray[np.int64], jobs: int) -> NDArray[np.str_]:
    """Predict by the recipe of the default model, trained with only the home pages of the other folds."""
    others = [open_dataset(f"wcxb={corpora / 'wcxb'}"), *(open_dataset(DATA / name) for name in ("sites", "pages"))]
    weak = block_type_rows(others, jobs=jobs)
    note("weak labels")
    predicted: dict[int, list[str]] = {}
    for number in range(N_FOLDS):
        pages = tuple(page for page, one in zip(dataset.pages, fold.tolist(), strict=True) if one != number)
        types = fit_block_types(_joined(weak, block_type_rows([replace(dataset, pages=pages)], jobs=jobs)))
        if types is None:
            raise ValueError("no block types")
        for place in np.flatnonzero(fold == number).tolist():
            labelled = dataset.pages[place]
            html, gold = labelled.load()
            page = parse(html, url=labelled.url, charset=labelled.charset, **recipe("default").parsing.options())
            found = None if gold is None else gold.label(page)
            if found is not None and found.labels is not None:
                matrix = page_matrix(page, recipe("default").features).values[found.known]
                predicted[place] = [str(label) for label in types.label(matrix)]
        note(f"fold {number}")
    return np.array([label for place in sorted(predicted) for label in predicted[place]])


def _joined(a: BlockTypeRows, b: BlockTypeRows) -> BlockTypeRows:
    matrix, label, rest, weak = (
        np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("matrix", "label", "rest", "weak")
    )
    page = np.concatenate([a.page, b.page + len(a.sites)])
    return BlockTypeRows(a.columns, matrix, label, rest, weak, page, (*a.sites, *b.sites), (*a.keys, *b.keys))


def _classifiers(dataset: Dataset, jobs: int) -> Iterator[dict[str, object]]:
    """Cross-validate the classifiers by site, at the threshold .5."""
    table = build_table([dataset], recipe("kim2013"), jobs=jobs)
    n_folds = min(N_FOLDS, n_groups(table, "site"))
    fold = folds(table, "site", n_folds)
    sites = np.unique([page.site for page in table.pages], return_inverse=True)[1][table.page_of_row]
    counts, names = [], list(learners())
    for name, learner in learners().items():
        kept = np.zeros(len(table.main), dtype=bool)
        for number in range(n_folds):
            train, test = (fold != number) & table.trainable, fold == number
            kept[test] = learner().fit(table.matrix[train], table.main[train]).predict(table.matrix[test])
        known = table.known
        counts.append(pooled_counts(table.main[known], kept[known], sites[known], int(sites.max()) + 1))
        note(f"{dataset.name}: {name}")
    resampled = pooled_f1(counts)
    differences = resampled.differences()
    for place, (name, interval) in enumerate(zip(names, resampled.intervals(), strict=True)):
        tp, fp, fn = counts[place].sum(axis=0).tolist()
        row: dict[str, object] = {"classifier": name, "P": tp / (tp + fp), "R": tp / (tp + fn), "F": spread(interval)}
        if place:
            gain = differences[0, place]
            row["minus tree"] = signed(gain._replace(mean=-gain.mean, low=-gain.high, high=-gain.low))
        else:
            row["minus tree"] = "-"
        yield row
