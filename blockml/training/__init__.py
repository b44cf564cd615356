"""Training and evaluation of models on labelled pages: recipes, tables, splits, trees, tuning, adaptation.

A :class:`Recipe` says which features and learners a model has. :func:`train_model` trains one on data sets, and
:func:`adapt` corrects a trained model with labelled pages of its user. The other functions are the steps of both:
:func:`build_table` makes rows of the blocks of data sets, :func:`folds` and :func:`cross_validate` divide them, and the
functions whose names start with ``fit_`` train the predictors.
"""

import importlib.util
from typing import TYPE_CHECKING

from blockml.errors import MissingExtraError
from blockml.page.lazy import imported_later as _imported_later

if any(importlib.util.find_spec(name) is None for name in ("joblib", "scipy", "sklearn", "threadpoolctl")):
    raise MissingExtraError("training", "train")

if TYPE_CHECKING:
    from blockml.training.adaptation import Adaptation, adapt, adapt_groups
    from blockml.training.block_types import BlockTypeRows, block_type_rows, fit_block_types
    from blockml.training.boosted_trees import fit_boosted, fit_boosted_classes, fit_lightgbm
    from blockml.training.cross_validation import CrossValidation, cross_validate
    from blockml.training.ensemble import Ensemble, fit_ensemble, fit_model
    from blockml.training.page_policy import HeldOut, PagePolicy, fit_page_policy
    from blockml.training.recipes import RECIPES, Recipe, best_recipe, recipe
    from blockml.training.single_tree import fit_tree, to_trees, tune
    from blockml.training.sklearn_learners import FlatTree
    from blockml.training.splits import PROTOCOLS, duplicate_groups, fold_pages, folds, n_groups
    from blockml.training.table import BlockTable, PageRows, RowMatrix, build_table
    from blockml.training.train import train_model

__all__ = [
    "PROTOCOLS", "RECIPES", "Adaptation", "BlockTable", "BlockTypeRows", "CrossValidation", "Ensemble", "FlatTree",
    "HeldOut", "PagePolicy", "PageRows", "Recipe", "RowMatrix", "adapt", "adapt_groups", "best_recipe",
    "block_type_rows", "build_table", "cross_validate", "duplicate_groups", "fit_block_types", "fit_boosted",
    "fit_boosted_classes", "fit_ensemble", "fit_lightgbm", "fit_model", "fit_page_policy", "fit_tree", "fold_pages",
    "folds", "n_groups", "recipe", "to_trees", "train_model", "tune",
]  # fmt: skip

#: Modules of the names. All are imported on first use, because a list of recipes needs no learners.
_LATER = {
    **dict.fromkeys(("Adaptation", "adapt", "adapt_groups"), "blockml.training.adaptation"),
    **dict.fromkeys(("BlockTypeRows", "block_type_rows", "fit_block_types"), "blockml.training.block_types"),
    **dict.fromkeys(("fit_boosted", "fit_boosted_classes", "fit_lightgbm"), "blockml.training.boosted_trees"),
    **dict.fromkeys(("CrossValidation", "cross_validate"), "blockml.training.cross_validation"),
    **dict.fromkeys(("Ensemble", "fit_ensemble", "fit_model"), "blockml.training.ensemble"),
    **dict.fromkeys(("HeldOut", "PagePolicy", "fit_page_policy"), "blockml.training.page_policy"),
    **dict.fromkeys(("RECIPES", "Recipe", "best_recipe", "recipe"), "blockml.training.recipes"),
    **dict.fromkeys(("fit_tree", "to_trees", "tune"), "blockml.training.single_tree"),
    **dict.fromkeys(("PROTOCOLS", "duplicate_groups", "fold_pages", "folds", "n_groups"), "blockml.training.splits"),
    **dict.fromkeys(("BlockTable", "PageRows", "RowMatrix", "build_table"), "blockml.training.table"),
    "FlatTree": "blockml.training.sklearn_learners",
    "train_model": "blockml.training.train",
}

if not TYPE_CHECKING:  # type checkers would take any name for granted
    __getattr__ = _imported_later(__name__, _LATER)
