"""The result of an extraction: text, scores, decision and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page.labels import Label, Reason, Status
from blockml.page.page import Page

__all__ = ["Extraction"]


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """What was taken from one page, and why."""

    status: Status
    """How it ended. The text is empty only under a status that says why."""
    text: str
    """The main content as plain text."""
    page: Page
    """The page it came from."""
    probabilities: NDArray[np.float32]
    """(n_blocks,) what the extractor says of each block in [0, 1], before the policy: raw probabilities of models."""
    scores: NDArray[np.float32]
    """(n_blocks,) score of each block in [0, 1], adjusted by the policy: what the threshold is compared with."""
    kept: NDArray[np.bool_]
    """(n_blocks,) the decision."""
    reasons: Sequence[Reason]
    """(n_blocks,) why."""
    confidence: float
    """How good this is likely to be, in [0, 1]: the F1 that a model expects of its own decision; of other extractors
    the share of words whose decision is right, if their scores are probabilities."""
    model: str
    """Name and version of the model or extractor."""
    remarks: tuple[str, ...] = ()
    """What the extractor says about the page as a whole, one sentence each."""
    labels: Sequence[Label] | None = None
    """(n_blocks,) what each block is; None if the extractor only tells content from the rest."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the page, and remarks of the extractor."""
        return self.page.warnings + self.remarks

    def __str__(self) -> str:
        return self.text
