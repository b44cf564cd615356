"""Pages whose content is in scripts, which blockml does not run: data of frameworks, and elements that scripts fill."""

from __future__ import annotations

import re

from blockml.page import Page

__all__ = ["MAX_WORDS", "content_in_scripts"]

#: Maximum words of a text for which scripts are searched: a page with more has content of its own (our choice).
MAX_WORDS = 30
#: Data that frameworks and sites embed for their scripts, by the name that the message shows.
_DATA = re.compile(
    rb"""<script\b[^>]{0,400}?\bid\s*=\s*["']?(?P<id>__NEXT_DATA__|__NUXT_DATA__|ng-state|serverApp-state|___gatsby"""
    rb"""|data-deferred-state[\w-]{0,40}|shoebox[\w-]{0,40}|__APP_DATA__|__FRSH_STATE|app-data)\b"""
    rb"""|(?P<name>self\.__next_f|__NUXT__|__INITIAL_STATE__|__INITIAL_DATA__|__PRELOADED_STATE__|__APOLLO_STATE__"""
    rb"""|__remixContext|__reactRouterContext|__sveltekit_\w{1,40}|__SERVER_DATA__|__DATA__|ytInitialData)"""
    rb"""\s*(?:=[^=]|\.push\b|\?\?=|=\s*\S)""",
    re.IGNORECASE,
)
#: An element without content that an application fills, by its id.
_EMPTY = re.compile(
    rb"""<(div|main|section|app-root)\b(?:[^>]{0,400}?\bid\s*=\s*["']?(?P<id>root|app|__next|__nuxt|main|react-root|svelte)"""
    rb"""["']?(?=[\s>/])[^>]{0,400})?>\s*</\1\s*>""",
    re.IGNORECASE,
)
#: A script with an address, or one of the page itself that is more than a call or two.
_SCRIPT = re.compile(rb"<script\b[^>]{0,2000}\bsrc\s*=|<script\b[^>]{0,2000}>[^<]{400}", re.IGNORECASE)
#: Two words next to each other in embedded data.
_PROSE = re.compile(rb"[a-z\x80-\xff],? [a-z\x80-\xff]", re.IGNORECASE)
#: Minimum bytes of data, and minimum pairs of words for each word of a text that was found besides.
_MIN_DATA, _MIN_PAIRS = 100, 2


def content_in_scripts(page: Page, n_words: int) -> str:
    """Return a remark if a page with hardly any text has its content in scripts; empty otherwise.

    Parameters
    ----------
    page
        The parsed page.
    n_words
        Number of words that were extracted from it.

    Examples
    --------
    >>> import blockml
    >>> text = "Cats rule the world. " * 9
    >>> data = f'<script id="__NEXT_DATA__" type="application/json">{{"body": "{text}"}}</script>'
    >>> content_in_scripts(blockml.parse("<div id=__next></div>" + data), 0)
    'the content is in scripts (__NEXT_DATA__), which are not run: save the page from a browser'
    >>> content_in_scripts(blockml.parse("<p>Cats"), 1)
    ''
    """
    if page.utf8 is None or n_words > MAX_WORDS:
        return ""
    if found := _DATA.search(page.utf8):
        data = page.utf8[found.start() :]
        is_more = n_words == 0 or len(_PROSE.findall(data)) >= _MIN_PAIRS * n_words + MAX_WORDS
        if len(data) >= _MIN_DATA and is_more:
            name = (found["id"] or found["name"]).decode()
            return f"the content is in scripts ({name}), which are not run: save the page from a browser"
    if n_words == 0 and (found := _EMPTY.search(page.utf8)) and _SCRIPT.search(page.utf8):
        name = f"#{found['id'].decode()}" if found["id"] else found[1].decode()
        if found["id"] or name == "app-root":
            return f"scripts, which are not run, fill the page (empty element {name}): save it from a browser"
    return ""
