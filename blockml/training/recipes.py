"""Recipes: everything that decides how a model is trained from given pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from blockml.decision.policy import DecisionPolicy
from blockml.errors import UnknownNameError, UsageError, check_name
from blockml.features.feature_sets import FEATURE_SETS, feature_set, nominal_columns, read_columns
from blockml.page import MAIN_LABELS, Label
from blockml.parsing.limits import ParsingOptions
from blockml.predictors import PREDICTORS
from blockml.training.sklearn_learners import FlatTree


class MatrixInputs(NamedTuple):
    """Fields of a recipe on which the rows of a page depend."""

    features: str  #: Name of the feature set, or names of columns; see :func:`blockml.features.feature_set`.
    parsing: ParsingOptions  #: Options of parsing.
    main: frozenset[Label]  #: Labels that count as content.


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides how a model is trained from given pages."""

    name: str
    features: str  #: Name of the feature set, or names of columns; see :func:`blockml.features.feature_set`.
    #: ``cart``: scikit-learn's entropy tree; ``boosted``: scikit-learn's histogram
    #: boosting; ``lightgbm``: LightGBM, which is faster. Otherwise a kind of :data:`blockml.predictors.PREDICTORS`
    #: whose class has a method ``fit``.
    learner: str
    #: Parameters of the learner. Of a single tree: ``min_leaf`` (rows in a leaf). Of boosted trees:
    #: :class:`blockml.training.boosted_trees.Boosting`.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Grows a single tree from the recipe, a matrix, labels and a seed, instead of a learner of blockml.
    tree_learner: Callable[..., FlatTree] | None = None
    main: frozenset[Label] = MAIN_LABELS  #: Labels that count as content.
    parsing: ParsingOptions = field(default_factory=ParsingOptions)  #: Options of parsing, in training and prediction.
    #: Minimum score of blocks that single trees keep; None: tuned by :func:`blockml.training.single_tree.tune`.
    threshold: float | None = None
    #: Strength of :func:`blockml.training.single_tree.shrink`, for single trees; None: tuned.
    shrinkage: float | None = None
    #: Decision policy of ensembles; single trees have no more than their threshold, as cross-validation measures them.
    policy: DecisionPolicy = field(default_factory=DecisionPolicy)
    n_mlps: int = 0  #: Number of small MLPs in the ensemble; see :mod:`blockml.predictors.mlp`.
    mlp_weight: float = 0.5  #: Weight of the MLPs in the ensemble, in [0, 1].
    #: Share of article pages with a shortened variant to train on: see :mod:`blockml.training.table`.
    shortened: float = 0.0
    filter_gold: bool = False  #: Whether pages with gold defects found by our checks are left out of training too.
    block_types: bool = False  #: Whether block types are trained as well; see :mod:`blockml.training.block_types`.
    #: Protocols of cross-validation: see :data:`blockml.training.PROTOCOLS`.
    protocols: tuple[str, ...] = ("page", "site")
    n_folds: int = 5  #: Number of folds of each protocol.
    notes: tuple[str, ...] = ()  #: Paragraphs for the card of the model.
    source: str = ""

    @property
    def inputs(self) -> MatrixInputs:
        """Fields on which the rows of a page depend."""
        return MatrixInputs(self.features, self.parsing, self.main)

    @property
    def is_ensemble(self) -> bool:
        """Whether an ensemble of predictors is trained, and not a single tree."""
        return self.learner != "cart" and self.tree_learner is None

    @property
    def is_boosted(self) -> bool:
        """Whether the learner grows boosted trees."""
        return self.learner in ("boosted", "lightgbm")

    @property
    def settable(self) -> dict[str, Any]:
        """Fields and parameters of the learner that :meth:`but` can change, with their values."""
        names = _SETTABLE if self.is_ensemble else (*_SETTABLE, *_OF_SINGLE_TREES)
        return {**{name: getattr(self, name) for name in names}, **self.parameters}

    def but(self, **parameters: Any) -> Recipe:  # noqa: ANN401 (values of any recipe parameter)
        """Return the recipe with other fields (features, learner) or parameters of the learner.

        ``features`` may also be the path of a file of columns: see :func:`blockml.features.feature_sets.read_columns`.

        Parameters of boosted trees may have LightGBM's names, such as ``learning_rate``, which is ``rate``, and
        ``n_estimators``, which is ``n_trees``.

        Another learner has its own default parameters; threshold and shrinkage are fields that single trees have.

        Raises
        ------
        UnknownNameError
            No such learner, parameter, feature set or column.
        UsageError
            A value outside its range.
        """
        parameters = {_ALIASES.get(key, key): value for key, value in parameters.items()}
        fields = {key: parameters.pop(key) for key in (*_SETTABLE, *_OF_SINGLE_TREES) if key in parameters}
        features = fields.get("features")
        if isinstance(features, str) and features not in FEATURE_SETS and Path(features).is_file():
            fields["features"] = read_columns(features)
        learner = fields.get("learner", self.learner)
        defaults = self.parameters if learner == self.learner else _DEFAULTS.get(str(learner), {})
        other = self if learner == self.learner else replace(self, learner=str(learner), tree_learner=None)
        settable = _SETTABLE if other.is_ensemble else (*_SETTABLE, *_OF_SINGLE_TREES)
        for name in parameters:
            if name not in defaults:
                raise UnknownNameError("recipe parameter", name, [*defaults, *settable])
        return replace(other, parameters={**defaults, **parameters}, **fields).checked()

    def checked(self) -> Recipe:
        """Return the recipe itself after checking it, as in :meth:`but`."""
        learners = [*_DEFAULTS, *(name for name, kind in PREDICTORS.items() if hasattr(kind, "fit"))]
        if self.tree_learner is None:
            check_name("learner", self.learner, learners)
        columns = feature_set(self.features).columns
        if nominal := nominal_columns(columns):
            one_hot = sorted(name for name, item in FEATURE_SETS.items() if not nominal_columns(item.columns))
            raise UsageError(
                f"trees need one-hot features, not {columns[nominal[0]]!r}; columns such as parent_0=p, or one of: "
                f"{', '.join(one_hot)}"
            )
        given = {name: value for name in _OF_SINGLE_TREES if (value := getattr(self, name)) is not None}
        if self.is_ensemble and given:
            raise UsageError(
                f"{' and '.join(given)} can be set for single trees only, not for learner {self.learner!r}, whose "
                "decision follows the policy of the recipe"
            )
        for name, value in {**given, **self.parameters}.items():
            if name in _RANGES:
                low, high = _RANGES[name]
                kind, noun = (int, "whole number") if isinstance(low, int) else (int | float, "number")
                if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
                    raise UsageError(
                        f"recipe parameter {name!r} must be a {noun} from {low:g} to {high:g}, got {value!r}"
                    )
        return self


#: Ranges of parameters; those with whole bounds are whole numbers.
_RANGES: Mapping[str, tuple[float, float]] = {
    "threshold": (0.001, 1.0),
    "shrinkage": (0.0, 1e9),
    "min_leaf": (1, 10**9),
    "n_trees": (1, 10_000),
    "leaves": (2, 1_000),
    "rate": (1e-6, 1.0),
    "l2": (0.0, 1e9),
    "max_features": (1e-6, 1.0),
    "max_bins": (2, 255),
}

#: LightGBM's and scikit-learn's names of parameters of boosted trees.
_ALIASES: Mapping[str, str] = {
    "learning_rate": "rate",
    "n_estimators": "n_trees",
    "num_leaves": "leaves",
    "min_child_samples": "min_leaf",
    "reg_lambda": "l2",
    "colsample_bytree": "max_features",
    "max_bin": "max_bins",
}

#: Fields of a recipe that may be set like parameters of its learner, and those that only single trees have.
_SETTABLE, _OF_SINGLE_TREES = ("features", "learner"), ("threshold", "shrinkage")

# Kim et al. 2013, section 4.3: J48's minNumObj 10; its confidenceFactor 0.70 prunes hardly anything.
_KIM = {"min_leaf": 10}

#: Tuned on WCXB, folds by site (research/studies/model-log.md).
_BOOSTED = {"n_trees": 200, "leaves": 31, "rate": 0.07, "min_leaf": 40, "l2": 5.0, "max_features": 0.2, "max_bins": 63}

#: Default parameters of learners.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {"cart": _KIM, "boosted": _BOOSTED, "lightgbm": _BOOSTED}

_NOTES = (
    "Block types (headings, comments, related links, navigation, advertisements, footers) are learnt from the training "
    "pages, labelled by the names in their markup, and from pages with labelled blocks. Except on forums, comments are "
    "left out, unless they are paragraphs of the page's body, or are probable or long and hardly any other text "
    "remains; the numbers above were measured without that rule. How good the labels are: "
    "research/studies/block-types.md.",
    "Pages that ask for a password or for several pieces of text have no content if little of it is expected and none "
    "is probable; the numbers above were measured without that rule, which brings .035 on held-out service pages "
    "(research/studies/model-log.md, experiment 93).",
    "Known weaknesses: people disagree about the content of product pages and lists, where too much is kept more often "
    "than too little. Pages whose content is loaded by scripts give the text of their noscript elements, or nothing. "
    "Headlines far from their text are often left out, and lines such as 'Related Posts' at the end of an article are "
    "sometimes kept; of home pages about half of the teasers are kept. If a page contains a text more than once, only "
    "the visible copy is kept, even where the author meant it to be read twice. Captions of pictures are kept more "
    "often than in some gold texts. The calibration was chosen on the folds that it is measured on; "
    "research/studies/model-log.md has other folds.",
)

_RECIPES = (
    Recipe("kim2013", "kim2013-onehot", "cart", _KIM, source="Kim et al. 2013, sections 3.3 and 4.3"),
    Recipe("boilerpipe6", "boilerpipe6", "cart", _KIM, source="Kim et al. 2013, section 2.2: the paper's comparison"),
    Recipe("kim2013-site", "kim2013-site", "cart", _KIM, source="Kim et al. 2013 with other pages of the site"),
    Recipe(
        "boosted",
        "page",
        "lightgbm",
        _BOOSTED,
        parsing=ParsingOptions(tokenizer="cjk"),
        policy=DecisionPolicy(rule="expected_f1", min_content_words=40),
        source="boosted trees over blocks, expected F1: the baseline of the default model",
    ),
    Recipe(
        "default",
        "page",
        "lightgbm",
        _BOOSTED,
        parsing=ParsingOptions(tokenizer="cjk"),
        policy=DecisionPolicy(
            rule="expected_f1",
            min_content_words=40,
            form_best_probability=0.8,
            base_penalty=0.2,
            article_penalty=0.4,
            link_penalty=1.0,
            duplicate_penalty=4.0,
            neighbor_smoothing=0.05,
            negative_shrinkage=0.3,
            sidebar_probability=0.7,
            named_comment_probability=0.1,
            declared_probability=0.2,
        ),
        n_mlps=2,
        mlp_weight=0.65,
        shortened=0.5,
        filter_gold=True,
        block_types=True,
        protocols=("site",),
        notes=_NOTES,
        source="boosted trees and small MLPs, and a policy for the page: research/studies/model-log.md",
    ),
    Recipe("stacking", "votes", "cart", _KIM, source="Wolpert 1992, on the extractors that Gottron 2008 compares"),
)

#: Recipes by name.
RECIPES: Mapping[str, Recipe] = {item.name: item for item in _RECIPES}


def recipe(name: str) -> Recipe:
    """Look up a recipe; raises UnknownNameError."""
    check_name("recipe", name, RECIPES)
    return RECIPES[name]


def best_recipe() -> Recipe:
    """Return the best recipe that the installed libraries can train.

    It is ``default`` with LightGBM; without it ``boosted``, by scikit-learn. ``docs/training.md`` compares them.
    """
    if find_spec("lightgbm") is not None:
        return recipe("default")
    return recipe("boosted").but(learner="boosted")
