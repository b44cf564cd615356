"""Importance of the columns of a model on labelled pages or held-out folds: gain of its trees, and permutation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.calibration import precision_recall
from blockml.extractors.matrix import page_matrix
from blockml.features import COLUMNS, feature_set
from blockml.features.ancestor_words import AncestorWords
from blockml.features.feature_sets import split_name
from blockml.features.page_matrix import PageMatrix
from blockml.model import Model
from blockml.model.contributions import ANCESTOR_WORDS, changed_matrix
from blockml.page.lazy import cached_property
from blockml.parsing import parse
from blockml.predictors import MLP, Predictor, TreeEnsemble, Trees
from blockml.predictors.base import average_predictors
from blockml.predictors.tree_ensemble import MeanTrees

#: Columns that are permuted one by one, those with most gain; blocks of a fold; columns listed in a model file.
MOST_COLUMNS = 30
_FOLD_BLOCKS, _LISTED = 20_000, 20


@dataclass(frozen=True, eq=False)
class LabelledBlocks:
    """Blocks of whole pages, because MLPs read the other blocks of a page, and the labels of some of them."""

    columns: tuple[str, ...]
    pages: tuple[PageMatrix, ...]
    known: NDArray[np.bool_]  #: (n_blocks,) which blocks of all pages are labelled.
    main: NDArray[np.bool_]  #: (n_blocks,) whether each is content.

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """Features of all blocks, (n_blocks, n_columns)."""
        return np.concatenate([page.values for page in self.pages])

    @cached_property
    def words(self) -> AncestorWords:
        """Ancestor words of all blocks."""
        return AncestorWords.join([page.ancestor_words for page in self.pages])

    @property
    def has_both_classes(self) -> bool:
        """Whether some labelled blocks are content and some are not."""
        labels = self.main[self.known]
        return bool(labels.any() and not labels.all())


@dataclass(frozen=True, slots=True)
class Importance:
    """Importance of a column, or of a family of columns."""

    name: str
    n_columns: int  #: Number of columns that the model reads; 0 for :data:`ANCESTOR_WORDS`.
    #: Gain: share of the impurity that tests of these columns remove. It is the entropy of the labels in averaged
    #: trees, the variance of the output in boosted ones.
    impurity: float
    drop: float  #: Mean loss of the model's average precision when the values of these columns are permuted.
    spread: float  #: Standard deviation of that loss over permutations, or over folds.

    def row(self) -> list[Any]:
        """Return the values as they are in a model file."""
        return [self.name, self.n_columns, *np.round([self.impurity, self.drop, self.spread], 4).tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class FoldImportance:
    """Importance on the pages of a test fold, of a model that was trained on the other folds."""

    by_family: Sequence[Importance]  #: All families that the model reads.
    by_column: Sequence[Importance]  #: The columns with most gain.


def labelled_blocks(model: Model, dataset: Dataset) -> LabelledBlocks:
    """Compute the features of a model on the labelled pages of a data set, parsed as in training.

    Raises DatasetError if no block is labelled, or a page can't be read.
    """
    pages, known, main = [], [], []
    for labelled in dataset.pages:
        html, gold = labelled.load()
        if gold is None:
            continue
        page = parse(html, url=labelled.url, charset=labelled.charset, **model.parsing.options())
        found = gold.label(page)
        pages.append(page_matrix(page, model.features))
        known.append(found.known)
        main.append(found.main)
    nothing = np.zeros(0, dtype=bool)
    blocks = LabelledBlocks(
        feature_set(model.features).columns, tuple(pages), np.concatenate([nothing, *known]),
        np.concatenate([nothing, *main]),
    )  # fmt: skip
    if not blocks.has_both_classes:
        raise DatasetError("importance needs labelled blocks of content and of boilerplate", source=dataset.path)
    return blocks


def impurity_gains(trees: Trees, blocks: LabelledBlocks, *, averaged: bool) -> NDArray[np.float64]:
    """Sum the impurity that the tests of each column remove on the labelled blocks, (n_columns,).

    For ``averaged`` trees, impurity is the entropy of the labels in bits times rows; for others, the sum of squared
    deviations of the leaf values that rows reach.
    """
    gains = np.zeros(len(blocks.columns))
    matrix, main = blocks.matrix[blocks.known], blocks.main[blocks.known].astype(np.float64)
    for root, end in zip(trees.roots.tolist(), [*trees.roots.tolist()[1:], len(trees.feature)], strict=True):
        values = main
        if not averaged:
            values = _tree(trees, root, end).predict(matrix)
        waiting = [(root, np.arange(len(main)))]
        while waiting:
            node, chosen = waiting.pop()
            feature = int(trees.feature[node])
            if feature < 0 or not len(chosen):
                continue
            left = matrix[chosen, feature] <= trees.threshold[node]
            parts = chosen[left], chosen[~left]
            measure = _entropy if averaged else _deviation
            gains[feature] += measure(values[chosen]) - sum(measure(values[part]) for part in parts)
            waiting += [(int(trees.left[node]), parts[0]), (int(trees.right[node]), parts[1])]
    return np.maximum(gains, 0)


def _tree(trees: Trees, start: int, stop: int) -> Trees:
    """Return a single tree, with node numbers from 0."""
    nodes = slice(start, stop)
    left, right = (
        np.where(numbers[nodes] >= 0, numbers[nodes] - start, -1).astype(np.int32)
        for numbers in (trees.left, trees.right)
    )
    roots = np.zeros(1, dtype=np.int32)
    return Trees(trees.feature[nodes], trees.threshold[nodes], left, right, trees.value[nodes], roots)


def _entropy(values: NDArray[np.float64]) -> float:
    share = float(values.mean()) if len(values) else 0.0
    if not 0 < share < 1:
        return 0.0
    return -len(values) * (share * math.log2(share) + (1 - share) * math.log2(1 - share))


def _deviation(values: NDArray[np.float64]) -> float:
    return float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0


def by_column(
    model: Model, blocks: LabelledBlocks, *, repeats: int = 5, seed: int = 0, most: int | None = None
) -> list[Importance]:
    """Return the importance of each column, or of the ``most`` columns with most gain, greatest loss first.

    Columns that only MLPs read have no gain, and are left out.
    """
    return _Permutation(model.predictors, model.weights, blocks).columns(repeats, seed, most)


def by_family(model: Model, blocks: LabelledBlocks, *, repeats: int = 5, seed: int = 0) -> list[Importance]:
    """Return the importance of each family of columns, permuted together; columns of neighbours form separate families.

    A family consists of the columns that one module computes; each column of Kim et al. 2013 is a family by itself.
    """
    return _Permutation(model.predictors, model.weights, blocks).families(repeats, seed)


def fold_importance(
    predictors: Mapping[str, Predictor], weights: Mapping[str, float], blocks: LabelledBlocks, seed: int = 0
) -> FoldImportance | None:
    """Measure importance on the pages of a test fold, or a sample of them, with one permutation of each unit.

    None if the first predictor is not an ensemble of trees, or if the blocks have one class.
    """
    sample = _sample(blocks, seed)
    if not isinstance(next(iter(predictors.values())), TreeEnsemble) or not sample.has_both_classes:
        return None
    permutation = _Permutation(predictors, weights, sample)
    return FoldImportance(permutation.families(1, seed), permutation.columns(1, seed, MOST_COLUMNS))


def _sample(blocks: LabelledBlocks, seed: int) -> LabelledBlocks:
    """Return random pages with about as many blocks as are measured in a fold."""
    starts = np.cumsum([0, *(len(page.values) for page in blocks.pages)])
    if starts[-1] <= _FOLD_BLOCKS:
        return blocks
    order = np.random.default_rng(seed).permutation(len(blocks.pages))
    most = int(np.searchsorted(np.cumsum(np.diff(starts)[order]), _FOLD_BLOCKS)) + 1
    chosen = np.sort(order[:most]).tolist()
    rows = np.concatenate([np.arange(starts[page], starts[page + 1]) for page in chosen])
    pages = tuple(blocks.pages[page] for page in chosen)
    return LabelledBlocks(blocks.columns, pages, blocks.known[rows], blocks.main[rows])


def held_out_importance(folds: Sequence[FoldImportance]) -> dict[str, list[Importance]]:
    """Average the importance over folds: ``family`` of all families, ``column`` of the columns with most gain.

    A column counts in the folds in which it was permuted, and has no gain in the others.
    """
    found: dict[str, list[Importance]] = {}
    for unit in ("family", "column") if folds else ():
        items = defaultdict[str, list[Importance]](list)
        for fold in folds:
            for item in fold.by_family if unit == "family" else fold.by_column:
                items[item.name].append(item)
        rows = [
            Importance(
                name, max(item.n_columns for item in same), sum(item.impurity for item in same) / len(folds),
                float(np.mean([item.drop for item in same])), float(np.std([item.drop for item in same])),
            )
            for name, same in items.items()
        ]  # fmt: skip
        ordered = sorted(rows, key=lambda item: (-item.impurity, item.name))
        found[unit] = ordered if unit == "family" else ordered[:_LISTED]
    return found


def measured_importance(model: Model, datasets: Sequence[Dataset], *, repeats: int = 3) -> dict[str, Any]:
    """Measure the importance of a model on pages that it has not seen, for :attr:`blockml.model.Model.metrics`.

    Raises DatasetError or UsageError as :func:`labelled_blocks` and :func:`by_family` do.
    """
    pages = tuple(page for dataset in datasets for page in dataset.pages)
    blocks = labelled_blocks(model, Dataset("held out", datasets[0].path, datasets[0].format, pages))
    columns = by_column(model, blocks, repeats=repeats, most=MOST_COLUMNS)
    columns.sort(key=lambda item: (-item.impurity, item.name))
    return {
        "pages": len(blocks.pages),
        "datasets": [dataset.name for dataset in datasets],
        "repeats": repeats,
        "family": [item.row() for item in by_family(model, blocks, repeats=repeats)],
        "column": [item.row() for item in columns[:_LISTED]],
    }


def split_shares(model: Model, by: str) -> list[tuple[str, int, float]]:
    """Return how often the trees of a model test each ``column`` or ``family``, without any pages.

    Returns
    -------
    list
        Name, number of columns that the trees read, and share of all tests; most frequent first.
    """
    names = feature_set(model.features).columns
    counts = np.zeros(len(names), dtype=np.int64)
    for item in model.ensembles:
        counts += np.bincount(item.trees.feature[item.trees.feature >= 0], minlength=len(names))
    groups = _families(names) if by == "family" else {name: [place] for place, name in enumerate(names)}
    rows = [
        (name, int(np.count_nonzero(counts[places])), float(counts[places].sum() / max(int(counts.sum()), 1)))
        for name, places in groups.items()
        if counts[places].any()
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def _families(columns: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the columns of each family."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(columns):
        base, offset, _ = split_name(name)
        family = COLUMNS[base].family
        own = base if family is None else family.__module__.rpartition(".")[2]
        groups.setdefault(f"{own}, neighbours" if offset else own, []).append(place)
    return groups


class _Permutation:
    """Losses of average precision of predictors on blocks when columns are permuted."""

    def __init__(
        self, predictors: Mapping[str, Predictor], weights: Mapping[str, float], blocks: LabelledBlocks
    ) -> None:
        self._predictors, self._weights, self._blocks = predictors, weights, blocks
        trees = [item for item in predictors.values() if isinstance(item, TreeEnsemble)]
        if not trees:
            raise UsageError("the model has no trees, so the importance of its columns can't be computed")
        gains = impurity_gains(trees[0].trees, blocks, averaged=isinstance(trees[0], MeanTrees))
        self._gains = gains / max(float(gains.sum()), 1e-300)
        #: Columns that trees read, and those that any predictor reads.
        self._tested = np.zeros(len(blocks.columns), dtype=bool)
        for item in trees:
            self._tested[item.trees.feature[item.trees.feature >= 0]] = True
        self._read = self._tested | (len(trees) < len(predictors))
        self._before = self._precision(blocks.matrix)

    def columns(self, repeats: int, seed: int, most: int | None) -> list[Importance]:
        """Permute each column that trees read, or the ``most`` with most gain."""
        order = np.argsort(-self._gains, kind="stable")
        chosen = order[self._tested[order]] if most is None else order[self._gains[order] > 0][:most]
        return self._losses({self._blocks.columns[place]: [place] for place in chosen.tolist()}, repeats, seed)

    def families(self, repeats: int, seed: int) -> list[Importance]:
        """Permute each family of columns, and the words that MLPs read."""
        groups = {name: places for name, places in _families(self._blocks.columns).items() if self._read[places].any()}
        if any(isinstance(item, MLP) and item.reads_words for item in self._predictors.values()):
            groups[ANCESTOR_WORDS] = []
        return self._losses(groups, repeats, seed)

    def _losses(self, groups: Mapping[str, Sequence[int]], repeats: int, seed: int) -> list[Importance]:
        if repeats < 1:
            raise UsageError(f"repeats must be at least 1, got {repeats}")
        random = np.random.default_rng(seed)
        matrix, found = self._blocks.matrix, []
        for name, places in groups.items():
            losses = []
            for _ in range(repeats):
                order = random.permutation(len(matrix))
                permuted = matrix.copy()
                permuted[:, places] = matrix[order][:, places]
                losses.append(self._before - self._precision(permuted, order if name == ANCESTOR_WORDS else None))
            share, n_read = float(self._gains[places].sum()), int(self._read[places].sum())
            found.append(Importance(name, n_read, share, float(np.mean(losses)), float(np.std(losses))))
        return sorted(found, key=lambda item: (-item.drop, item.name))

    def _precision(self, matrix: NDArray[np.float32], words_of: NDArray[np.intp] | None = None) -> float:
        """Return the average precision with other features, and the ancestor words of other blocks."""
        blocks, first, scores = self._blocks, 0, []
        for page in blocks.pages:
            last = first + len(page.values)
            if last > first:
                words = None if words_of is None else blocks.words.take(words_of[first:last])
                changed = changed_matrix(page, matrix[first:last], words)
                scores.append(average_predictors(self._predictors, self._weights, changed)[1])
            first = last
        return precision_recall(blocks.main[blocks.known], np.concatenate(scores)[blocks.known]).average_precision
