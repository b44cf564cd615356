"""One page measured: the texts and blocks of any number of systems against its gold.

What the page and its gold alone decide is worked out once for all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import BlockLabels, LabelledPage, SnippetGold, TextGold
from blockml.datasets.gold import MATCHED_SHARE, block_tokens
from blockml.errors import DatasetError
from blockml.evaluation import BlockScores, SnippetRates, WordScores, block_scores, snippet_rates
from blockml.page import Page
from blockml.parsing import parse
from blockml.parsing.options import ParsingOptions
from blockml.text.lcs import lcs_alignment, lcs_length
from blockml.text.tokens import WORD, metric_tokens

__all__ = ["PageScore", "Reference"]

# Words of a shingle (the article extraction benchmark of Scrapinghub).
_SHINGLE = 4

# Largest product of the numbers of words of two texts whose longest common subsequence is found exactly: about a
# second's work. Longer ones are aligned piece by piece, and the score says so (our choice).
_MAX_CELLS = 10**10

# Scripts by the first word of a letter's name.
_SCRIPTS: Mapping[str, str] = {
    "LATIN": "latin",
    "CYRILLIC": "cyrillic",
    "CJK": "han",
    "HIRAGANA": "kana",
    "KATAKANA": "kana",
    "HANGUL": "hangul",
    "ARABIC": "arabic",
    "DEVANAGARI": "devanagari",
    "GREEK": "greek",
    "HEBREW": "hebrew",
    "THAI": "thai",
}

_LANGUAGE = re.compile(r"[a-z]{2,3}(?=[-_]|$)")


@dataclass(frozen=True, slots=True)
class PageScore:
    """What one system made of one page, measured. Scores are None where the gold doesn't tell.

    An empty answer has the scores of an empty text, which are 1 where the gold is empty too; a page that the system
    failed on, or has no output for, scores 0 wherever there is anything to score.
    """

    id: str
    site: str
    page_type: str | None
    language: str
    """Primary subtag of the ``lang`` of the page's ``html`` element, else the data set's word, else ``unknown``."""
    script: str
    """Script of most letters of the gold, or of the page where the gold has none."""
    gold_words: int
    """Words of the gold text; 0 if the gold is no text."""
    flagged: bool
    """Whether the gold has a known defect."""
    outcome: str
    """See :class:`blockml.evaluation.comparison.workers.Result`."""
    bag_f1: float | None
    bag_precision: float | None
    bag_recall: float | None
    lcs_f1: float | None
    lcs_precision: float | None
    lcs_recall: float | None
    shingle_f1: float | None
    with_rate: float | None
    without_rate: float | None
    tp: int
    """Main content blocks that were kept, among the blocks with gold."""
    fp: int
    """Other blocks that were kept."""
    fn: int
    """Main content blocks that were removed."""
    tn: int
    """Other blocks that were removed."""
    seconds: float | None
    """CPU time of the extraction, where it ended."""
    approximate: bool
    """Whether the texts were so long that their common words in order were counted piece by piece: a lower bound."""


class _Words(NamedTuple):
    """Scores of a text against a gold text."""

    bag: WordScores
    lcs: WordScores
    shingle: WordScores
    approximate: bool


class Reference:
    """What the scores of a page need of the page and its gold alone.

    Parameters
    ----------
    labelled
        A page with gold.
    parsings
        How the systems parse it that keep blocks of it.

    Raises
    ------
    DatasetError
        The page can't be read, or has no gold.

    Examples
    --------
    >>> from pathlib import Path
    >>> page = b"<html lang=en-GB><p>Menu</p><p>A cat sat on the mat.</p>"
    >>> labelled = LabelledPage("a", "a", Path("a.html"), reader=lambda path: (page, TextGold("A cat sat on the mat.")))
    >>> reference = Reference(labelled)
    >>> reference.language, reference.script
    ('en', 'latin')
    >>> score = reference.score({"outcome": "ok", "text": "Menu A cat sat", "kept": None, "seconds": 0.1})
    >>> score.bag_precision, score.bag_recall, (score.tp, score.fp, score.fn, score.tn)
    (0.75, 0.5, (1, 1, 0, 0))
    """

    def __init__(self, labelled: LabelledPage, parsings: Iterable[ParsingOptions] = ()) -> None:
        data, gold = labelled.load()
        if gold is None:
            raise DatasetError(f"page {labelled.id!r} has no gold", source=labelled.path)
        default = ParsingOptions()
        pages = {
            parsing: parse(data, url=labelled.url, charset=labelled.charset, **parsing.options())
            for parsing in {default, *parsings}
        }
        text = gold.text()
        self.labels: Mapping[ParsingOptions, BlockLabels] = {
            parsing: gold.label(page) for parsing, page in pages.items()
        }
        self.owner, self.page_tokens = block_tokens(pages[default])
        self.numbers: dict[str, int] = {}
        self.tokens = None if text is None else self._numbered(text)
        self.bag = Counter(self.tokens)
        self.shingles = _shingles(text or "")
        self.snippets = gold if isinstance(gold, TextGold | SnippetGold) else SnippetGold((), ())
        self.language = _language(pages[default], labelled.extra)
        self.script = _script(text or "") or _script(" ".join(pages[default].blocks.texts)) or "other"
        self.labelled = labelled

    def _numbered(self, text: str) -> list[int]:
        """Numbers of the words of a text: they compare faster than words."""
        numbers = self.numbers
        return [numbers.setdefault(token, len(numbers)) for token in metric_tokens(text)]

    def words(self, text: str) -> _Words | None:
        """Scores of a text; None if the gold is no text."""
        if self.tokens is None:
            return None
        gold, found = self.tokens, self._numbered(text)
        in_order, approximate = _shared_in_order(gold, found)
        shingles = _shingles(text)
        return _Words(
            bag=_rates((self.bag & Counter(found)).total(), len(found), len(gold)),
            lcs=_rates(in_order, len(found), len(gold)),
            shingle=_rates((self.shingles & shingles).total(), shingles.total(), self.shingles.total()),
            approximate=approximate,
        )

    def rates(self, text: str) -> SnippetRates:
        """Snippets that a text holds."""
        return snippet_rates(text, self.snippets.required, self.snippets.forbidden)

    def blocks_of(self, text: str) -> NDArray[np.bool_]:
        """Blocks of the page that a text holds, found as :class:`blockml.datasets.TextGold` finds them."""
        matched = lcs_alignment(self.page_tokens, metric_tokens(text)) >= 0
        n = len(self.labels[ParsingOptions()].main)
        n_tokens = np.bincount(self.owner, minlength=n)
        return np.bincount(self.owner[matched], minlength=n) >= MATCHED_SHARE * np.maximum(1, n_tokens)

    def blocks(self, kept: NDArray[np.bool_], parsing: ParsingOptions) -> BlockScores:
        """Counts of the blocks with gold."""
        labels = self.labels[parsing]
        return block_scores(labels.main[labels.known], kept[labels.known])

    def score(self, row: Mapping[str, Any], parsing: ParsingOptions | None = None) -> PageScore:
        """Score a row of outputs.

        Parameters
        ----------
        parsing
            How the system parses the page of which it keeps blocks; None if it only gives text.
        """
        text = row["text"]
        if parsing is None:
            kept, parsing = self.blocks_of(text), ParsingOptions()
        else:
            kept = np.zeros(len(self.labels[parsing].main), dtype=bool)
            kept[row["kept"] or []] = True
        words, rates, blocks = self.words(text), self.rates(text), self.blocks(kept, parsing)
        if row["outcome"] not in ("ok", "empty"):
            # A failure earns nothing where there was nothing to be found; only an empty answer does.
            words = words and _NO_WORDS
            rates = SnippetRates(rates.with_rate and 0.0, None)
        page = self.labelled
        return PageScore(
            id=page.id,
            site=page.site,
            page_type=page.page_type,
            language=self.language,
            script=self.script,
            gold_words=len(self.tokens or ()),
            flagged=not page.trusted,
            outcome=row["outcome"],
            bag_f1=words.bag.f1 if words else None,
            bag_precision=words.bag.precision if words else None,
            bag_recall=words.bag.recall if words else None,
            lcs_f1=words.lcs.f1 if words else None,
            lcs_precision=words.lcs.precision if words else None,
            lcs_recall=words.lcs.recall if words else None,
            shingle_f1=words.shingle.f1 if words else None,
            with_rate=rates.with_rate,
            without_rate=rates.without_rate,
            tp=int(blocks.tp),
            fp=int(blocks.fp),
            fn=int(blocks.fn),
            tn=int(blocks.tn),
            seconds=row["seconds"],
            approximate=bool(words and words.approximate),
        )


_NOTHING = WordScores(0.0, 0.0, 0.0)
_NO_WORDS = _Words(_NOTHING, _NOTHING, _NOTHING, approximate=False)


def _shared_in_order(gold: Sequence[int], found: Sequence[int]) -> tuple[int, bool]:
    """Length of a longest common subsequence, and whether it is but a lower bound."""
    if len(gold) * len(found) <= _MAX_CELLS:
        return lcs_length(gold, found), False
    return int(np.count_nonzero(lcs_alignment(found, gold) >= 0)), True


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    """Word n-grams; a shorter one for a text with fewer words."""
    words = WORD.findall(text)
    if len(words) < _SHINGLE:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(*(words[start:] for start in range(_SHINGLE)), strict=False))


def _rates(shared: int, found: int, gold: int) -> WordScores:
    """Precision, recall and F1; 1 if there is nothing to be found and nothing was."""
    if not found or not gold:
        same = float(found == gold)
        return WordScores(same, same, same)
    return WordScores(shared / found, shared / gold, 2 * shared / (found + gold))


def _language(page: Page, extra: Mapping[str, Any]) -> str:
    nodes = page.nodes
    root = nodes.find("/html")
    attributes: Mapping[str, str] = {} if root is None else nodes.attributes[root]
    for value in (attributes.get("lang"), attributes.get("xml:lang"), extra.get("language"), extra.get("lang")):
        if isinstance(value, str) and (match := _LANGUAGE.match(value.strip().lower())):
            return match[0]
    return "unknown"


def _script(text: str) -> str | None:
    """Script of most letters; None for a text without any.

    Examples
    --------
    >>> _script("Всё о GNU"), _script("カタカナ 漢字"), _script("42")
    ('cyrillic', 'kana', None)
    """
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            word = unicodedata.name(character, "").replace("-", " ").partition(" ")[0]
            letters[_SCRIPTS.get(word, "other")] += count
    return letters.most_common(1)[0][0] if letters else None
