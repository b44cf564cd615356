"""Kinds of gold, names of labels, and conversion to block labels.

Gold of every kind gives the text of the main content and labels the blocks of a parsed page, so it works with any back
end, profile and tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blockml.errors import DatasetError
from blockml.page import MAIN_LABELS, Label, Page
from blockml.text.lcs import lcs_alignment
from blockml.text.words import metric_tokens

#: All labels, in the order of their codes.
LABELS: tuple[Label, ...] = tuple(Label)
#: Index of each label in :data:`LABELS`.
LABEL_CODE: Mapping[Label, int] = MappingProxyType({label: code for code, label in enumerate(LABELS)})
#: Code for text that may be content or not.
_NO_LABEL = len(LABELS)
#: Minimum words of a run whose repeat is not part of the gold text: shorter ones, such as cells, recur on purpose (our
#: choice).
_LONG_RUN = 8

#: A block is content if at least this share of its tokens matches the gold text (our choice; Kim et al. 2013 labelled
#: blocks by hand).
MATCHED_SHARE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class BlockLabels:
    """Labels of the blocks of one page."""

    main: NDArray[np.bool_]  #: (n_blocks,) whether the block is main content.
    share: NDArray[np.float32]  #: (n_blocks,) share of the block's words that are main content, in [0, 1].
    known: NDArray[np.bool_]  #: (n_blocks,) whether the gold covers the block.
    #: (n_blocks,) label of each block; None if the gold only separates main content from the rest.
    labels: tuple[Label, ...] | None = None


class Gold(Protocol):
    """Gold of one page."""

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:
        """Return the text of the main content; None if this gold has no text.

        ``main`` holds the labels that count as main content, where the gold has labels.
        """

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:
        """Label the blocks of a page; blocks with a label in ``main`` are main content."""


@dataclass(frozen=True, slots=True)
class TextGold:
    """Main content as plain text, optionally with ``required`` and ``forbidden`` snippets.

    ``ignored`` are lines of the page that may be content or not. Their blocks have no gold.
    """

    content: str
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return the gold text."""
        return self.content

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:  # noqa: ARG002
        """Label blocks by the longest common subsequence of the page's tokens and the gold's.

        A block is content if at least half of its tokens match; a block without tokens is not. A block that is not
        content has no gold if its tokens are part of an ignored line.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p>Cats rule the world.</p><p>By <b>Ann</b></p><p>Home</p>")
        >>> TextGold("Cats rule the world.", ignored=("By Ann",)).label(page).known.tolist()
        [True, False, False, True]
        """
        owner, tokens = block_tokens(page)
        matched = lcs_alignment(tokens, metric_tokens(self.content)) >= 0
        n = len(page.blocks)
        n_tokens = np.bincount(owner, minlength=n)
        share = np.bincount(owner[matched], minlength=n) / np.maximum(1, n_tokens)
        is_main, known = share >= MATCHED_SHARE, np.ones(n, dtype=bool)
        if self.ignored:
            lines = "\n".join(_as_words(metric_tokens(line)) for line in self.ignored)
            ends = np.cumsum(n_tokens)
            for block in np.flatnonzero(~is_main & (n_tokens > 0)).tolist():
                known[block] = _as_words(tokens[ends[block] - n_tokens[block] : ends[block]]) not in lines
        return BlockLabels(is_main, share.astype(np.float32), known)


def ignored_text(gold: Gold) -> str:
    """Return the text that may be content or not according to a gold; empty if the gold decides on all text.

    Examples
    --------
    >>> ignored_text(TextGold("Cats rule.", ignored=("By Ann", "Share"))), ignored_text(TextGold("Cats rule."))
    ('By Ann\\nShare', '')
    """
    if isinstance(gold, TextGold):
        return "\n".join(gold.ignored)
    return "\n".join(gold.undecided()) if isinstance(gold, RunGold) else ""


def _as_words(tokens: Sequence[str]) -> str:
    """Join tokens so that a run of tokens is a substring of the result."""
    return f" {' '.join(tokens)} "


def block_tokens(page: Page) -> tuple[NDArray[np.int32], list[str]]:
    """Return the metric tokens of a page in order, as ``(owner, tokens)``; ``owner`` holds the block index of each.

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
    """Snippets that must and must not be extracted; blocks without a snippet have no gold."""

    required: tuple[str, ...]
    forbidden: tuple[str, ...]

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return None, because snippets are not the whole text."""
        return None

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:  # noqa: ARG002
        """Label the blocks that contain a snippet or are contained in one; required snippets take precedence."""
        texts = [_folded(text) for text in page.blocks.texts]
        required = _matching(texts, self.required)
        forbidden = _matching(texts, self.forbidden) & ~required
        return BlockLabels(required, required.astype(np.float32), required | forbidden)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _matching(texts: Sequence[str], snippets: Sequence[str]) -> NDArray[np.bool_]:
    wanted = [_folded(snippet) for snippet in snippets if snippet.strip()]
    # A short block inside a long snippet, such as "the", may be a coincidence.
    return np.array([any(w in text or (len(text) >= 20 and text in w) for w in wanted) for text in texts], dtype=bool)


@dataclass(frozen=True, slots=True)
class RunGold:
    """Labelled runs of text that cover the whole visible text of the page, in order.

    The label None marks text that may be content or not: it is not part of the gold text, and its blocks have no
    gold. A page may have a text twice, such as a copy for small screens. A long run that repeats an earlier one has its
    label, but it is not part of the gold text, where an extraction without it would miss half of the words.
    """

    runs: tuple[tuple[str, Label | None], ...]

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:
        """Join the runs whose label is in ``main``, long ones once.

        Examples
        --------
        >>> page = (("Cats rule the world from noon to six.", Label.MAIN), ("Cats", Label.MAIN)) * 2
        >>> RunGold(page).text(), RunGold(page).undecided()
        ('Cats rule the world from noon to six.\\nCats\\nCats', ['Cats rule the world from noon to six.'])
        """
        repeats = self._repeats(main)
        return "\n".join(
            text for number, (text, label) in enumerate(self.runs) if label in main and number not in repeats
        )

    def undecided(self, main: Set[Label] = MAIN_LABELS) -> list[str]:
        """Return the runs that may be content or not, and long ones that repeat content."""
        repeats = self._repeats(main)
        return [text for number, (text, label) in enumerate(self.runs) if label is None or number in repeats]

    def _repeats(self, main: Set[Label]) -> Set[int]:
        """Return the numbers of long runs in ``main`` that repeat an earlier one."""
        seen, found = set[str](), set[int]()
        for number, (text, label) in enumerate(self.runs):
            if label in main and len(words := text.split()) >= _LONG_RUN:
                line = " ".join(words)
                if line in seen:
                    found.add(number)
                seen.add(line)
        return found

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:
        """Label each block by the majority of its words; the label that occurs first in the block breaks ties.

        Runs and blocks are matched by their characters, ignoring white space. If these differ (another parser, an
        edited page), words are aligned instead.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p>Cats rule.</p><p>By Ann</p>")
        >>> RunGold((("Cats rule.", Label.MAIN), ("By Ann", None))).label(page).known.tolist()
        [True, False]
        """
        codes, is_start = self._character_codes(page)
        n = len(page.blocks)
        owner = np.repeat(np.arange(n), [len(_solid([text])) for text in page.blocks.texts])
        # Blocks of punctuation have no words, so every character votes.
        wordless = np.bincount(owner[is_start], minlength=n) == 0
        votes = is_start | wordless[owner]
        count = np.zeros((n, len(LABELS) + 1), dtype=np.int64)
        np.add.at(count, (owner[votes], codes[votes]), 1)
        first = np.full((n, len(LABELS) + 1), np.iinfo(np.int64).max - 1)  # position of each label's first character
        np.minimum.at(first, (owner, codes), np.arange(len(codes)))
        is_best = count == count.max(axis=1, keepdims=True)
        chosen = np.where(is_best, first, np.iinfo(np.int64).max).argmin(axis=1)
        is_main = np.array([*[label in main for label in LABELS], False])
        share = count[:, is_main].sum(axis=1) / np.maximum(1, count.sum(axis=1))
        labels = tuple([(*LABELS, Label.OTHER)[code] for code in chosen.tolist()])
        return BlockLabels(is_main[chosen], share.astype(np.float32), chosen != _NO_LABEL, labels)

    def matches(self, page: Page) -> bool:
        """Tell whether runs and blocks have the same characters in the same order, ignoring white space."""
        return _solid(text for text, _ in self.runs) == _solid(page.blocks.texts)

    def _character_codes(self, page: Page) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the label code of each non-space character of the page, and whether it starts a word."""
        pieces = [piece for text in page.blocks.texts for piece in text.split()]
        lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
        is_start = np.zeros(int(lengths.sum()), dtype=bool)
        has_word = [any(map(str.isalnum, piece)) for piece in pieces]
        is_start[(np.cumsum(lengths) - lengths)[has_word]] = True
        numbers = [_NO_LABEL if label is None else LABEL_CODE[label] for _, label in self.runs]
        gold_codes = np.array(numbers, dtype=np.int64)
        if self.matches(page):
            return np.repeat(gold_codes, [len(_solid([text])) for text, _ in self.runs]), is_start
        gold_pieces = [text.split() for text, _ in self.runs]
        alignment = lcs_alignment(pieces, [piece for run in gold_pieces for piece in run])
        codes = np.full(len(pieces), LABEL_CODE[Label.OTHER], dtype=np.int64)
        found = alignment >= 0
        codes[found] = np.repeat(gold_codes, [len(run) for run in gold_pieces])[alignment[found]]
        return np.repeat(codes, lengths), is_start


def _solid(texts: Iterable[str]) -> str:
    """Join texts without their white space."""
    return "".join("".join(text.split()) for text in texts)


@dataclass(frozen=True, slots=True)
class RegionGold:
    """Labelled elements, given by absolute XPath; the innermost labelled element around a block decides."""

    regions: tuple[tuple[str, Label], ...]
    content: str | None = None

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return the gold text given with the regions, if any."""
        return self.content

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:
        """Label blocks by the innermost region around their first text node; ``other`` outside of all regions."""
        nodes = page.nodes
        code_of_node = np.full(len(nodes), LABEL_CODE[Label.OTHER], dtype=np.int64)
        inside = np.zeros(len(nodes), dtype=bool)
        found = [(nodes.find(xpath), label) for xpath, label in self.regions]
        for node, label in sorted((node, label) for node, label in found if node is not None):
            code_of_node[node : nodes.end[node]] = LABEL_CODE[label]  # in document order, outer regions come first
            inside[node : nodes.end[node]] = True
        codes = code_of_node[page.blocks.node]
        is_main = np.array([label in main for label in LABELS])[codes]
        labels = tuple([LABELS[code] for code in codes.tolist()])
        return BlockLabels(is_main, is_main.astype(np.float32), inside[page.blocks.node], labels)

    def missing(self, page: Page) -> list[str]:
        """Return the XPaths that match no element of the page."""
        return [xpath for xpath, _ in self.regions if page.nodes.find(xpath) is None]


#: Label of text that may be content or not.
IGNORE = "ignore"

#: Other names for labels.
_SYNONYMS: Mapping[str, Label] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "content", "main_content", "article", "good"), Label.MAIN),
    **dict.fromkeys(("0", "0.0", "false", "no", "boilerplate", "not_content", "non_content", "bad"), Label.OTHER),
    **dict.fromkeys(("title", "headline"), Label.HEADING),
    "comments": Label.COMMENT,
    "menu": Label.NAVIGATION,
    "ad": Label.ADVERTISEMENT,
}


def as_label(name: object, source: object) -> Label | None:
    """Return the label for a name or synonym, such as 1, 0, content and boilerplate; None for ``ignore``.

    Raises
    ------
    DatasetError
        The label is unknown.

    Examples
    --------
    >>> str(as_label("Navigation", None)), str(as_label(1, None)), as_label("ignore", None)
    ('navigation', 'main', None)
    """
    if name is None:
        raise DatasetError(f"has no label; {IGNORE!r} marks text that may be content or not", source=source)
    plain = str(name).strip().lower().replace(" ", "_").replace("-", "_")
    if plain == IGNORE:
        return None
    if plain in _SYNONYMS:
        return _SYNONYMS[plain]
    if plain not in [*Label]:
        legal = ", ".join(sorted([*map(str, Label), IGNORE]))
        raise DatasetError(f"unknown label {name!r}; choose one of: {legal}", source=source)
    return Label(plain)
