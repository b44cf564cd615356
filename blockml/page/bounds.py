"""Bounds on the size of an output, and absolute addresses within them."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

from blockml.page import Page
from blockml.text.addresses import MAX_BASE, MAX_BASE_SLASHES, is_long_base, read_address
from blockml.text.words import lazy_pattern

__all__ = ["MAX_RATIO", "SPARE", "Budget", "absolute_addresses", "page_size"]


#: Maximum bytes of an output for each byte of its page, and a constant added to that.
MAX_RATIO, SPARE = 8, 65_536
#: The part of MAX_RATIO for things that a page has once and an output repeats, such as addresses, indents and empty
#: cells. The words themselves take at most 3 bytes per byte of the page, and at most 4 with their escapes and marks.
_REPEATED = 3
_TOO_LARGE = f"the output would be more than {MAX_RATIO} times as large as the page"


def page_size(page: Page) -> int:
    """Return the size of a page in UTF-8 bytes; that of its texts if it is derived from another page."""
    return len(page.utf8) if page.utf8 is not None else sum(map(len, page.nodes.texts))


class Budget:
    """Bytes that an output may still add to the words of its page.

    Without a budget, an address that a page has once could appear ten thousand times in its Markdown.

    Parameters
    ----------
    page
        The page; None for an output without one.
    ratio, spare
        Bytes per byte of the page, and a constant added to that.

    Examples
    --------
    >>> import blockml
    >>> budget = Budget(blockml.parse("<p>Cats"))
    >>> budget.spend(100, "addresses"), budget.spend(80_000, "addresses")
    (True, False)
    >>> budget.warnings
    ('some addresses are left out: the output would be more than 8 times as large as the page',)
    """

    def __init__(self, page: Page | None, ratio: int = _REPEATED, spare: int = SPARE) -> None:
        self.left = spare if page is None else ratio * page_size(page) + spare
        self._cut: dict[str, str] = {}  # what was left out, in order, and why

    def spend(self, amount: int, what: str) -> bool:
        """Spend bytes on ``what``; if too few are left, spend none and return false."""
        if amount <= self.left:
            self.left -= amount
            return True
        self.leave_out(what)
        return False

    def leave_out(self, what: str, reason: str = _TOO_LARGE) -> None:
        """Remember that some of ``what`` is left out, and why."""
        self._cut[what] = reason

    @property
    def warnings(self) -> tuple[str, ...]:
        """One warning for each kind of thing that was left out."""
        return tuple([f"some {what} are left out: {reason}" for what, reason in self._cut.items()])


_ABSOLUTE = lazy_pattern(r"https?://", re.IGNORECASE)


def absolute_addresses(base: str, budget: Budget | None = None) -> Callable[[str], str]:
    """Return a function that makes an address absolute; empty for one that can't be read.

    A base of more than 2,048 characters or 64 slashes is ignored, because resolving thousands of addresses against it
    would be very slow.
    """
    if is_long_base(base):
        base = ""
        if budget is not None:
            budget.leave_out(
                "base addresses of links",
                f"the page's base has more than {MAX_BASE:,} characters or {MAX_BASE_SLASHES} slashes",
            )
    try:
        parts = urlsplit(base)
        origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else ""
    except ValueError:
        base = origin = ""

    def absolute(address: str) -> str:
        address = read_address(address)
        if origin and address and not _ABSOLUTE.match(address):
            if address.startswith("/") and address[1:2] != "/" and "/." not in address:
                return origin + address
            try:
                return urljoin(base, address)
            except ValueError:
                return ""
        return address

    return absolute
