"""Block features and block classifiers as scikit-learn estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from blockml.decision.policy import DecisionPolicy
from blockml.decision.rules import score_blocks
from blockml.errors import UsageError, check_name
from blockml.estimators.pages import AnyPage, as_pages, as_recipe, check_prepared, labelled_rows, parsed
from blockml.evaluation.metrics import block_scores
from blockml.extractors import Extractor, TrainedExtractor
from blockml.extractors.matrix import page_matrix
from blockml.features import FEATURE_SETS, feature_set
from blockml.parsing.limits import ParsingOptions
from blockml.training import RECIPES, BlockTable, Ensemble, PageRows, Recipe, RowMatrix, fit_model
from blockml.training.ensemble import assembled, fit_blocks
from blockml.training.prepare import check_classes
from blockml.training.sklearn_learners import check_learner, to_predictor

A = TypeVar("A", bound=np.generic)
#: Pages, or a matrix or data frame of blocks.
AnySamples: TypeAlias = "Sequence[AnyPage] | NDArray[Any]"
#: Start of the names of parameters of the recipe.
_OF_RECIPE = "recipe__"


class BlockClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no type information
    """Classifies the blocks of a page as content or not. A sample is a page; a prediction has one entry per block.

    With a matrix of :func:`block_rows`, samples are blocks, as for any other classifier of scikit-learn: ``fit`` takes
    ``y``, predictions have one dimension, and every metric of scikit-learn applies, such as ``scoring="f1"``.

    Parameters
    ----------
    recipe
        A training recipe or its name. Its parameters are parameters of the classifier too: ``recipe__rate`` (or
        ``recipe__learning_rate``), ``recipe__min_leaf`` …; :meth:`get_params` lists them. Single trees tune threshold
        and shrinkage by cross-validation on the pages they are fitted on. P(article) and block types of the recipe
        ``default`` are only trained by ``blockml train``.
    estimator
        A tree, a forest, boosted trees or a linear model of scikit-learn, or a pipeline of scalers and one of these, to
        use instead of the recipe's learner. It is fitted on the blocks of all pages, with the recipe's features; blocks
        with a probability of at least 0.5 are content.
    seed
        Seed of training.

    Attributes
    ----------
    extractor_
        The fitted classifier as an extractor. ``blockml.extract(html, model=classifier)`` uses it.
    model_
        The fitted model. :func:`blockml.save` writes the model of a fitted classifier.
    estimator_
        The fitted ``estimator``; None without one.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets import open_dataset
    >>> pages = open_dataset("data/pages").pages
    >>> classifier = BlockClassifier("kim2013").fit(pages)
    >>> [kept.dtype.name for kept in classifier.predict([b"<p>One line</p>"])], 0 <= classifier.score(pages) <= 1
    (['bool'], True)
    >>> blockml.extract(b"<p>One line</p>", model=classifier).model
    'kim2013 0.1.0'
    """

    #: Classes, in the order of the columns of :meth:`predict_proba`: not content, content.
    classes_: ClassVar[NDArray[np.bool_]] = np.array([False, True])

    def __init__(self, recipe: str | Recipe = "kim2013", estimator: Any = None, seed: int = 0) -> None:  # noqa: ANN401
        self.recipe = recipe
        self.estimator = estimator
        self.seed = seed

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 (scikit-learn's signature)
        """Return the parameters by name; with ``deep`` also those of the recipe, as ``recipe__NAME``."""
        found: dict[str, Any] = super().get_params(deep)
        recipe: object = self.recipe  # it may be anything until it is used
        if deep and (isinstance(recipe, Recipe) or (isinstance(recipe, str) and recipe in RECIPES)):
            found |= {f"{_OF_RECIPE}{name}": value for name, value in as_recipe(recipe).settable.items()}
        return found

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 (scikit-learn's signature)
        """Set parameters; ``recipe__NAME`` changes a parameter of the recipe.

        Raises
        ------
        UnknownNameError
            The recipe has no such parameter.
        UsageError
            A value is outside its range.
        ValueError
            The classifier has no such parameter.
        """
        own = {name.removeprefix(_OF_RECIPE): params.pop(name) for name in [*params] if name.startswith(_OF_RECIPE)}
        super().set_params(**params)
        if own:
            self.recipe = as_recipe(self.recipe).but(**own)
        return self

    def fit(self, X: AnySamples, y: Any = None) -> Self:  # noqa: ANN401, N803 (scikit-learn's signature)
        """Fit on labelled pages, for which ``y`` is ignored, or on a matrix of blocks and their labels ``y``.

        Raises
        ------
        UsageError
            A page has no gold or was prepared for another recipe; all or none of the blocks are content; ``estimator``
            can't be written into a model file; or blocks are given without ``y``, with another number of columns than
            the recipe has, or for a recipe with MLPs, which read whole pages.
        UnknownNameError
            No such recipe.
        """
        recipe = as_recipe(self.recipe)
        if self.estimator is not None:
            check_learner(self.estimator)
        if _is_matrix(X):
            return self._fit_blocks(recipe, np.asarray(X, dtype=np.float32), y)
        table = BlockTable.stack(labelled_rows(as_pages(X), recipe))
        self.estimator_ = None
        if self.estimator is None:
            self.model_ = fit_model(table, recipe, self.seed)
        else:
            rows = table.trainable
            check_classes(table.main[rows])
            self._fit_estimator(recipe, table.matrix[rows], table.main[rows])
        return self._fitted(recipe)

    def _fit_blocks(self, recipe: Recipe, matrix: NDArray[np.float32], y: Any) -> Self:  # noqa: ANN401
        """Fit on blocks, which all have the same weight; those with a probability of at least 0.5 are content."""
        if y is None:
            raise UsageError("blocks need their labels y, as block_rows returns them")
        main = np.asarray(y).astype(bool)
        width = len(feature_set(recipe.features).columns)
        if matrix.shape != (len(main), width):
            raise UsageError(
                f"a matrix of shape {matrix.shape} was given with {len(main)} labels; recipe {recipe.name} has {width} "
                "columns, as block_rows returns them"
            )
        check_classes(main)
        if self.estimator is not None:
            self._fit_estimator(recipe, matrix, main)
            return self._fitted(recipe)
        if recipe.n_mlps:
            raise UsageError(f"recipe {recipe.name} has MLPs, which read whole pages; fit it on pages, or use boosted")
        self.estimator_ = None
        parameters = {"name": recipe.name, "learner": recipe.learner, **recipe.parameters}
        ensemble = Ensemble({"trees": fit_blocks(recipe, matrix, main, self.seed)}, {"trees": 1.0})
        policy = DecisionPolicy(threshold=0.5 if recipe.threshold is None else recipe.threshold)
        self.model_ = assembled(recipe, ensemble, policy, parameters, self.seed)
        return self._fitted(recipe)

    def _fit_estimator(self, recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_]) -> None:
        """Fit a copy of ``estimator`` on blocks."""
        self.estimator_ = clone(self.estimator).fit(matrix, main)
        predictor = to_predictor(self.estimator_, matrix.shape[1])
        self.model_ = assembled(
            recipe, Ensemble({"estimator": predictor}, {"estimator": 1.0}), DecisionPolicy(),
            {"name": recipe.name, "learner": type(self.estimator_).__name__}, self.seed,
        )  # fmt: skip

    def _fitted(self, recipe: Recipe) -> Self:
        self.extractor_: Extractor = TrainedExtractor(self.model_)
        self.n_features_in_ = len(feature_set(recipe.features).columns)
        return self

    def predict(self, X: AnySamples) -> NDArray[Any]:  # noqa: N803 (scikit-learn's signature)
        """Decide which blocks are content: (n_pages,) objects, each a boolean array (n_blocks,).

        For a matrix of blocks, (n_blocks,) booleans.
        """
        check_is_fitted(self)
        if _is_matrix(X):
            return np.asarray(self._of_blocks(X) >= np.float32(self.model_.policy.threshold))
        return _ragged([self._kept(page) for page in as_pages(X)])

    def predict_proba(self, X: AnySamples) -> NDArray[Any]:  # noqa: N803 (scikit-learn's signature)
        """Predict probabilities before the policy: (n_pages,) objects, each (n_blocks, 2) as in :attr:`classes_`.

        For a matrix of blocks, (n_blocks, 2).
        """
        check_is_fitted(self)
        if _is_matrix(X):
            likely = self._of_blocks(X)
            return np.column_stack([1 - likely, likely])
        found = [self._probabilities(page) for page in as_pages(X)]
        return _ragged([np.column_stack([1 - column, column]) for column in found])

    def score(self, X: AnySamples, y: Any = None) -> float:  # noqa: ANN401, N803 (scikit-learn's signature)
        """Compute the mean bag-of-words F1 of the pages whose gold is a whole text.

        For a matrix of blocks with labels ``y``, compute the F1 of content blocks.

        Raises
        ------
        UsageError
            A page has no gold, none of the pages has a whole text as gold, or blocks have no ``y``.
        """
        check_is_fitted(self)
        if _is_matrix(X):
            if y is None:
                raise UsageError("blocks need their labels y, as block_rows returns them")
            return block_scores(np.asarray(y).astype(bool), self.predict(X)).f1
        rows = [page for page in labelled_rows(as_pages(X), as_recipe(self.recipe)) if page.gold_counts is not None]
        if not rows:
            raise UsageError("none of these pages has a whole text as gold, so they can't be scored")
        return float(np.mean([page.bag_f1(self._kept(page)) for page in rows]))

    def _kept(self, page: AnyPage) -> NDArray[np.bool_]:
        if not isinstance(page, PageRows):
            return self.extractor_.decide(parsed(page, self.extractor_.parsing)).kept
        policy, probabilities = self.model_.policy, self._probabilities(page)
        if policy.rule == "expected_f1":
            return score_blocks(policy, probabilities, page.policy_columns, None) >= np.float32(policy.threshold)
        return np.asarray(probabilities >= np.float32(policy.threshold))

    def _of_blocks(self, X: Any) -> NDArray[np.float32]:  # noqa: ANN401, N803
        """Return the probabilities of the rows of a matrix."""
        matrix = np.asarray(X, dtype=np.float32)
        if matrix.shape[1] != self.n_features_in_:
            raise UsageError(f"the matrix has {matrix.shape[1]} columns, the model {self.n_features_in_}")
        if len(self.model_.predictors) > 1:
            raise UsageError(f"recipe {self.model_.name} has MLPs, which read whole pages; predict pages instead")
        [predictor] = self.model_.predictors.values()
        return predictor.probabilities(RowMatrix(matrix))

    def _probabilities(self, page: AnyPage) -> NDArray[np.float32]:
        if not isinstance(page, PageRows):
            return self.extractor_.predict(parsed(page, self.extractor_.parsing)).scores
        check_prepared(page, as_recipe(self.recipe))
        ensemble = Ensemble(self.model_.predictors, self.model_.weights)
        return ensemble.probabilities(BlockTable.stack([page]), 0)[1] if len(page.main) else page.matrix[:, 0]

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn's)
        """Return tags: samples are pages, which hold their gold, so no ``y`` is needed."""
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.input_tags.two_d_array = False
        return tags


#: Metrics of scikit-learn that :func:`block_scorer` computes, by its names.
_METRICS = (
    "accuracy", "average_precision", "balanced_accuracy", "matthews_corrcoef", "neg_brier_score", "neg_log_loss",
    "roc_auc",
    *(f"{name}{mean}" for name in ("f1", "jaccard", "precision", "recall")
      for mean in ("", "_macro", "_micro", "_weighted")),
)  # fmt: skip


def block_scorer(metric: str = "f1") -> Callable[[BlockClassifier, Sequence[AnyPage], Any], float]:
    """Return a scorer of the blocks of pages, pooled over the pages, for ``scoring`` of scikit-learn's tools.

    A name such as ``scoring="f1"`` works for blocks as samples only. For pages scikit-learn has no ``y`` to compare
    with, and gives nan; ``scoring=block_scorer("f1")`` takes the labels from the pages. Without ``scoring``, the score
    is the mean bag-of-words F1 of pages.

    Parameters
    ----------
    metric
        scikit-learn's name of a metric of binary classifiers: ``f1``, ``precision``, ``recall``, ``jaccard`` (also with
        ``_macro``, ``_micro`` and ``_weighted``), ``accuracy``, ``balanced_accuracy``, ``matthews_corrcoef``,
        ``average_precision``, ``roc_auc``, ``neg_log_loss`` or ``neg_brier_score``.

    Raises
    ------
    UnknownNameError
        No such metric.

    Examples
    --------
    >>> from blockml.datasets import open_dataset
    >>> pages = open_dataset("data/pages").pages
    >>> 0.5 < block_scorer("f1")(BlockClassifier("kim2013").fit(pages), pages, None) <= 1
    True
    """
    check_name("metric", metric, _METRICS)
    return partial(_block_score, metric)


def _block_score(metric: str, classifier: BlockClassifier, X: Sequence[AnyPage], y: object = None) -> float:  # noqa: ARG001, N803
    rows = labelled_rows(as_pages(X), as_recipe(classifier.recipe))
    truth = np.concatenate([page.main[page.known] for page in rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)  # it is 0 then
        return float(get_scorer(metric)(_PooledBlocks(classifier), rows, truth))


class _PooledBlocks(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no type information
    """Predicts the labelled blocks of all pages as one array."""

    def __init__(self, classifier: BlockClassifier) -> None:
        self.classifier = classifier
        self.classes_ = classifier.classes_

    def predict(self, X: Sequence[PageRows]) -> NDArray[np.bool_]:  # noqa: N803 (scikit-learn's signature)
        """Decide which blocks are content, (n_blocks,)."""
        return self._pooled(X, self.classifier.predict(X))

    def predict_proba(self, X: Sequence[PageRows]) -> NDArray[np.float32]:  # noqa: N803 (scikit-learn's signature)
        """Predict probabilities, (n_blocks, 2)."""
        return self._pooled(X, self.classifier.predict_proba(X))

    def _pooled(self, pages: Sequence[PageRows], found: NDArray[np.object_]) -> NDArray[Any]:
        return np.concatenate([values[page.known] for values, page in zip(found, pages, strict=True)])


def _is_matrix(samples: object) -> TypeGuard[Any]:
    """Return whether samples are rows of features instead of pages."""
    return getattr(samples, "ndim", 1) == 2


def _ragged(items: Sequence[NDArray[A]]) -> NDArray[np.object_]:
    """Return arrays of different lengths as an array of objects."""
    found = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):
        found[number] = item
    return found


class BlockFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no type information
    """Computes the features of all blocks of pages: one row per block, page after page.

    The columns of a recipe are those of :func:`block_rows` and of pages from :func:`prepare_pages`.

    It is stateless, so calling ``fit`` is optional. ``set_output(transform="pandas")`` or ``"polars"`` gives data
    frames.

    Parameters
    ----------
    features
        A recipe or its name, for the features and parsing of pages that are prepared for it; or the name of a feature
        set, which ``blockml features`` lists. ``kim2013`` is the recipe, with one-hot columns.
    parsing
        Options of parsing; if None, those of the recipe, or the defaults.

    Examples
    --------
    >>> found = BlockFeatures("boilerpipe6")
    >>> found.transform(["<h1>Cats</h1><p>Cats rule the world.</p>", "<p>Dogs</p>"]).shape
    (3, 6)
    >>> found.get_feature_names_out()[:3].tolist()
    ['wd_m1', 'ld_m1', 'wd_0']
    """

    def __init__(self, features: str | Recipe = "kim2013", parsing: ParsingOptions | None = None) -> None:
        self.features = features
        self.parsing = parsing

    def fit(self, X: object = None, y: object = None) -> Self:  # noqa: ARG002, N803 (scikit-learn's signature)
        """Check the name of the recipe or feature set.

        Raises
        ------
        UnknownNameError
            No such recipe or feature set.
        """
        self._columns()
        return self

    def transform(self, X: Sequence[AnyPage]) -> NDArray[np.float32]:  # noqa: N803 (scikit-learn's signature)
        """Compute the features of all pages, (n_blocks, n_features); :meth:`page_index` tells the page of each row.

        Raises
        ------
        UnknownNameError
            No such recipe or feature set.
        UsageError
            A page was prepared for another feature set.
        """
        width = len(self._columns())
        found = [np.empty((0, width), dtype=np.float32), *map(self._matrix, as_pages(X))]
        return np.concatenate(found)

    def page_index(self, X: Sequence[AnyPage]) -> NDArray[np.int64]:  # noqa: N803 (scikit-learn's signature)
        """Return the index of the page of each row of :meth:`transform`, (n_blocks,): ``groups`` for splitters."""
        lengths = [len(self._matrix(page)) for page in as_pages(X)]
        return np.repeat(np.arange(len(lengths)), lengths)

    def _matrix(self, page: AnyPage) -> NDArray[np.float32]:
        if isinstance(page, PageRows):
            if page.inputs is None or page.inputs.features != self._features():
                found = "an unknown feature set" if page.inputs is None else f"the feature set {page.inputs.features}"
                raise UsageError(f"a page was prepared for {found}, not for {self._features()}")
            return page.matrix
        recipe = self._recipe()
        parsing = self.parsing or (ParsingOptions() if recipe is None else recipe.parsing)
        return page_matrix(parsed(page, parsing), self._features()).values

    def _recipe(self) -> Recipe | None:
        """Return the recipe; None if the features are those of a feature set."""
        if isinstance(self.features, str):
            return RECIPES.get(self.features)
        return self.features

    def _features(self) -> str:
        """Return the name of the feature set."""
        recipe = self._recipe()
        return str(self.features) if recipe is None else recipe.features

    def _columns(self) -> tuple[str, ...]:
        known = isinstance(self.features, str) and "_" not in self.features  # else names of columns
        if known and self.features not in RECIPES:
            check_name("recipe or feature set", self.features, [*RECIPES, *FEATURE_SETS])
        return feature_set(self._features()).columns

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns, (n_features,)."""
        return np.array(self._columns(), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn's)
        """Return tags: samples are pages, and no fitting is needed."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        return tags
