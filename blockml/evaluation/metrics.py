"""Word and block metrics: agreement of a text with gold text, and of predicted with true block labels.

Scores of a pair of texts are 1, 1, 1 if neither has words, and 0, 0, 0 if exactly one has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blockml.errors import UsageError
from blockml.text.lcs import lcs_length
from blockml.text.words import WORD, metric_tokens, readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


class WordScores(NamedTuple):
    """Precision, recall and F1 of one text or of a corpus, each in [0, 1]."""

    precision: float
    recall: float
    f1: float

    @property
    def f05(self) -> float:
        """F-beta with beta 0.5: precision counts twice as much as recall."""
        return f_beta(self.precision, self.recall, 0.5)

    @property
    def f2(self) -> float:
        """F-beta with beta 2: recall counts twice as much as precision."""
        return f_beta(self.precision, self.recall, 2.0)


def f_beta(precision: float, recall: float, beta: float) -> float:
    """Compute F-beta, the weighted harmonic mean of precision and recall (van Rijsbergen 1979); 0 if both are 0.

    Recall counts ``beta`` times as much as precision; beta 1 gives F1. Raises UsageError unless beta is positive.

    Examples
    --------
    >>> f_beta(0.5, 1.0, 1.0), f_beta(0.5, 1.0, 2.0), f_beta(0.5, 1.0, 0.5)
    (0.6666666666666666, 0.8333333333333334, 0.5555555555555556)
    """
    if not beta > 0:
        raise UsageError(f"beta must be a positive number, got {beta!r}")
    weighted = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / weighted if weighted else 0.0


class SnippetRates(NamedTuple):
    """Shares of the required and of the forbidden snippets that were found, in [0, 1]; None for an empty list."""

    with_rate: float | None
    without_rate: float | None


def scores_from_counts(shared: int, found: int, relevant: int) -> WordScores:
    """Compute the scores from the number of shared, extracted and gold words (or shingles)."""
    if not found or not relevant:
        return WordScores(*[float(found == relevant)] * 3)
    return WordScores(shared / found, shared / relevant, 2 * shared / (found + relevant))


def count_ignored(found: Counter[Any], relevant: Counter[Any], ignored: Counter[Any]) -> int:
    """Count the words found that are neither right nor wrong: more than the gold has, and in a text that it ignores.

    Examples
    --------
    >>> count_ignored(Counter("aabcc"), Counter("ab"), Counter("acd"))
    2
    """
    return ((found - relevant) & ignored).total()


def lcs_scores(gold: str, extracted: str, mode: str = "w", *, ignored: str = "") -> WordScores:
    """Score the words that gold text and extracted text share in the same order (Gottron 2007).

    With k the length of the longest common subsequence (LCS) of words, precision is k divided by the number of
    extracted words, and recall is k divided by the number of gold words.

    Parameters
    ----------
    gold, extracted
        The texts.
    mode
        Token mode of :func:`blockml.text.words.metric_tokens`, which raises an error if it is unknown.
    ignored
        Text that may be content or not, see :func:`blockml.datasets.gold.ignored_text`. Extracted words of it that the
        gold doesn't have are not counted.

    Examples
    --------
    >>> scores = lcs_scores("the cat sat on the mat", "menu the cat on mat the footer")
    >>> [round(value, 3) for value in scores]
    [0.571, 0.667, 0.615]
    """
    relevant, found = metric_tokens(gold, mode), metric_tokens(extracted, mode)
    n_ignored = count_ignored(*(Counter(metric_tokens(text, mode)) for text in (extracted, gold, ignored)))
    return scores_from_counts(lcs_length(relevant, found), len(found) - n_ignored, len(relevant))


def bag_scores(gold: str, extracted: str, mode: str = "w", *, ignored: str = "") -> WordScores:
    """Score the words that gold text and extracted text share as multisets, in any order.

    Never below :func:`lcs_scores`, which has the same parameters.

    Examples
    --------
    >>> scores = bag_scores("the cat sat on the mat", "menu the cat on mat the footer")
    >>> [round(value, 3) for value in scores]
    [0.714, 0.833, 0.769]
    >>> bag_scores("the cat sat on the mat", "the cat sat on the mat by ann", ignored="By Ann").f1
    1.0
    """
    relevant, found = Counter(metric_tokens(gold, mode)), Counter(metric_tokens(extracted, mode))
    n_ignored = count_ignored(found, relevant, Counter(metric_tokens(ignored, mode))) if ignored else 0
    return scores_from_counts((relevant & found).total(), found.total() - n_ignored, relevant.total())


def shingles(text: str, size: int = 4, *, lower: bool = False) -> Counter[tuple[str, ...]]:
    r"""Count the word n-grams (shingles) of a text.

    A text of fewer than ``size`` words forms one shorter shingle, and a text without words forms none. Words are
    matches of ``\w+``, converted to lower case if ``lower``. Raises UsageError for a ``size`` below 1.
    """
    if size < 1:
        raise UsageError(f"size must be at least 1, got {size}")
    words = metric_tokens(text) if lower else WORD.findall(readable(text))
    if len(words) < size:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def shingle_scores(gold: str, extracted: str, size: int = 4, *, lower: bool = False, ignored: str = "") -> WordScores:
    """Score the word n-grams (:func:`shingles`) that gold text and extracted text share as multisets.

    This is the per-document score of the public article extraction benchmark of Scrapinghub, which keeps the case of
    words. ``size`` and ``lower`` are those of :func:`shingles`, ``ignored`` that of :func:`lcs_scores`.

    Examples
    --------
    >>> scores = shingle_scores("a b c d e f", "x a b c d e")
    >>> [round(value, 3) for value in scores]
    [0.667, 0.667, 0.667]
    """
    relevant, found = shingles(gold, size, lower=lower), shingles(extracted, size, lower=lower)
    n_ignored = count_ignored(found, relevant, shingles(ignored, size, lower=lower)) if ignored else 0
    return scores_from_counts((relevant & found).total(), found.total() - n_ignored, relevant.total())


def snippet_rates(extracted: str, with_: Sequence[str], without: Sequence[str]) -> SnippetRates:
    """Compute the shares of the required and of the forbidden snippets that occur in an extracted text.

    Texts are compared in lower case and with white space collapsed. Blank snippets are not counted. The best
    rate is 1 for ``with_``, snippets of the main content, and 0 for ``without``, snippets from outside it.

    Examples
    --------
    >>> snippet_rates("The cat  sat.", with_=["cat sat", "on the mat"], without=["Menu"])
    SnippetRates(with_rate=0.5, without_rate=0.0)
    """
    text = _normalised(extracted)
    required, forbidden = ([snippet for snippet in map(_normalised, given) if snippet] for given in (with_, without))
    return SnippetRates(
        sum(snippet in text for snippet in required) / len(required) if required else None,
        sum(snippet in text for snippet in forbidden) / len(forbidden) if forbidden else None,
    )


def _normalised(text: str) -> str:
    return " ".join(text.lower().split())


@dataclass(frozen=True, slots=True)
class BlockScores:
    """Confusion counts of blocks (or of their words) and the scores that follow from them.

    Add scores to pool the counts of several pages: ``sum(scores, BlockScores())``. Every score is in [0, 1]; it is 1
    if nothing is predicted and nothing is relevant, and 0 for any other 0/0. The fields count true positives,
    false positives, false negatives and true negatives; positive is main content.

    Examples
    --------
    >>> scores = BlockScores(tp=3, fp=1, fn=1, tn=5)
    >>> scores.precision, scores.recall, scores.f1
    (0.75, 0.75, 0.75)
    >>> round(scores.other_f1, 6), round(scores.weighted_f1, 6)
    (0.833333, 0.8)
    """

    tp: float = 0
    fp: float = 0
    fn: float = 0
    tn: float = 0

    @property
    def precision(self) -> float:
        """Share of the predicted main content that is main content."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else float(not self.fn)

    @property
    def recall(self) -> float:
        """Share of the main content that was predicted."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else float(not self.fp)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall of the main-content class: the score to report."""
        return _f1(self.tp, self.fp + self.fn)

    @property
    def other_f1(self) -> float:
        """F1 of the other class, everything that is not main content."""
        return _f1(self.tn, self.fp + self.fn)

    @property
    def weighted_f1(self) -> float:
        """Mean of the F1 of both classes, weighted by their true sizes.

        It is misleading, and only included for comparison (Kim et al. 2013, section 4.3): most blocks of a page are
        not main content, so a method that is poor on main content can still score well.
        """
        main, other = self.tp + self.fn, self.tn + self.fp
        return (main * self.f1 + other * self.other_f1) / (main + other) if main + other else 1.0

    def __add__(self, other: BlockScores) -> BlockScores:
        if not isinstance(other, BlockScores):
            return NotImplemented
        return BlockScores(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)


def block_scores(truth: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> BlockScores:
    """Count the blocks by true and predicted class.

    Raises UsageError if the arrays differ in length, are not one-dimensional, or hold other values.
    Takes (n_blocks,) booleans, or 0 and 1; true means main content. With ``weights``, (n_blocks,) finite and
    non-negative, such as numbers of words, the counts are sums of weights, as floats.

    Examples
    --------
    >>> block_scores([True, True, False], [True, False, False])
    BlockScores(tp=1, fp=0, fn=1, tn=1)
    >>> block_scores([True, True, False], [True, False, False], weights=[40, 2, 8])
    BlockScores(tp=40.0, fp=0.0, fn=2.0, tn=8.0)
    """
    true, kept = _flags("truth", truth), _flags("predicted", predicted)
    if true.shape != kept.shape:
        raise UsageError(f"truth has {true.size} labels but predicted has {kept.size}; the numbers must be equal")
    cells = (true & kept, ~true & kept, true & ~kept, ~true & ~kept)
    if weights is None:
        return BlockScores(*(int(np.count_nonzero(cell)) for cell in cells))
    mass = checked_weights(weights, true.size)
    return BlockScores(*(float(mass[cell].sum()) for cell in cells))


def checked_weights(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return ``n`` weights as an array; raise UsageError if one is missing, negative or not finite."""
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != (n,) or not np.isfinite(mass).all() or (mass < 0).any():
        raise UsageError(f"weights must be {n} finite numbers that are not negative")
    return mass


def _flags(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    given = np.asarray(values)
    flags = given.astype(np.bool_)
    if given.ndim != 1 or not np.array_equal(given, flags):
        raise UsageError(f"{name} must be a one-dimensional array of booleans, or of 0 and 1")
    return flags


def _f1(hits: float, errors: float) -> float:
    total = 2 * hits + errors
    return 2 * hits / total if total else 1.0
