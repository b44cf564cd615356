"""Content extraction by tag ratios: content is on lines of the source with much text and few tags."""

from __future__ import annotations

import html
import math
import re
import sys
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.extractor import Between, Extractor, Traits, parameter
from blockml.extractors.heuristics.token_stream import TokenStream, block_share, token_stream
from blockml.page import Page
from blockml.text.words import code_points, find_words

#: Maximum number of iterations of k-means (our choice; a few suffice).
_ROUNDS = 100


def smooth(values: NDArray[np.float64], sigma: float = 1.0) -> NDArray[np.float64]:
    """Smooth values with a Gaussian kernel (Weninger et al. 2010).

    At the ends the remaining weights are normalised, so that equal values are unchanged.

    Parameters
    ----------
    values
        (n,), at least one.
    sigma
        Standard deviation, above 0. The kernel is cut off at this distance, rounded up.

    Examples
    --------
    >>> smooth(np.array([0.0, 0.0, 10.0, 0.0])).round(2).tolist()
    [0.0, 2.74, 4.52, 3.78]
    """
    radius = math.ceil(sigma)
    kernel = np.exp(-((np.arange(-radius, radius + 1) / sigma) ** 2) / 2)
    weight = np.convolve(np.ones_like(values), kernel)
    smoothed: NDArray[np.float64] = np.convolve(values, kernel) / weight
    return smoothed[radius : radius + len(values)]


def steps_ahead(values: NDArray[np.float64], ahead: int = 3) -> NDArray[np.float64]:
    """Compute the absolute difference between each value and the mean of the next ones (Weninger et al. 2010).

    Parameters
    ----------
    values
        (n,).
    ahead
        Number of next values; fewer near the end. The result for the last value is 0.

    Examples
    --------
    >>> steps_ahead(np.array([1.0, 1.0, 4.0, 4.0, 4.0])).tolist()
    [2.0, 3.0, 0.0, 0.0, 0.0]
    """
    n = len(values)
    before = np.concatenate([[0.0], np.cumsum(values)])
    start = np.arange(1, n + 1)
    end = np.minimum(start + ahead, n)
    mean = np.where(end > start, (before[end] - before[start]) / np.maximum(end - start, 1), values)
    return np.abs(mean - values)


def above_deviation(ratio: NDArray[np.float64], *, sigma: float = 1.0, factor: float = 1.0) -> NDArray[np.bool_]:
    """Tell which lines have a smoothed tag ratio above the ratios' standard deviation (Weninger et al. 2010).

    Parameters
    ----------
    ratio
        (n_lines,) tag ratios, at least one.
    sigma
        See :func:`smooth`.
    factor
        The bound, in standard deviations.

    Examples
    --------
    >>> above_deviation(np.array([1.0, 2.0, 1.0, 60.0, 65.0, 50.0, 2.0, 1.0])).nonzero()[0].tolist()
    [3, 4, 5]
    """
    chosen: NDArray[np.bool_] = smooth(ratio, sigma) > factor * ratio.std()
    return chosen


def away_from_origin(
    points: NDArray[np.float64], *, clusters: int = 3, n_init: int = 3, random_state: int = 0
) -> NDArray[np.bool_]:
    """Tell which points are in other clusters than the one around the origin (Weninger et al. 2010).

    This is k-means with one centre that stays at the origin.

    Parameters
    ----------
    points
        (n, 2), at least ``clusters`` of them different.
    clusters
        Clusters, the one around the origin included.
    n_init
        Starts, each from other points as centres, far from each other by chance (Arthur and Vassilvitskii 2007); the
        clusters with the least squared distances count.
    random_state
        Chooses the starts.

    Examples
    --------
    >>> points = np.array([[1.0, 0.0], [2.0, 1.0], [30.0, 5.0], [0.0, 2.0], [60.0, 1.0], [62.0, 3.0]])
    >>> away_from_origin(points).nonzero()[0].tolist()
    [2, 4, 5]
    """
    rng = np.random.default_rng(random_state)
    best, chosen = math.inf, np.zeros(len(points), dtype=bool)
    for _ in range(n_init):
        centres = np.zeros((1, 2))
        while len(centres) < clusters:
            far = _squares(points, centres).min(axis=1)
            centres = np.vstack([centres, points[rng.choice(len(points), p=far / far.sum())]])
        label, cost = _cluster(points, centres)
        if cost < best:
            best, chosen = cost, label > 0
    return chosen


def _cluster(points: NDArray[np.float64], centres: NDArray[np.float64]) -> tuple[NDArray[np.intp], float]:
    """Cluster of each point, and the sum of squared distances; the first centre stays, an empty cluster's too."""
    label = np.full(len(points), -1, dtype=np.intp)
    for _ in range(_ROUNDS):
        squares = _squares(points, centres)
        before, label = label, squares.argmin(axis=1)
        if np.array_equal(before, label):
            break
        size = np.bincount(label, minlength=len(centres))
        sums = np.column_stack([np.bincount(label, column, len(centres)) for column in points.T])
        moved = size > 0
        moved[0] = False
        centres[moved] = sums[moved] / size[moved, None]
    return label, float(squares.min(axis=1).sum())


def _squares(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (n_points, n_centres) squared distances."""
    return (points[:, :1] - centres[:, 0]) ** 2 + (points[:, 1:] - centres[:, 1]) ** 2


@dataclass(eq=False, repr=False, kw_only=True)
class _TagRatios(Extractor):
    """Base class of both methods: the score of a block is the share of its words on content lines."""

    traits: ClassVar[Traits] = Traits("Weninger et al. 2010")

    rewrap: bool = parameter(default=True)
    sigma: float = parameter(1.0, Between(0.1, 10))

    @abstractmethod
    def _content(self, ratio: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return an (n_lines,) mask of lines of content by their tag ratios."""

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by the share of its words that are on content lines.

        Raises
        ------
        UsageError
            The value of a parameter is not legal.
        """
        self.check()
        lines = split_lines(token_stream(page), rewrap=self.rewrap)
        # Without tags all lines are content.
        chosen = self._content(lines.ratio) if lines.n_tags.any() else np.ones(len(lines.n_tags), dtype=bool)
        words = np.repeat(np.arange(len(lines.line)), lines.n_words)
        return block_share(chosen[lines.line][words], lines.block[words], len(page.blocks))


@dataclass(eq=False, repr=False, kw_only=True)
class CETRTM(_TagRatios):
    """Content extraction by tag ratios, with a threshold: keeps lines above the ratios' standard deviation.

    The tag ratio of a line is its characters of text divided by its tags. Smoothed over lines, it is high in content.
    The score of a block is the share of its words on these lines.

    Parameters
    ----------
    rewrap
        Break lines with long texts, so that pages without line breaks work; see :func:`split_lines`.
    sigma
        Width of the smoothing, in lines.
    factor
        Bound of the smoothed tag ratio, in standard deviations.

    Examples
    --------
    >>> import blockml
    >>> html = "<ul>\\n<li>One\\n<li>Two\\n<li>Three\\n</ul>\\n<p>A line with much more text than the others have.</p>"
    >>> blockml.extract(html, model=CETRTM()).text
    'A line with much more text than the others have.'
    """

    name: ClassVar[str] = "cetr-tm"
    factor: float = parameter(1.0, Between(0, 10))

    def _content(self, ratio: NDArray[np.float64]) -> NDArray[np.bool_]:
        return above_deviation(ratio, sigma=self.sigma, factor=self.factor)


@dataclass(eq=False, repr=False, kw_only=True)
class CETR(_TagRatios):
    """Content extraction by tag ratios, with clusters: keeps lines whose ratios, or steps in them, are large.

    Each line is a point: its smoothed tag ratio, and the smoothed step from its ratio to those of the next lines, which
    marks short lines amid content. Lines around the origin are dropped, those of the other clusters are kept. Lines
    that are not different enough for clusters are left to :class:`CETRTM`. A block scores the share of its words that
    are on lines of content.

    Parameters
    ----------
    rewrap
        Break lines with long texts, so that pages without line breaks work; see :func:`split_lines`.
    sigma
        Width of the smoothing, in lines.
    ahead
        Next lines that a step leads to.
    clusters
        Clusters, the one around the origin included.
    n_init
        Starts of k-means.
    random_state
        Chooses the starts.

    Examples
    --------
    >>> import blockml
    >>> html = "<ul>" + "\\n<li><a href=/>Link</a></li>" * 9 + "\\n</ul>\\n<p>" + "A line of the article. " * 9 + "</p>"
    >>> CETR().score(blockml.parse(html))[[0, -1]].tolist()
    [0.0, 1.0]
    """

    name: ClassVar[str] = "cetr"
    ahead: int = parameter(3, Between(1, 1000, whole=True))
    clusters: int = parameter(3, Between(2, 10, whole=True))
    n_init: int = parameter(3, Between(1, 100, whole=True))
    random_state: int = parameter(0, Between(0, 100_000, whole=True))

    def _content(self, ratio: NDArray[np.float64]) -> NDArray[np.bool_]:
        steps = steps_ahead(ratio, self.ahead)
        points = np.column_stack([smooth(ratio, self.sigma), smooth(steps, self.sigma)])
        if len(np.unique(points[:, 0] + 1j * points[:, 1])) < self.clusters:
            return above_deviation(ratio, sigma=self.sigma)
        return away_from_origin(points, clusters=self.clusters, n_init=self.n_init, random_state=self.random_state)


#: Maximum characters of text on a line; longer lines are broken (our choice: about the length of hand-written lines).
LINE_LENGTH = 65

#: Elements that are removed first, with their tags (Weninger et al. 2010).
_REMOVED = frozenset({"script", "/script", "style", "/style"})
_BREAK = re.compile(r"\r\n?|\n")
# Inside a piece of text only comments are markup.
_COMMENT = re.compile(r"<!--.*?(?:--!?>|\Z)|<[!?/][^>]*+(?:>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class SourceLines:
    """Non-empty lines of a page, and the stretches of text on them."""

    n_chars: NDArray[np.int64]  #: (n_lines,) characters of text.
    n_tags: NDArray[np.int64]  #: (n_lines,) tags that begin there.
    line: NDArray[np.int64]  #: (n_stretches,) line of each stretch of text.
    block: NDArray[np.int32]  #: (n_stretches,) its block; -1 for none.
    n_words: NDArray[np.int64]  #: (n_stretches,) its words.

    @property
    def ratio(self) -> NDArray[np.float64]:
        """(n_lines,) tag ratio: characters of text divided by tags, or by 1 without tags."""
        return self.n_chars / np.maximum(self.n_tags, 1)


def split_lines(stream: TokenStream, *, rewrap: bool = True) -> SourceLines:
    """Split tags and texts into the lines of the source.

    Parameters
    ----------
    stream
        The page; the tags of scripts and styles are left out.
    rewrap
        Break lines with more than :data:`LINE_LENGTH` characters of text, between words or before a text. Tags do not
        count, because long attributes would separate a tag from its text.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.heuristics.token_stream import token_stream
    >>> page = blockml.parse("<div><a>Home</a><a>News</a></div>\\n\\n<p>Cats rule the world, really.</p>")
    >>> split_lines(token_stream(page)).ratio.round(3).tolist()
    [1.333, 14.0]
    """
    lines, pieces, texts = [], [], []
    for line, piece, text in _wrapped(stream, LINE_LENGTH if rewrap else sys.maxsize):
        lines.append(line)
        pieces.append(piece)
        texts.append(text)
    n_lines = lines[-1] + 1 if lines else 0
    row = np.array(lines, dtype=np.int64)
    n_chars = np.array([len(text) for text in texts], dtype=np.int64)
    owner, _ = find_words(texts, "cjk")
    is_text = n_chars > 0
    return SourceLines(
        n_chars=np.bincount(row, n_chars, n_lines).astype(np.int64),
        n_tags=np.bincount(row[~is_text], minlength=n_lines),
        line=row[is_text],
        block=stream.block[np.array(pieces, dtype=np.intp)][is_text],
        n_words=np.bincount(owner, minlength=len(texts))[is_text],
    )


def _wrapped(stream: TokenStream, width: int) -> Iterator[tuple[int, int, str]]:
    """Return line and piece of each tag, with an empty text, and of each stretch of text; no line is empty."""
    line, room, last = -1, width, -1
    for source_line, piece, text in _source_lines(stream):
        if source_line != last:
            line, room, last = line + 1, width, source_line
        done = 0
        while len(text) - done > room:
            cut = text.rfind(" ", done, done + room + 1)
            if cut < 0 and room == width:
                cut = done + width  # a script without blanks, or text without words
            if cut > 0:
                yield line, piece, text[done:cut]
                done = cut + 1 if text[cut] == " " else cut
            line, room = line + 1, width
        yield line, piece, text[done:]
        room -= len(text) - done


def _source_lines(stream: TokenStream) -> Iterator[tuple[int, int, str]]:
    """Return source line and piece of each tag, with an empty text, and of each stretch of text on one line."""
    signs = code_points([stream.source, ""])
    breaks = np.flatnonzero((signs[:-1] == ord("\n")) | ((signs[:-1] == ord("\r")) & (signs[1:] != ord("\n")))) + 1
    borders = np.append(stream.start, len(stream.source))
    line_of_border = np.searchsorted(breaks, borders, side="right").tolist()
    for piece, (name, text) in enumerate(zip(stream.names, stream.texts, strict=True)):
        line = line_of_border[piece]
        if name:
            if name not in _REMOVED:
                yield line, piece, ""
        elif line == line_of_border[piece + 1]:
            yield line, piece, text.strip()
        else:
            written = stream.source[borders[piece] : borders[piece + 1]]
            written = _COMMENT.sub(lambda comment: "\n" * len(_BREAK.findall(comment[0])), written)
            for number, part in enumerate(_BREAK.split(written), start=line):
                stretch = " ".join(html.unescape(part).split())
                if stretch:
                    yield number, piece, stretch
