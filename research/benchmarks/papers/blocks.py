"""Kim et al. 2013: classification of text blocks, tables 2 and 3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import note
from blockml.datasets import Dataset
from blockml.evaluation import BlockScores
from blockml.page import MAIN_LABELS, Label
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions
from blockml.training import (
    PROTOCOLS,
    BlockTable,
    CrossValidation,
    Recipe,
    build_table,
    cross_validate,
    n_groups,
    recipe,
)
from research.benchmarks.papers.common import corpus, pooled_counts, pooled_f1, show, signed, spread
from research.c45 import C45_RECIPES, c45_attributes

__all__ = ["NEAREST", "classes_section", "readings_section", "varied_section"]

#: Classes of L3S-GN1 besides "not content".
CLASSES = (Label.HEADING, Label.MAIN, Label.SUPPLEMENT, Label.RELATED, Label.COMMENT)

#: Main content in the interpretation nearest to the paper's numbers, by the section ``classes``.
NEAREST = frozenset(CLASSES) - {Label.SUPPLEMENT}

#: Tables 2 and 3, left half: share of main content, then precision, recall and F with 25 and with six attributes.
PRINTED = (0.1569, 0.873, 0.827, 0.849, 0.858, 0.778, 0.816)


@dataclass(frozen=True)
class Reading:
    """One interpretation of the points that the paper leaves open."""

    name: str
    features: str = "kim2013-onehot"
    parsing: ParsingOptions = field(default_factory=ParsingOptions)


READINGS = (
    Reading("wordless blocks kept; boilerpipe's density"),
    Reading("wordless blocks dropped", parsing=ParsingOptions(keep_wordless=False)),
    Reading("literal density: 80 words", features="kim2013-80w-onehot"),
    Reading("density per sentence", features="kim2013-sentence-onehot"),
    Reading("boilerpipe's inline tags", parsing=ParsingOptions(profile="boilerpipe")),
)


def as_published(chosen: Recipe) -> Recipe:
    """Return the recipe with the paper's decision, the majority in a leaf."""
    return chosen.but(threshold=0.5, shrinkage=0.0)


def validate(table: BlockTable, chosen: Recipe, protocol: str, jobs: int) -> CrossValidation:
    """Cross-validate as published, with ten folds, or one for each group if there are fewer."""
    n_folds = 10 if protocol == "block" else min(10, n_groups(table, protocol))
    return cross_validate(table, as_published(chosen), protocol, n_folds=n_folds, jobs=jobs)


def classes_section(corpora: Path | None, jobs: int) -> None:
    """Print share and scores of all sets of classes; those without full text get no scores."""
    dataset = corpus(corpora, "l3s-gn1", "pages_annotated")
    tables = {name: build_table([dataset], recipe(name), jobs=jobs) for name in ("kim2013", "boilerpipe6")}
    labels = _labels(dataset)
    rows: list[dict[str, object]] = []
    for size in range(1, len(CLASSES) + 1):
        for main in combinations(CLASSES, size):
            of_rows = np.isin(labels, main)
            row: dict[str, object] = {"main content": ", ".join(main), "blocks": f"{of_rows.sum():,}"}
            numbers = [float(of_rows.mean())]
            if Label.MAIN in main:
                for name, table in tables.items():
                    relabelled = replace(table, main=of_rows)
                    scores = validate(relabelled, recipe(name), "block", jobs).block_scores(relabelled)
                    numbers += [scores.precision, scores.recall, scores.f1]
            row["share"] = f"{numbers[0]:.2%}"
            for name, start in (("25 attributes", 1), ("six", 4)):
                row[f"{name}: P / R / F"] = " / ".join(f"{value:.3f}" for value in numbers[start : start + 3]) or "-"
            apart = [abs(ours - theirs) for ours, theirs in zip(numbers, PRINTED, strict=False)]
            row["mean difference"] = float(np.mean(apart)) if len(apart) == len(PRINTED) else "-"
            rows.append(row)
            note(str(row))
    rows.sort(key=lambda row: str(row["mean difference"]).replace("-", "~"))
    show("Sets of classes, nearest to the seven printed numbers first; folds over blocks", rows)


def _labels(dataset: Dataset) -> NDArray[np.str_]:
    """Return the class of every block of a data set, in the order of its table."""
    found: list[str] = []
    for labelled in dataset.pages:
        html, gold = labelled.load()
        page = parse(html, url=labelled.url, charset=labelled.charset, **recipe("kim2013").parsing.options())
        labels = None if gold is None else gold.label(page)
        found += [] if labels is None or labels.labels is None else map(str, labels.labels)
    return np.array(found)


def readings_section(corpora: Path | None, jobs: int) -> None:
    """Print the other open points for the nearest set of classes, then protocols and learners for both sets."""
    dataset = corpus(corpora, "l3s-gn1", "pages_annotated")
    rows: list[dict[str, object]] = []
    for reading in READINGS:
        chosen = replace(recipe("kim2013"), features=reading.features, main=NEAREST, parsing=reading.parsing)
        table = build_table([dataset], chosen, jobs=jobs)
        scores = validate(table, chosen, "block", jobs).block_scores(table)
        share = f"{table.main.mean():.2%}"
        rows.append({"reading": reading.name, "blocks": f"{len(table.main):,}", "share": share, **_three(scores)})
    show("25 attributes, scikit-learn's tree, folds over blocks; all classes but supplement", rows)
    rows = []
    for title, main in (("all but supplement", NEAREST), ("headline, full text, supplement", MAIN_LABELS)):
        recipes = {**{name: recipe(name) for name in ("kim2013", "boilerpipe6")}, **C45_RECIPES}
        for name, named in recipes.items():
            chosen = replace(named, main=frozenset(main))
            table = build_table([dataset], chosen, jobs=jobs)
            row: dict[str, object] = {"main content": title, "recipe": name}
            for protocol in PROTOCOLS:
                scores = validate(table, chosen, protocol, jobs).block_scores(table)
                row[f"over {protocol}s: P / R / F"] = " / ".join(f"{value:.3f}" for value in _three(scores).values())
            rows.append(row)
            note(str(row))
    show("Protocols and learners", rows)
    if corpora is not None:
        _show_pruning(dataset, jobs)


def _three(scores: BlockScores) -> dict[str, float]:
    return {"P": scores.precision, "R": scores.recall, "F": scores.f1}


def _show_pruning(dataset: Dataset, jobs: int) -> None:
    """Print the leaves of C4.5 on all blocks, with each step of pruning."""
    rows: list[dict[str, object]] = []
    for name, chosen in C45_RECIPES.items():
        table = build_table([dataset], chosen, jobs=jobs)
        rows += [{"recipe": name, **row} for row in _leaves(*c45_attributes(chosen, table.matrix)[:2], table.main)]
    show("Leaves of C4.5 on all blocks of headline, full text and supplement", rows)


def _leaves(
    matrix: NDArray[np.float64], nominal: tuple[int, ...], main: NDArray[np.bool_]
) -> Iterator[dict[str, object]]:
    """Count the leaves after growing, after collapsing and after pruning at several confidence factors."""
    from research.c45.growing import Node, Sample, grow
    from research.c45.pruning import collapse, prune

    def n_leaves(root: Node) -> int:
        return sum(not node.children and node.weight > 0 for node in root.preorder())

    sample = Sample(matrix, np.stack([~main, main]).astype(np.float64))
    row: dict[str, object] = {}
    for confidence in (0.70, 0.50, 0.25):
        root = grow(sample, nominal, 10, mdl_correction=True)
        row["grown"] = n_leaves(root)
        collapse(root)
        row["collapsed"] = n_leaves(root)
        prune(root, sample, confidence, subtree_raising=True)
        row[f"pruned, CF {confidence:.2f}"] = n_leaves(root)
    yield row


def varied_section(corpora: Path | None, jobs: int) -> None:
    """Print both feature sets on collections of many kinds of pages, by protocol."""
    sets = ("wcxb", "l3s-gn1", "cleaneval") if corpora is not None else ("data",)
    for name in sets:
        dataset = corpus(corpora, name, "pages_annotated" if name == "l3s-gn1" else "")
        show(f"{name}: six against 25 attributes, ten folds", list(_varied(dataset, jobs)))


def _varied(dataset: Dataset, jobs: int) -> Iterator[dict[str, object]]:
    recipes = ("boilerpipe6", "kim2013")
    tables = {name: build_table([dataset], recipe(name), jobs=jobs) for name in recipes}
    table = tables["kim2013"]
    sites = np.unique([page.site for page in table.pages], return_inverse=True)[1][table.page_of_row]
    for protocol in PROTOCOLS:
        counts, scores = [], []
        for name in recipes:
            result = validate(tables[name], recipe(name), protocol, jobs)
            scores.append(result.block_scores(tables[name]))
            kept, known = result.scores >= np.float32(0.5), table.known
            counts.append(pooled_counts(table.main[known], kept[known], sites[known], int(sites.max()) + 1))
            note(f"{dataset.name}: {name} over {protocol}s {scores[-1]}")
        resampled = pooled_f1(counts)
        row: dict[str, object] = {"folds over": f"{protocol}s"}
        for title, found, interval in zip(("six", "25"), scores, resampled.intervals(), strict=True):
            row |= {f"{title}: P": found.precision, f"{title}: R": found.recall, f"{title}: F": spread(interval)}
        gain = resampled.differences()[0, 1]
        row["gain of 25"] = signed(gain._replace(mean=-gain.mean, low=-gain.high, high=-gain.low))
        yield row
