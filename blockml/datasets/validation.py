"""Validation of gold: defects that would make labels or scores wrong, and soft error pages."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets.folders import REGION_LABELS
from blockml.datasets.gold import Gold, RegionGold, RunGold, block_tokens
from blockml.datasets.gold_coverage import repeated_words, uncovered_text
from blockml.datasets.label_studio import SpanGold
from blockml.datasets.labelled import Dataset, LabelledPage
from blockml.page import Label, Page
from blockml.parsing import parse
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.text.lcs import lcs_alignment
from blockml.text.words import WORD, counted, metric_tokens


class FindingKind(StrEnum):
    """Kinds of findings; docs/gold.md describes them."""

    CONTAMINATION = "contamination"
    SOFT_ERROR = "soft error"
    EMPTY_GOLD = "empty gold"
    MISSING_WORDS = "missing words"
    TRUNCATION = "truncation"
    INCOMPLETE = "incomplete"
    REPETITION = "repetition"
    WORD_ORDER = "word order"
    LABEL_MISMATCH = "label mismatch"
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"


#: Minimum share of gold words found in the page; below it, the gold belongs to another page (WCXB's threshold).
_FOUND_SHARE = 0.8
#: Truncation: minimum number of words that follow the gold in its last block, and minimum share of that block's words
#: in the gold, because fewer may match a menu by coincidence (our choice).
_TRUNCATED_WORDS, _TRUNCATED_SHARE = 5, 1 / 3
#: Incomplete gold: minimum number of words of running text after its end, and minimum ratio to the words of the gold.
#: Less may be a call to subscribe or a note about the author (our choice).
_UNCOVERED_WORDS, _UNCOVERED_SHARE = 150, 0.15
#: Repetition: minimum number and share of repeated gold words; less may be a caption (our choice).
_REPEATED_WORDS, _REPEATED_SHARE = 20, 0.1
#: Word order: minimum share of gold words that are in the page but that an alignment cannot match; above it, the
#: labels of whole sections are wrong (our choice).
_MOVED_SHARE = 0.2

#: Every match of the patterns below contains one of these strings, which are much faster to search for.
_TOOL_NAMES = (b"x-nc-", b"_item_id", b"readability-page", b"data-label", b"data-block-type")
_TOOL_MARKS = re.compile(
    rb"""class\s*=\s*["']?[^"'>]{0,300}\bx-nc-|_item_id\s*=|id\s*=\s*["']?readability-page|"""
    # Pages use these two attributes for other purposes too, so only values that are labels count.
    + rb"""data-label\s*=\s*["'](?:%s)["']|""" % "|".join(Label).encode()
    + rb"""data-block-type\s*=\s*["'](?:%s)["']""" % "|".join(REGION_LABELS).encode(),
    re.IGNORECASE,
)
_MARKUP = re.compile(r"</?(?:p|div|span|br|a|h[1-6]|li|td|script)\b[^<>]*>", re.IGNORECASE)
_SENTENCE_END = re.compile(r"""[.!?:…。！？][\s"'”’)\]»]*\Z""")


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect of the gold of one page."""

    page_id: str
    kind: FindingKind
    detail: str


def validate(dataset: Dataset, *, jobs: int = 1, progress: ProgressCallback = ignore_progress) -> list[Finding]:
    """Check the gold of every page of a data set, and return the findings of :func:`check_pages`."""
    return check_pages(dataset, jobs=jobs, progress=progress)[0]


def check_pages(
    dataset: Dataset, *, jobs: int = 1, progress: ProgressCallback = ignore_progress
) -> tuple[list[Finding], int]:
    """Check the gold of every page of a data set, and count the pages without gold.

    Parameters
    ----------
    dataset
        The data set.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).

    Returns
    -------
    findings, n_without_gold
        Findings in page order, then those about several pages; number of pages without gold.

    Raises
    ------
    DatasetError
        A page cannot be read.
    """
    with joblib.Parallel(n_jobs=jobs, batch_size=8, return_as="generator") as parallel:
        pages = parallel(joblib.delayed(_load_and_check)(page) for page in dataset.pages)
        checked = list(tracked(pages, progress, f"gold of {dataset.name}", len(dataset)))
    return findings_of(dataset, checked), sum(not page.has_gold for page in checked)


class CheckedPage(NamedTuple):
    """Result of the check of a page, from which :func:`findings_of` also finds equal pages."""

    findings: list[tuple[FindingKind, str]]  #: Kind and detail of those about the page by itself.
    page_hash: str | None  #: Hash of its words; None without blocks.
    gold_hash: str | None  #: Hash of its gold text; None without one.
    has_gold: bool


def check_page(html: bytes, page: Page, gold: Gold | None) -> CheckedPage:
    """Check the gold of a page that is loaded and parsed."""
    content = gold.text() if gold else None
    return CheckedPage(
        list(_findings(html, page, gold)),
        content_hash(page) if len(page.blocks) else None,
        None if content is None else hashlib.sha256(" ".join(metric_tokens(content)).encode()).hexdigest(),
        gold is not None,
    )


def _load_and_check(labelled: LabelledPage) -> CheckedPage:
    html, gold = labelled.load()
    return check_page(html, parse(html, url=labelled.url, charset=labelled.charset), gold)


def findings_of(dataset: Dataset, checked: Sequence[CheckedPage]) -> list[Finding]:
    """Return the findings of the pages of a data set, in their order, then those about several pages."""
    found: list[Finding] = []
    same: dict[str, dict[str, str | None]] = defaultdict(dict)  # page hash to page id to gold hash
    for labelled, page in zip(dataset.pages, checked, strict=True):
        found += [Finding(labelled.id, kind, detail) for kind, detail in page.findings]
        if page.page_hash is not None:
            same[page.page_hash][labelled.id] = page.gold_hash
    for group in same.values():
        differs = len({*group.values()} - {None}) > 1
        for page_id, gold_hash in group.items() if len(group) > 1 else ():
            kind = FindingKind.CONTRADICTION if differs and gold_hash else FindingKind.DUPLICATE
            found.append(Finding(page_id, kind, ", ".join(other for other in group if other != page_id)))
    return found


def content_hash(page: Page) -> str:
    """Return a hash of the visible words of a page, to group pages with the same text in one fold."""
    return hashlib.sha256(" ".join(block_tokens(page)[1]).encode()).hexdigest()[:16]


def _findings(html: bytes, page: Page, gold: Gold | None) -> Iterator[tuple[FindingKind, str]]:
    """Yield kind and detail of each finding of one page."""
    if any(name in html for name in _TOOL_NAMES) and (mark := _TOOL_MARKS.search(html)):
        yield FindingKind.CONTAMINATION, f"the page contains {mark[0][:40].decode('ascii', 'replace')!r}"
    # Gold that labels the whole page may cover an error page, or mark none of it as main content.
    is_whole = isinstance(gold, RunGold)
    if not is_whole and (message := soft_error(page)):
        yield FindingKind.SOFT_ERROR, f"the page says {message[:100]!r}"
    if isinstance(gold, RunGold) and not gold.matches(page):
        yield FindingKind.LABEL_MISMATCH, "the labelled runs differ from the page's text"
    if isinstance(gold, RegionGold | SpanGold) and (missing := gold.missing(page)):
        yield FindingKind.LABEL_MISMATCH, f"{counted(len(missing), 'XPath')} without an element, such as {missing[0]}"
    if (content := gold.text() if gold else None) is None:
        return
    # Pages about HTML contain markup in their text.
    if (markup := _MARKUP.search(content)) and not any(markup[0] in text for text in page.blocks.texts):
        yield FindingKind.CONTAMINATION, f"the gold text contains {markup[0]!r}"
    yield from _compared(page, content, is_whole=is_whole)


def _compared(page: Page, content: str, *, is_whole: bool) -> Iterator[tuple[FindingKind, str]]:
    """Yield findings from comparing a page with its gold text; ``is_whole`` if the gold labels the whole page."""
    gold = metric_tokens(content)
    owner, tokens = block_tokens(page)
    if not gold:
        if tokens and not is_whole:
            yield FindingKind.EMPTY_GOLD, f"the page has {counted(len(tokens), 'word')}"
        return
    found = (Counter(gold) & Counter(tokens)).total() / len(gold)
    repeated = 0 if is_whole else repeated_words(tokens, gold)
    is_other_page = found + repeated / len(gold) < _FOUND_SHARE  # repetitions are not missing words
    if is_other_page:
        yield FindingKind.MISSING_WORDS, f"the page contains {found:.0%} of {counted(len(gold), 'gold word')}"
    if is_whole:
        return
    if repeated >= max(_REPEATED_WORDS, _REPEATED_SHARE * len(gold)):
        yield FindingKind.REPETITION, f"{repeated} of {len(gold)} gold words are repeated more often than on the page"
    words, begins = uncovered_text(page, owner, tokens, gold)
    if words >= max(_UNCOVERED_WORDS, _UNCOVERED_SHARE * len(gold)):
        yield (
            FindingKind.INCOMPLETE,
            f"{counted(words, 'word')} after the {counted(len(gold), 'gold word')}, starting with {begins!r}",
        )
    if is_other_page:
        return
    alignment = lcs_alignment(tokens, gold)
    moved = found - float((alignment >= 0).mean()) * len(tokens) / len(gold)
    if moved >= _MOVED_SHARE:
        yield FindingKind.WORD_ORDER, f"{moved:.0%} of {len(gold)} gold words are in a different order"
    elif left := _truncated_words(page, owner, alignment, content):
        yield FindingKind.TRUNCATION, f"{left} words follow {' '.join(gold[-3:])!r} in the last block"


def _truncated_words(page: Page, owner: NDArray[np.int32], alignment: NDArray[np.int32], content: str) -> int:
    """Count the words after the gold's last word in its block; 0 unless the gold seems to stop inside a sentence."""
    last = int(np.flatnonzero(alignment >= 0)[-1])
    start, end = (int(np.searchsorted(owner, owner[last], side=side)) for side in ("left", "right"))
    is_end_of_gold = alignment[last] == len(metric_tokens(content)) - 1
    left = end - last - 1
    if left < _TRUNCATED_WORDS or not is_end_of_gold or (alignment[start:end] >= 0).mean() < _TRUNCATED_SHARE:
        return 0
    following = WORD.findall(page.blocks.texts[int(owner[last])])[last + 1 - start :]
    continues = content.rstrip().endswith((",", ";")) or bool(following and following[0][0].islower())
    return left if continues and not _SENTENCE_END.search(content) else 0


#: Kinds that make gold invalid for any use: it is missing, belongs to another page, is incomplete or contradicted.
_INVALID = frozenset(FindingKind) - {
    FindingKind.WORD_ORDER,
    FindingKind.REPETITION,
    FindingKind.DUPLICATE,
    FindingKind.CONTAMINATION,
}
#: Kinds that make block labels wrong. A repetition does not, because only one of the copies is aligned.
INVALID_FOR_TRAINING: frozenset[FindingKind] = _INVALID | {FindingKind.WORD_ORDER}
#: Kinds that make scores wrong. Word order does not affect bag-of-words scores.
INVALID_FOR_EVALUATION: frozenset[FindingKind] = _INVALID | {FindingKind.REPETITION}

#: Flags of data sets that our own check of the same kind replaces: WCXB's authors searched the visible text of a
#: browser for the words of the gold and flagged pages with text in ``noscript``, which blockml reads.
REPLACED: frozenset[str] = frozenset({"gold_words_missing_from_html"})


def gold_defects(
    dataset: Dataset,
    *,
    kinds: Set[FindingKind] = INVALID_FOR_TRAINING | INVALID_FOR_EVALUATION,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Mapping[str, tuple[str, ...]]:
    """Find the defects of the gold of a data set, without using any extractor.

    Parameters
    ----------
    dataset
        The data set.
    kinds
        Kinds of findings that count as defects.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).

    Returns
    -------
    Mapping[str, tuple[str, ...]]
        Defects by page id, in the order of the data set, for pages with at least one: the flags of the data set in
        their order, then the kinds of findings, sorted, without duplicates.

    Raises
    ------
    DatasetError
        A page cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from blockml.datasets import LabelledPage, TextGold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.html")
    ...     _ = path.write_text("<title>Page not found</title><p>Page not found")
    ...     page = LabelledPage("a", "site", path, TextGold("Page not found"), flags=("seen",))
    ...     gold_defects(Dataset("mine", Path(folder), "folders", (page,)))
    {'a': ('seen', 'soft error')}
    """
    return _defects(dataset, validate(dataset, jobs=jobs, progress=progress), kinds)


def _defects(dataset: Dataset, findings: Iterable[Finding], kinds: Set[FindingKind]) -> Mapping[str, tuple[str, ...]]:
    """Return the flags of pages and the kinds of findings that count, by page id."""
    found: dict[str, set[str]] = defaultdict(set)
    for finding in findings:
        if finding.kind in kinds:
            found[finding.page_id].add(str(finding.kind))
    names = {page.id: tuple(dict.fromkeys((*page.flags, *sorted(found.get(page.id, ()))))) for page in dataset.pages}
    return {page_id: defects for page_id, defects in names.items() if defects}


def filtered(dataset: Dataset, *, jobs: int = 1, progress: ProgressCallback = ignore_progress) -> Dataset:
    """Flag the pages of a data set whose gold is invalid for training, so that training leaves them out.

    Existing flags are kept, except those in :data:`REPLACED`.

    Parameters
    ----------
    dataset
        The data set.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).

    Raises
    ------
    DatasetError
        A page cannot be read.
    """
    return flagged(dataset, validate(dataset, jobs=jobs, progress=progress))


def flagged(dataset: Dataset, findings: Iterable[Finding]) -> Dataset:
    """Flag the pages of a data set as :func:`filtered` does, from the findings of its pages."""
    found = _defects(dataset, findings, INVALID_FOR_TRAINING)
    pages = [
        replace(page, flags=tuple([name for name in found.get(page.id, ()) if name not in REPLACED]))
        for page in dataset.pages
    ]
    return replace(dataset, pages=tuple(pages))


#: Maximum number of words of a soft error page (our choice: error pages with a full menu have up to 500).
_MAX_WORDS = 500
#: Maximum number of words of an application shell, which asks to enable JavaScript (our choice).
_MAX_SHELL_WORDS = 40
#: Maximum number of words of a block with a message (our choice).
_MAX_MESSAGE_WORDS = 40

#: Whole titles (or segments of a title between dashes and bars) and whole blocks: challenges by Cloudflare, Anubis,
#: PerimeterX, Imperva, Akamai and Amazon, and error messages of common servers.
_MESSAGE = re.compile(
    r"just a moment|making sure you['’]re not a bot|attention required|robot check|human verification|"
    r"are you (?:a )?(?:human|robot)|pardon our interruption|security check(?: required)?|"
    r"verify(?:ing)? (?:that )?you are (?:a )?human|checking your browser(?: before accessing .{1,60})?|"
    r"access (?:to this page has been )?denied|(?:(?:http )?error|http) [45]\d\d|[45]\d\d error|"
    r"(?:(?:http )?(?:error )?[45]\d\d[ :–-]+)?"
    r"(?:(?:the )?(?:page|file|object|document|url|article)(?: was)? (?:not found|removed)|not found|forbidden|"
    r"bad gateway|service (?:temporarily )?unavailable|internal server error|gateway time-?out|too many requests)",
    re.IGNORECASE,
)
#: A sentence stating that the requested page does not exist.
_SENTENCE = re.compile(
    r"\b(?:page|file|document|url|topic|post|article|content|address)\b[^.!?]{0,100}?"
    r"\byou(?:['’]re| are| were)? (?:have )?(?:looking for|requested|tried to access|trying to access)\b"
    r"[^!?]{0,120}?(?:\bnot (?:be )?(?:found|available|exist)|n['’]t (?:be )?(?:found|exist)|"
    r"\bno longer (?:exists?|available|here)|\bhas(?: been)? (?:moved|removed))|"
    r"requested url .{1,200} was not found",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"\b(?:enable|turn on|activate|requires?|needs?) (?:java ?script|js)\b", re.IGNORECASE)
#: Separators between the segments of a title, and punctuation at the end of a heading.
_SEPARATORS = re.compile(r"\s[|–—:·»«-]+\s|[|:»]+\s*|,\s")
_MARGIN = " .…!?*:-–—"


def soft_error_message(title: str, texts: Iterable[str], n_words: int) -> str | None:
    """Return the title segment or text that consists only of the message of an error page or a challenge.

    Parameters
    ----------
    title
        Title of the page.
    texts
        Texts of its blocks, or lines of its text.
    n_words
        Number of words of the page, or of its text; long pages are not errors.

    Examples
    --------
    >>> soft_error_message("Shop | Page not found", [], 7), soft_error_message("Shop", ["Shoes"], 1)
    ('Page not found', None)
    """
    if n_words > _MAX_WORDS:
        return None
    names = (*_SEPARATORS.split(title), *texts)
    return next((name.strip() for name in names if _MESSAGE.fullmatch(name.strip(_MARGIN))), None)


def soft_error(page: Page) -> str | None:
    """Return the message that marks a page as a challenge, an error page or an empty shell.

    Returns
    -------
    str | None
        The message; None if the page shows no sign of a soft error.

    Examples
    --------
    >>> import blockml
    >>> soft_error(blockml.parse("<title>Shop | Page not found</title><p>Try the search.</p>"))
    'Page not found'
    >>> soft_error(blockml.parse("<title>How to repair pages</title><p>Page not found: what then?</p>")) is None
    True
    """
    n_words = int(page.blocks.n_words.sum())
    if not n_words:
        return None
    if (message := soft_error_message(page.title, page.blocks.texts, n_words)) is not None:
        return message
    if n_words > _MAX_WORDS:
        return None
    for text, words in zip(page.blocks.texts, page.blocks.n_words.tolist(), strict=True):
        if words <= _MAX_MESSAGE_WORDS:
            if match := _SENTENCE.search(text):
                return match[0]
            if n_words <= _MAX_SHELL_WORDS and _SCRIPT.search(text):
                return text
    return None
