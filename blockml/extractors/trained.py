"""A trained block classifier as an extractor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.decision.page_policy import is_forum
from blockml.errors import UsageError
from blockml.extractors.base import Between, Extractor, Prediction, Traits
from blockml.extractors.matrix import matrix, uses_siblings
from blockml.features import feature_set
from blockml.features.page_context import PageContext
from blockml.model.model_file import Model, Parsing
from blockml.model.scoring import BORDER, score_page
from blockml.page import Page
from blockml.predictors.block_types import BlockTypes, PredictedTypes
from blockml.templates.frequency import FallbackReason, too_few
from blockml.templates.site import SiteTemplate, loaded

__all__ = ["TrainedExtractor"]

#: What is left of the score of a comment that would be kept where comments are no content: it falls below the border
#: whatever it was, and a low enough threshold still keeps it.
_COMMENT = np.float32(0.49)


class TrainedExtractor(Extractor):
    """Scores blocks by a model's trees.

    Parameters
    ----------
    model
        The model.
    threshold
        Replaces the model's own threshold, if given.
    template
        What is known of the page's site, or the path of its file: used if the model's features tell about siblings.
    """

    name: ClassVar[str] = "supervised"
    traits: ClassVar[Traits] = Traits(
        needs_training=True, uses_siblings=False, gives_probabilities=True, source="Kim et al. 2013"
    )
    legal: ClassVar[Mapping[str, Between | tuple[object, ...]]] = {"threshold": Between(0, 1, optional=True)}

    def __init__(
        self,
        model: Model,
        threshold: float | None = None,
        template: SiteTemplate | str | os.PathLike[str] | None = None,
    ) -> None:
        self.model = model
        self.threshold = threshold
        self.template = template

    @property
    def gives_labels(self) -> bool:
        """Whether the model tells what blocks are."""
        return self.model.areas is not None

    @property
    def uses_siblings(self) -> bool:
        """Whether the model's features tell about siblings."""
        return uses_siblings(self.model.features)

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn the site from pages of it, if the model's features tell about siblings; the model stays as it is."""
        if self.uses_siblings:
            self.template = SiteTemplate.learn(list(pages))
        return self

    @property
    def default_threshold(self) -> float:
        """Threshold of the model."""
        return self.model.threshold

    def check(self) -> None:
        """Check model and threshold.

        Raises
        ------
        UsageError
            One is no legal value.
        """
        loaded(self.template)
        self._check_rest()

    def _check_rest(self) -> None:
        """Check all but the template."""
        super().check()
        if not isinstance(self.model, Model):
            raise UsageError(f"parameter 'model' of {self.name} is a loaded model, not {self.model!r}")

    @property
    def id(self) -> str:
        """Name and version of the model, the threshold if it isn't the model's own, and the template if it is used."""
        settings = [] if self.threshold is None else [f"threshold={self.threshold:g}"]
        settings += [f"template={self.template}"] if self.template is not None and self.uses_siblings else []
        return f"{self.model.id} ({', '.join(settings)})" if settings else self.model.id

    @property
    def parsing(self) -> Parsing:
        """How the model's training pages were parsed."""
        return self.model.parsing

    def score(self, page: Page) -> NDArray[np.float32]:
        """Probability of content for each block."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Probability of content for each block; and whether too few pages of the site are known."""
        self._check_rest()
        template = loaded(self.template) if self.uses_siblings else None  # once: a file takes as long to read as a page
        remarks: tuple[str, ...] = ()
        if template is not None:
            template.check(page)
            if too_few(template.counts):
                remarks = (f"without siblings: {FallbackReason.TOO_FEW_PAGES}",)
        view = PageContext(page)
        rows = matrix(page, self.model.features, template, view)
        scores, sums, expected, is_rivalled = score_page(self.model, view, rows)
        labels = None
        if self.model.areas is not None:
            kept = scores >= np.float32(BORDER)
            labels = PredictedTypes(self.model.areas, rows, kept)
            if is_rivalled and not is_forum(rows, feature_set(self.model.features).columns, view.words):
                scores = _without_comments(self.model.areas, rows, scores, kept, sums[:, 1:])
        return Prediction(scores, remarks, confidence=expected, labels=labels)


def _without_comments(
    areas: BlockTypes,
    rows: NDArray[np.float32],
    scores: NDArray[np.float32],
    kept: NDArray[np.bool_],
    sums: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Scores, with those of comments among the kept blocks moved below the border; sums are of the areas' rivals."""
    comments = areas.find_comments(rows, kept, sums)
    return np.where(comments, scores * _COMMENT, scores) if comments.any() else scores
