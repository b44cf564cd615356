"""Gold of every kind, turned into block labels.

Whatever form the gold of a data set has, it answers two questions: what text is the main content, and what is each
block of a parsed page? So any gold works with any back end, profile and tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blockml.page import MAIN_LABELS, Label, Page
from blockml.text.lcs import lcs_alignment
from blockml.text.tokens import metric_tokens

__all__ = ["LABELS", "BlockLabels", "Gold", "RegionGold", "RunGold", "SnippetGold", "TextGold"]

#: Labels in code order.
LABELS: tuple[Label, ...] = tuple(Label)
_CODE = {label: code for code, label in enumerate(LABELS)}

#: A block is content if at least this share of its tokens is matched to gold text (our choice; Kim et al. 2013
#: marked blocks by hand).
MATCHED_SHARE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class BlockLabels:
    """What the gold says of each block of one page."""

    main: NDArray[np.bool_]
    """(n_blocks,) whether it is main content."""
    share: NDArray[np.float32]
    """(n_blocks,) share of its words that are, in [0, 1]."""
    known: NDArray[np.bool_]
    """(n_blocks,) whether the gold says anything about it."""
    labels: tuple[Label, ...] | None = None
    """(n_blocks,) the label, where the gold tells more than main or not."""


class Gold(Protocol):
    """Gold of one page."""

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:
        """Text of the main content; None if this gold has no text."""

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:
        """Label the blocks of the page."""


@dataclass(frozen=True, slots=True)
class TextGold:
    """The main content as plain text; ``required`` and ``forbidden`` snippets may stand beside it."""

    content: str
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return the gold text."""
        return self.content

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:  # noqa: ARG002
        """Label by the longest common subsequence of the page's tokens and the gold's.

        A block is content if at least half of its tokens are matched; a block without tokens is not.
        """
        owner, tokens = block_tokens(page)
        matched = lcs_alignment(tokens, metric_tokens(self.content)) >= 0
        n = len(page.blocks)
        share = np.bincount(owner[matched], minlength=n) / np.maximum(1, np.bincount(owner, minlength=n))
        return BlockLabels(share >= MATCHED_SHARE, share.astype(np.float32), np.ones(n, dtype=bool))


def block_tokens(page: Page) -> tuple[NDArray[np.int32], list[str]]:
    """Metric tokens of a page's blocks in order, with the index of the block of each.

    Examples
    --------
    >>> import blockml
    >>> owner, tokens = block_tokens(blockml.parse("<p>Hi there</p><p>you</p>"))
    >>> owner.tolist(), tokens
    ([0, 0, 1], ['hi', 'there', 'you'])
    """
    per_block = [metric_tokens(text) for text in page.blocks.texts]
    owner = np.repeat(np.arange(len(per_block), dtype=np.int32), [len(tokens) for tokens in per_block])
    return owner, [token for tokens in per_block for token in tokens]


@dataclass(frozen=True, slots=True)
class SnippetGold:
    """Only snippets that must and must not be extracted; nothing is known of the other blocks."""

    required: tuple[str, ...]
    forbidden: tuple[str, ...]

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return None: snippets are no whole text."""
        return None

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:  # noqa: ARG002
        """Label the blocks that hold a snippet or are part of one; a required one wins."""
        texts = [_folded(text) for text in page.blocks.texts]
        required = _holding(texts, self.required)
        forbidden = _holding(texts, self.forbidden) & ~required
        return BlockLabels(required, required.astype(np.float32), required | forbidden)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _holding(texts: Sequence[str], snippets: Sequence[str]) -> NDArray[np.bool_]:
    wanted = [_folded(snippet) for snippet in snippets if snippet.strip()]
    # A short block inside a long snippet may be a chance hit, such as "the".
    return np.array([any(w in text or (len(text) >= 20 and text in w) for w in wanted) for text in texts], dtype=bool)


@dataclass(frozen=True, slots=True)
class RunGold:
    """Labelled runs of text that cover the whole visible text of the page, in order."""

    runs: tuple[tuple[str, Label], ...]

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:
        """Join the runs that count as main content."""
        return "\n".join(text for text, label in self.runs if label in main)

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:
        """Give each block the label of most of its words; ties go to the label first seen in the block.

        Runs and blocks are matched by their characters other than white space. Should they differ (another parser,
        an edited page), words are aligned instead.
        """
        codes, is_start = self._character_codes(page)
        n = len(page.blocks)
        solid = np.array([len("".join(text.split())) for text in page.blocks.texts], dtype=np.int64)
        owner = np.repeat(np.arange(n), solid)
        # Blocks of signs only have no words: there every character votes.
        wordless = np.bincount(owner[is_start], minlength=n) == 0
        votes = is_start | wordless[owner]
        count = np.zeros((n, len(LABELS)), dtype=np.int64)
        np.add.at(count, (owner[votes], codes[votes]), 1)
        best = count == count.max(axis=1, keepdims=True)
        first_seen = _first_positions(codes, owner, n)
        chosen = np.where(best, first_seen, np.iinfo(np.int64).max).argmin(axis=1) if n else np.empty(0, np.intp)
        is_main = np.array([label in main for label in LABELS])
        share = count[:, is_main].sum(axis=1) / np.maximum(1, count.sum(axis=1))
        return BlockLabels(
            is_main[chosen],
            share.astype(np.float32),
            np.ones(n, dtype=bool),
            tuple([LABELS[code] for code in chosen.tolist()]),
        )

    def matches(self, page: Page) -> bool:
        """Whether runs and blocks hold the same characters in the same order, white space aside."""
        return _solid(text for text, _ in self.runs) == _solid(page.blocks.texts)

    def _character_codes(self, page: Page) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Label code of each solid character of the page, and whether it starts a word."""
        gold_codes = np.repeat(
            np.array([_CODE[label] for _, label in self.runs], dtype=np.int64),
            [len("".join(text.split())) for text, _ in self.runs],
        )
        pieces = [piece for text in page.blocks.texts for piece in text.split()]
        lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
        total = int(lengths.sum())
        is_start = np.zeros(total, dtype=bool)
        has_word = [any(map(str.isalnum, piece)) for piece in pieces]
        is_start[(np.cumsum(lengths) - lengths)[has_word]] = True
        if self.matches(page):
            return gold_codes, is_start
        gold_words = [(piece, _CODE[label]) for text, label in self.runs for piece in text.split()]
        alignment = lcs_alignment(pieces, [piece for piece, _ in gold_words])
        codes = np.array([_CODE[Label.OTHER]] * len(pieces), dtype=np.int64)
        found = alignment >= 0
        codes[found] = np.array([code for _, code in gold_words], dtype=np.int64)[alignment[found]]
        return np.repeat(codes, lengths), is_start


def _solid(texts: Iterable[str]) -> str:
    return "".join("".join(text.split()) for text in texts)


def _first_positions(codes: NDArray[np.int64], owner: NDArray[np.intp], n: int) -> NDArray[np.int64]:
    """(n, n_labels) position of the first character with each label in each block; large if there is none."""
    first = np.full((n, len(LABELS)), np.iinfo(np.int64).max - 1)
    np.minimum.at(first, (owner, codes), np.arange(len(codes)))
    return first


@dataclass(frozen=True, slots=True)
class RegionGold:
    """Elements of the page, by absolute XPath, with the label of all they hold; an inner element wins."""

    regions: tuple[tuple[str, Label], ...]
    content: str | None = None

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return the gold text that came with the regions, if any."""
        return self.content

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:
        """Label blocks by the innermost region around their first text; ``other`` outside all regions."""
        nodes = page.nodes
        code_of_node = np.full(len(nodes), _CODE[Label.OTHER], dtype=np.int64)
        inside = np.zeros(len(nodes), dtype=bool)
        found = [(nodes.find(xpath), label) for xpath, label in self.regions]
        for node, label in sorted((node, label) for node, label in found if node is not None):
            code_of_node[node : nodes.end[node]] = _CODE[label]  # outer ones come first in document order
            inside[node : nodes.end[node]] = True
        codes = code_of_node[page.blocks.node]
        is_main = np.array([label in main for label in LABELS])[codes]
        labels = tuple([LABELS[code] for code in codes.tolist()])
        return BlockLabels(is_main, is_main.astype(np.float32), inside[page.blocks.node], labels)

    def missing(self, page: Page) -> list[str]:
        """XPaths that name no element of the page."""
        return [xpath for xpath, _ in self.regions if page.nodes.find(xpath) is None]
