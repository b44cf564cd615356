"""Gold that is wrong trains and judges wrongly: find it before anyone believes a number."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets.base import Dataset, LabelledPage
from blockml.datasets.corpus import REGION_LABELS
from blockml.datasets.gold import Gold, RegionGold, RunGold, block_tokens
from blockml.datasets.gold_coverage import left_out, repeated_words
from blockml.datasets.soft_errors import stand_in
from blockml.page import Label, Page
from blockml.parsing import parse
from blockml.text.lcs import lcs_alignment
from blockml.text.tokens import WORD, metric_tokens

__all__ = ["KINDS", "Finding", "Kind", "content_hash", "validate", "validate_page"]

Kind = Literal[
    "contamination",
    "stand-in page",
    "empty gold",
    "words missing",
    "truncation",
    "cut off",
    "repetition",
    "other order",
    "labels off",
    "duplicate",
    "contradiction",
]

#: What each kind of finding means.
KINDS: dict[Kind, str] = {
    "contamination": "marks of an annotation tool in the page, or markup in the gold text",
    "stand-in page": "a challenge, an error message or an empty shell stands in place of the page",
    "empty gold": "no gold text, though the page has words",
    "words missing": "under 80 % of the gold's words stand in the page, repetitions aside",
    "truncation": "the gold text breaks off inside a sentence of the page",
    "cut off": "the gold ends, and text of the same kind and place goes on for long",
    "repetition": "the gold has a text more often than the page",
    "other order": "the gold's words stand in the page, but in another order",
    "labels off": "labelled runs or regions do not fit the page",
    "duplicate": "the same visible text as another page",
    "contradiction": "the same visible text as another page, with another gold",
}

#: Share of gold words found below which a gold belongs to another page (WCXB flags its pages by the same number).
_FOUND_SHARE = 0.8
#: A gold that stops this many words before its block does was cut off, if it stops inside of a sentence and this share
#: of the block's words is in the gold: fewer are a chance hit in a menu (our choice).
_CUT_WORDS, _CUT_SHARE = 5, 1 / 3
#: So many words of running text, and this share of the gold's words, left out behind its end are no closing remark,
#: such as a call to subscribe or a note about the author (our choice, from reading pages).
_LEFT_WORDS, _LEFT_SHARE = 150, 0.15
#: Words, and share of the gold's words, that it has once too often: less may be a caption (our choice).
_REPEATED_WORDS, _REPEATED_SHARE = 20, 0.1
#: Share of the gold's words that an alignment with the page can't match, though they stand there, from which on labels
#: made by alignment are wrong for whole sections (our choice).
_MOVED_SHARE = 0.2

#: One of these stands in each of the marks below; looking for them is much faster.
_TOOL_NAMES = (b"x-nc-", b"_item_id", b"readability-page", b"data-label", b"data-block-type")
_TOOL_MARKS = re.compile(
    rb"""class\s*=\s*["']?[^"'>]*\bx-nc-|_item_id\s*=|id\s*=\s*["']?readability-page|"""
    # Pages use these two for other things; only the values tell.
    + rb"""data-label\s*=\s*["'](?:%s)["']|""" % "|".join(Label).encode()
    + rb"""data-block-type\s*=\s*["'](?:%s)["']""" % "|".join(REGION_LABELS).encode(),
    re.IGNORECASE,
)
_MARKUP = re.compile(r"</?(?:p|div|span|br|a|h[1-6]|li|td|script)\b[^<>]*>", re.IGNORECASE)
_SENTENCE_END = re.compile(r"""[.!?:…。！？][\s"'”’)\]»]*\Z""")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the gold of one page."""

    page_id: str
    kind: Kind
    detail: str


class _Checked(NamedTuple):
    """One page, and what tells whether another page is the same."""

    page_id: str
    findings: list[Finding]
    hash: str | None
    """None for a page without blocks."""
    gold: str


def validate(
    dataset: Dataset,
    *,
    jobs: int = 1,
    progress: Callable[[Iterable[LabelledPage]], Iterable[LabelledPage]] = iter,
) -> list[Finding]:
    """Check every page of a data set.

    Parameters
    ----------
    dataset
        The data set.
    jobs
        Processes; the result does not depend on it.
    progress
        Wraps the iteration over its pages, to show progress.

    Returns
    -------
    list[Finding]
        In the order of the pages, those about several pages at the end; empty if nothing was found.

    Raises
    ------
    DatasetError
        A page can't be read.
    """
    with joblib.Parallel(n_jobs=jobs, batch_size=8) as parallel:
        checked: list[_Checked] = list(parallel(joblib.delayed(_check)(page) for page in progress(dataset.pages)))
    findings = [finding for page in checked for finding in page.findings]
    same: dict[str, list[_Checked]] = defaultdict(list)
    for page in checked:
        if page.hash is not None:
            same[page.hash].append(page)
    for group in same.values():
        kind: Kind = "contradiction" if len({page.gold for page in group}) > 1 else "duplicate"
        for page in group if len(group) > 1 else ():
            others = ", ".join(other.page_id for other in group if other is not page)
            findings.append(Finding(page.page_id, kind, others))
    return findings


def _check(labelled: LabelledPage) -> _Checked:
    html, gold = labelled.load()
    page = parse(html, url=labelled.url, charset=labelled.charset)
    text = (gold.text() if gold else None) or ""
    return _Checked(
        labelled.id,
        validate_page(labelled.id, html, page, gold),
        content_hash(page) if len(page.blocks) else None,
        hashlib.sha256(" ".join(metric_tokens(text)).encode()).hexdigest(),
    )


def content_hash(page: Page) -> str:
    """Fingerprint of a page's visible words: pages that share it must not stand on both sides of a split."""
    return hashlib.sha256(" ".join(block_tokens(page)[1]).encode()).hexdigest()[:16]


def validate_page(page_id: str, html: bytes, page: Page, gold: Gold | None) -> list[Finding]:
    """Check the gold of one page, by the page alone.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets.gold import TextGold
    >>> html = b"<p>One two three four five six seven eight nine ten.</p>"
    >>> [f.kind for f in validate_page("p", html, blockml.parse(html), TextGold("One two three four"))]
    ['truncation']
    """
    findings: list[Finding] = []

    def note(kind: Kind, detail: str) -> None:
        findings.append(Finding(page_id, kind, detail))

    if any(name in html for name in _TOOL_NAMES) and (mark := _TOOL_MARKS.search(html)):
        note("contamination", f"the page holds {mark[0][:40].decode('ascii', 'replace')!r}")
    # Labelled runs may say, as for an empty gold, that nothing in the page is content.
    if not isinstance(gold, RunGold) and (message := stand_in(page)):
        note("stand-in page", f"it says {message[:100]!r}")
    if isinstance(gold, RunGold) and not gold.matches(page):
        note("labels off", "the runs are not the page's text")
    if isinstance(gold, RegionGold) and (missing := gold.missing(page)):
        note("labels off", f"{len(missing)} regions name no element, such as {missing[0]}")
    content = gold.text() if gold else None
    if content is None:
        return findings
    # Pages about HTML have markup in their text.
    if (markup := _MARKUP.search(content)) and not any(markup[0] in text for text in page.blocks.texts):
        note("contamination", f"the gold text holds {markup[0]!r}")
    for kind, detail in _compare(page, content, is_whole=isinstance(gold, RunGold)):
        note(kind, detail)
    return findings


def _compare(page: Page, content: str, *, is_whole: bool) -> Iterable[tuple[Kind, str]]:
    """Compare a gold text with its page; ``is_whole`` if all of the page is labelled, so that nothing is forgotten."""
    wanted = metric_tokens(content)
    owner, tokens = block_tokens(page)
    if not wanted:
        if tokens and not is_whole:
            yield "empty gold", f"the page has {len(tokens)} words"
        return
    found = (Counter(wanted) & Counter(tokens)).total() / len(wanted)
    repeated = 0 if is_whole else repeated_words(tokens, wanted)
    is_other = found + repeated / len(wanted) < _FOUND_SHARE  # what is only repeated is not missing
    if is_other:
        yield "words missing", f"{found:.0%} of {len(wanted)} gold words stand in the page"
    if is_whole:
        return
    if repeated >= max(_REPEATED_WORDS, _REPEATED_SHARE * len(wanted)):
        yield "repetition", f"{repeated} of {len(wanted)} gold words stand there once more than in the page"
    words, begins = left_out(page, owner, tokens, wanted)
    if words >= max(_LEFT_WORDS, _LEFT_SHARE * len(wanted)):
        yield "cut off", f"after {len(wanted)} gold words, {words} more words follow, from {begins!r} on"
    if is_other:
        return
    place = lcs_alignment(tokens, wanted)
    moved = found - float((place >= 0).mean()) * len(tokens) / len(wanted)
    if moved >= _MOVED_SHARE:
        yield "other order", f"{moved:.0%} of {len(wanted)} gold words"
    elif left := _cut_words(page, owner, place, content):
        yield "truncation", f"{left} more words follow in the last block, after {' '.join(wanted[-3:])!r}"


def _cut_words(page: Page, owner: NDArray[np.int32], place: NDArray[np.int32], content: str) -> int:
    """Words that follow the gold's last word in its block; 0 if the gold doesn't seem to stop inside of a sentence."""
    last = int(np.flatnonzero(place >= 0)[-1])
    start, end = (int(np.searchsorted(owner, owner[last], side=side)) for side in ("left", "right"))
    is_end_of_gold = place[last] == len(metric_tokens(content)) - 1
    if end - last - 1 < _CUT_WORDS or not is_end_of_gold or (place[start:end] >= 0).mean() < _CUT_SHARE:
        return 0
    following = WORD.findall(page.blocks.texts[int(owner[last])])[last + 1 - start :]
    goes_on = content.rstrip().endswith((",", ";")) or bool(following and following[0][0].islower())
    return end - last - 1 if goes_on and not _SENTENCE_END.search(content) else 0
