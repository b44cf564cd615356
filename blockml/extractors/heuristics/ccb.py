"""Content code blurring: regions with much text and few tags are content.

One round replaces each entry by the weighted mean of its neighbourhood. Weights beyond the ends of the vector are left
out and the others normalised, so that constant vectors are unchanged.

Many rounds are computed at once: away from the ends a round is a convolution, so ``n`` rounds are one product with the
``n``-th power of the kernel's spectrum. Because a round is an average, the largest change never grows from one round to
the next, so the last round is found by bisection. The result equals that of single rounds, at a tenth of the cost for
long vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.extractor import Between, Extractor, PageCurve, Traits, parameter
from blockml.extractors.heuristics.token_stream import VIEWS, Tokens, TokenStream, block_vote, token_stream
from blockml.page import Page
from blockml.page.subtrees import subtree_sums
from blockml.text.words import find_spans

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

#: Minimum content code ratio of content. Gottron 2008 does not give the value; this one is from a public
#: implementation by tokens.
THRESHOLD = 0.75


@dataclass(eq=False, repr=False, kw_only=True)
class CCB(Extractor):
    """Content code blurring by characters.

    The paper (Gottron 2008): a page is a vector with an entry per character, 1 for content and 0 for code; all tags are
    code, everything else is content, and comments, scripts and superfluous white space are left out. Each entry is
    replaced by an average of its neighbourhood, weighted by a Gauss distribution, repeatedly "until convergence". The
    result is the content code ratio. Text whose ratio reaches a threshold is content, and a whole text between two tags
    is as soon as one of its entries is.

    Our choice, where the paper is silent: endless averaging would make all entries equal, so it stops when a round
    changes no entry by ``eps``. ``sigma`` is a third of the radius, beyond which weights are negligible. At the ends
    of the page the weights of the neighbours that exist are scaled up. Threshold and radius were fixed "on a few
    documents"; the radius is that of later comparisons by the same author.

    Parameters
    ----------
    radius
        Number of neighbours on either side in an average.
    sigma
        Standard deviation of their weights; None for a third of the radius.
    eps
        Blurring continues while an entry changes by at least this in a round.
    max_iter
        Maximum number of rounds.
    threshold
        Minimum content code ratio of content.
    keep_blocks
        Give a text between two tags the largest ratio of its entries, so that it is kept or removed as a whole.
        Otherwise each word has the mean ratio of its entries.
    view
        A key of :data:`blockml.extractors.heuristics.token_stream.VIEWS`.
    min_words
        If fewer words are content, the removed block with the largest product of words and ratio is content too. With
        0, as in the paper, a page may have no content; the paper finds short content "problematic".

    Examples
    --------
    >>> import blockml
    >>> words = "some plain words without any markup in between "
    >>> html = f"<ul class=menu><li><a href=/>Home</a><li><a href=/new>New</a></ul><p>{words * 9}</p>"
    >>> (CCB().score(blockml.parse(html)) >= 0.75).tolist()
    [False, False, True]
    """

    name: ClassVar[str] = "ccb"
    unit: ClassVar[str] = "characters"
    traits: ClassVar[Traits] = Traits("Gottron 2008")

    radius: int = parameter(40, Between(1, 500, whole=True))
    sigma: float | None = parameter(None, Between(0.1, 1000, optional=True))
    eps: float = parameter(0.01, Between(1e-4, 1))
    max_iter: int = parameter(100, Between(1, 1000, whole=True))
    threshold: float = parameter(THRESHOLD, Between(0, 1))
    keep_blocks: bool = parameter(default=True)
    view: str = parameter("raw", tuple(VIEWS))
    min_words: int = parameter(0, Between(0, 1_000_000, whole=True))

    @property
    def default_threshold(self) -> float:
        """Threshold of the constructor's default."""
        return THRESHOLD

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by the content code ratio that at least half of its words reach."""
        self.check()
        stream = self._stream(page)
        tokens = stream.tokens()
        is_text = ~stream.is_tag
        lengths = self._lengths(stream, tokens)
        vector = np.repeat(is_text.astype(np.float64), lengths)
        ratios, _ = self._blurred(vector)
        ends = np.cumsum(lengths, dtype=np.int64)
        runs = np.cumsum(self._separates(stream), dtype=np.int64)[is_text]
        of_pieces = np.zeros(len(stream))
        of_pieces[is_text] = _largest(vector, ratios, (ends - lengths)[is_text], ends[is_text], runs)
        words = tokens.piece[~tokens.is_tag]
        of_words = of_pieces[words] if self.keep_blocks else self._of_words(ratios, ends - lengths, stream, tokens)
        n_words = np.bincount(stream.block[words] + 1, minlength=len(page.blocks) + 1)[1:]
        # A text counts as one word where its block has none.
        wordless = (stream.block >= 0) & (np.append(n_words, 1)[stream.block] == 0)  # -1 takes the entry appended
        scores = block_vote(
            np.append(of_words, of_pieces[wordless]),
            np.append(stream.block[words], stream.block[wordless]),
            len(n_words),
        )
        return self._rescued(self._spread(page, scores), n_words)

    def curve(self, page: Page) -> PageCurve:
        """Return content code vector and ratio along the page, with the rounds of blurring."""
        self.check()
        stream = self._stream(page)
        lengths = self._lengths(stream, stream.tokens())
        is_content = np.repeat(~stream.is_tag, lengths)
        ratios, rounds = self._blurred(is_content.astype(np.float64))
        return PageCurve(
            unit=self.unit,
            is_content=is_content,
            name="content code ratio",
            values=ratios,
            threshold=self.threshold,
            keeps_above=True,
            block=np.repeat(stream.block, lengths),
            facts={
                "rounds of blurring": f"{rounds} of at most {self.max_iter}",
                "neighbourhood": f"{self.radius} {self.unit} on either side, sigma {self._deviation:.3g}",
                "threshold": f"{self.threshold:g}; a text between two tags is kept if it is reached anywhere in it"
                if self.keep_blocks
                else f"{self.threshold:g}, word by word",
            },
        )

    def _stream(self, page: Page) -> TokenStream:
        """Return the tags and texts of the vector."""
        return token_stream(page, self.view)

    def _lengths(self, stream: TokenStream, tokens: Tokens) -> _Ints:  # noqa: ARG002 (subclasses count tokens)
        """Return the (n,) number of entries of each piece."""
        return stream.n_chars.astype(np.int64)

    def _separates(self, stream: TokenStream) -> NDArray[np.bool_]:
        """Return an (n,) mask of pieces that separate texts, which are then kept or removed independently."""
        return stream.is_tag

    def _of_words(self, ratios: _Floats, starts: _Ints, stream: TokenStream, tokens: Tokens) -> _Floats:  # noqa: ARG002
        """Return the (words,) mean ratio of each word's entries; ``starts`` has the first entry of each piece."""
        owner, place, length = find_spans(stream.texts, "cjk")  # as in TokenStream.tokens
        first = starts[owner] + place
        sums = np.append(0, np.cumsum(ratios))
        means: _Floats = (sums[first + length] - sums[first]) / length
        return means

    def _blurred(self, vector: _Floats) -> tuple[_Floats, int]:
        """Return the content code ratio of each entry, and the number of rounds of blurring."""
        blurred, rounds = blur(vector, self.radius, self._deviation, self.eps, self.max_iter)
        return np.clip(blurred, 0, 1), rounds  # rounding errors

    @property
    def _deviation(self) -> float:
        """Standard deviation of the weights."""
        return self.radius / 3 if self.sigma is None else self.sigma

    def _spread(self, page: Page, scores: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: ARG002 (for subclasses)
        """Return the (n_blocks,) scores; subclasses combine them with those of surrounding blocks."""
        return scores

    def _rescued(self, scores: NDArray[np.float32], n_words: NDArray[np.intp]) -> NDArray[np.float32]:
        """Raise the score of the best removed block to the threshold if there is too little content."""
        threshold = np.float32(self.threshold)
        kept = scores >= threshold
        if n_words[kept].sum() < self.min_words and not kept.all():
            scores[np.argmax(np.where(kept, -1, scores * n_words))] = threshold
        return scores


@dataclass(eq=False, repr=False, kw_only=True)
class ACCB(CCB):
    """Content code blurring by characters that ignores anchors.

    Start and end tags of ``a`` are left out of the vector, as links "have no intentional influence on the format" and
    would split texts. Everything else is as in :class:`CCB`, including parameters.

    Examples
    --------
    >>> import blockml
    >>> words = "some plain words and <a href=http://www.example.org/a/long/address.html>linked words</a> in between "
    >>> page = blockml.parse(f"<ul class=menu id=menu><li>Home<li>New</ul><p>{words * 9}</p>")
    >>> (CCB().score(page) >= 0.75).tolist(), (ACCB().score(page) >= 0.75).tolist()
    ([False, False, False], [False, False, True])
    """

    name: ClassVar[str] = "accb"

    def _stream(self, page: Page) -> TokenStream:
        stream = token_stream(page, self.view)
        return stream.without(stream.is_anchor)


@dataclass(eq=False, repr=False, kw_only=True)
class TCCB(ACCB):
    """Content code blurring by tokens that ignores anchors.

    The vector has one entry per tag and one per word. Everything else is as in :class:`ACCB`; the radius is in tokens.
    A text without words has no entries, and the ratio of the entry after it.

    Examples
    --------
    >>> import blockml
    >>> menu = "<ul>" + "<li><a href=/>Home</a></li>" * 20 + "</ul>"
    >>> blockml.extract(f"{menu}<p>{'word ' * 99}</p>", model=TCCB()).text.split() == ["word"] * 99
    True
    """

    name: ClassVar[str] = "tccb"
    unit: ClassVar[str] = "tokens"
    radius: int = parameter(25, Between(1, 500, whole=True))

    def _lengths(self, stream: TokenStream, tokens: Tokens) -> _Ints:
        return np.bincount(tokens.piece, minlength=len(stream)).astype(np.int64)

    def _of_words(self, ratios: _Floats, starts: _Ints, stream: TokenStream, tokens: Tokens) -> _Floats:  # noqa: ARG002
        return ratios[~tokens.is_tag]


def _largest(vector: _Floats, ratios: _Floats, starts: _Ints, ends: _Ints, runs: _Ints) -> _Floats:
    """Compute the largest ratio of a content entry in each text's run of texts.

    Parameters
    ----------
    vector, ratios
        (entries,) before and after blurring.
    starts, ends
        (texts,) entries of each text.
    runs
        (texts,) number of its run, ascending.
    """
    if not len(runs):
        return np.zeros(0)
    first = np.flatnonzero(np.diff(runs, prepend=-1))
    last = np.append(first[1:], len(runs)) - 1
    borders = np.stack([starts[first], ends[last]], axis=1)
    # Where a page ends in texts without entries, nothing follows them; a page without any has no code.
    following = np.append(ratios, ratios[-1] if len(ratios) else 1.0)
    largest = np.maximum.reduceat(np.append(ratios * vector, 0.0), borders.ravel())[::2]
    largest = np.where(borders[:, 0] == borders[:, 1], following[borders[:, 0]], largest)
    return np.repeat(largest, last - first + 1)


#: Number of rounds computed at once.
_STRIDE = 32

#: Minimum length, in widths of an end, for which computing many rounds at once is faster (measured).
_LONG = 12

#: Fraction of a kernel's weight that may be ignored: far below the rounding error of 64-bit sums of order 1.
_IGNORED = 1e-14


def kernel(radius: int, sigma: float) -> _Floats:
    """Return the weights of a neighbourhood: a Gaussian cut off at ``radius`` (Gottron 2008).

    Parameters
    ----------
    radius
        Neighbours on either side, in entries, at least 1.
    sigma
        Standard deviation of the distribution, in entries, above 0.

    Returns
    -------
    ndarray
        (2 * radius + 1,) weights with the sum 1, the middle one for the entry itself.

    Examples
    --------
    >>> kernel(2, 1.0).round(6).tolist()
    [0.054489, 0.244201, 0.40262, 0.244201, 0.054489]
    """
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    result: _Floats = weights / weights.sum()
    return result


def blur(values: _Floats, radius: int, sigma: float, eps: float, max_iter: int) -> tuple[_Floats, int]:
    """Blur until no entry changes by ``eps`` or more.

    Parameters
    ----------
    values
        (n,) in [0, 1].
    radius, sigma
        See :func:`kernel`.
    eps
        Blurring continues while an entry changes by at least this in a round; at least 1e-6. Without it, blurring would
        go on until all entries are the same. Ends after at most about ``0.25 / eps`` rounds.
    max_iter
        Maximum number of rounds.

    Returns
    -------
    values, rounds
        (n,) blurred values, and the number of rounds.

    Examples
    --------
    >>> blurred, rounds = blur(np.repeat([0.0, 1.0, 0.0], 100), 40, 13.3, 0.01, 100)
    >>> rounds, blurred[[0, 50, 100, 150]].round(3).tolist()
    (24, [0.133, 0.226, 0.444, 0.563])
    """
    values = np.asarray(values, dtype=np.float64)
    weights = kernel(radius, sigma)
    # With values in [0, 1], round n changes an entry by at most half the sum of |g_n - g_(n-1)|, g_n the kernel of n
    # rounds. With Gaussians that is 0.242 / n.
    stride = min(_STRIDE, math.ceil(0.25 / eps) + 1)
    advance = _leap if len(values) > _LONG * (_reach(weights, stride) + radius) else _walk
    rounds, settled = 0, not len(values)
    while rounds < max_iter and not settled:
        values, made, settled = advance(values, weights, min(stride, max_iter - rounds), eps)
        rounds += made
    return values, rounds


def _weighted(values: _Floats, weights: _Floats) -> _Floats:
    """Compute the weighted sum of each entry's neighbourhood."""
    radius = len(weights) // 2
    return np.convolve(values, weights)[radius : radius + len(values)]


def _walk(values: _Floats, weights: _Floats, most: int, eps: float) -> tuple[_Floats, int, bool]:
    """Blur in single rounds; return values, number of rounds, and whether the last one changed less than ``eps``."""
    scale = _weighted(np.ones(len(values)), weights)
    for made in range(1, most + 1):
        before, values = values, _weighted(values, weights) / scale
        if np.abs(values - before).max() < eps:
            return values, made, True
    return values, most, False


def _leap(values: _Floats, weights: _Floats, most: int, eps: float) -> tuple[_Floats, int, bool]:
    """Blur like :func:`_walk`, but faster for vectors that are long in comparison with ``most`` rounds."""
    reach = _reach(weights, most)
    # Entries further inside than this do not depend on the ends. The ends are blurred in single rounds, together with
    # as many entries again, so that cutting them off has no effect.
    margin = reach + len(weights) // 2
    head = _rounds(values[: 2 * margin], weights, most)[:, :margin]
    tail = _rounds(values[: -2 * margin - 1 : -1], weights, most)[:, :margin]
    inside = _Inside(values, weights, most, reach, margin)
    changes = np.maximum(np.abs(np.diff(head, axis=0)).max(axis=1), np.abs(np.diff(tail, axis=0)).max(axis=1))
    places = [lambda made: float(changes[made - 1]), *inside.changes()]
    last = _first_calm(places, most, eps)
    made = min(last, most)
    return np.concatenate([head[made], *inside.after(made), tail[made][::-1]]), made, last <= most


def _reach(weights: _Floats, rounds: int) -> int:
    """Return the distance that an entry spreads in some rounds, except for :data:`_IGNORED` of its weight.

    It is the distance of a random walk with steps drawn by the weights. By Doob's inequality, Chernoff's bound on its
    end holds for the whole walk.
    """
    radius = len(weights) // 2
    slopes = 2 ** np.arange(-3, 7, 0.25) / radius
    moments = np.cosh(np.outer(slopes, np.arange(-radius, radius + 1))) @ weights
    bound = ((rounds * np.log(moments) + math.log(2 / _IGNORED)) / slopes).min()
    return min(rounds * radius, math.ceil(float(bound)))


def _rounds(values: _Floats, weights: _Floats, most: int) -> _Floats:
    """Return (most + 1, n) values after each number of rounds."""
    scale = _weighted(np.ones(len(values)), weights)
    result = np.empty((most + 1, len(values)))
    result[0] = values
    for made in range(most):
        result[made + 1] = _weighted(result[made], weights) / scale
    return result


class _Inside:
    """The vector away from its ends, as overlapping rows that include everything blurred in from their neighbours."""

    def __init__(self, values: _Floats, weights: _Floats, most: int, reach: int, margin: int) -> None:
        radius = len(weights) // 2
        self.length = 1 << (8 * reach - 1).bit_length()  # so that at most a quarter is overlap
        self.reach = reach
        own = self.length - 2 * reach
        starts = range(margin, len(values) - margin, own)
        self.sizes = [min(own, len(values) - margin - start) for start in starts]
        self.spectra = [
            np.fft.rfft(values[start - reach : start - reach + self.length], self.length) for start in starts
        ]
        centred = np.zeros(self.length)
        centred[: radius + 1] = weights[radius:]
        centred[-radius:] = weights[:radius]
        spectrum = np.fft.rfft(centred).real  # the kernel is symmetric
        self.powers = np.ones((most + 1, len(spectrum)))
        for made in range(most):
            np.multiply(self.powers[made], spectrum, out=self.powers[made + 1])

    def _back(self, row: int, factors: _Floats) -> _Floats:
        """Return the entries of a row without overlap, from a product of spectra."""
        blurred = np.fft.irfft(self.spectra[row] * factors, self.length)
        return blurred[self.reach : self.reach + self.sizes[row]]

    def after(self, made: int) -> list[_Floats]:
        """Return the entries of all rows after some rounds."""
        return [self._back(row, self.powers[made]) for row in range(len(self.sizes))]

    def changes(self) -> list[Callable[[int], float]]:
        """Return the largest change that a round makes in each row."""

        def change_in(row: int) -> Callable[[int], float]:
            return lambda made: float(np.abs(self._back(row, self.powers[made] - self.powers[made - 1])).max())

        return [change_in(row) for row in range(len(self.sizes))]


def _first_calm(places: Sequence[Callable[[int], float]], most: int, eps: float) -> int:
    """Return the first round that changes less than ``eps`` in all places; ``most + 1`` if none does."""
    stormy = 0  # a round that changes more somewhere; so does each before it
    place = calm = 0
    while calm < len(places) and stormy < most:
        change = places[place]
        if change(stormy + 1) < eps:
            place, calm = (place + 1) % len(places), calm + 1
            continue
        # The change could temporarily grow again here, carried in from elsewhere, so a calm round proves nothing.
        stormy, limit, calm = stormy + 1, most + 1, 0
        while stormy + 1 < limit:
            middle = (stormy + limit) // 2
            if change(middle) < eps:
                limit = middle
            else:
                stormy = middle
    return stormy + 1


#: Elements inside a line of text (HTML standard: sections 4.5 "text-level semantics" and 4.7 "edits", and their
#: obsolete elements of section 16.2).
INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i ins kbd mark nobr q rb rp rt rtc ruby s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedCCB(CCB):
    """Content code blurring by characters in which inline tags count less than others.

    The paper (Gottron 2008) names "new models" for the vector as future work. In the paper a tag is either in the
    vector (``ccb``) or left out (``accb``, for anchors). Here an inline tag of n characters has ``inline_weight * n``
    entries, so both are special cases, and inline tags do not end a text that is kept or removed as a whole. Menus,
    which are full of links, still have more code than a text with some links and emphasis.

    Parameters
    ----------
    inline_weight
        Weight of a character of a tag in :data:`INLINE`, in [0, 1]; characters of other tags have weight 1.
    attributes
        Whether characters of attributes count; otherwise only those of name and brackets do.
    radius, sigma, eps, max_iter, threshold, keep_blocks, view, min_words
        See :class:`blockml.extractors.heuristics.ccb.CCB`.

    Examples
    --------
    >>> import blockml
    >>> words = "some plain words and <a href=http://www.example.org/a/long/address.html>linked words</a> in between "
    >>> page = blockml.parse(f"<ul><li>Home<li>New</ul><p>{words * 9}</p>")
    >>> (CCB().score(page) >= 0.75).tolist(), (WeightedCCB().score(page) >= 0.75).tolist()
    ([False, False, False], [False, False, True])
    """

    name: ClassVar[str] = "wccb"
    traits: ClassVar[Traits] = Traits("ours, after Gottron 2008")

    inline_weight: float = parameter(0.25, Between(0, 1))
    attributes: bool = parameter(default=True)

    def _lengths(self, stream: TokenStream, tokens: Tokens) -> NDArray[np.int64]:
        lengths = super()._lengths(stream, tokens)
        if not self.attributes:
            bare = np.array([len(name) + 2 for name in stream.names], dtype=np.int64)
            lengths = np.where(stream.is_tag, bare, lengths)
        return np.where(_is_inline(stream), np.rint(self.inline_weight * lengths).astype(np.int64), lengths)

    def _separates(self, stream: TokenStream) -> NDArray[np.bool_]:
        return stream.is_tag & ~_is_inline(stream)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeCCB(WeightedCCB):
    """Content code blurring by characters, then along the tree.

    The paper (Gottron 2008) names "incorporate DOM structure" as future work. Blurring uses the text before and after a
    block in the source; text in the same element is more informative: a short line or a heading in an article is
    content, a sentence between teasers is not. Each element therefore has a ratio: the mean over the characters of its
    blocks, averaged with the ratio of its parent element, which has the weight of ``prior`` characters. A block's score
    is averaged with the ratio of its element in the same way, so that short blocks follow their element and long ones
    hardly change. Elements with a single child element are skipped. Linear in the number of nodes.

    Parameters
    ----------
    prior
        Weight of the parent element's ratio, in characters; 0 gives ``wccb``.
    inline_weight, attributes
        See :class:`WeightedCCB`.
    radius, sigma, eps, max_iter, threshold, keep_blocks, view, min_words
        See :class:`blockml.extractors.heuristics.ccb.CCB`.

    Examples
    --------
    >>> import blockml
    >>> words = "some plain words without any markup in between "
    >>> html = f"<div><h1 class='title is-1 headline'>Title</h1><p>{words * 20}</p></div>"
    >>> page = blockml.parse(html)
    >>> (WeightedCCB().score(page) >= 0.75).tolist(), (TreeCCB().score(page) >= 0.75).tolist()
    ([False, True], [True, True])
    """

    name: ClassVar[str] = "dccb"
    prior: float = parameter(100, Between(0, 1_000_000))

    def _spread(self, page: Page, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        if not scores.size:
            return scores
        size = np.array([len(text) for text in page.blocks.texts], dtype=np.float64)
        around = _around(page, size, size * scores, self.prior)
        mixed = (size * scores + self.prior * around) / (size + self.prior)
        return np.clip(mixed, 0, 1).astype(np.float32)


def _is_inline(stream: TokenStream) -> NDArray[np.bool_]:
    """Return an (n,) mask of pieces that are tags of inline elements."""
    return np.array([name.removeprefix("/") in INLINE for name in stream.names], dtype=bool)


def _around(page: Page, size: NDArray[np.float64], content: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """Return the (n_blocks,) ratio of the element that contains each block.

    ``size`` and ``content`` are the characters of each block, and how many of them are content.
    """
    nodes, holder = page.nodes, page.blocks.parent
    held = holder >= 0
    whole = content.sum() / size.sum()
    sizes, contents = (
        subtree_sums(nodes, np.bincount(holder[held], mass[held], minlength=len(nodes))) for mass in (size, content)
    )
    ratios = np.append(np.zeros(len(nodes)), whole)  # -1, the parent of roots, takes the entry appended
    elements = np.flatnonzero(sizes)
    elements = elements[np.argsort(nodes.depth[elements], kind="stable")]
    for level in np.split(elements, np.flatnonzero(np.diff(nodes.depth[elements])) + 1):
        outer = nodes.parent[level]
        mixed = (contents[level] + prior * ratios[outer]) / (sizes[level] + prior)
        wrapped = np.append(sizes, 0)[outer] == sizes[level]
        ratios[level] = np.where(wrapped, ratios[outer], mixed)
    return ratios[holder]
