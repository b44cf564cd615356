"""Block classifiers as scikit-learn estimators: fitted on labelled pages, one prediction per block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from blockml.decision.policy import DecisionPolicy, score_blocks
from blockml.errors import UsageError
from blockml.estimators.pages import AnyPage, as_pages, as_recipe, check_prepared, labelled_rows, parsed
from blockml.extractors import Extractor, TrainedExtractor
from blockml.features import feature_set
from blockml.training.checks import check_classes
from blockml.training.ensemble import Ensemble
from blockml.training.recipes import Recipe
from blockml.training.sklearn_learners import check_learner, to_predictor
from blockml.training.table import BlockTable, PageRows
from blockml.training.train import assembled, fit_model

A = TypeVar("A", bound=np.generic)


class BlockClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no type information
    """Classifies the blocks of a page as content or not. A sample is a page; a prediction has one entry per block.

    Parameters
    ----------
    recipe
        A training recipe or its name. Single trees tune threshold and shrinkage by cross-validation on the pages they
        are fitted on. P(article) and block types of the recipe ``default`` are only trained by ``blockml train``.
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

    def fit(self, X: Sequence[AnyPage], y: object = None) -> Self:  # noqa: ARG002, N803 (scikit-learn's signature)
        """Fit on labelled pages; ``y`` is ignored because the pages hold the gold.

        Raises
        ------
        UsageError
            A page has no gold or was prepared for another recipe; all or none of the blocks are content; or
            ``estimator`` can't be written into a model file.
        UnknownNameError
            No such recipe.
        """
        recipe = as_recipe(self.recipe)
        if self.estimator is not None:
            check_learner(self.estimator)
        table = BlockTable.stack(labelled_rows(X, recipe))
        self.estimator_ = None
        if self.estimator is None:
            self.model_ = fit_model(table, recipe, self.seed)
        else:
            rows = table.trainable
            check_classes(table.main[rows])
            self.estimator_ = clone(self.estimator).fit(table.matrix[rows], table.main[rows])
            predictor = to_predictor(self.estimator_, table.matrix.shape[1])
            self.model_ = assembled(
                recipe, Ensemble({"estimator": predictor}, {"estimator": 1.0}), DecisionPolicy(),
                {"name": recipe.name, "learner": type(self.estimator_).__name__}, self.seed,
            )  # fmt: skip
        self.extractor_: Extractor = TrainedExtractor(self.model_)
        self.n_features_in_ = len(feature_set(recipe.features).columns)
        return self

    def predict(self, X: Sequence[AnyPage]) -> NDArray[np.object_]:  # noqa: N803 (scikit-learn's signature)
        """Decide which blocks are content: (n_pages,) objects, each a boolean array (n_blocks,)."""
        check_is_fitted(self)
        return _ragged([self._kept(page) for page in as_pages(X)])

    def predict_proba(self, X: Sequence[AnyPage]) -> NDArray[np.object_]:  # noqa: N803 (scikit-learn's signature)
        """Predict probabilities before the policy: (n_pages,) objects, each (n_blocks, 2) as in :attr:`classes_`."""
        check_is_fitted(self)
        found = [self._probabilities(page) for page in as_pages(X)]
        return _ragged([np.column_stack([1 - column, column]) for column in found])

    def score(self, X: Sequence[AnyPage], y: object = None) -> float:  # noqa: ARG002, N803 (scikit-learn's signature)
        """Compute the mean bag-of-words F1 of the pages whose gold is a whole text.

        Raises
        ------
        UsageError
            A page has no gold, or none of the pages has a whole text as gold.
        """
        check_is_fitted(self)
        rows = [page for page in labelled_rows(X, as_recipe(self.recipe)) if page.gold_counts is not None]
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
        tags.input_tags.two_d_array = False
        return tags


def _ragged(items: Sequence[NDArray[A]]) -> NDArray[np.object_]:
    """Return arrays of different lengths as an array of objects."""
    found = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):
        found[number] = item
    return found
