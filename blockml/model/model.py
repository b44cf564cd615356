"""Trained models, and their prediction for a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.decision.policy import DecisionPolicy
from blockml.decision.prediction import Prediction
from blockml.features.page_matrix import PageMatrix
from blockml.model.training_hashes import TrainingHashes
from blockml.page.lazy import cached_property
from blockml.parsing.limits import ParsingOptions
from blockml.predictors import BlockTypes, Correction, Predictor, TreeEnsemble, log_odds, sigmoid
from blockml.predictors.base import average_predictors
from blockml.predictors.page_features import article_probability


@dataclass(frozen=True, eq=False)
class Model:
    """A trained block classifier and its provenance."""

    name: str  #: Public name, such as ``kim2013``.
    version: str  #: Version of the model.
    features: str  #: Name of the feature set, or names of the columns; see :func:`blockml.features.feature_set`.
    features_hash: str  #: Fingerprint of the feature set in training.
    #: Predictors of main content by name, whose log odds are averaged.
    #: :func:`blockml.predictors.page_features.page_features` compares the average with the first.
    predictors: Mapping[str, Predictor]
    weights: Mapping[str, float]  #: Weight of each predictor in the average; their sum is 1.
    policy: DecisionPolicy  #: Decision policy.
    #: Predicts P(article) of a page from :data:`blockml.predictors.page_features.PAGE_FEATURES`.
    article: TreeEnsemble | None = None
    block_types: BlockTypes | None = None  #: Predicts the types of blocks.
    #: Correction of the log odds on pages of one site or kind; None unless the model was adapted.
    correction: Correction | None = None
    parsing: ParsingOptions = field(default_factory=ParsingOptions)  #: Options of parsing.
    labels: tuple[str, ...] = ("main", "heading", "supplement")  #: Labels that count as content.
    recipe: Mapping[str, Any] = field(default_factory=dict)  #: Name and parameters of the training recipe.
    #: One entry per data set: name, pages, blocks, checksum, licence, attribution.
    training: tuple[Mapping[str, Any], ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)  #: Results of cross-validation with intervals.
    notes: tuple[str, ...] = ()  #: Paragraphs for the card, such as known weaknesses.
    command: str = ""  #: Command line of training.
    seed: int = 0  #: Seed of training.
    #: Hashes of the training pages and of their sites; None if unknown, as in files of earlier versions.
    training_hashes: TrainingHashes | None = None

    def __repr__(self) -> str:
        return f"Model({self.id!r}, features={shorten(self.features, 60)!r}, predictors={list(self.predictors)})"

    @cached_property
    def id(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    @property
    def ensembles(self) -> tuple[TreeEnsemble, ...]:
        """Tree ensembles among the predictors of main content."""
        return tuple([item for item in self.predictors.values() if isinstance(item, TreeEnsemble)])


def score_page(model: Model, page: PageMatrix, correction: NDArray[np.float64] | None = None) -> Prediction:
    """Score the blocks of a page from its features.

    Parameters
    ----------
    model
        The model.
    page
        Features of the page.
    correction
        (n_blocks,) added to the log odds; by default that of the model, if it was adapted.

    Raises
    ------
    UsageError
        The matrix has fewer columns than a predictor reads.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.matrix import page_matrix
    >>> model = blockml.load("default").model
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats rule the world, and nobody has ever asked them to do so.</p>")
    >>> found = score_page(model, page_matrix(page, model.features))
    >>> found.scores.shape, 0 <= found.p_article <= 1
    ((2,), True)
    """
    first, probabilities = average_predictors(model.predictors, model.weights, page)
    p_article = None
    if model.article is not None and model.policy.rule == "expected_f1":
        # The trees of P(article) were trained on probabilities without a correction.
        p_article = article_probability(model.article, page.context.amounts, first, probabilities)
    if correction is None and model.correction is not None:
        correction = model.correction.log_odds(page)
    if correction is not None:
        probabilities = sigmoid(log_odds(probabilities) + correction)
    return Prediction(probabilities, matrix=page, p_article=p_article, block_types=model.block_types)
