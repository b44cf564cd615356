"""Scores of one page: texts and kept blocks of any number of systems against the page's gold.

Everything that depends only on page and gold is computed once for all systems.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import BlockLabels, LabelledPage, SnippetGold, TextGold
from blockml.datasets.gold import MATCHED_SHARE, block_tokens, ignored_text
from blockml.errors import DatasetError, MissingExtraError
from blockml.evaluation.metrics import (
    SnippetRates,
    WordScores,
    block_scores,
    count_ignored,
    scores_from_counts,
    shingles,
    snippet_rates,
)
from blockml.page import Page
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions
from blockml.text.languages import detected_language
from blockml.text.lcs import lcs_alignment, lcs_length
from blockml.text.words import metric_tokens

# Maximum product of two texts' word counts for an exact longest common subsequence, which takes about a second.
# Longer texts are aligned piecewise, and the score is flagged as approximate (our choice).
_MAX_CELLS = 10**10

# Script by the first word of a letter's Unicode name, where the two differ.
_RENAMED_SCRIPTS = {"CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana"}
_SCRIPTS = frozenset({"latin", "cyrillic", "hangul", "arabic", "devanagari", "greek", "hebrew", "thai"})

_LANGUAGE = re.compile(r"[a-z]{2,3}(?=[-_]|$)")


@dataclass(frozen=True, slots=True)
class PageScore:
    """Scores of one system on one page; None where the gold does not support the score.

    An empty answer has the scores of an empty text, which are 1 where the gold is empty too; a page on which the
    system failed, or for which it has no output, scores 0 wherever there is anything to score.
    """

    id: str
    site: str
    page_type: str | None
    #: Primary subtag of the ``lang`` attribute of the ``html`` element, else that of the data set, else ``unknown``
    language: str
    script: str  #: Most frequent script of the letters of the gold text, or of the page if the gold has no letters
    gold_words: int  #: Number of words of the gold text; 0 if the gold isn't a text
    flagged: bool  #: Whether the gold has a known defect
    outcome: str  #: See :class:`blockml.evaluation.comparison.workers.TaskResult`
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
    fp: int
    fn: int
    tn: int  #: Counts over the blocks with gold; positive is main content
    seconds: float | None  #: CPU time of the extraction, if it finished
    approximate: bool  #: Whether the texts were too long for an exact LCS, so that its scores are lower bounds


class TextScores(NamedTuple):
    """Scores of a text against a gold text."""

    bag: WordScores
    lcs: WordScores
    shingle: WordScores
    approximate: bool


class Reference:
    """Gold and derived data of one page, for scoring outputs.

    ``labelled`` must be a page with gold; DatasetError is raised if it has none or can't be read. ``parsings`` are the
    parsing options of the systems that return kept blocks.

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
        self.shingles = shingles(text or "")
        ignored = ignored_text(gold)
        self.ignored, self.ignored_shingles = Counter(self._numbered(ignored)), shingles(ignored)
        self.snippets = gold if isinstance(gold, TextGold | SnippetGold) else SnippetGold((), ())
        self.language = _language(pages[default], labelled.extra, text or "")
        self.script = _script(text or "") or _script(" ".join(pages[default].blocks.texts)) or "other"
        self.labelled = labelled

    def _numbered(self, text: str) -> list[int]:
        """Encode the words of a text as integers, which compare faster."""
        numbers = self.numbers
        return [numbers.setdefault(token, len(numbers)) for token in metric_tokens(text)]

    def words(self, text: str) -> TextScores | None:
        """Score a text; None if the gold isn't a text."""
        if self.tokens is None:
            return None
        gold, found = self.tokens, self._numbered(text)
        approximate = len(gold) * len(found) > _MAX_CELLS
        shared = np.count_nonzero(lcs_alignment(found, gold) >= 0) if approximate else lcs_length(gold, found)
        grams, words = shingles(text), Counter(found)
        n_counted = len(found) - count_ignored(words, self.bag, self.ignored)
        n_grams = grams.total() - count_ignored(grams, self.shingles, self.ignored_shingles)
        return TextScores(
            bag=scores_from_counts((self.bag & words).total(), n_counted, len(gold)),
            lcs=scores_from_counts(int(shared), n_counted, len(gold)),
            shingle=scores_from_counts((self.shingles & grams).total(), n_grams, self.shingles.total()),
            approximate=approximate,
        )

    def blocks_of(self, text: str) -> NDArray[np.bool_]:
        """Return whether a text contains each block, (n_blocks,), matched as in :class:`blockml.datasets.TextGold`."""
        matched = lcs_alignment(self.page_tokens, metric_tokens(text)) >= 0
        n = len(self.labels[ParsingOptions()].main)
        n_tokens = np.bincount(self.owner, minlength=n)
        return np.bincount(self.owner[matched], minlength=n) >= MATCHED_SHARE * np.maximum(1, n_tokens)

    def score(self, row: Mapping[str, Any], parsing: ParsingOptions | None = None) -> PageScore:
        """Score one row of outputs.

        ``row`` has ``text``, ``kept`` (indices of blocks), ``outcome`` and ``seconds``. ``parsing`` are the parsing
        options of the system whose blocks are kept; None if it returns text only.
        """
        text = row["text"]
        if parsing is None:
            kept, parsing = self.blocks_of(text), ParsingOptions()
        else:
            kept = np.zeros(len(self.labels[parsing].main), dtype=bool)
            indices = row["kept"] or []
            if any(index >= len(kept) for index in indices):
                raise DatasetError(f"the output of page {row['id']!r} keeps blocks that the page doesn't have")
            kept[indices] = True
        labels = self.labels[parsing]
        blocks = block_scores(labels.main[labels.known], kept[labels.known])
        words, rates = self.words(text), snippet_rates(text, self.snippets.required, self.snippets.forbidden)
        if row["outcome"] not in ("ok", "empty"):
            # Empty gold rewards an empty answer, but not a failure.
            zero = WordScores(0.0, 0.0, 0.0)
            words = words and TextScores(zero, zero, zero, approximate=False)
            rates = SnippetRates(rates.with_rate and 0.0, None)
        word_scores: dict[str, Any] = {
            f"{kind}_{name}": getattr(getattr(words, kind), name) if words else None
            for kind, names in (("bag", WordScores._fields), ("lcs", WordScores._fields), ("shingle", ("f1",)))
            for name in names
        }
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
            **word_scores,
            with_rate=rates.with_rate,
            without_rate=rates.without_rate,
            tp=int(blocks.tp),
            fp=int(blocks.fp),
            fn=int(blocks.fn),
            tn=int(blocks.tn),
            seconds=row["seconds"],
            approximate=bool(words and words.approximate),
        )


def _language(page: Page, extra: Mapping[str, Any], text: str) -> str:
    """Return the declared language of a page, else that of its gold where it can be detected, else ``unknown``."""
    root = page.nodes.find("/html")
    attributes: Mapping[str, str] = {} if root is None else page.nodes.attributes[root]
    for value in (attributes.get("lang"), attributes.get("xml:lang"), extra.get("language"), extra.get("lang")):
        if isinstance(value, str) and (match := _LANGUAGE.match(value.strip().lower())):
            return match[0]
    with suppress(MissingExtraError):
        return detected_language(text) or "unknown"
    return "unknown"


def _script(text: str) -> str | None:
    """Return the most frequent script of the letters; None for a text without letters."""
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            word = unicodedata.name(character, "").replace("-", " ").partition(" ")[0]
            script = _RENAMED_SCRIPTS.get(word, word.lower())
            letters[script if script in _SCRIPTS or word in _RENAMED_SCRIPTS else "other"] += count
    return letters.most_common(1)[0][0] if letters else None
