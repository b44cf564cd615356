"""How a model is trained: features, learner, its parameters, the reading of the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from blockml.decision.decide import Rule
from blockml.errors import UnknownNameError, UsageError
from blockml.features.feature_sets import FEATURE_SETS, feature_set, nominal_columns
from blockml.model.model_file import Parsing
from blockml.page import MAIN_LABELS, Label

__all__ = ["RECIPES", "Recipe", "recipe"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides what is learnt from given pages."""

    name: str
    features: str
    """Feature set the trees see."""
    learner: Literal["cart", "c45", "boosted", "lightgbm"]
    """``cart``: scikit-learn's entropy tree. ``c45``: the semantics of C4.5 as WEKA's J48 has them. ``boosted``:
    scikit-learn's histogram boosting. ``lightgbm``: the same by LightGBM, which grows such trees in less time."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the learner. Of a single tree: ``min_leaf`` (rows in a leaf) and ``confidence`` (of pessimistic
    pruning; above 0.5 it prunes nothing). Of boosted trees: see
    :class:`blockml.training.hist_gradient_boosting.Boosting`."""
    main: frozenset[Label] = MAIN_LABELS
    """Labels that count as content."""
    parsing: Parsing = field(default_factory=Parsing)
    """How pages are parsed, in training and afterwards."""
    threshold: float | None = None
    """Score from which on a block is kept; None: tuned, see :func:`blockml.training.tuning.tune`."""
    shrinkage: float | None = None
    """How strongly leaves are drawn towards their ancestors (:func:`blockml.training.single_tree.shrink`); None:
    tuned."""
    rule: Rule = "threshold"
    """How blocks are chosen: see :class:`blockml.model.model_file.Model`."""
    least_words: float = 0.0
    """Expected words of content below which a page may be taken to have none: see
    :func:`blockml.decision.decide.recenter`."""
    caution: float = 0.0
    """By how much the log odds of blocks are lowered."""
    article_caution: float = 0.0
    """By how much more on pages that are articles; see :mod:`blockml.decision.page_policy`."""
    link_caution: float = 0.0
    """By how much more those of links, on pages that certainly have a body of running text."""
    copy_caution: float = 0.0
    """By how much more those of text that stands on the page already; see :mod:`blockml.decision.duplicates`."""
    leaning: float = 0.0
    """Part of the log odds of a line that its neighbours decide, in [0, 1]; see :mod:`blockml.decision.page_policy`."""
    doubt: float = 0.0
    """Part by which log odds against a block are lessened on a page that is hardly an article, in [0, 1]."""
    nets: int = 0
    """How many small nets are trained beside boosted trees; see :mod:`blockml.predictors.mlp`."""
    net_share: float = 0.5
    """Weight of the nets beside the trees, in [0, 1]."""
    source: str = ""

    @property
    def is_boosted(self) -> bool:
        """Whether many trees are grown, one on the errors of those before."""
        return self.learner in ("boosted", "lightgbm")

    def but(self, **parameters: Any) -> Recipe:  # noqa: ANN401 (values of any recipe parameter)
        """Return the recipe with other learner parameters, feature set, threshold or shrinkage.

        Raises
        ------
        UnknownNameError
            No such parameter or feature set.
        UsageError
            A value outside its range.
        """
        own = {key: parameters.pop(key) for key in _OWN if key in parameters}
        for name in parameters:
            if name not in self.parameters:
                raise UnknownNameError("recipe parameter", name, [*self.parameters, *_OWN])
        return replace(self, parameters={**self.parameters, **parameters}, **own).checked()

    def checked(self) -> Recipe:
        """Return the recipe itself, if it can be carried out."""
        columns = feature_set(str(self.features)).columns
        if nominal_columns(columns):
            one_hot = [name for name, item in FEATURE_SETS.items() if not nominal_columns(item.columns)]
            raise UsageError(f"a tree can't learn from {self.features!r}; choose one of: {', '.join(sorted(one_hot))}")
        for name, value, low, high in (
            ("threshold", self.threshold, 0.001, 1),
            ("shrinkage", self.shrinkage, 0, math.inf),
            *((name, self.parameters[name], *_RANGES[name]) for name in self.parameters if name in _RANGES),
        ):
            optional = value is None and name in _OWN
            if not optional and not (isinstance(value, int | float) and low <= value <= high):
                raise UsageError(f"recipe parameter {name!r} is a number from {low} to {high}, not {value!r}")
        return self


#: Legal values of learners' parameters.
_RANGES: Mapping[str, tuple[float, float]] = {
    "min_leaf": (1, math.inf),
    "confidence": (0.001, 1),
    "n_trees": (1, 10_000),
    "leaves": (2, 1_000),
    "rate": (1e-6, 1),
    "l2": (0, math.inf),
    "max_features": (1e-6, 1),
    "max_bins": (2, 255),
}

#: Fields of a recipe that may be set like parameters of its learner.
_OWN = ("features", "threshold", "shrinkage")

# J48's confidenceFactor is 0.70 in Kim et al. 2013, section 4.3. WEKA adds no errors above 0.5, so the value prunes
# nothing: what is left is minNumObj, 10 rows in a leaf.
_KIM = {"min_leaf": 10, "confidence": 0.70}

#: Found on WCXB, folds by site (docs/model-log.md).
_BOOSTED = {"n_trees": 200, "leaves": 31, "rate": 0.07, "min_leaf": 40, "l2": 5.0, "max_features": 0.2, "max_bins": 63}

_RECIPES = (
    Recipe("kim2013", "kim2013-onehot", "cart", _KIM, source="Kim et al. 2013, sections 3.3 and 4.3"),
    Recipe("boilerpipe6", "boilerpipe6", "cart", _KIM, source="Kim et al. 2013, section 2.2: the paper's comparison"),
    Recipe("kim2013-c45", "kim2013-onehot", "c45", _KIM, source="Kim et al. 2013 with the learner's own semantics"),
    Recipe("boilerpipe6-c45", "boilerpipe6", "c45", _KIM, source="the same with six attributes"),
    Recipe(
        "kim2013-site", "kim2013-site", "cart", _KIM, source="Kim et al. 2013 with what other pages of the site say"
    ),
    Recipe(
        "boosted",
        "page",
        "lightgbm",
        _BOOSTED,
        parsing=Parsing(tokenizer="cjk"),
        rule="expected_f1",
        least_words=40,
        source="boosted trees over blocks, expected F1: the pipeline that the default model has to beat",
    ),
    Recipe(
        "default",
        "page",
        "lightgbm",
        _BOOSTED,
        parsing=Parsing(tokenizer="cjk"),
        rule="expected_f1",
        least_words=40,
        caution=0.2,
        article_caution=0.6,
        link_caution=1.0,
        copy_caution=4.0,
        leaning=0.05,
        doubt=0.2,
        nets=3,
        net_share=0.65,
        source="boosted trees and small nets, and whole pages judged: docs/model-log.md",
    ),
    Recipe("stacking", "votes", "cart", _KIM, source="Wolpert 1992, on the extractors that Gottron 2008 compares"),
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
