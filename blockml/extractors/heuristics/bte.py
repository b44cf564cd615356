"""Body text extraction: the run of tokens with the most words and the fewest tags (Finn et al. 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.extractor import Extractor, Traits, parameter
from blockml.extractors.heuristics.token_stream import VIEWS, TokenStream, block_share, token_stream
from blockml.page import Page


def body_text(is_tag: NDArray[np.bool_]) -> tuple[int, int]:
    """Find the run of tokens that makes the objective largest.

    The objective (Finn et al. 2001) counts the tags before, the words in and the tags after the run. That is the number
    of tags on the page plus, over the run, the words minus the tags: so the run is the one with the largest sum where a
    word counts +1 and a tag −1, and one pass finds it. Ties go to the run that ends first, then to the longest.

    Parameters
    ----------
    is_tag
        (n,) one per token.

    Returns
    -------
    start, end
        First token of the run, and one past its last; 0, 0 if there are no words.

    Examples
    --------
    >>> body_text(np.array([True, False, False, True, False, False, False, True]))
    (1, 7)
    """
    if is_tag.all():
        return 0, 0
    before = np.concatenate([[0], np.cumsum(np.where(is_tag, -1, 1))])
    best = before[1:] - np.minimum.accumulate(before[:-1])
    last = int(best.argmax())
    return int(before[: last + 1].argmin()), last + 1


@dataclass(eq=False, repr=False, kw_only=True)
class BTE(Extractor):
    """Body text extraction: keeps the run of the page with the most words inside and the most tags outside.

    The page is a sequence of tags and words. The score of a block is the share of its words that are in the run.

    Parameters
    ----------
    body_only
        Search only between ``<body>`` and ``</body>``, if the source has them.
    view
        A key of :data:`blockml.extractors.heuristics.token_stream.VIEWS`.

    Examples
    --------
    >>> import blockml
    >>> html = "<div><a>Home</a><a>News</a></div><h1>The headline</h1><p>Some words more.</p><div><a>About</a></div>"
    >>> blockml.extract(html, model=BTE()).text.split()
    ['The', 'headline', 'Some', 'words', 'more.']
    """

    name: ClassVar[str] = "bte"
    traits: ClassVar[Traits] = Traits("Finn et al. 2001")

    body_only: bool = parameter(default=True)
    view: str = parameter("raw", tuple(VIEWS))

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by the share of its words that are in the run.

        Raises
        ------
        UsageError
            The value of a parameter is not legal.
        """
        self.check()
        stream = token_stream(page, self.view)
        tokens = stream.tokens()
        first, beyond = np.searchsorted(tokens.piece, _body(stream) if self.body_only else (0, len(stream))).tolist()
        start, end = body_text(tokens.is_tag[first:beyond])
        chosen = np.zeros(len(tokens), dtype=bool)
        chosen[first + start : first + end] = True
        return block_share(chosen, tokens.block, len(page.blocks))


def _body(stream: TokenStream) -> tuple[int, int]:
    """Return the first piece of the body, and one past its last: the last end tag, because pages may have several.

    A body without a start tag starts after the head or title that precedes the first block.
    """
    if "body" in stream.names:
        start = stream.names.index("body") + 1
    else:
        texts = np.flatnonzero(stream.block >= 0)
        before = stream.names[: int(texts[0])] if len(texts) else ()
        start = max((piece + 1 for piece, name in enumerate(before) if name in ("/head", "/title")), default=0)
    for piece in range(len(stream) - 1, start - 1, -1):
        if stream.names[piece] == "/body":
            return start, piece
    return start, len(stream)
