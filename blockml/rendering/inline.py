"""Writes the content of a paragraph, heading or cell as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from blockml.page.lazy import Lazy
from blockml.rendering.escapes import Kind, Line, escaped, needs_escape
from blockml.rendering.spaces import NO_BREAK
from blockml.rendering.spans import BREAK, Formula, Inline, Mark, Span

__all__ = ["NO_TEX", "inline_markdown"]

#: Enum members are slow to look up in Python 3.11.
_LINKED, _CODED, _STRONG, _DELETED = Mark.LINK, Mark.CODE, Mark.STRONG, Mark.DELETED
_TEXT, _MARKED, _ALT, _FORMULA, _CODE, _OWN = (kind.value for kind in Kind)
#: Marks of CommonMark. Others are written as tags, and so are these where CommonMark would not see them.
_SIGNS = {Mark.STRONG: "**", Mark.EMPHASIS: "*", Mark.DELETED: "~~"}
#: A formula ends before the next one begins, or the search for its end would start again at each opening bracket.
_NOTATION = re.compile(
    r"\\\((?P<inline>(?:(?!\\\().)+?)\\\)|\\\[(?P<display>(?:(?!\\\[).)+?)\\\]|\$\$(?P<dollars>[^$]+)\$\$", re.DOTALL
)
_DOLLARS = re.compile(_NOTATION.pattern + r"|(?<![\\$])\$(?P<single>[^$]+)\$", re.DOTALL)
#: White space around line breaks, which are one.
_AROUND_BREAK = re.compile(r" *\n[ \n]*")
#: The page has no formulas between dollar signs.
NO_TEX = Lazy(lambda: False)


class _Token(NamedTuple):
    """A piece of a line: text, an opening or closing mark, or part of a picture, formula or code."""

    kind: str  #: a :class:`Kind`
    text: str  #: as it is written
    mark: Mark | None = None
    closes: bool = False


_OPENING = {mark: _Token(_OWN, _SIGNS.get(mark, f"<{mark}>"), mark) for mark in Mark} | {
    _LINKED: _Token(_OWN, "[", _LINKED)
}
_CLOSING = {mark: _Token(_OWN, _SIGNS.get(mark, f"</{mark}>"), mark, closes=True) for mark in Mark}
_PICTURE = _Token(_OWN, "![")


def inline_markdown(
    content: Sequence[Inline], *, heading: bool = False, cell: bool = False, has_tex: Lazy[bool] = NO_TEX
) -> str:
    """Write the content of a paragraph, heading or cell as Markdown; empty if nothing is visible.

    Marks start and end at words, marks without text are left out, and adjacent parts with the same mark are merged.

    Examples
    --------
    >>> from blockml.rendering.spans import Mark, Picture, Span
    >>> inline_markdown(["a ", Span(Mark.LINK, "/b", [" b", Span(Mark.CODE, "", ["x*y"])]), Picture("c]", "/d")])
    'a [b`x*y`](/b)![c\\\\]](/d)'
    """
    tokens: Sequence[str | _Token]
    has_emphasis = False
    try:
        page = _joined("".join(content), heading=heading)  # type: ignore[arg-type]  # most paragraphs have only text
        if not (page.count("$") > 1 or BREAK in page or needs_escape(page, begins_line=True)):
            return page
        tokens = [page]
    except TypeError:
        if not heading and (written := _with_simple_marks(content, cell=cell)) is not None:
            return written
        writer = _Tokens(heading=heading)
        writer.add(content)
        tokens = [*writer.tokens, *writer.closing]
        page, has_emphasis = "".join(writer.page), writer.has_emphasis
    if not tokens:
        return ""
    if "$" in page or "\\" in page:
        tokens = _with_formulas(tokens, has_tex)
    if has_emphasis:
        tokens = _visible_to_commonmark(tokens)
    if cell and BREAK in page:
        tokens = [piece for token in tokens for piece in _with_tags_for_breaks(token)]
    begins_line = not (heading or cell)
    if not (needs_escape(page, begins_line=begins_line) or "!" in page):  # it may be before a link
        return "".join([token if isinstance(token, str) else token.text for token in tokens])
    text = escaped(_line(tokens, has_emphasis=has_emphasis), begins_line=begins_line, in_cell=cell)
    return text.replace("\n", "  \n") if "\n" in text else text


def _joined(text: str, *, heading: bool) -> str:
    """Return texts and line breaks that were joined, with one space or line break between words; none in a heading."""
    if BREAK in text:
        text = text.replace(BREAK, " ") if heading else _AROUND_BREAK.sub(BREAK, text)
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" \n")


def _with_simple_marks(content: Sequence[Inline], *, cell: bool) -> str | None:
    """Write a paragraph with marks like :class:`_Tokens`, but several times faster; None if it isn't simple.

    It is simple if each mark contains one text and is visible to CommonMark, if there are words between two marks, and
    if nothing may need an escape. Most paragraphs with marks are simple.
    """
    written, page = list[str](), list[str]()
    last = " "  # the last character; white space is not repeated
    is_apart, needs_space = True, False  # whether a mark may start here, and whether only white space may follow
    for item in content:
        if isinstance(item, str):
            text = item.lstrip(" ") if last == " " else item
            if text:
                if needs_space and text[0] != " " != last:
                    return None
                is_apart, needs_space, last = is_apart or text != " ", False, text[-1]
                written.append(text)
                page.append(text)
            continue
        inner = _only_text(item) if is_apart else None
        if inner is None:
            return None
        if text := inner:
            before = " " if text[0] == " " else last
            after = " " if text[-1] == " " else ""
            mark, words = _simple_mark(item, text.strip(" "), before)  # type: ignore[arg-type]  # a span: it has a text
            if not mark:
                return None
            space = before if before != last else ""
            written += space, mark, after
            page += space, words, after
            is_apart, needs_space, last = False, item.mark in _SIGNS and not words[-1].isalnum(), text[-1]  # type: ignore[union-attr]
    result, shown = "".join(written), "".join(page)
    is_changed = BREAK in result or "  " in result or "![" in result or shown.count("$") > 1
    return None if is_changed or needs_escape(shown.lstrip(" "), begins_line=not cell) else result.rstrip(" ")


def _only_text(item: Inline) -> str | None:
    """Return the text of a span, empty if it has no content; None if it has other content or is not a span."""
    if not isinstance(item, Span) or len(item.content) > 1:
        return None
    text = item.content[0] if item.content else ""
    return text if isinstance(text, str) and (not text or text.strip(" ")) else None


def _simple_mark(span: Span, words: str, before: str) -> tuple[str, str]:
    """Return a span with one text as Markdown, and the page's text in it; no Markdown if the span isn't simple.

    ``before`` is the character before it.
    """
    mark = span.mark
    if words[0] == NO_BREAK:  # an indent, which is written before the mark
        return "", ""
    if mark is _LINKED:
        return f"[{words}]({span.address})", words
    if mark is _CODED:
        return "" if "`" in words or " ".join(words.split()) != words else f"`{words}`", ""
    is_seen = before == " " or words[0].isalnum() or mark not in _SIGNS
    return f"{_OPENING[mark].text}{words}{_CLOSING[mark].text}" if is_seen else "", words


class _Tokens:
    """Lays out spans as texts and marks, moves white space out of the edges of marks, and joins adjacent marks."""

    __slots__ = ("closing", "has_emphasis", "heading", "is_raw", "n_deleted", "opening", "page", "space", "tokens")

    def __init__(self, *, heading: bool) -> None:
        self.heading = heading
        self.tokens: list[str | _Token] = []
        self.page: list[str] = []  # the page's text in them, without code
        self.has_emphasis = False
        self.is_raw = False  # whether the last token is a picture, formula or code
        self.n_deleted = 0  # open spans of deleted text
        # Between the last visible token and the next one: closing marks, white space, opening marks.
        self.closing: list[_Token] = []
        self.space = ""
        self.opening: list[_Token] = []

    def add(self, content: Iterable[Inline]) -> None:
        """Append the content of spans."""
        for item in content:
            if isinstance(item, str):
                self._add_text(item)
            elif isinstance(item, Span):
                self._add_span(item)
            elif isinstance(item, Formula):
                self._add_raw(_Token(_FORMULA, item.tex))
                self.page.append(item.tex)
            else:
                self._add_raw(_PICTURE, _Token(_ALT, item.alt), _Token(_OWN, f"]({item.address})"))
                self.page.append(item.alt)

    def _add_text(self, text: str) -> None:
        words = text.strip(" \n")
        if text == BREAK and not self.heading:
            self.space = BREAK
        elif not self.space and text[:1] != words[:1]:
            self.space = " "
        if words:
            if self.opening and words[0] == NO_BREAK:  # marks start after an indent
                inner = words.lstrip(NO_BREAK)
                self.space, words = self.space.strip(" ") + words[: len(words) - len(inner)], inner
            if self.space or self.opening or self.closing:
                self._settle()
            self.tokens.append(words)
            self.page.append(words)
            self.is_raw = False
            if text[-1] == " ":
                self.space = " "

    def _add_span(self, span: Span) -> None:
        if span.mark is _CODED:
            self._add_code(span.content)
            return
        if self.heading and span.mark is _STRONG:
            self.add(span.content)
            return
        before = len(self.tokens)
        self.opening.append(_OPENING[span.mark])
        self.n_deleted += span.mark is _DELETED
        self.add(span.content)
        self.n_deleted -= span.mark is _DELETED
        if len(self.tokens) == before:
            self.opening.pop()  # nothing visible in it
        elif span.mark is _LINKED:
            self.closing.append(_Token(_OWN, f"]({span.address})", _LINKED, closes=True))
        else:
            self.closing.append(_CLOSING[span.mark])
            self.has_emphasis = self.has_emphasis or span.mark in _SIGNS

    def _add_code(self, content: Iterable[Inline]) -> None:
        """Append code; links continue around it, and other marks are left out."""
        texts: list[str] = []
        for item in [*_without_marks(content), None]:
            if isinstance(item, str) and item != BREAK:
                texts.append(item)
                continue
            text, texts = "".join(texts), []
            words = " ".join(text.split())
            if text[:1].isspace():
                self.add(" ")
            if self.n_deleted and _SIGNS[_DELETED] in words:  # some renderers end the deletion there
                self._add_text(words)
            elif words:
                fence = "`" * (1 + max(map(len, re.findall("`+", words)), default=0))
                gap = " " if words[0] == "`" or words[-1] == "`" else ""
                self._add_raw(_Token(_CODE, f"{fence}{gap}{words}{gap}{fence}"))
            if text[-1:].isspace():
                self.add(" ")
            if isinstance(item, Span):
                self._add_span(Span(item.mark, item.address, [Span(_CODED, "", item.content)]))
            elif item is not None:
                self.add([item])

    def _add_raw(self, *tokens: _Token) -> None:
        if not self._settle() and self.is_raw:
            self.tokens.append(" ")
        self.tokens += tokens
        self.is_raw = True

    def _settle(self) -> bool:
        """Append the marks and white space before a visible token; tell whether there were any."""
        closing, opening, space = self.closing, self.opening, self.space
        if closing and opening and closing[-1].mark is opening[0].mark is not _LINKED and BREAK not in space:
            del closing[-1], opening[0]  # one mark continues
        has_any = bool(closing or opening or space)
        if closing:
            self.tokens += closing
            self.closing = []
        if space:
            if self.tokens:
                self.tokens.append(space)
                self.page.append(space)
            self.space = ""
        if opening:
            self.tokens += opening
            self.opening = []
        return has_any


def _without_marks(content: Iterable[Inline]) -> Iterator[Inline]:
    """Iterate over the items in spans, and over links."""
    for item in content:
        if isinstance(item, Span) and item.mark is not _LINKED:
            yield from _without_marks(item.content)
        else:
            yield item


def _with_formulas(tokens: Sequence[str | _Token], has_tex: Lazy[bool]) -> Sequence[str | _Token]:
    r"""Return tokens with formulas changed from MathJax notation, ``\(x\)``, to Markdown notation, ``$x$``."""
    view = "".join([token if isinstance(token, str) else "\0" for token in tokens])
    reads_dollars = view.count("$") > 1 and has_tex.value
    if not (reads_dollars or "$$" in view or "\\(" in view or "\\[" in view):
        return tokens
    found: list[_Token] = []

    def hidden(match: re.Match[str]) -> str:
        inline = match["inline"] or match.groupdict().get("single")
        tex = (inline or match["display"] or match["dollars"]).strip()
        if "\0" in match[0]:
            return match[0]
        found.append(_Token(_FORMULA, f"${tex}$" if inline else f"$${tex}$$"))
        return "\1"

    view = (_DOLLARS if reads_dollars else _NOTATION).sub(hidden, view)
    others, formulas = iter([token for token in tokens if not isinstance(token, str)]), iter(found)
    return [
        next(others) if piece == "\0" else next(formulas) if piece == "\1" else piece
        for piece in re.split("([\0\1])", view)
        if piece
    ]


def _with_tags_for_breaks(token: str | _Token) -> Iterator[str | _Token]:
    """Write the line breaks of a text as tags, because a cell is one line."""
    first, *others = token.split(BREAK) if isinstance(token, str) else [token]
    yield first
    for other in others:
        yield _Token(_OWN, "<br>")
        yield other


def _line(tokens: Sequence[str | _Token], *, has_emphasis: bool) -> Line:
    """Join tokens, and record the kind of each character."""
    written: list[str] = []
    kinds: list[str] = []
    texts: list[str] = []
    links: list[tuple[int, int]] = []
    depth = length = start = 0
    for token in tokens:
        if isinstance(token, str):
            written.append(token)
            kinds.append((_MARKED if depth else _TEXT) * len(token))
            texts.append(token)
        else:
            written.append(token.text)
            kinds.append(token.kind * len(token.text))
            texts.append("\0" * len(token.text))
            if token.mark is not None:
                depth += -1 if token.closes else 1
            if token.mark is _LINKED:
                links += [(start, length)] * token.closes
                start = length
        length += len(written[-1])
    return Line("".join(written), "".join(kinds), "".join(texts), links, has_emphasis)


def _visible_to_commonmark(tokens: Sequence[str | _Token]) -> Sequence[str | _Token]:
    """Write tags instead of emphasis signs that CommonMark would not see; nothing around bare punctuation."""
    found = list(tokens)
    opened: list[tuple[int, bool]] = []  # position, whether it is seen
    for place, token in enumerate(tokens):
        if isinstance(token, str) or token.mark not in _SIGNS:
            continue
        # Other marks, pictures and code count as punctuation, because most start and end with it.
        last, following = tokens[place - 1] if place else " ", (*tokens[place + 1 : place + 2], " ")[0]
        before = (last or " ")[-1] if isinstance(last, str) else "*"
        after = (following or " ")[0] if isinstance(following, str) else "*"
        if not token.closes:
            is_run = not isinstance(last, str) and last.closes and last.mark in _SIGNS  # joins the signs before it
            is_seen = after.isalnum() or not (_is_punctuation(after) and _is_letter(before))
            opened.append((place, is_seen and not is_run))
            continue
        start, is_seen = opened.pop()
        if not is_seen or (not before.isalnum() and _is_punctuation(before) and _is_letter(after)):
            is_bare = token.mark is not _DELETED and not any(map(_has_substance, tokens[start + 1 : place]))
            found[start] = _Token(_OWN, "" if is_bare else f"<{token.mark}>", token.mark)
            found[place] = _Token(_OWN, "" if is_bare else f"</{token.mark}>", token.mark, closes=True)
    return found


def _has_substance(token: str | _Token) -> bool:
    """Tell whether a token is more than a mark or punctuation."""
    return any(map(str.isalnum, token)) if isinstance(token, str) else token.kind != _OWN


def _is_punctuation(sign: str) -> bool:
    """Tell whether CommonMark treats a character as punctuation."""
    return not sign.isalnum() and unicodedata.category(sign)[0] in "PS"


def _is_letter(sign: str) -> bool:
    """Tell whether CommonMark treats a character as neither white space nor punctuation."""
    return sign.isalnum() or not (sign.isspace() or _is_punctuation(sign))
