"""Collects the content of the paragraph that is being written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from blockml.page.lazy import Lazy
from blockml.rendering.bounds import Budget
from blockml.rendering.inline import NO_TEX, inline_markdown
from blockml.rendering.spans import BREAK, Formula, Inline, Mark, Picture, Span

__all__ = ["InlineText"]

#: Maximum length of both tags of a mark, and their name in a warning.
_MAX_TAGS, _REPEATED = 17, "links and emphasis over several paragraphs"
#: Enum members are slow to look up in Python 3.11.
_LINKED, _CODED = Mark.LINK, Mark.CODE


class InlineText:
    """The content of the paragraph, heading or cell being written.

    Parameters
    ----------
    has_tex
        Returns whether the page writes formulas between dollar signs; called only for texts that have some.
    budget
        Pays for marks that continue from one paragraph to the next.

    Examples
    --------
    >>> import blockml
    >>> paragraph = InlineText(budget=Budget(blockml.parse("")))
    >>> paragraph.add("2 * 3, a_b, ")
    >>> paragraph.open(Mark.STRONG)
    >>> paragraph.add(" so ")
    >>> paragraph.close(Mark.STRONG)
    >>> paragraph.add("it is")
    >>> paragraph.take()
    '2 * 3, a_b, **so** it is'
    """

    __slots__ = ("_budget", "_has_tex", "content", "inner", "opened")

    def __init__(self, *, has_tex: Lazy[bool] = NO_TEX, budget: Budget) -> None:
        self._has_tex, self._budget = has_tex, budget
        self.content: list[Inline] = []
        self.inner = self.content  #: content of the innermost open span
        self.opened: list[Span] = []  #: open spans, outermost first

    def add(self, item: Inline) -> None:
        """Append a line break, picture, formula or text; the text has only single spaces as white space."""
        self.inner.append(item)

    def ends_with_break(self) -> bool:
        """Tell whether the last item, white space aside, is a line break."""
        open_contents = [self.content, *[span.content for span in self.opened]]
        for content in reversed(open_contents):  # a mark may start directly after a line break
            is_outer = content is not self.inner
            for item in islice(reversed(content), int(is_outer), None):
                if item not in ("", " "):
                    return item == BREAK
        return False

    def has_content(self) -> bool:
        """Tell whether there is anything but open marks without content."""
        content = self.content
        for span in self.opened:
            if len(content) > 1:
                return True
            content = span.content
        return bool(content)

    def is_formula(self) -> bool:
        """Tell whether there are only formulas, which begin the line of the text after them."""
        return not self.opened and all(isinstance(item, Formula) or item in ("", " ") for item in self.content)

    def has(self, mark: Mark) -> bool:
        """Tell whether a mark is open."""
        return bool(self.opened) and mark in [span.mark for span in self.opened]

    def open(self, mark: Mark, address: str = "") -> None:
        """Start a marked part; ``address`` is only for links."""
        span = Span(mark, address)
        self.inner.append(span)
        self.opened.append(span)
        self.inner = span.content

    def close(self, mark: Mark, *, without: Callable[[str], bool] | None = None) -> None:
        """End the innermost part if it has this mark; drop it if ``without`` is true for its text."""
        if not self.opened or self.opened[-1].mark is not mark:
            return  # a link ended with the paragraph before
        self.opened.pop()
        self.inner = self.opened[-1].content if self.opened else self.content
        if without is not None and without(_plain(self.inner[-1]).strip()):
            self.inner.pop()

    def cut(self, start: int, without: Callable[[str], bool]) -> None:
        """Remove the open content starting at a place if ``without`` is true for its text."""
        if without("".join(map(_plain, self.inner[start:])).strip()):
            del self.inner[start:]

    def take(self, *, heading: bool = False, cell: bool = False) -> str:
        """Return the paragraph as Markdown and start the next one; empty if nothing is visible.

        Open marks continue in the next paragraph; a link does only if it has no text yet.
        """
        content, opened = self.content, self.opened
        if not content and not opened:
            return ""
        self.content = self.inner = []
        self.opened = []
        for span in opened:
            goes_on = span.mark is not _LINKED or not _is_visible(span.content)
            if goes_on and self._budget.spend(_MAX_TAGS + len(span.address), _REPEATED):
                self.open(span.mark, span.address)
        return inline_markdown(content, heading=heading, cell=cell, has_tex=self._has_tex)


def _plain(item: Inline) -> str:
    """Return the text of a span without code, pictures and formulas."""
    if isinstance(item, Span) and item.mark is not _CODED:
        return "".join(map(_plain, item.content))
    return item if isinstance(item, str) else ""


def _is_visible(content: Iterable[Inline]) -> bool:
    """Tell whether anything other than pictures and line breaks is visible."""
    return any(
        _is_visible(item.content) if isinstance(item, Span) else not isinstance(item, str) or bool(item.strip())
        for item in content
        if not isinstance(item, Picture)
    )
