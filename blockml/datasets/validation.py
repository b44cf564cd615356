"""Gold that is wrong trains and judges wrongly: find it before anyone believes a number."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from blockml.datasets.base import Dataset, LabelledPage
from blockml.datasets.gold import Gold, RegionGold, RunGold, block_tokens
from blockml.lcs import lcs_alignment
from blockml.page import Page
from blockml.parsing import parse
from blockml.tokens import metric_tokens

__all__ = ["KINDS", "Finding", "content_hash", "validate", "validate_page"]

Kind = Literal["contamination", "empty gold", "truncation", "words missing", "labels off", "duplicate", "contradiction"]

#: What each kind of finding means.
KINDS: dict[str, str] = {
    "contamination": "marks of an annotation tool in the page, or markup in the gold text",
    "empty gold": "no gold text, though the page has words",
    "truncation": "the gold text breaks off inside a block of the page",
    "words missing": "under 80 % of the gold's words stand in the page",
    "labels off": "labelled runs or regions do not fit the page",
    "duplicate": "the same visible text as another page",
    "contradiction": "the same visible text as another page, with another gold",
}

#: Share of gold words found below which a gold belongs to another page (WCXB flags its pages by the same number).
_FOUND_SHARE = 0.8
#: A gold that stops this many words before its block does was cut off (our choice).
_CUT_WORDS = 5

_TOOL_MARKS = re.compile(
    rb"""class\s*=\s*["']?[^"'>]*\bx-nc-|data-label\s*=|data-block-type\s*=|_item_id\s*=|cc-select|readability-page""",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"</?(?:p|div|span|br|a|h[1-6]|li|td|script)\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the gold of one page."""

    page_id: str
    kind: Kind
    detail: str


def validate(
    dataset: Dataset, *, progress: Callable[[Iterable[LabelledPage]], Iterable[LabelledPage]] = iter
) -> list[Finding]:
    """Check every page of a data set.

    Parameters
    ----------
    dataset
        The data set.
    progress
        Wraps the iteration over its pages, to show progress.

    Returns
    -------
    list[Finding]
        In the order of the pages; empty if nothing was found.
    """
    findings: list[Finding] = []
    same: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for labelled in progress(dataset.pages):
        html, gold = labelled.load()
        page = parse(html, url=labelled.url, charset=labelled.charset)
        findings.extend(validate_page(labelled.id, html, page, gold))
        if len(page.blocks):
            text = (gold.text() if gold else None) or ""
            same[content_hash(page)].append((labelled.id, " ".join(metric_tokens(text))))
    for group in same.values():
        ids = [page_id for page_id, _ in group]
        contradict = len({text for _, text in group}) > 1
        for page_id in ids if len(ids) > 1 else ():
            others = ", ".join(other for other in ids if other != page_id)
            findings.append(Finding(page_id, "contradiction" if contradict else "duplicate", others))
    return findings


def content_hash(page: Page) -> str:
    """Fingerprint of a page's visible words: pages that share it must not stand on both sides of a split."""
    return hashlib.sha256(" ".join(block_tokens(page)[1]).encode()).hexdigest()[:16]


def validate_page(page_id: str, html: bytes, page: Page, gold: Gold | None) -> list[Finding]:
    """Check the gold of one page.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets.gold import TextGold
    >>> html = b"<p>One two three four five six seven eight nine ten.</p>"
    >>> [f.kind for f in validate_page("p", html, blockml.parse(html), TextGold("One two three"))]
    ['truncation']
    """
    findings: list[Finding] = []

    def note(kind: Kind, detail: str) -> None:
        findings.append(Finding(page_id, kind, detail))

    if mark := _TOOL_MARKS.search(html):
        note("contamination", f"the page holds {mark[0][:40].decode('ascii', 'replace')!r}")
    if isinstance(gold, RunGold) and not gold.matches(page):
        note("labels off", "the runs are not the page's text")
    if isinstance(gold, RegionGold) and (missing := gold.missing(page)):
        note("labels off", f"{len(missing)} regions name no element, such as {missing[0]}")
    content = gold.text() if gold else None
    if content is None:
        return findings
    if markup := _MARKUP.search(content):
        note("contamination", f"the gold text holds {markup[0]!r}")
    wanted = metric_tokens(content)
    owner, tokens = block_tokens(page)
    if not wanted:
        if tokens and not isinstance(gold, RunGold):  # labelled runs may say that nothing is content
            note("empty gold", f"the page has {len(tokens)} words")
        return findings
    found = (Counter(wanted) & Counter(tokens)).total() / len(wanted)
    if found < _FOUND_SHARE:
        note("words missing", f"{found:.0%} of {len(wanted)} gold words stand in the page")
    elif not isinstance(gold, RunGold):
        matched = np.flatnonzero(lcs_alignment(tokens, wanted) >= 0)
        last = int(matched[-1])
        left = int(np.searchsorted(owner, owner[last], side="right")) - last - 1
        if left >= _CUT_WORDS:
            note("truncation", f"{left} more words follow in the last block, after {' '.join(wanted[-3:])!r}")
    return findings
