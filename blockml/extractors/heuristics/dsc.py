"""Document slope curves: content is where the curve that counts tags is flat (Pinto et al. 2002, Gottron 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.extractor import Between, Extractor, PageCurve, Traits, parameter
from blockml.extractors.heuristics.token_stream import VIEWS, block_share, token_stream
from blockml.page import Page


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Windows over a token sequence, as columns of ``n`` entries."""

    start: NDArray[np.int64]  #: (n,) first token.
    end: NDArray[np.int64]  #: (n,) one past the last token.
    n_tags: NDArray[np.int64]  #: (n,) tags in the window.

    @property
    def slope(self) -> NDArray[np.float64]:
        """(n,) mean slope of the curve over the window, in [0, 1]: the share of its tokens that are tags."""
        return self.n_tags / (self.end - self.start)


def slope_curve(is_tag: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the tags up to and including each token (Pinto et al. 2002).

    Parameters
    ----------
    is_tag
        (n,) one per token.

    Examples
    --------
    >>> slope_curve(np.array([True, True, False, False, True])).tolist()
    [1, 2, 2, 2, 3]
    """
    return np.cumsum(is_tag, dtype=np.int64)


def window_length(n: int) -> int:
    """Return the number of tokens per window on a page of ``n`` tokens.

    8 for up to 200 tokens, 50 for at least 5,000, and linear in between, like in a public re-implementation of Gottron
    2007.

    Examples
    --------
    >>> [window_length(n) for n in (100, 500, 5000, 7000)]
    [8, 10, 50, 50]
    """
    return 8 + 42 * (min(max(n, 200), 5000) - 200) // 4800


def slope_windows(is_tag: NDArray[np.bool_], length: int) -> Windows:
    """Slide a window over the curve, half its length at a time.

    Parameters
    ----------
    is_tag
        (n,) one per token.
    length
        Tokens per window, at least 1. The first window that reaches the end is the last, and is cut there.

    Examples
    --------
    >>> windows = slope_windows(np.array([True, True, True, False, False, False, False]), 4)
    >>> windows.start.tolist(), windows.end.tolist(), windows.slope.tolist()
    ([0, 2, 4], [4, 6, 7], [0.75, 0.25, 0.0])
    """
    n = len(is_tag)
    stride = max(1, length // 2)
    n_windows = 1 + max(0, -((length - n) // stride)) if n else 0
    start = np.arange(n_windows, dtype=np.int64) * stride
    end = np.minimum(start + length, n)
    before = np.concatenate([[0], slope_curve(is_tag)])
    return Windows(start, end, before[end] - before[start])


def flat_sections(
    is_tag: NDArray[np.bool_], *, factor: float = 0.5, run: int = 3, window: int | None = None
) -> NDArray[np.bool_]:
    """Tell which tokens are in a section where the curve is flat.

    Parameters
    ----------
    is_tag
        (n,) one per token.
    factor, run, window
        See :class:`DSC`.

    Returns
    -------
    (n,) bool

    Examples
    --------
    >>> is_tag = np.array([True] * 6 + [False] * 8 + [True] * 4)
    >>> np.flatnonzero(flat_sections(is_tag, window=4)).tolist()
    [6, 7, 8, 9, 10, 11, 12, 13]
    """
    n = len(is_tag)
    windows = slope_windows(is_tag, window_length(n) if window is None else window)
    # Slope <= factor * mean slope, multiplied out: equal slopes stay equal.
    low = windows.n_tags * n <= factor * np.count_nonzero(is_tag) * (windows.end - windows.start)
    border = np.diff(low, prepend=False, append=False)
    first, last = np.flatnonzero(border).reshape(-1, 2).T
    long = last - first >= min(run, len(low))
    change = np.zeros(n + 1, dtype=np.int64)
    np.add.at(change, windows.start[first[long]], 1)
    np.add.at(change, windows.end[last[long] - 1], -1)
    return np.cumsum(change)[:-1] > 0


@dataclass(eq=False, repr=False, kw_only=True)
class DSC(Extractor):
    """Document slope curve: keeps the sections of a page that have few tags between their words.

    The page is a sequence of tags and words; its curve rises by one at each tag. A window slides over it, half its
    length at a time. It is low if its mean slope is at most ``factor`` times that of the page, and a run of enough low
    windows is a section. Pinto et al. 2002 looked for the one flat section that contains an article; Gottron 2007 takes
    all of them. A block scores the share of its words that are in sections.

    Parameters
    ----------
    factor
        Maximum slope of a low window, relative to the page's.
    run
        Minimum number of consecutive low windows in a section; all windows on a page with fewer of them.
    window
        Tokens per window; None for one that depends on the page's length (:func:`window_length`).
    view
        A key of :data:`blockml.extractors.heuristics.token_stream.VIEWS`.

    Examples
    --------
    >>> import blockml
    >>> html = "<ul><li>One<li>Two<li>Three<li>Four</ul><p>" + "word " * 20 + "</p><ul><li>Five<li>Six</ul>"
    >>> blockml.extract(html, model=DSC()).text.split()[:4]
    ['word', 'word', 'word', 'word']
    """

    name: ClassVar[str] = "dsc"
    traits: ClassVar[Traits] = Traits("Pinto et al. 2002; Gottron 2007")

    factor: float = parameter(0.5, Between(0, 1))
    run: int = parameter(3, Between(1, 1000, whole=True))
    window: int | None = parameter(None, Between(1, 100_000, whole=True, optional=True))
    view: str = parameter("raw", tuple(VIEWS))

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by the share of its words that are in flat sections.

        Raises
        ------
        UsageError
            An argument of the constructor is not a legal value.
        """
        self.check()
        tokens = token_stream(page, self.view).tokens()
        chosen = flat_sections(tokens.is_tag, factor=self.factor, run=self.run, window=self.window)
        return block_share(chosen, tokens.block, len(page.blocks))

    def curve(self, page: Page) -> PageCurve:
        """Return the slope of the window around each token, and the document slope curve."""
        self.check()
        tokens = token_stream(page, self.view).tokens()
        n = len(tokens)
        length = window_length(n) if self.window is None else self.window
        windows = slope_windows(tokens.is_tag, length)
        sums, counts = np.zeros(n + 1), np.zeros(n + 1)
        for change, sign, place in ((windows.slope, 1, windows.start), (windows.slope, -1, windows.end)):
            np.add.at(sums, place, sign * change)
            np.add.at(counts, place, sign)
        n_tags = int(np.count_nonzero(tokens.is_tag))
        limit = self.factor * n_tags / max(n, 1)
        return PageCurve(
            unit="tokens",
            is_content=~tokens.is_tag,
            name="slope: share of tags in the windows over a token",
            values=np.cumsum(sums)[:-1] / np.maximum(np.cumsum(counts)[:-1], 1),
            threshold=limit,
            keeps_above=False,
            block=tokens.block,
            facts={
                "window": f"{length} tokens, moved by {max(1, length // 2)}; {len(windows.start)} windows",
                "low": f"slope up to {limit:.3f}, {self.factor:g} times that of the page",
                "section": f"{self.run} low windows in a row",
            },
            total=slope_curve(tokens.is_tag) / max(n_tags, 1),
            total_name="document slope curve: tags so far",
        )
