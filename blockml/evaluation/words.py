"""Word metrics: agreement of an extracted text with a gold text.

Scores of a pair of texts are 1, 1, 1 if neither has words, and 0, 0, 0 if exactly one has.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from blockml.errors import UsageError
from blockml.text.characters import readable
from blockml.text.lcs import lcs_length
from blockml.text.tokens import WORD, metric_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        Token mode of :func:`blockml.text.tokens.metric_tokens`, which raises an error if it is unknown.
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
    n_ignored = (
        count_ignored(*(Counter(metric_tokens(text, mode)) for text in (extracted, gold, ignored))) if ignored else 0
    )
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
