"""Inline content in its normal form: collected as the page has it, and normalised when a paragraph ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from blockml.document.nodes import BREAK, Break, Inline, InlineFormula, Link, Mark, NoteReference, Picture, Span
from blockml.document.text import NO_BREAK
from blockml.page.lazy import Lazy

__all__ = ["LINE", "LINK", "REFERENCE", "InlineContent", "RawSpan", "normalised"]

#: A line break of the page, among its texts.
LINE = "\n"
#: Kinds of spans besides marks.
LINK, REFERENCE = "link", "note"
#: Enum members are slow to look up in Python 3.11.
_CODE, _STRONG = Mark.CODE, Mark.STRONG
#: Kinds of spans that are not joined with an equal one beside them.
_APART = frozenset({LINK, REFERENCE, _CODE})
_MARKS = {str(mark): mark for mark in Mark}
#: White space around line breaks, which are one.
_AROUND_LINE = re.compile(r" *\n[ \n]*")
#: Characters of a text that tell whether it is a sign; longer ones are not.
_MAX_SIGN = 20
#: A formula ends before the next one begins, or the search for its end would start again at each opening bracket.
_NOTATION = re.compile(
    r"\\\((?P<inline>(?:(?!\\\().)+?)\\\)|\\\[(?P<display>(?:(?!\\\[).)+?)\\\]|\$\$(?P<dollars>[^$]+)\$\$", re.DOTALL
)
_DOLLARS = re.compile(_NOTATION.pattern + r"|(?<![\\$])\$(?P<single>[^$]+)\$", re.DOTALL)
#: The page has no formulas between dollar signs.
NO_TEX = Lazy(lambda: False)


class RawSpan:
    """A marked part of the content, as the page has it."""

    __slots__ = ("address", "content", "kind")

    def __init__(self, kind: str, address: str = "", content: list[RawInline] | None = None) -> None:
        self.kind = kind  #: a :class:`Mark`, or a link or reference to a note
        self.address = address
        self.content: list[RawInline] = [] if content is None else content


RawInline: TypeAlias = str | RawSpan | Picture | InlineFormula


class InlineContent:
    """The content of the paragraph or heading that is being collected.

    Parameters
    ----------
    has_tex
        Tells whether the page writes formulas between dollar signs; only asked for texts that have some.

    Examples
    --------
    >>> content = InlineContent()
    >>> content.add("a_b, ")
    >>> content.open(Mark.STRONG)
    >>> content.add(" so ")
    >>> content.close(Mark.STRONG)
    >>> content.add("it is")
    >>> content.take()
    ('a_b, ', Span(mark=<Mark.STRONG: 'strong'>, content=('so',)), ' it is')
    """

    __slots__ = ("content", "has_tex", "inner", "opened")

    def __init__(self, *, has_tex: Lazy[bool] = NO_TEX) -> None:
        self.has_tex = has_tex
        self.content: list[RawInline] = []
        self.inner = self.content  #: content of the innermost open span
        self.opened: list[RawSpan] = []  #: open spans, outermost first

    def add(self, item: RawInline) -> None:
        """Append a line break, picture, formula or text; the text has only single spaces as white space."""
        self.inner.append(item)

    def ends_with_break(self) -> bool:
        """Tell whether the last item, white space aside, is a line break."""
        open_contents = [self.content, *[span.content for span in self.opened]]
        for content in reversed(open_contents):  # a mark may start directly after a line break
            is_outer = content is not self.inner
            for item in islice(reversed(content), int(is_outer), None):
                if item not in ("", " "):
                    return item == LINE
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
        return not self.opened and all(isinstance(item, InlineFormula) or item in ("", " ") for item in self.content)

    def has(self, kind: str) -> bool:
        """Tell whether a span of a kind is open."""
        return bool(self.opened) and kind in [span.kind for span in self.opened]

    def open(self, kind: str, address: str = "") -> None:
        """Start a marked part; ``address`` is that of a link or note."""
        span = RawSpan(kind, address)
        self.inner.append(span)
        self.opened.append(span)
        self.inner = span.content

    def close(self, kind: str, *, without: Callable[[str], bool] | None = None) -> None:
        """End the innermost part if it is of this kind; drop it if ``without`` is true for its text."""
        if not self.opened or self.opened[-1].kind != kind:
            return  # a link ended with the paragraph before
        self.opened.pop()
        self.inner = self.opened[-1].content if self.opened else self.content
        if without is not None and without(_sign(self.inner[-1:])):
            self.inner.pop()

    def cut(self, start: int, without: Callable[[str], bool]) -> None:
        """Remove the open content starting at a place if ``without`` is true for its text."""
        if without(_sign(self.inner[start : start + _MAX_SIGN])):
            del self.inner[start:]

    def take(self, *, heading: bool = False) -> tuple[Inline, ...]:
        """Return the content and start the next paragraph; empty if nothing is visible.

        Open marks continue in the next paragraph; a link does only if it has no text yet.
        """
        content, opened = self.content, self.opened
        if not content:
            return ()
        self.content = self.inner = []
        if opened:
            self.opened = []
            for span in opened:
                if span.kind not in (LINK, REFERENCE) or not _is_visible(span.content):
                    self.open(span.kind, span.address)
        return normalised(content, heading=heading, has_tex=self.has_tex)


def _sign(content: Iterable[RawInline]) -> str:
    """Return the text of some content without code, pictures and formulas; a part of it if it is longer than a sign."""
    text, left = "", [iter(content)]
    while left and len(text) <= _MAX_SIGN:
        for item in left[-1]:
            if isinstance(item, RawSpan) and item.kind != _CODE:
                left.append(iter(item.content))
                break
            text += item if isinstance(item, str) else ""
            if len(text) > _MAX_SIGN:
                break
        else:
            left.pop()
    return text.strip()


def _is_visible(content: Iterable[RawInline]) -> bool:
    """Tell whether anything other than pictures and line breaks is visible."""
    return any(
        _is_visible(item.content) if isinstance(item, RawSpan) else not isinstance(item, str) or bool(item.strip())
        for item in content
        if not isinstance(item, Picture)
    )


def normalised(
    content: Sequence[RawInline], *, heading: bool = False, has_tex: Lazy[bool] = NO_TEX
) -> tuple[Inline, ...]:
    """Return content in the normal form of :mod:`blockml.document.nodes`.

    Examples
    --------
    >>> normalised(["a ", " b", LINE, " ", RawSpan("link", "/c", ["c "]), "d"])
    ('a b', Break(), Link(address='/c', content=('c',)), ' d')
    """
    if len(content) == 1 and isinstance(only := content[0], str) and only != LINE:  # single spaces within
        text = only.strip(" ")
        found: tuple[Inline, ...] = (text,) if text else ()
        may_have_tex = "\\" in text or "$" in text
    elif (simple := _simple_form(content, heading=heading)) is not None:
        found, may_have_tex = simple
    else:
        form = _NormalForm(heading=heading)
        form.add(content)
        found, may_have_tex = form.result(), form.may_have_tex
    return _with_formulas(found, has_tex) if may_have_tex else found


def _simple_form(  # noqa: PLR0912 (each branch is a reason not to be simple)
    content: Sequence[RawInline], *, heading: bool
) -> tuple[tuple[Inline, ...], bool] | None:
    """Return content in normal form like :class:`_NormalForm`, but several times faster; None if it isn't simple.

    It is simple if there is no line break between spans, each span has one text, and none continues the one before.
    The second value tells whether there may be TeX.
    """
    found: list[Inline] = []
    text, last = "", ""  # text after the last span, and the kind of that
    may_have_tex = False
    for item in content:
        if isinstance(item, str):
            text += item
            continue
        if not isinstance(item, RawSpan) or len(item.content) != 1:
            return None
        inner, kind = item.content[0], item.kind
        if not isinstance(inner, str):
            return None
        if kind == _STRONG and heading:
            text += inner
            continue
        words = " ".join(inner.split()) if kind == _CODE else inner.strip(" ")
        if not words or words[0] == NO_BREAK or LINE in inner:
            return None
        if inner[0] == " ":
            text += " "
        if LINE in text:
            return None
        text = _with_single_spaces(text) if found else _with_single_spaces(text).lstrip(" ")
        if kind == last and kind not in _APART and text in ("", " "):
            return None
        if text:
            found.append(text)
            may_have_tex = may_have_tex or "\\" in text or "$" in text
        if kind != _CODE:
            may_have_tex = may_have_tex or "\\" in words or "$" in words
        found.append(_span(item, (words,)))
        text, last = " " if inner[-1] == " " else "", kind
    if "\\" in text or "$" in text:
        may_have_tex = True
    if not found:
        return _lines(text, heading=heading), may_have_tex
    if LINE in text and not heading:
        return None
    if text := _with_single_spaces(text.replace(LINE, " ")).rstrip(" "):
        found.append(text)
    return tuple(found), may_have_tex


def _with_single_spaces(text: str) -> str:
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _lines(text: str, *, heading: bool) -> tuple[Inline, ...]:
    """Return texts and line breaks that were joined, with single spaces; a heading is one line."""
    if LINE in text:
        text = text.replace(LINE, " ") if heading else _AROUND_LINE.sub(LINE, text)
    text = _with_single_spaces(text).strip(" \n")
    if LINE not in text:
        return (text,) if text else ()
    found: list[Inline] = []
    for line in text.split(LINE):
        found += (line, BREAK)
    return tuple(found[:-1])


class _NormalForm:
    """Moves white space out of marks, joins equal adjacent marks, and leaves out empty ones."""

    __slots__ = ("closing", "content", "frames", "heading", "may_have_tex", "n_shown", "opening", "pieces", "space")

    def __init__(self, *, heading: bool) -> None:
        self.heading, self.may_have_tex = heading, False
        self.frames: list[tuple[RawSpan, list[Inline]]] = []  # spans that have begun, and what precedes each
        self.content: list[Inline] = []  # of the innermost of them
        self.pieces: list[str] = []  # of the text at its end
        self.n_shown = 0
        # Between the last visible item and the next one: ends of spans, white space, spans to begin.
        self.closing: list[RawSpan] = []
        self.space = ""
        self.opening: list[RawSpan] = []

    def add(self, content: Iterable[RawInline]) -> None:
        """Append the content of a span."""
        for item in content:
            if isinstance(item, str):
                self._add_text(item)
            elif isinstance(item, RawSpan):
                self._add_span(item)
            else:
                self._add_item(item)

    def result(self) -> tuple[Inline, ...]:
        """Return what was added."""
        while self.frames:
            self._end_span()
        self._end_text()
        return tuple(self.content)

    def _add_text(self, text: str) -> None:
        words = text.strip(" \n")
        if text == LINE and not self.heading:
            self.space = LINE
        elif not self.space and text[:1] != words[:1]:
            self.space = " "
        if not words:
            return
        if self.opening and words[0] == NO_BREAK:  # marks start after an indent
            inner = words.lstrip(NO_BREAK)
            self.space, words = self.space.strip(" ") + words[: len(words) - len(inner)], inner
        if self.space or self.opening or self.closing:
            self._settle()
        self.pieces.append(words)
        self.n_shown += 1
        if text[-1] == " ":
            self.space = " "

    def _add_span(self, span: RawSpan) -> None:
        if span.kind == _CODE:
            self._add_code(span.content)
            return
        if self.heading and span.kind == _STRONG:
            self.add(span.content)
            return
        before = self.n_shown
        self.opening.append(span)
        self.add(span.content)
        if self.n_shown == before:
            self.opening.pop()
        else:
            self.closing.append(span)

    def _add_code(self, content: Iterable[RawInline]) -> None:
        """Append code, which contains one text; links continue around it, and other marks are left out."""
        texts: list[str] = []
        for item in [*_without_marks(content), None]:
            if isinstance(item, str) and item != LINE:
                texts.append(item)
                continue
            text, texts = "".join(texts), []
            words = " ".join(text.split())
            if text[:1].isspace():
                self._add_text(" ")
            if words:
                self._add_item(Span(_CODE, (words,)))
            if text[-1:].isspace():
                self._add_text(" ")
            if isinstance(item, RawSpan):
                self._add_span(RawSpan(item.kind, item.address, [RawSpan(_CODE, "", item.content)]))
            elif item is not None:
                self.add([item])

    def _add_item(self, item: Inline) -> None:
        self._settle()
        self._end_text()
        self.content.append(item)
        self.n_shown += 1

    def _settle(self) -> None:
        """End and begin the spans before a visible item, with the white space between them."""
        closing, opening, space = self.closing, self.opening, self.space
        if closing and opening and closing[-1].kind == opening[0].kind not in (LINK, REFERENCE) and LINE not in space:
            del closing[-1], opening[0]  # one mark continues
        for _ in closing:
            self._end_span()
        closing.clear()
        if space:
            if self.n_shown:
                if space[0] == LINE:
                    self._end_text()
                    self.content.append(BREAK)
                self.pieces.append(space.lstrip(LINE))
            self.space = ""
        for span in opening:
            self._end_text()
            self.frames.append((span, self.content))
            self.content = []
        opening.clear()

    def _end_text(self) -> None:
        if self.pieces:
            if text := "".join(self.pieces):
                self.content.append(text)
                self.may_have_tex = self.may_have_tex or "\\" in text or "$" in text
            self.pieces.clear()

    def _end_span(self) -> None:
        self._end_text()
        span, before = self.frames.pop()
        before.append(_span(span, tuple(self.content)))
        self.content = before


def _span(span: RawSpan, content: tuple[Inline, ...]) -> Inline:
    if span.kind == LINK:
        return Link(span.address, content)
    return NoteReference(span.address, content) if span.kind == REFERENCE else Span(_MARKS[span.kind], content)


def _without_marks(content: Iterable[RawInline]) -> Iterable[RawInline]:
    """Iterate over the items in spans, and over links."""
    for item in content:
        if isinstance(item, RawSpan) and item.kind not in (LINK, REFERENCE):
            yield from _without_marks(item.content)
        else:
            yield item


def _with_formulas(content: tuple[Inline, ...], has_tex: Lazy[bool]) -> tuple[Inline, ...]:
    r"""Return content with formulas instead of texts such as ``\(x\)``; each of these has no marks in it."""
    view = "".join(_view(content))
    reads_dollars = view.count("$") > 1 and has_tex.value
    if not (reads_dollars or "$$" in view or "\\(" in view or "\\[" in view):
        return content
    found: list[tuple[int, InlineFormula]] = []
    for match in (_DOLLARS if reads_dollars else _NOTATION).finditer(view):
        if "\0" not in match[0]:
            inline = match["inline"] or match.groupdict().get("single")
            tex = " ".join((inline or match["display"] or match["dollars"]).split())
            found.append((match.start(), InlineFormula(tex, match[0], display=not inline)))
    return _Replacer(found).replaced(content) if found else content


def _view(content: Iterable[Inline]) -> Iterable[str]:
    """Iterate over the texts in content, with a zero at the start and end of everything else."""
    for item in content:
        if isinstance(item, str):
            yield item
        elif isinstance(item, Break):
            yield LINE
        else:
            yield "\0"
            if isinstance(item, Link | NoteReference) or (isinstance(item, Span) and item.mark != _CODE):
                yield from _view(item.content)
                yield "\0"


class _Replacer:
    """Puts formulas, given with their places in the view of some content, where their texts are."""

    def __init__(self, found: Sequence[tuple[int, InlineFormula]]) -> None:
        self.left = [*reversed(found)]
        self.place = 0  # in the view
        self.done = 0  # end of the last formula

    def replaced(self, content: Iterable[Inline]) -> tuple[Inline, ...]:
        """Return content with its formulas."""
        result: list[Inline] = []
        for item in content:
            start = self.place
            if isinstance(item, str):
                self.place += len(item)
                result += self._pieces(item, start)
            elif isinstance(item, Break):
                self.place += 1
                result += [item] if start >= self.done else []
            else:
                self.place += 1
                if isinstance(item, Link | NoteReference) or (isinstance(item, Span) and item.mark != _CODE):
                    result.append(replace(item, content=self.replaced(item.content)))
                    self.place += 1
                else:
                    result.append(item)
        return tuple(result)

    def _pieces(self, text: str, start: int) -> Iterable[Inline]:
        """Iterate over the formulas that begin in a text, and what is between them."""
        while self.left and self.left[-1][0] < start + len(text):
            begin, formula = self.left.pop()
            if before := text[max(self.done - start, 0) : begin - start]:
                yield before
            yield formula
            self.done = begin + len(formula.source)
        if rest := text[max(self.done - start, 0) :]:
            yield rest
