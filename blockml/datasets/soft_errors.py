"""Pages that a server sent in place of the one that was asked for."""

from __future__ import annotations

import re

import numpy as np

from blockml.page import Page

__all__ = ["stand_in"]

#: A page with more words than this holds more than an excuse (our choice: error pages with a full menu have up to 500).
_MOST_WORDS = 500
#: A page with so few words, one of its sentences asking for JavaScript, is the shell of an application (our choice).
_SHELL_WORDS = 40
#: A block with more words than this is no message (our choice).
_MESSAGE_WORDS = 40

#: Whole titles (or parts of a title between dashes and bars) and whole blocks: of challenges by Cloudflare, Anubis,
#: PerimeterX, Imperva, Akamai and Amazon, and of the error pages of common servers.
_NAME = re.compile(
    r"just a moment|making sure you['’]re not a bot|attention required|robot check|human verification|"
    r"are you (?:a )?(?:human|robot)|pardon our interruption|security check(?: required)?|"
    r"verify(?:ing)? (?:that )?you are (?:a )?human|checking your browser(?: before accessing .{1,60})?|"
    r"access (?:to this page has been )?denied|(?:(?:http )?error|http) [45]\d\d|[45]\d\d error|"
    r"(?:(?:http )?(?:error )?[45]\d\d[ :–-]+)?"
    r"(?:(?:the )?(?:page|file|object|document|url|article)(?: was)? (?:not found|removed)|not found|forbidden|"
    r"bad gateway|service (?:temporarily )?unavailable|internal server error|gateway time-?out|too many requests)",
    re.IGNORECASE,
)
#: A sentence that says that what was asked for is not here.
_MISSING = re.compile(
    r"\b(?:page|file|document|url|topic|post|article|content|address)\b[^.!?]{0,100}?"
    r"\byou(?:['’]re| are| were)? (?:have )?(?:looking for|requested|tried to access|trying to access)\b"
    r"[^!?]{0,120}?(?:\bnot (?:be )?(?:found|available|exist)|n['’]t (?:be )?(?:found|exist)|"
    r"\bno longer (?:exists?|available|here)|\bhas(?: been)? (?:moved|removed))|"
    r"requested url .{1,200} was not found",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"\b(?:enable|turn on|activate|requires?|needs?) (?:java ?script|js)\b", re.IGNORECASE)
#: What parts a title, and ends a heading.
_PARTS = re.compile(r"\s[|–—:·»«-]+\s|[|:»]+\s*|,\s")
_MARGIN = " .…!?*:-–—"


def stand_in(page: Page) -> str | None:
    """Tell whether a page is a challenge, an error message or an empty shell, by what it says itself.

    Returns
    -------
    str | None
        The words that say so; None if the page is what it should be, as far as can be told.

    Examples
    --------
    >>> import blockml
    >>> stand_in(blockml.parse("<title>Shop | Page not found</title><p>Try the search.</p>"))
    'Page not found'
    >>> stand_in(blockml.parse("<title>How to repair pages</title><p>Page not found: what then?</p>")) is None
    True
    """
    n_words = int(np.sum(page.blocks.n_words))
    if not n_words or n_words > _MOST_WORDS:
        return None
    for name in (*_PARTS.split(page.title), *page.blocks.texts):
        if _NAME.fullmatch(name.strip(_MARGIN)):
            return name.strip()
    for text, words in zip(page.blocks.texts, page.blocks.n_words.tolist(), strict=True):
        if words <= _MESSAGE_WORDS and ((match := _MISSING.search(text)) or _asks(text, n_words)):
            return match[0] if match else text
    return None


def _asks(text: str, n_words: int) -> bool:
    return n_words <= _SHELL_WORDS and _SCRIPT.search(text) is not None
