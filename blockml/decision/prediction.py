"""Inputs of a decision: the prediction of an extractor, and the blocks that its scores keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_matrix import PageMatrix
from blockml.outline import Outline
from blockml.page import Label, Page
from blockml.predictors.block_types import BlockTypes

__all__ = ["Prediction", "ScoredPage"]


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Output of an extractor for the blocks of a page, before any decision."""

    #: (n_blocks,) in [0, 1], higher for content: raw probabilities if the extractor computes them.
    scores: NDArray[np.float32]
    remarks: tuple[str, ...] = ()  #: Remarks about the whole page, one sentence each.
    #: (n_blocks,) labels, from extractors that assign them directly; see also ``block_types``.
    labels: Sequence[Label] | None = None
    #: (n_blocks,) blocks of the site's template, which are removed regardless of their scores.
    removed: NDArray[np.bool_] | None = None
    #: Features of the page, for policies with the rule ``expected_f1`` and for ``block_types``.
    matrix: PageMatrix | None = None
    p_article: float | None = None  #: Probability that the page is an article, where it is known.
    block_types: BlockTypes | None = None  #: Predicts types of blocks, from which labels and comments follow.


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPage:
    """Input of the rules: a page, its prediction, and the blocks that scores keep, (n_blocks,) each."""

    outline: Outline  #: The outline of the page.
    prediction: Prediction
    by_score: NDArray[np.bool_]  #: Blocks whose scores reach the threshold of the policy.
    by_model: NDArray[np.bool_]  #: Blocks whose scores reach the threshold of the model, 0.5.

    @property
    def page(self) -> Page:
        """The page."""
        return self.outline.page
