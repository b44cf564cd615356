"""Soft error pages: challenges, error messages and empty shells that a server sends in place of the requested page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from blockml.page import Page

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
