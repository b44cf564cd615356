"""Importance, on labelled pages or held-out folds, of the columns that the trees of a model read."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.curves import precision_recall
from blockml.extractors.matrix import page_matrix
from blockml.features import COLUMNS, feature_set
from blockml.features.feature_sets import split_name
from blockml.model import Model
from blockml.parsing import parse
from blockml.predictors import TreeEnsemble
from blockml.predictors.tree_ensemble import MeanTrees, Trees


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Blocks with gold: features and labels."""

    columns: tuple[str, ...]
    matrix: NDArray[np.float32]  #: (n_rows, n_columns)
    main: NDArray[np.bool_]  #: (n_rows,)


@dataclass(frozen=True, slots=True)
class Importance:
    """Importance of a column, or of a family of columns."""

    name: str
    n_columns: int
    #: Gain: share of the impurity that tests of these columns remove. It is the entropy of the labels in averaged
    #: trees, the variance of the output in boosted ones.
    impurity: float
    drop: float  #: Mean loss of average precision when the rows of these columns are permuted
    spread: float  #: Standard deviation of that loss over permutations, or over folds


#: Maximum number of rows of a fold, and of columns that are permuted one by one, so that cross-validation takes little
#: longer; number of columns in a model file.
_FOLD_ROWS, _FOLD_COLUMNS, _LISTED = 2000, 30, 20


@dataclass(frozen=True, slots=True, eq=False)
class FoldImportance:
    """Importance on the rows of a test fold, of trees that were grown on the other folds."""

    columns: tuple[str, ...]
    gains: NDArray[np.float64]  #: (n_columns,) impurity that the tests of each column remove.
    by_family: Mapping[str, float]  #: Loss of average precision when the columns of a family are permuted.
    by_column: Mapping[str, float]  #: The same for the columns with the greatest gains.


def importance_rows(model: Model, dataset: Dataset) -> LabelledRows:
    """Compute the features of a model on the labelled pages of a data set, parsed as in training.

    Raises DatasetError if no block is labelled, or a page can't be read.
    """
    matrices, labels = [], []
    for labelled in dataset.pages:
        html, gold = labelled.load()
        if gold is None:
            continue
        page = parse(html, url=labelled.url, charset=labelled.charset, **model.parsing.options())
        found = gold.label(page)
        matrices.append(page_matrix(page, model.features).values[found.known])
        labels.append(found.main[found.known])
    main = np.concatenate(labels) if labels else np.zeros(0, dtype=bool)
    if not main.any() or main.all():
        raise DatasetError("importance needs labelled blocks of content and of boilerplate", source=dataset.path)
    return LabelledRows(feature_set(model.features).columns, np.concatenate(matrices), main)


def impurity_gains(trees: Trees, rows: LabelledRows, *, averaged: bool) -> NDArray[np.float64]:
    """Sum the impurity that the tests of each column remove on the given rows, (n_columns,).

    For ``averaged`` trees, impurity is the entropy of the labels in bits times rows; for others, the sum of squared
    deviations of the leaf values that rows reach.
    """
    gains = np.zeros(len(rows.columns))
    main = rows.main.astype(np.float64)
    for root, end in zip(trees.roots.tolist(), [*trees.roots.tolist()[1:], len(trees.feature)], strict=True):
        values = main
        if not averaged:
            values = _tree(trees, root, end).predict(rows.matrix)
        waiting = [(root, np.arange(len(main)))]
        while waiting:
            node, chosen = waiting.pop()
            feature = int(trees.feature[node])
            if feature < 0 or not len(chosen):
                continue
            left = rows.matrix[chosen, feature] <= trees.threshold[node]
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


def by_column(model: Model, rows: LabelledRows, *, repeats: int = 5, seed: int = 0) -> list[Importance]:
    """Return the importance of each column that the model's trees read, greatest loss first."""
    groups = {name: [place] for place, name in enumerate(rows.columns)}
    return _importances(_trees(model), rows, groups, repeats, seed)


def by_family(model: Model, rows: LabelledRows, *, repeats: int = 5, seed: int = 0) -> list[Importance]:
    """Return the importance of each family of columns, permuted together; columns of neighbours form separate families.

    A family consists of the columns that one module computes; each column of Kim et al. 2013 is a family by itself.
    """
    return _importances(_trees(model), rows, _families(rows.columns), repeats, seed)


def _trees(model: Model) -> TreeEnsemble:
    if not model.ensembles:
        raise UsageError(f"model {model.name} has no trees, so the importance of its columns can't be computed")
    return model.ensembles[0]


def _families(columns: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the columns of each family."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(columns):
        base, offset, _ = split_name(name)
        family = COLUMNS[base].family
        own = base if family is None else family.__module__.rpartition(".")[2]
        groups.setdefault(f"{own}, neighbours" if offset else own, []).append(place)
    return groups


def fold_importance(ensemble: object, rows: LabelledRows, seed: int = 0) -> FoldImportance | None:
    """Measure importance on the rows of a test fold, or a sample of them, with one permutation of each unit.

    None for a predictor that is not an ensemble of trees, and for rows of one class.
    """
    if len(rows.main) > _FOLD_ROWS:
        chosen = np.sort(np.random.default_rng(seed).choice(len(rows.main), _FOLD_ROWS, replace=False))
        rows = LabelledRows(rows.columns, rows.matrix[chosen], rows.main[chosen])
    if not isinstance(ensemble, TreeEnsemble) or not rows.main.any() or rows.main.all():
        return None
    gains = impurity_gains(ensemble.trees, rows, averaged=isinstance(ensemble, MeanTrees))
    best = np.argsort(-gains, kind="stable")[:_FOLD_COLUMNS].tolist()
    columns = {rows.columns[place]: [place] for place in best if gains[place] > 0}
    families, single = (
        {item.name: item.drop for item in _importances(ensemble, rows, groups, 1, seed, gains)}
        for groups in (_families(rows.columns), columns)
    )
    return FoldImportance(rows.columns, gains, families, single)


def held_out_importance(folds: Sequence[FoldImportance]) -> dict[str, list[Importance]]:
    """Average the importance over folds: ``family`` of all families, ``column`` of the columns with most gain."""
    if not folds:
        return {}
    gains = np.mean([fold.gains / max(float(fold.gains.sum()), 1e-300) for fold in folds], axis=0)
    places = {name: place for place, name in enumerate(folds[0].columns)}
    groups = {"family": _families(folds[0].columns), "column": {name: [place] for name, place in places.items()}}
    found: dict[str, list[Importance]] = {}
    for unit, members in groups.items():
        drops = defaultdict[str, list[float]](list)
        for fold in folds:
            for name, drop in (fold.by_family if unit == "family" else fold.by_column).items():
                drops[name].append(drop)
        rows = [
            Importance(
                name, int(np.count_nonzero(gains[members[name]])), float(gains[members[name]].sum()),
                float(np.mean(values)), float(np.std(values)),
            )
            for name, values in drops.items()
        ]  # fmt: skip
        ordered = sorted(rows, key=lambda item: (-item.impurity, item.name))
        found[unit] = ordered if unit == "family" else ordered[:_LISTED]
    return found


def _importances(
    ensemble: TreeEnsemble,
    rows: LabelledRows,
    groups: Mapping[str, Sequence[int]],
    repeats: int,
    seed: int,
    gains: NDArray[np.float64] | None = None,
) -> list[Importance]:
    if repeats < 1:
        raise UsageError(f"repeats must be at least 1, got {repeats}")
    if gains is None:
        gains = impurity_gains(ensemble.trees, rows, averaged=isinstance(ensemble, MeanTrees))
    used = np.unique(ensemble.trees.feature[ensemble.trees.feature >= 0])
    before = _average_precision(ensemble, rows.matrix, rows.main)
    random = np.random.default_rng(seed)
    found = []
    for name, places in groups.items():
        if not np.isin(places, used).any():
            continue
        losses = []
        for _ in range(repeats):
            permuted = rows.matrix.copy()
            permuted[:, places] = rows.matrix[random.permutation(len(rows.main))][:, places]
            losses.append(before - _average_precision(ensemble, permuted, rows.main))
        share = float(gains[list(places)].sum() / max(float(gains.sum()), 1e-300))
        n_used = int(np.isin(places, used).sum())
        found.append(Importance(name, n_used, share, float(np.mean(losses)), float(np.std(losses))))
    return sorted(found, key=lambda item: (-item.drop, item.name))


def _average_precision(ensemble: TreeEnsemble, matrix: NDArray[np.float32], main: NDArray[np.bool_]) -> float:
    return precision_recall(main, ensemble.trees.predict(matrix)).average_precision
