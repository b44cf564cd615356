"""Trained predictors: log odds of blocks from the feature matrix of their page."""

from __future__ import annotations

from collections.abc import Mapping

from blockml.predictors.base import Predictor, log_odds, sigmoid
from blockml.predictors.block_types import BlockTypes
from blockml.predictors.correction import Correction, LinearModel
from blockml.predictors.mlp import MLP
from blockml.predictors.tree_ensemble import MeanTrees, TreeEnsemble, Trees

__all__ = [
    "MLP", "PREDICTORS", "BlockTypes", "Correction", "LinearModel", "MeanTrees", "Predictor", "TreeEnsemble", "Trees",
    "log_odds", "sigmoid",
]  # fmt: skip

#: Kinds of predictors in model files, by name.
PREDICTORS: Mapping[str, type[Predictor]] = {
    kind.kind: kind for kind in (TreeEnsemble, MeanTrees, LinearModel, MLP, BlockTypes, Correction)
}
