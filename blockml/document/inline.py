"""Inline content in its normal form: collected as the page has it, and normalised when a paragraph ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from blockml.document.nodes import BREAK, Inline, InlineFormula, Link, Mark, NoteReference, Picture, Span
from blockml.document.text import NO_BREAK
from blockml.page.lazy import Lazy

__all__ = ["LINE", "LINK", "MARK_STARTS", "REFERENCE", "InlineContent", "Start", "Token", "normalised"]

#: Token of a line break in inline content.
LINE = "\n"
#: Kinds of spans besides marks.
LINK, REFERENCE = "link", "note"
#: Enum members are slow to look up in Python 3.11.
_CODE, _STRONG = Mark.CODE, Mark.STRONG
_MARKS = {str(mark): mark for mark in Mark}
#: Characters of a text that tell whether it is a sign, and tokens of one; longer ones are not.
_MAX_SIGN, _MAX_TOKENS = 20, 60
#: A formula ends before the next one begins, or the search for its end would start again at each opening bracket.
_NOTATION = re.compile(
    r"\\\((?P<inline>(?:(?!\\\().)+?)\\\)|\\\[(?P<display>(?:(?!\\\[).)+?)\\\]|\$\$(?P<dollars>[^$]+)\$\$", re.DOTALL
)
_DOLLARS = re.compile(_NOTATION.pattern + r"|(?<![\\$])\$(?P<single>[^$]+)\$", re.DOTALL)
_BLANKS = re.compile(r"[ \n]+")
#: The page has no formulas between dollar signs.
NO_TEX = Lazy(lambda: False)


class Start(NamedTuple):
    """Where a marked part of the content starts."""

    kind: str  #: a :class:`Mark`, or a link or reference to a note
    address: str = ""


#: A piece of content: a text or line break, the start of a span, the end of the last open one (None), or an item.
Token: TypeAlias = str | Start | Picture | InlineFormula | Span | None
MARK_STARTS = {mark: Start(mark) for mark in Mark}


class InlineContent:
    """The content of the paragraph or heading that is being collected.

    Parameters
    ----------
    has_tex
        Tells whether the page writes formulas between dollar signs; only asked for texts that have some.

    Examples
    --------
    >>> content = InlineContent()
    >>> content.tokens.append("a_b, ")
    >>> content.open(Start(Mark.STRONG))
    >>> content.tokens.append(" so ")
    >>> content.close(Mark.STRONG)
    >>> content.tokens.append("it is")
    >>> content.take()
    ('a_b, ', Span(mark=<Mark.STRONG: 'strong'>, content=('so',)), ' it is')
    """

    __slots__ = ("has_tex", "opened", "tokens")

    def __init__(self, *, has_tex: Lazy[bool] = NO_TEX) -> None:
        self.has_tex = has_tex
        self.tokens: list[Token] = []  #: texts have only single spaces as white space
        self.opened: list[tuple[Start, int]] = []  #: open spans, outermost first, with the places of their starts

    def ends_with_break(self) -> bool:
        """Tell whether the last token, white space and starts of marks aside, is a line break."""
        for token in reversed(self.tokens):
            if token not in ("", " ") and not isinstance(token, Start):
                return token == LINE
        return False

    def is_formula(self) -> bool:
        """Tell whether there are only formulas, which begin the line of the text after them."""
        return all(isinstance(token, InlineFormula) or token in ("", " ") for token in self.tokens)

    def has(self, kind: str) -> bool:
        """Tell whether a span of a kind is open."""
        return bool(self.opened) and kind in [start.kind for start, _ in self.opened]

    def open(self, start: Start) -> None:
        """Start a marked part."""
        self.opened.append((start, len(self.tokens)))
        self.tokens.append(start)

    def close(self, kind: str, *, without: Callable[[str], bool] | None = None) -> None:
        """End the innermost part if it is of this kind; drop it if ``without`` is true for its text."""
        if not self.opened or self.opened[-1][0].kind != kind:
            return  # a link ended with the paragraph before
        _, place = self.opened.pop()
        self.tokens.append(None)
        if without is not None:
            self.cut(place, without)

    def cut(self, place: int, without: Callable[[str], bool]) -> None:
        """Remove the content from a place on if ``without`` is true for its text."""
        if len(self.tokens) - place <= _MAX_TOKENS and without(_sign(self.tokens[place:])):
            del self.tokens[place:]

    def take(self, *, heading: bool = False) -> tuple[Inline, ...]:
        """Return the content and start the next paragraph; empty if nothing is visible.

        Open marks continue in the next paragraph; a link does only if it has no text yet.
        """
        tokens, opened = self.tokens, self.opened
        if len(tokens) == 1 and isinstance(text := tokens[0], str) and "\\" not in text and "$" not in text:
            self.tokens = []  # most paragraphs are plain text
            text = text.strip(" \n")
            return (text,) if text else ()
        if len(tokens) == len(opened):  # all are starts, which go on
            return ()
        self.tokens = []
        if opened:
            self.opened = []
            for start, place in opened:
                if start.kind not in (LINK, REFERENCE) or not any(map(_is_visible, tokens[place:])):
                    self.open(start)
        return normalised(tokens, heading=heading, has_tex=self.has_tex)


def _sign(tokens: Sequence[Token]) -> str:
    """Return the text of some content without code; a part of it if it is longer than a sign."""
    pieces = [token for token, view in zip(tokens, _views(tokens), strict=True) if token == view]
    return "".join(map(str, pieces))[: _MAX_SIGN + 1].strip()


def _is_visible(token: Token) -> bool:
    """Tell whether a token is more than a picture, white space, or the start or end of a span."""
    return bool(token.strip()) if isinstance(token, str) else isinstance(token, InlineFormula)


def _views(tokens: Sequence[Token]) -> list[str]:
    """Return the text of each token; a zero for one that is not a text, or in code."""
    views, n_open = list[str](), 0  # spans that are open since the start of code, with this
    for token in tokens:
        if isinstance(token, Start):
            n_open += bool(n_open) or token.kind == _CODE
        elif token is None and n_open:
            n_open -= 1
        views.append(token if isinstance(token, str) and not n_open else "\0")
    return views


def normalised(tokens: Sequence[Token], *, heading: bool = False, has_tex: Lazy[bool] = NO_TEX) -> tuple[Inline, ...]:
    """Return content in the normal form of :mod:`blockml.document.nodes`; headings have no bold text and line breaks.

    White space moves out of marks, equal adjacent marks are joined, and empty ones are left out.

    Examples
    --------
    >>> normalised(["a ", " b", LINE, " ", Start("link", "/c"), "c ", None, "d"])
    ('a b', Break(), Link(address='/c', content=('c',)), ' d')
    """
    for token in tokens:
        if isinstance(token, str) and ("\\" in token or "$" in token):
            tokens = _with_formulas(tokens, has_tex)
            break
    return _normal_form(tokens, heading=heading)


def _normal_form(  # noqa: PLR0912 (one loop over tokens, without calls for texts in texts)
    tokens: Sequence[Token], *, heading: bool
) -> tuple[Inline, ...]:
    content: list[Inline] = []
    pieces: list[str] = []  # of the text at its end
    frames: list[tuple[Start, int]] = []  # spans that have begun, and where their content does
    kinds: list[str] = []  # of open spans; empty for one that is left out
    # Between the last visible item and the next one: ends of spans, white space, spans to begin.
    n_ended, space, starts = 0, "", list[Start]()
    for token in tokens:
        if isinstance(token, str):
            words = token.strip(" \n")
            if token == LINE and not heading:
                space = LINE
            elif not space and token[:1] != words[:1]:
                space = " "
            if not words:
                continue
            if starts and words[0] == NO_BREAK:  # marks start after an indent
                inner = words.lstrip(NO_BREAK)
                space, words = space.strip(" ") + words[: len(words) - len(inner)], inner
            if starts or n_ended or space:
                _settle(content, pieces, frames, n_ended, space, starts)
                n_ended = 0
            pieces.append(words)
            space = " " if token[-1] == " " else ""
        elif isinstance(token, Start):
            if token.kind == _CODE:
                return _normal_form(_with_code(tokens), heading=heading)
            is_left_out = heading and token.kind == _STRONG
            kinds.append("" if is_left_out else token.kind)
            if not is_left_out:
                starts.append(token)
        elif token is not None:
            _settle(content, pieces, frames, n_ended, space, starts)
            _end_text(content, pieces)
            content.append(token)
            n_ended, space = 0, ""
        elif (kind := kinds.pop()) and starts:
            starts.pop()  # nothing is in it
        else:
            n_ended += bool(kind)
    _end_spans(content, pieces, frames, len(frames))
    _end_text(content, pieces)
    return tuple(content)


def _settle(
    content: list[Inline],
    pieces: list[str],
    frames: list[tuple[Start, int]],
    n_ended: int,
    space: str,
    starts: list[Start],
) -> None:
    """End and begin the spans before a visible item, with the white space between them."""
    if n_ended:
        while n_ended and starts and LINE not in space:  # one mark continues
            kind = frames[-n_ended][0].kind
            if kind != starts[0].kind or kind in (LINK, REFERENCE):
                break
            n_ended -= 1
            del starts[0]
        _end_spans(content, pieces, frames, n_ended)
    if space and (content or pieces or frames):
        if space[0] == LINE:
            _end_text(content, pieces)
            content.append(BREAK)
        pieces.append(space.lstrip(LINE))
    if starts:
        _end_text(content, pieces)
        frames += [(start, len(content)) for start in starts]
        starts.clear()


def _end_text(content: list[Inline], pieces: list[str]) -> None:
    if pieces:
        if text := "".join(pieces):
            content.append(text)
        pieces.clear()


def _end_spans(content: list[Inline], pieces: list[str], frames: list[tuple[Start, int]], number: int) -> None:
    """End some spans, the innermost first."""
    for _ in range(number):
        _end_text(content, pieces)
        (kind, address), place = frames.pop()
        inner = tuple(content[place:])
        del content[place:]
        if kind == LINK:
            content.append(Link(address, inner))
        else:
            content.append(NoteReference(address, inner) if kind == REFERENCE else Span(_MARKS[kind], inner))


def _with_code(tokens: Iterable[Token]) -> list[Token]:
    """Return content with code as spans of one text; links continue around it, and other marks in it are left out."""
    found: list[Token] = []
    code: list[str] | None = None  # texts of the open code
    are_links: list[bool] = []  # for each span that is open in it
    for token in tokens:
        if code is None:
            if isinstance(token, Start) and token.kind == _CODE:
                code = []
            else:
                found.append(token)
        elif isinstance(token, str) and token != LINE:
            code.append(token)
        elif isinstance(token, Start) and token.kind not in (LINK, REFERENCE):
            are_links.append(False)
        elif token is None and are_links and not are_links[-1]:
            are_links.pop()
        else:
            found += _code(code)
            code = [] if token is not None or are_links else None
            if isinstance(token, Start):
                are_links.append(True)
            elif token is None and are_links:
                are_links.pop()
            if code is not None:
                found.append(token)
    return found + _code(code or ())


def _code(texts: Iterable[str]) -> list[Token]:
    """Return the tokens of code, with white space around it."""
    text = "".join(texts)
    words = " ".join(text.split())
    spans = [Span(_CODE, (words,))] if words else []
    return [" " * text[:1].isspace(), *spans, " " * text[-1:].isspace()]


def _with_formulas(tokens: Sequence[Token], has_tex: Lazy[bool]) -> Sequence[Token]:
    r"""Return content with formulas instead of texts such as ``\(x\)``; each of these has no marks in it."""
    views = _views(tokens)
    text = "".join(views)
    reads_dollars = text.count("$") > 1 and has_tex.value
    if not (reads_dollars or "$$" in text or "\\(" in text or "\\[" in text):
        return tokens
    matches = [match for match in (_DOLLARS if reads_dollars else _NOTATION).finditer(text) if "\0" not in match[0]]
    matches.reverse()
    found: list[Token] = []
    place = done = 0  # in the text, and the end of the last formula
    for token, view in zip(tokens, views, strict=True):
        place += len(view)
        if view == "\0":
            found.append(token)
            done = place
        while matches and matches[-1].start() < place:
            match = matches.pop()
            inline = match["inline"] or match.groupdict().get("single")
            tex = " ".join((inline or match["display"] or match["dollars"]).split())
            found += (text[done : match.start()], InlineFormula(tex, _BLANKS.sub(" ", match[0]), display=not inline))
            done = match.end()
        if done < place:
            found.append(text[done:place])
            done = place
    return found
