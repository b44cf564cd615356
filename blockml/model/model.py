"""Trained models: feature set, predictors, policy and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

from blockml.decision.policy import DecisionPolicy
from blockml.model.training_hashes import TrainingHashes
from blockml.page.cached import cached_property
from blockml.parsing.options import ParsingOptions
from blockml.predictors import BlockTypes, Correction, Predictor, TreeEnsemble


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
