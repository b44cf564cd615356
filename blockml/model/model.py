"""A trained model: feature set, predictors, policy, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blockml.decision.policy import DecisionPolicy
from blockml.parsing.options import ParsingOptions
from blockml.predictors import BlockTypes, Predictor, TreeEnsemble

__all__ = ["Model"]


@dataclass(frozen=True, eq=False)
class Model:
    """A trained block classifier and its provenance."""

    name: str
    """Public name, such as ``kim2013``."""
    version: str
    """Version of the model."""
    features: str
    """Name of its feature set."""
    features_hash: str
    """Fingerprint of that set when the model was trained."""
    predictors: Mapping[str, Predictor]
    """Predictors of main content by name; their log odds are averaged. The first one is the reference that
    :func:`blockml.decision.page_features.page_features` compares the average with."""
    weights: Mapping[str, float]
    """Weight of each predictor in the average; their sum is 1."""
    policy: DecisionPolicy
    """How probabilities become a decision."""
    article: TreeEnsemble | None = None
    """Tells whether a page is an article, from :data:`blockml.decision.page_features.PAGE_FEATURES`."""
    block_types: BlockTypes | None = None
    """Predicts what blocks are, beyond main content or not."""
    parsing: ParsingOptions = field(default_factory=ParsingOptions)
    """How its pages are parsed."""
    labels: tuple[str, ...] = ("main", "heading", "supplement")
    """The labels that count as content."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    """Name and parameters of the training recipe."""
    training: tuple[Mapping[str, Any], ...] = ()
    """One entry per data set: name, pages, blocks, checksum, licence, attribution."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Measured quality with intervals."""
    notes: tuple[str, ...] = ()
    """Paragraphs for the card, such as known weaknesses."""
    command: str = ""
    """The command that trained it."""
    seed: int = 0
    """Seed of every random choice."""

    @property
    def id(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    @property
    def ensembles(self) -> tuple[TreeEnsemble, ...]:
        """Tree ensembles among its predictors of main content."""
        return tuple([item for item in self.predictors.values() if isinstance(item, TreeEnsemble)])
