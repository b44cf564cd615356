"""C4.5 as WEKA's J48, the learner of Kim et al. 2013: growing, pruning, and recipes that train with it.

``blockml`` trains with scikit-learn's entropy tree instead, whose numbers are within .01 of those of C4.5
(research/studies/results.md). Here is what the comparison needs::

    from blockml.training import build_table, cross_validate
    from research.c45 import C45_RECIPES

    chosen = C45_RECIPES["kim2013-c45"]
    cross_validate(build_table([dataset], chosen), chosen, "site")
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.feature_sets import COLUMNS, feature_set, split_name
from blockml.training import FlatTree, Recipe
from research.c45.tree import C45Tree

__all__ = ["C45_RECIPES", "c45_attributes", "grow_c45"]

#: Kim et al. 2013, section 4.3: J48's confidenceFactor, above whose 0.5 WEKA adds no errors, and minNumObj.
_KIM = {"min_leaf": 10, "confidence": 0.70}


def grow_c45(recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], seed: int) -> FlatTree:  # noqa: ARG001 (the interface of tree learners)
    """Fit C4.5 on nominal attributes, and rewrite its tree for the one-hot matrix."""
    attributes, nominal, numeric, one_hot = c45_attributes(recipe, matrix)
    learner = C45Tree(
        min_leaf=recipe.parameters["min_leaf"], confidence=recipe.parameters["confidence"], nominal=nominal
    )
    return learner.fit(attributes, main).to_binary(numeric, one_hot)


def c45_attributes(
    recipe: Recipe, matrix: NDArray[np.float32]
) -> tuple[NDArray[np.float64], tuple[int, ...], dict[int, int], dict[tuple[int, int], int]]:
    """Undo the one-hot encoding of the nominal attributes of a recipe's matrix, (n_rows, n_features).

    Returns the attributes, (n_rows, n_attributes), the indices of the nominal ones, and the columns of the matrix by
    numeric attribute and by nominal attribute and code.
    """
    columns = feature_set(recipe.features).columns
    parts = [split_name(name) for name in columns]
    attributes = list(dict.fromkeys((base, offset) for base, offset, _ in parts))
    values = np.zeros((len(matrix), len(attributes)))
    numeric: dict[int, int] = {}
    one_hot: dict[tuple[int, int], int] = {}
    for column, (base, offset, code) in enumerate(parts):
        attribute = attributes.index((base, offset))
        if code is None:
            numeric[attribute] = column
            values[:, attribute] = matrix[:, column]
        else:
            one_hot[attribute, code] = column
            values[matrix[:, column] > 0, attribute] = code
    nominal = tuple(i for i, (base, _) in enumerate(attributes) if COLUMNS[base].values)
    return values, nominal, numeric, one_hot


#: Recipes by name.
C45_RECIPES: Mapping[str, Recipe] = {
    f"{name}-c45": Recipe(f"{name}-c45", features, "c45", _KIM, tree_learner=grow_c45, source="Kim et al. 2013")
    for name, features in (("kim2013", "kim2013-onehot"), ("boilerpipe6", "boilerpipe6"))
}
