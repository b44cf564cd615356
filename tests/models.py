"""Small models that are built in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.decision import DecisionPolicy
from blockml.features import FEATURE_SETS, PageMatrix
from blockml.features.page_context import PageContext
from blockml.model import Model
from blockml.page import Label, Page
from blockml.parsing.limits import ParsingOptions
from blockml.predictors import BlockTypes, MeanTrees, TreeEnsemble, Trees
from blockml.predictors.tree_ensemble import joined


def small_trees() -> Trees:
    """Return a tree on boilerpipe's six columns: content if the block or the next (columns 2, 4) has long lines."""
    return Trees(
        feature=np.array([2, 4, -1, -1, -1], np.int32),
        threshold=np.array([5.5, 7.5, 0, 0, 0], np.float64),
        left=np.array([1, 2, -1, -1, -1], np.int32),
        right=np.array([4, 3, -1, -1, -1], np.int32),
        value=np.array([0.5, 0.4, 0.125, 0.625, 0.875], np.float64),
        roots=np.array([0], np.int32),
    )


def small_model(
    *, trees: Trees | None = None, boosted: bool = False, threshold: float = 0.5, **changes: object
) -> Model:
    """Return a model of one tree with every field set; ``changes`` replace fields."""
    kind = TreeEnsemble if boosted else MeanTrees
    values: dict[str, object] = {
        "name": "tiny",
        "version": "1.2",
        "features": "boilerpipe6",
        "features_hash": FEATURE_SETS["boilerpipe6"].hash,
        "predictors": {"tree": kind(small_trees() if trees is None else trees)},
        "weights": {"tree": 1.0},
        "policy": replace(DecisionPolicy(), threshold=threshold),
        "parsing": ParsingOptions(profile="boilerpipe", keep_wordless=False),
        "labels": ("main", "heading"),
        "recipe": {"name": "by hand", "depth": 2},
        "training": (
            {"name": "Läse", "pages": 3, "flagged_pages": 0, "sites": 1, "blocks": 9, "content_blocks": 4}
            | {"checksum": "", "licence": "", "attribution": ""},
        ),
        "metrics": {"f1": 0.9},
        "command": "none",
        "seed": 7,
    }
    return Model(**(values | changes))  # type: ignore[arg-type]


def rows_as_page(rows: NDArray[np.float32]) -> PageMatrix:
    """Return a page matrix of rows for predictors that read only the matrix."""
    return PageMatrix(rows, tuple(map(str, range(rows.shape[1]))), PageContext(blockml.parse("<p>text" * len(rows))))


def page_without_columns(page: Page) -> PageMatrix:
    """Return the features of a page without any column, for decisions that need its context."""
    return PageMatrix(np.zeros((len(page.blocks), 0), np.float32), (), PageContext(page))


def typed_page(page: Page, sums: Mapping[Label, Sequence[float]]) -> tuple[BlockTypes, PageMatrix]:
    """Return trees with the given sums for each type and block, and the features by which they recognise the block."""
    trees = [
        joined(
            [
                Trees(
                    feature=np.array([0, -1, 0, -1, -1], np.int32),
                    threshold=np.array([block - 0.5, 0, block + 0.5, 0, 0]),
                    left=np.array([1, -1, 3, -1, -1], np.int32),
                    right=np.array([2, -1, 4, -1, -1], np.int32),
                    value=np.array([0.0, 0.0, 0.0, value, 0.0]),
                    roots=np.array([0], np.int32),
                )
                for block, value in enumerate(values)
            ]
        )
        for values in sums.values()
    ]
    number = np.arange(len(page.blocks), dtype=np.float32)[:, None]
    return BlockTypes(tuple(sums), tuple(trees)), PageMatrix(number, ("number",), PageContext(page))


def with_labels(page: Page, labels: Sequence[Label]) -> tuple[BlockTypes, PageMatrix]:
    """Return trees that are almost certain of the label of each block, and their features."""
    return typed_page(page, {label: [9.0 * (label is own) for own in labels] for label in dict.fromkeys(labels)})


def scores_of(model: Model, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (n_rows,) probabilities of a model with one predictor."""
    (predictor,) = model.predictors.values()
    return predictor.probabilities(rows_as_page(rows))
