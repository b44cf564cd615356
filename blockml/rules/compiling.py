"""Compiles selectors: CSS is translated to XPath by cssselect (extra ``rules``)."""

from __future__ import annotations

import functools
from typing import Any

from blockml.errors import UsageError, needed
from blockml.rules.selectors import Selector
from blockml.rules.xpath import MOST_CHARACTERS, read_xpath

__all__ = ["compile_selector"]


@functools.lru_cache(maxsize=4096)
def compile_selector(text: str) -> Selector:
    """Compile a CSS selector, or an XPath, which starts with ``/`` or ``./``.

    Raises
    ------
    UsageError
        It can't be read, or has something whose time would not be linear in the page; the message names the place.
    MissingExtraError
        It is CSS, and cssselect isn't installed.

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
    >>> compile_selector("time::attr(datetime)").xpath
    '//time/@datetime'
    """
    if not text.strip():
        raise UsageError("a selector is empty")
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"a selector may have at most {MOST_CHARACTERS:,} characters, got {len(text):,}")
    is_xpath = text.lstrip().startswith(("/", "./"))
    xpath = text.strip() if is_xpath else _translated(text)
    try:
        paths, attribute = read_xpath(xpath)
    except UsageError as error:
        raise UsageError(f"the selector {text!r} can't be read {error}") from None
    return Selector(text, xpath, not is_xpath, paths, attribute)


def _translated(text: str) -> str:
    """Translate CSS to XPath."""
    with needed("CSS selectors in rules", "rules"):
        import cssselect
    try:
        return " | ".join(_translator().selector_to_xpath(item, prefix="//") + _end(item, text)
                          for item in cssselect.parse(text))  # fmt: skip
    except (cssselect.SelectorError, RecursionError, UnicodeEncodeError) as error:
        raise UsageError(f"the selector {text!r} can't be read as CSS: {error}") from None
    except RuntimeError:  # of cssselect, after a StopIteration
        raise UsageError(f"the selector {text!r} can't be read as CSS: it ends within brackets") from None


def _end(item: Any, text: str) -> str:  # noqa: ANN401 (a class of cssselect)
    """Return the end of the XPath of a pseudo-element: ``::attr(name)`` or ``::text``."""
    pseudo = item.pseudo_element
    if pseudo is None or pseudo == "text":
        return ""
    if getattr(pseudo, "name", "") != "attr" or len(pseudo.arguments) != 1:
        raise UsageError(f"the selector {text!r} can't be read as CSS: pseudo-elements are ::text and ::attr()")
    return f"/@{pseudo.arguments[0].value}"


@functools.cache
def _translator() -> Any:  # noqa: ANN401 (a class of cssselect)
    from cssselect.xpath import GenericTranslator, XPathExpr

    class Translator(GenericTranslator):
        """Writes XPath in the short forms that are supported."""

        def xpath_descendant_combinator(self, left: XPathExpr, right: XPathExpr) -> XPathExpr:
            return left.join("//", right)

        def xpath_direct_adjacent_combinator(self, left: XPathExpr, right: XPathExpr) -> XPathExpr:
            return left.join("/following-sibling::*[1]/self::", right)

        def xpath_attrib_includes(self, xpath: XPathExpr, name: str, value: str | None) -> XPathExpr:
            word = self.xpath_literal(f" {value} ")
            is_word = value and value.split() == [value]
            test = f"contains(concat(' ', normalize-space({name}), ' '), {word})"
            return xpath.add_condition(test if is_word else "0")

    return Translator()
