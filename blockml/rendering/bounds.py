"""Bound on the size of an output: what it has beside the words of the page is paid from a budget."""

from __future__ import annotations

from blockml.page import Page

__all__ = ["MAX_RATIO", "SPARE", "Budget", "page_size"]

#: Maximum bytes of an output for each byte of its page, and beside these.
MAX_RATIO, SPARE = 8, 65_536
#: Bytes of these for what a page has once and an output repeats, such as addresses, indents and empty cells. The words
#: themselves take at most 3 for each byte, with their escapes and marks at most 4.
_REPEATED = 3


def page_size(page: Page) -> int:
    """Return the bytes of a page in UTF-8; of its texts if it is derived from another one."""
    return len(page.utf8) if page.utf8 is not None else sum(map(len, page.nodes.texts))


class Budget:
    """Bytes that an output may still have beside the words of its page.

    Without one, an address that a page has once could be in its Markdown ten thousand times.

    Parameters
    ----------
    page
        The page.
    ratio, spare
        Bytes for each byte of the page, and beside these.

    Examples
    --------
    >>> import blockml
    >>> budget = Budget(blockml.parse("<p>Cats"))
    >>> budget.spend(100, "addresses"), budget.spend(80_000, "addresses")
    (True, False)
    >>> budget.warnings
    ('some addresses are left out: the output would be more than 8 times as large as the page',)
    """

    def __init__(self, page: Page, ratio: int = _REPEATED, spare: int = SPARE) -> None:
        self.left = ratio * page_size(page) + spare
        self._cut: dict[str, None] = {}  # what was left out, in order

    def spend(self, amount: int, what: str) -> bool:
        """Take bytes for ``what``; without enough of them take none, and return false."""
        if amount <= self.left:
            self.left -= amount
            return True
        self.leave_out(what)
        return False

    def leave_out(self, what: str) -> None:
        """Remember that some of ``what`` is left out."""
        self._cut[what] = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """One warning for each kind of thing that was left out."""
        reason = f"the output would be more than {MAX_RATIO} times as large as the page"
        return tuple([f"some {what} are left out: {reason}" for what in self._cut])
