"""Content code blurring: regions with much text and few tags are content (Gottron 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.base import Between, Extractor, Traits, parameter
from blockml.extractors.heuristics.blurring import blur
from blockml.extractors.heuristics.token_stream import VIEWS, Tokens, TokenStream, block_vote, token_stream
from blockml.extractors.page_curve import PageCurve
from blockml.page import Page
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
        ratios = self._ratios(vector)
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
        """(n,) entries of each piece."""
        return stream.n_chars.astype(np.int64)

    def _separates(self, stream: TokenStream) -> NDArray[np.bool_]:
        """(n,) whether a piece separates texts, which are then kept or removed independently."""
        return stream.is_tag

    def _of_words(self, ratios: _Floats, starts: _Ints, stream: TokenStream, tokens: Tokens) -> _Floats:  # noqa: ARG002
        """(words,) mean ratio of each word's entries; ``starts`` has the first entry of each piece."""
        owner, place, length = find_spans(stream.texts, "cjk")  # as in TokenStream.tokens
        first = starts[owner] + place
        sums = np.append(0, np.cumsum(ratios))
        means: _Floats = (sums[first + length] - sums[first]) / length
        return means

    def _ratios(self, vector: _Floats) -> _Floats:
        """Content code ratio of each entry."""
        return self._blurred(vector)[0]

    def _blurred(self, vector: _Floats) -> tuple[_Floats, int]:
        """Content code ratio of each entry, and the rounds of blurring."""
        blurred, rounds = blur(vector, self.radius, self._deviation, self.eps, self.max_iter)
        return np.clip(blurred, 0, 1), rounds  # rounding errors

    @property
    def _deviation(self) -> float:
        """Standard deviation of the weights."""
        return self.radius / 3 if self.sigma is None else self.sigma

    def _spread(self, page: Page, scores: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: ARG002 (for subclasses)
        """(n_blocks,) scores, which subclasses combine with those of surrounding blocks."""
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
