"""Input of a decision: the prediction of an extractor; and the decision while rules change it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_matrix import PageMatrix
from blockml.outline import Outline
from blockml.page import Label, Page, Reason
from blockml.page.lazy import cached_property
from blockml.predictors.block_types import BlockTypes

if TYPE_CHECKING:
    from blockml.decision.policy import DecisionPolicy
    from blockml.posts import ThreadPost

__all__ = ["HALF", "Draft", "Prediction"]

#: Score at which the model counts a block as content; a caller's threshold is compared with scores afterwards.
HALF = np.float32(0.5)


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


@dataclass(eq=False)
class Draft:
    """A decision while the rules change it, in order."""

    policy: DecisionPolicy
    outline: Outline  #: The outline of the page.
    prediction: Prediction
    scores: NDArray[np.float32]  #: (n_blocks,) scores, compared with the threshold of the policy.
    kept: NDArray[
        np.bool_
    ]  #: (n_blocks,) blocks that are kept so far, at first those whose scores reach the threshold.
    include: Set[Label] = frozenset()  #: Labels whose blocks are kept in any case.
    exclude: Set[Label] = frozenset()  #: Labels whose blocks are removed in any case.
    changes: list[tuple[Reason, NDArray[Any]]] = field(default_factory=list)  #: Changed blocks, in order.
    remarks: list[str] = field(default_factory=list)
    posts: tuple[ThreadPost, ...] = ()  #: Posts of a page that is not an article.

    def __post_init__(self) -> None:
        self.by_score = self.kept  #: (n_blocks,) blocks that scores keep, with their units
        self.labels: Sequence[Label] | None = self.prediction.labels  #: (n_blocks,) None from extractors without labels
        self.threshold = float(np.float32(self.policy.threshold))

    @property
    def page(self) -> Page:
        """The page."""
        return self.outline.page

    @property
    def has_units(self) -> bool:
        """Whether the rules of units apply."""
        return self.policy.rule == "expected_f1"

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """(n_blocks,) probability of being content."""
        return self.prediction.scores

    @cached_property
    def by_model(self) -> NDArray[np.bool_]:
        """(n_blocks,) blocks whose scores reach 0.5."""
        return self.scores >= HALF

    @cached_property
    def words(self) -> NDArray[np.int32]:
        """(n_blocks,) words."""
        return self.page.blocks.n_words

    def is_likely(self, first: int, after: int, minimum: float, *, announced: bool = False) -> bool:
        """Tell whether the mean score of a range of blocks, by words, is at least this share of the threshold.

        For ``announced`` blocks their probability also counts: on certain pages scores are much lower.
        """
        words, scores = self.words[first:after], self.scores[first:after]
        if announced:
            scores = np.maximum(scores, self.probabilities[first:after])
        total = int(np.add.reduce(words))
        return float(np.add.reduce(words * scores)) >= minimum * self.threshold * total

    def is_kept(self, first: int, after: int) -> bool:
        """Tell whether all of a range of blocks is kept."""
        return int(np.count_nonzero(self.kept[first:after])) == after - first

    def keep(self, rows: NDArray[np.intp], reason: Reason) -> None:
        """Keep some blocks."""
        self._set(rows, reason, value=True)

    def keep_range(self, first: int, after: int, reason: Reason) -> None:
        """Keep a range of blocks."""
        if not self.is_kept(first, after):
            self._set(np.arange(first, after), reason, value=True)

    def remove_range(self, first: int, after: int, reason: Reason) -> None:
        """Remove a range of blocks."""
        self._set(np.arange(first, after), reason, value=False)

    def _set(self, rows: NDArray[np.intp], reason: Reason, *, value: bool) -> None:
        whole = self.outline.whole
        if whole is not None and (around := whole[rows]).max(initial=-1) >= 0:  # a table or list is never torn
            rows = rows[(around < 0) | (np.bincount(around + 1)[around + 1] == np.bincount(whole + 1)[around + 1])]
        changed = rows[self.kept[rows] != value]
        if len(changed):
            self.kept[changed] = value
            self.changes.append((reason, changed))

    def override(self, found: NDArray[np.bool_], reason: Reason, *, kept: bool) -> None:
        """Keep or remove some blocks (n_blocks,), also parts of tables and lists."""
        self.changes.append((reason, found & (self.kept != kept)))
        self.kept = self.kept | found if kept else self.kept & ~found
