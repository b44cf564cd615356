"""How a model is trained: features, learner, its parameters, the reading of the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from blockml.errors import UnknownNameError, UsageError
from blockml.modelfile import Parsing
from blockml.page import MAIN_LABELS, Label

__all__ = ["RECIPES", "WEIGHTS", "Recipe", "recipe"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides what is learnt from given pages."""

    name: str
    features: str
    """Feature set the trees see."""
    learner: Literal["cart", "c45"]
    """``cart``: scikit-learn's entropy tree. ``c45``: the semantics of C4.5 as WEKA's J48 has them."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the learner: ``min_leaf`` (rows in a leaf), ``confidence`` (of pessimistic pruning; above 0.5 it
    prunes nothing), ``laplace`` (add one to both classes' weights in a leaf), ``weights`` (a key of :data:`WEIGHTS`)."""
    main: frozenset[Label] = MAIN_LABELS
    """Labels that count as content."""
    parsing: Parsing = field(default_factory=Parsing)
    """How pages are parsed, in training and afterwards."""
    threshold: float | None = None
    """Score from which on a block is kept; None: the one with the best page F1 on inner folds of the training pages."""
    source: str = ""

    def but(self, **parameters: Any) -> Recipe:  # noqa: ANN401 (values of any recipe parameter)
        """Return the recipe with other learner parameters, feature set or threshold.

        Raises
        ------
        UnknownNameError
            No such parameter.
        """
        own = {key: parameters.pop(key) for key in ("features", "threshold") if key in parameters}
        for name, value in parameters.items():
            if name not in self.parameters:
                raise UnknownNameError("recipe parameter", name, [*self.parameters, "features", "threshold"])
            legal = isinstance(value, int | float) if name != "weights" else value in WEIGHTS
            if not legal:
                raise UsageError(f"recipe parameter {name!r} is {_LEGAL[name]}, not {value!r}")
        return replace(self, parameters={**self.parameters, **parameters}, **own)


#: What a block weighs in training.
WEIGHTS: Mapping[str, str] = {
    "none": "every block the same, as in Kim et al. 2013",
    "sqrt-words": "the square root of its words: a page is judged by its words, not by its blocks",
}

_LEGAL = {
    "min_leaf": "a number of rows",
    "confidence": "a number above 0 and up to 1",
    "laplace": "true or false",
    "weights": "one of: " + ", ".join(WEIGHTS),
}

# J48's confidenceFactor is 0.70 in Kim et al. 2013, section 4.3. WEKA adds no errors above 0.5, so the value prunes
# nothing: what is left is minNumObj, 10 rows in a leaf.
_KIM = {"min_leaf": 10, "confidence": 0.70, "laplace": False, "weights": "sqrt-words"}
_J48 = {**_KIM, "weights": "none"}

_RECIPES = (
    Recipe("kim2013", "kim2013-onehot", "cart", _KIM, source="Kim et al. 2013, sections 3.3 and 4.3"),
    Recipe("boilerpipe6", "boilerpipe6", "cart", _KIM, source="Kim et al. 2013, section 2.2: the paper's comparison"),
    Recipe("kim2013-c45", "kim2013-onehot", "c45", _J48, source="Kim et al. 2013 with the learner's own semantics"),
    Recipe("boilerpipe6-c45", "boilerpipe6", "c45", _J48, source="the same with six attributes"),
)

#: Recipes by name.
RECIPES: Mapping[str, Recipe] = {item.name: item for item in _RECIPES}


def recipe(name: str) -> Recipe:
    """Look a recipe up.

    Raises
    ------
    UnknownNameError
        No such recipe.
    """
    if name not in RECIPES:
        raise UnknownNameError("recipe", name, RECIPES)
    return RECIPES[name]
