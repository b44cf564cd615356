"""Compiles selectors."""

from __future__ import annotations

import functools

from blockml.rules.css import read_css
from blockml.rules.selectors import Selector, is_xpath
from blockml.rules.tokens import SelectorReader

__all__ = ["compile_selector"]


@functools.lru_cache(maxsize=4096)
def compile_selector(text: str) -> Selector:
    """Compile a CSS selector, or an XPath, which starts with ``/``, ``./`` or ``(``.

    Raises
    ------
    UsageError
        It can't be read, or has something whose time would not be linear in the page; the message names the place.

    Examples
    --------
    >>> import blockml
    >>> from blockml.rules.selectors import SelectorTree
    >>> tree = SelectorTree(blockml.parse("<div class='a b'><p>One</p><p>Two</p></div>").nodes)
    >>> for text in (".a > p:last-child", "//div[contains(@class, 'a')]/p[2]", "//p[contains(., 'Two')]"):
    ...     compile_selector(text).select(tree).nonzero()[0].tolist()
    [6]
    [6]
    [6]
    """
    tokens = SelectorReader(text)
    if is_xpath(text):
        from blockml.rules.xpath import read_xpath

        return Selector(text, *read_xpath(tokens))
    return Selector(text, *read_css(tokens))
