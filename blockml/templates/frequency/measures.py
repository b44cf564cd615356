"""Repetition of each block and text on its site, and classification of blocks by it.

Each rule returns a score in [0, 1] and a reason per block. A block is content if its score is at least .5; the distance
from .5 measures how clear the decision is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.frequency.counts import Counts
from blockml.templates.frequency.site_counts import SiteCounts, contents_of
from blockml.text.words import counted

#: "More than a third" of the pages (Gottron 2008, section 7).
THETA = 1 / 3

#: Minimum number of pages, including the page itself (our choice). With three, a text that occurs on two would be
#: removed.
MIN_TRAIN = 4

#: Maximum score of a removed block.
_BELOW_HALF = np.nextafter(np.float32(0.5), np.float32(0))

#: Score and reason of each block.
Scores = tuple[NDArray[np.float32], Sequence[str]]


class FallbackReason(StrEnum):
    """Reason not to use the result of a rule."""

    TOO_FEW_PAGES = "too_few_pages"  #: repetition can't be measured
    REMOVES_NEARLY_ALL = "removes_nearly_all"  #: more than 95 % of the words
    REMOVES_NEARLY_NONE = "removes_nearly_none"  #: less than 1 % of the words


def kept_texts(measures: Measures, theta: float = THETA) -> NDArray[np.int32]:
    """Return the (n_kept,) content text nodes, in order: those on at most a share ``theta`` of pages (Gottron 2008).

    Raises UsageError unless ``theta`` is in [0, 1].

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
    """Score each block by the share of its words in texts that :func:`kept_texts` keeps.

    Applies Gottron 2008 to whole blocks: a block is content if at least half of its words are. Texts of a block without
    words count equally. :func:`kept_texts` is the original method, for single texts. Returns (n_blocks,) float32 scores
    and (n_blocks,) reasons such as ``on 9 of 10 pages``. Raises UsageError unless ``theta`` is in [0, 1].
    """
    inside = measures.text_blocks >= 0
    columns = (measures.text_blocks, measures.text_words, measures.text_pages)
    block, words, pages = (column[inside] for column in columns)
    stays = ~_exceeds(pages, measures.n_pages, theta)
    kept, weights = weighted_sums(block, words, stays, len(measures.text_share))
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    low = np.minimum.reduceat(pages, starts) if len(starts) else pages
    high = np.maximum.reduceat(pages, starts) if len(starts) else pages
    n_pages = counted(measures.n_pages, "page")
    reasons = [
        f"on {least} of {n_pages}" if least == most else f"its texts on {least} to {most} of {n_pages}"
        for least, most in zip(low.tolist(), high.tolist(), strict=True)
    ]
    return (kept / weights).astype(np.float32), tuple(reasons)


def block_frequency(measures: Measures, theta: float = THETA) -> Scores:
    """Score each block by the share of pages with its whole text; above ``theta``, in [0, 1], it is not content.

    Returns (n_blocks,) float32 scores, 1 for a text on no page, .5 at ``theta`` and 0 for a text on all pages, and
    (n_blocks,) reasons such as ``on 9 of 10 pages``.
    """
    removed = _exceeds(measures.block_pages, measures.n_pages, theta)
    reasons = [f"on {pages} of {counted(measures.n_pages, 'page')}" for pages in measures.block_pages.tolist()]
    return _graded(measures.block_share, theta, removed), tuple(reasons)


def dynamic_theta(measures: Measures) -> float:
    """Choose the entropy threshold of a page (InfoDiscoverer, Lin & Ho 2002).

    Raised from .1 to .9 in steps of .1 until a step accepts no further block, but at least until one is accepted (our
    choice).
    """
    accepted = 0
    for tenths in range(1, 10):
        now = int((measures.entropy <= tenths / 10).sum())
        if 0 < now == accepted:
            return tenths / 10
        accepted = now
    return 0.9


def entropy_rule(measures: Measures, theta: float | None = None) -> Scores:
    """Score each block by the mean entropy of its words; above ``theta`` it is not content (Lin & Ho 2002).

    ``theta`` is a threshold in [0, 1], None for :func:`dynamic_theta`; a fixed .7 is reasonable (our choice). Returns
    (n_blocks,) float32 scores, .5 at the threshold, and (n_blocks,) reasons such as ``entropy 0.92``.
    """
    limit = dynamic_theta(measures) if theta is None else theta
    _fraction(limit)
    reasons = [f"entropy {value:.2f}" for value in measures.entropy.tolist()]
    return _graded(measures.entropy, limit, measures.entropy > limit), tuple(reasons)


def ibdf_rule(measures: Measures, *, theta: float = THETA) -> Scores:
    """Score each block by the number c of other pages with a similar block (Debnath et al. 2005).

    Returns (n_blocks,) float32 scores, .5 at the threshold, and (n_blocks,) reasons such as ``like blocks of 8 of 9
    other pages``. A block is not content if c exceeds a share ``theta`` of the other pages (our choice of a
    threshold). Raises UsageError for a threshold outside of [0, 1], or measures without similar blocks.
    """
    similar = measures.similar
    if similar is None:
        raise UsageError("ibdf_rule needs measures of similar blocks: measure(page, site, similar=True)")
    reasons = [f"like blocks of {pages} of {counted(measures.n_others, 'other page')}" for pages in similar.tolist()]
    removed = _exceeds(similar, measures.n_others, theta)
    return _graded(similar / max(measures.n_others, 1), theta, removed), tuple(reasons)


def too_few(counted: SiteCounts | Measures, min_train: int = MIN_TRAIN) -> bool:
    """Return whether fewer than ``min_train`` pages were counted; for measures, including the page itself."""
    return (counted.n_pages if isinstance(counted, SiteCounts) else counted.n_others + 1) < min_train


def kept_share(page: Page, scores: NDArray[np.float32]) -> float:
    """Return the share of a page's words in blocks with a score of at least .5; 1 for a page without words."""
    words = page.blocks.n_words
    return float(words[scores >= 0.5].sum() / words.sum()) if words.any() else 1.0


def fallback_reason(measures: Measures, kept: float, *, min_train: int = MIN_TRAIN) -> FallbackReason | None:
    """Return why the result of a rule should not be used; None if it can be used.

    ``kept`` is the share of words kept, in [0, 1], see :func:`kept_share`; ``min_train`` the minimum number of pages,
    including the page itself. At most 95 % and at least 1 % of the words may be removed (our choice).

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.frequency import SiteCounts, measure
    >>> page = blockml.parse("<p>Home</p>")
    >>> print(fallback_reason(measure(page, SiteCounts.learn([page])), kept=0.0))
    too_few_pages
    """
    if not 0 <= kept <= 1:
        raise UsageError(f"the share of words kept must be in [0, 1], got {kept}")
    if too_few(measures, min_train):
        return FallbackReason.TOO_FEW_PAGES
    if 1 - kept > 0.95:
        return FallbackReason.REMOVES_NEARLY_ALL
    return FallbackReason.REMOVES_NEARLY_NONE if 1 - kept < 0.01 else None


def _fraction(theta: float) -> Fraction:
    """Return a threshold as a fraction: the float nearest to a third means a third."""
    if not 0 <= theta <= 1:
        raise UsageError(f"a threshold must be in [0, 1], got {theta}")
    return Fraction(theta).limit_denominator(10**6)


def _exceeds(part: NDArray[np.int64] | NDArray[np.int32], whole: int, theta: float) -> NDArray[np.bool_]:
    """Return whether ``part / whole`` exceeds the threshold, in exact arithmetic; 0 / 0 doesn't."""
    limit = _fraction(theta)
    return part.astype(np.int64) * limit.denominator > whole * limit.numerator


def _graded(values: NDArray[np.float64], limit: float, removed: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return scores that fall from 1 at value 0 to .5 at the limit and 0 at value 1; only removed ones are below .5."""
    kept_scores = 1 - values / (2 * limit) if limit > 0 else np.ones(len(values))
    removed_scores = (1 - values) / (2 * (1 - limit)) if limit < 1 else np.zeros(len(values))
    return np.where(
        removed,
        np.clip(removed_scores.astype(np.float32), 0, _BELOW_HALF),
        np.clip(kept_scores.astype(np.float32), 0.5, 1),
    ).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """Repetition of a page on its site.

    Shares are relative to :attr:`n_pages`, with or without the page itself, and 0 if no page is counted. Measures of
    paths and :attr:`similar` always refer to other pages.
    """

    n_others: int  #: Number of other pages counted
    include_self: bool  #: Whether the page itself is counted too
    text_nodes: NDArray[np.int32]  #: (n_texts,) node index of each visible text, in document order
    text_blocks: NDArray[np.int32]  #: (n_texts,) block of each text; -1 outside of blocks
    text_words: NDArray[np.int64]  #: (n_texts,) number of words
    text_pages: NDArray[np.int64]  #: (n_texts,) document frequency: number of pages with an equal text
    #: (n_blocks,) mean share of pages of the block's texts, in [0, 1], weighted by words unless the block has none
    text_share: NDArray[np.float64]
    block_pages: NDArray[np.int64]  #: (n_blocks,) number of pages with a block of equal text
    block_share: NDArray[np.float64]  #: (n_blocks,) share of pages with a block of equal text, in [0, 1]
    path_share: NDArray[np.float64]  #: (n_blocks,) share of other pages with a block at the same path, in [0, 1]
    #: (n_blocks,) share, in [0, 1], of the other pages' texts at that path that occur there on only one page; 1 without
    #: texts
    path_novelty: NDArray[np.float64]
    path_words: NDArray[np.float64]  #: (n_blocks,) mean words of other pages' blocks at that path; 0 without blocks
    path_links: NDArray[np.float64]  #: (n_blocks,) share of linked words among these, in [0, 1]; 0 without words
    #: (n_blocks,) mean entropy of the block's words, in [0, 1]: 1 for words equally frequent on all pages; 0 without
    #: words, and with fewer than two pages
    entropy: NDArray[np.float64]
    similar: NDArray[np.int32] | None  #: (n_blocks,) number of other pages with a similar block; None if not computed

    @property
    def n_pages(self) -> int:
        """Number of pages counted."""
        return self.n_others + self.include_self

    @property
    def ibdf(self) -> NDArray[np.float64] | None:
        """(n_blocks,) inverse block document frequency 1 / (:attr:`similar` + 1), in (0, 1]."""
        return None if self.similar is None else 1 / (self.similar + 1)


def measure(page: Page, site: SiteCounts, *, include_self: bool = True, similar: bool = True) -> Measures:
    """Measure how much of a page is repeated on its site.

    It makes no difference whether the page was learned: its own counts are removed if present, then added if requested.
    ``include_self`` counts the page itself, as in Gottron 2008, where a page belongs to its own training set.
    ``similar`` counts similar blocks, the only measure that compares blocks pairwise.

    Notes
    -----
    If another page with equal visible text was learned, this page replaces it: blocks and paths that only this page has
    count as new.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds")]
    >>> site = SiteCounts.learn(pages)
    >>> found = measure(pages[0], site)
    >>> found.text_share.round(2).tolist(), found.entropy.round(2).tolist(), found.similar.tolist()
    ([1.0, 0.33], [1.0, 0.5], [2, 0])
    """
    contents = contents_of(page)
    page_counts = contents.counts
    place = int(np.searchsorted(site.fingerprints, page_counts.fingerprints)[0])
    learnt = place < site.n_pages and site.fingerprints[place] == page_counts.fingerprints[0]
    own = page_counts if learnt else SiteCounts.combined([])
    n_others, added = site.n_pages - bool(learnt), int(include_self)
    n_pages = n_others + added
    text_pages = _on_others(site.texts, own.texts, contents.text_keys) + added
    entropies = site.words.entropies(page_counts.words, n_pages, times=added - bool(learnt))[contents.word_places]
    n_words, entropy = (
        np.bincount(contents.word_blocks, weights=column, minlength=len(page.blocks))
        for column in (contents.word_times, contents.word_times * entropies)
    )
    others = site.paths.without(own.paths, contents.path_keys)
    block_pages = _on_others(site.blocks, own.blocks, contents.block_keys) + added
    inside = contents.text_blocks >= 0
    block, words, pages = (column[inside] for column in (contents.text_blocks, contents.text_words, text_pages))
    sums, weights = weighted_sums(block, words, pages, len(page.blocks))
    return Measures(
        n_others=n_others,
        include_self=include_self,
        text_nodes=contents.text_nodes,
        text_blocks=contents.text_blocks,
        text_words=contents.text_words,
        text_pages=text_pages,
        text_share=sums / (weights * max(n_pages, 1)),
        block_pages=block_pages,
        block_share=block_pages / max(n_pages, 1),
        path_share=others["pages"] / max(n_others, 1),
        path_novelty=_ratio(np.minimum(others["once"], others["texts"]), others["texts"], 1.0),
        path_words=_ratio(others["words"], others["blocks"], 0.0),
        path_links=_ratio(np.minimum(others["linked"], others["words"]), others["words"], 0.0),
        entropy=np.minimum(entropy / np.maximum(n_words, 1), 1),  # rounding may exceed 1
        similar=site.vectors.similar_pages(page_counts.vectors, without=place if learnt else -1)[contents.vector_rows]
        if similar
        else None,
    )


def _on_others(counts: Counts, own: Counts, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return (n_keys,) numbers of other pages with each key."""
    pages: NDArray[np.int64] = np.maximum(counts.of(keys).astype(np.int64) - own.of(keys), 0)
    return pages


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64], otherwise: float) -> NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), otherwise)


def weighted_sums(
    block: NDArray[Any], words: NDArray[Any], values: NDArray[Any], n_blocks: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (n_blocks,) weighted sums of the values of each block's texts, and sums of the weights.

    ``block``, ``words`` and ``values`` are (n_texts,): the block, number of words and value of each text. Weights are
    the numbers of words, or 1 in a block without words.
    """
    wordless = np.bincount(block, weights=words, minlength=n_blocks) == 0
    weight = np.where(wordless[block], 1, words)
    columns = (weight * values, weight)
    sums, weights = (np.bincount(block, weights=column, minlength=n_blocks) for column in columns)
    return sums, weights
