"""Which blocks are content, judged by how often the site repeats them.

Each rule gives scores in [0, 1] and a reason per block. A block is content if its score is at least .5; how far it is
from .5 says how clear the decision is.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.frequency.measures import Measures
from blockml.templates.frequency.site import SiteCounts

__all__ = [
    "MIN_TRAIN",
    "THETA",
    "Doubt",
    "block_frequency",
    "dynamic_theta",
    "entropy_rule",
    "ibdf_rule",
    "kept_share",
    "kept_texts",
    "text_frequency",
    "too_few",
    "verdict",
]

#: "More than a third" of the pages (Gottron 2008, section 7).
THETA = 1 / 3

#: With the page itself counted, what stands on it is on more than a third of one page or two (our choice: one more
#: page than three, of which a text that occurs twice would go).
MIN_TRAIN = 4

#: A threshold below .5 for scores of what is removed.
_BELOW_HALF = np.nextafter(np.float32(0.5), np.float32(0))

Scores = tuple[NDArray[np.float32], tuple[str, ...]]


class Doubt(StrEnum):
    """Why a rule's result should not be used."""

    TOO_FEW_PAGES = "too_few_pages"  #: what repeats can't be told from what doesn't
    REMOVES_NEARLY_ALL = "removes_nearly_all"  #: more than 95 % of the words
    REMOVES_NEARLY_NONE = "removes_nearly_none"  #: less than 1 % of the words


def kept_texts(measures: Measures, theta: float = THETA) -> NDArray[np.int32]:
    """Text nodes that are content: all but those on more than a share ``theta`` of the pages (Gottron 2008).

    Returns
    -------
    NDArray[np.int32]
        (n_kept,) node indices in document order.

    Raises
    ------
    UsageError
        ``theta`` is not in [0, 1].

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.frequency import SiteCounts, measure
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds")]
    >>> [pages[0].nodes.texts[node] for node in kept_texts(measure(pages[0], SiteCounts.learn(pages)))]
    ['About cats.']
    """
    return measures.text_nodes[~_exceeds(measures.text_pages, measures.n_pages, theta)]


def text_frequency(measures: Measures, theta: float = THETA) -> Scores:
    """Score each block by the share of its words that stand in texts that :func:`kept_texts` keeps.

    This is the reading of Gottron 2008 for whole blocks: a block is content if at least half of its words are. Texts of
    a block without words count alike. For the original method, which keeps or removes single texts, see
    :func:`kept_texts`.

    Returns
    -------
    scores, reasons
        (n_blocks,) float32 in [0, 1], and (n_blocks,) such as ``on 9 of 10 pages``.

    Raises
    ------
    UsageError
        ``theta`` is not in [0, 1].
    """
    n_blocks = len(measures.text_share)
    inside = measures.text_blocks >= 0
    block, words, pages = (
        column[inside] for column in (measures.text_blocks, measures.text_words, measures.text_pages)
    )
    wordless = np.bincount(block, weights=words, minlength=n_blocks) == 0
    weight = np.where(wordless[block], 1, words)
    stays = ~_exceeds(pages, measures.n_pages, theta)
    kept = np.bincount(block, weights=weight * stays, minlength=n_blocks)
    scores = kept / np.bincount(block, weights=weight, minlength=n_blocks)
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    low = np.minimum.reduceat(pages, starts) if len(starts) else pages
    high = np.maximum.reduceat(pages, starts) if len(starts) else pages
    return scores.astype(np.float32), tuple(
        [
            f"on {least} of {measures.n_pages} pages"
            if least == most
            else f"its texts on {least} to {most} of {measures.n_pages} pages"
            for least, most in zip(low.tolist(), high.tolist(), strict=True)
        ]
    )


def block_frequency(measures: Measures, theta: float = THETA) -> Scores:
    """Score each block by the share of pages that have its whole text: above ``theta`` it is no content.

    Returns
    -------
    scores, reasons
        (n_blocks,) float32 in [0, 1], 1 for a text that no page has, .5 at ``theta`` and 0 for one on all pages; and
        (n_blocks,) such as ``on 9 of 10 pages``.

    Raises
    ------
    UsageError
        ``theta`` is not in [0, 1].
    """
    removed = _exceeds(measures.block_pages, measures.n_pages, theta)
    reasons = [f"on {pages} of {measures.n_pages} pages" for pages in measures.block_pages.tolist()]
    return _graded(measures.block_share, theta, removed), tuple(reasons)


def dynamic_theta(measures: Measures) -> float:
    """Threshold of the entropy from the page itself, after InfoDiscoverer (Lin & Ho 2002).

    It is raised from .1 in steps of .1, up to .9. The first step that lets no further block in is the last. As long as
    no block is in, it goes on (our choice: nothing has begun to grow yet).
    """
    accepted = 0
    for tenths in range(1, 10):
        now = int((measures.entropy <= tenths / 10).sum())
        if 0 < now == accepted:
            return tenths / 10
        accepted = now
    return 0.9


def entropy_rule(measures: Measures, theta: float | None = None) -> Scores:
    """Score each block by the mean entropy of its words: above ``theta`` it is no content (Lin & Ho 2002).

    Parameters
    ----------
    measures
        Measures of a page.
    theta
        Threshold in [0, 1]; None for :func:`dynamic_theta`. A fixed .7 is a fair choice (ours).

    Returns
    -------
    scores, reasons
        (n_blocks,) float32 in [0, 1], .5 at the threshold; and (n_blocks,) such as ``entropy 0.92``.

    Raises
    ------
    UsageError
        ``theta`` is not in [0, 1].
    """
    limit = dynamic_theta(measures) if theta is None else theta
    _fraction(limit)
    reasons = [f"entropy {value:.2f}" for value in measures.entropy.tolist()]
    return _graded(measures.entropy, limit, measures.entropy > limit), tuple(reasons)


def ibdf_rule(measures: Measures, *, theta: float = THETA, phi: float | None = None) -> Scores:
    """Score each block by the number c of other pages with a similar block (Debnath et al. 2005).

    Parameters
    ----------
    measures
        Measures of a page, with similar blocks.
    theta
        A block is no content if c is more than this share of the other pages (our choice of a threshold).
    phi
        If given, the threshold of the inverse block document frequency in its stead: a block is no content if
        1 / (c + 1) is less.

    Returns
    -------
    scores, reasons
        (n_blocks,) float32 in [0, 1], .5 at the threshold; and (n_blocks,) such as ``like blocks of 8 of 9 other
        pages``.

    Raises
    ------
    UsageError
        A threshold is not in [0, 1], or the measures were made without similar blocks.
    """
    similar, ibdf = measures.similar, measures.ibdf
    if similar is None or ibdf is None:
        raise UsageError("ibdf_rule needs measures of similar blocks: measure(page, site, similar=True)")
    reasons = [f"like blocks of {pages} of {measures.n_others} other pages" for pages in similar.tolist()]
    if phi is not None:
        _fraction(phi)
        return _graded(1 - ibdf, 1 - phi, ibdf < phi), tuple(reasons)
    removed = _exceeds(similar, measures.n_others, theta)
    return _graded(similar / max(measures.n_others, 1), theta, removed), tuple(reasons)


def too_few(counted: SiteCounts | Measures, min_train: int = MIN_TRAIN) -> bool:
    """Whether there are fewer than ``min_train`` pages to judge by.

    Of measures the page itself counts as one, whether it was learnt or not.
    """
    return (counted.n_pages if isinstance(counted, SiteCounts) else counted.n_others + 1) < min_train


def kept_share(page: Page, scores: NDArray[np.float32]) -> float:
    """Share of the words of a page in blocks with a score of at least .5; 1 for a page without words."""
    words = page.blocks.n_words
    return float(words[scores >= 0.5].sum() / words.sum()) if words.any() else 1.0


def verdict(
    measures: Measures, kept: float, *, min_train: int = MIN_TRAIN, most: float = 0.95, least: float = 0.01
) -> Doubt | None:
    """Judge whether a rule's result can be used: the bounds are our choice.

    Parameters
    ----------
    measures
        What the rule judged by.
    kept
        Share of the words that it kept, in [0, 1]: :func:`kept_share`.
    min_train
        Fewest pages, the page itself included.
    most, least
        Bounds of the share of words that may be removed.

    Returns
    -------
    Doubt or None
        None if it can be used. Each reason is a string, such as ``too_few_pages``.

    Raises
    ------
    UsageError
        ``kept`` is not in [0, 1].

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.frequency import SiteCounts, measure
    >>> page = blockml.parse("<p>Home</p>")
    >>> print(verdict(measure(page, SiteCounts.learn([page])), kept=0.0))
    too_few_pages
    """
    if not 0 <= kept <= 1:
        raise UsageError(f"the share of words kept must be in [0, 1], not {kept}")
    if too_few(measures, min_train):
        return Doubt.TOO_FEW_PAGES
    if 1 - kept > most:
        return Doubt.REMOVES_NEARLY_ALL
    return Doubt.REMOVES_NEARLY_NONE if 1 - kept < least else None


def _fraction(theta: float) -> Fraction:
    """A threshold as a fraction: the float nearest to a third is meant to be a third."""
    if not 0 <= theta <= 1:
        raise UsageError(f"a threshold must be in [0, 1], not {theta}")
    return Fraction(theta).limit_denominator(10**6)


def _exceeds(part: NDArray[np.int64] | NDArray[np.int32], whole: int, theta: float) -> NDArray[np.bool_]:
    """Whether ``part / whole`` is above the threshold, in whole numbers; 0 / 0 isn't."""
    limit = _fraction(theta)
    result: NDArray[np.bool_] = part.astype(np.int64) * limit.denominator > whole * limit.numerator
    return result


def _graded(values: NDArray[np.float64], limit: float, removed: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Scores that fall from 1 at value 0 over .5 at the limit to 0 at value 1; below .5 just for what is removed."""
    kept_scores = 1 - values / (2 * limit) if limit > 0 else np.ones(len(values))
    removed_scores = (1 - values) / (2 * (1 - limit)) if limit < 1 else np.zeros(len(values))
    return np.where(
        removed,
        np.clip(removed_scores.astype(np.float32), 0, _BELOW_HALF),
        np.clip(kept_scores.astype(np.float32), 0.5, 1),
    ).astype(np.float32)
