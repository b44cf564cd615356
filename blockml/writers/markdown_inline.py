"""Writes the content of a paragraph, heading or cell as Markdown, and the addresses of its links."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from blockml.document.nodes import Break, Inline, InlineFormula, Link, Mark, NoteReference, Picture, Span
from blockml.page.bounds import Budget, absolute_addresses
from blockml.text.addresses import is_safe
from blockml.writers.escapes import Kind, Line, escaped, needs_escape

__all__ = ["InlineWriter", "resolver"]


#: Enum members are slow to look up in Python 3.11.
_CODED, _STRONG, _DELETED = Mark.CODE, Mark.STRONG, Mark.DELETED
_TEXT, _MARKED, _ALT, _FORMULA, _CODE, _OWN = (kind.value for kind in Kind)
#: Marks of CommonMark. Others are written as tags, and so are these where CommonMark would not see them.
_SIGNS = {Mark.STRONG: "**", Mark.EMPHASIS: "*", Mark.DELETED: "~~"}
_LINKED = "link"
#: A line break among tokens.
_LINE = "\n"
_ADDRESSES, _MARKS = "addresses", "links and emphasis"


class _Token(NamedTuple):
    """A piece of a line: text, an opening or closing mark, or part of a picture, formula or code."""

    kind: str  #: a :class:`Kind`
    text: str  #: as it is written
    mark: str | None = None  #: a :class:`Mark`, or a link
    closes: bool = False


_TAGS = {mark: (_SIGNS.get(mark, f"<{mark}>"), _SIGNS.get(mark, f"</{mark}>")) for mark in Mark}
_OPENING = {mark: _Token(_OWN, begin, mark) for mark, (begin, _) in _TAGS.items()}
_CLOSING = {mark: _Token(_OWN, end, mark, closes=True) for mark, (_, end) in _TAGS.items()}
_LINK_START, _PICTURE = _Token(_OWN, "[", _LINKED), _Token(_OWN, "![")


class InlineWriter:
    """Writes inline content as Markdown.

    Parameters
    ----------
    absolute
        Returns an address as it is written, or an empty string for one that is not.
    budget
        Pays for addresses and marks.

    Examples
    --------
    >>> import blockml
    >>> write = InlineWriter(lambda address: address, Budget(blockml.parse("")))
    >>> write(["a ", Link("/b", ("b", Span(Mark.CODE, ("x*y",)))), Picture("/d", "c]")])
    'a [b`x*y`](/b)![c\\\\]](/d)'
    """

    def __init__(self, absolute: Callable[[str], str], budget: Budget) -> None:
        self.absolute, self.budget = absolute, budget

    def __call__(self, content: Sequence[Inline], *, heading: bool = False, cell: bool = False) -> str:
        """Write the content of a paragraph, heading or cell."""
        begins_line = not (heading or cell)
        if (
            len(content) == 1
            and isinstance(text := content[0], str)
            and not needs_escape(text, begins_line=begins_line)
        ):
            return text
        tokens = _Tokens(self.absolute, self.budget)
        tokens.add(content)
        page = "".join(tokens.page)
        return _joined(tokens.tokens, page, cell=cell, begins_line=begins_line, has_emphasis=tokens.has_emphasis)


class _Tokens:
    """Lays out inline content as texts and marks."""

    __slots__ = ("absolute", "budget", "has_emphasis", "n_deleted", "page", "tokens")

    def __init__(self, absolute: Callable[[str], str], budget: Budget) -> None:
        self.absolute, self.budget = absolute, budget
        self.tokens: list[str | _Token] = []
        self.page: list[str] = []  # the page's text in them, without code
        self.has_emphasis = False
        self.n_deleted = 0  # open spans of deleted text

    def add(self, content: Iterable[Inline]) -> None:
        """Append content."""
        for item in content:
            if isinstance(item, str):
                self.tokens.append(item)
                self.page.append(item)
            elif isinstance(item, Break):
                self.tokens.append(_LINE)
                self.page.append(_LINE)
            elif isinstance(item, Span):
                self._add_span(item)
            elif isinstance(item, InlineFormula):
                self._add_raw(_Token(_FORMULA, f"$${item.tex}$$" if item.display else f"${item.tex}$"))
                self.page.append(item.tex)
            else:
                self._add_addressed(item)

    def _add_addressed(self, item: Link | NoteReference | Picture) -> None:
        """Append a link or picture."""
        address = self.absolute(f"#{item.anchor}" if isinstance(item, NoteReference) else item.address)
        alt = item.alt if isinstance(item, Picture) else ""
        is_paid = bool(address) and self.budget.spend(len(address) + len(alt), _ADDRESSES)
        if isinstance(item, Picture):
            if is_paid:
                self._add_raw(_PICTURE, _Token(_ALT, alt), _Token(_OWN, f"]({address})"))
                self.page.append(alt)
            return
        if is_paid:
            self.tokens.append(_LINK_START)
        self.add(item.content)
        if is_paid:
            self.tokens.append(_Token(_OWN, f"]({address})", _LINKED, closes=True))

    def _add_span(self, span: Span) -> None:
        if span.mark is _CODED:
            self._add_code("".join([text for text in span.content if isinstance(text, str)]))
            return
        opening, closing = _OPENING[span.mark], _CLOSING[span.mark]
        if not self.budget.spend(len(opening.text) + len(closing.text), _MARKS):
            self.add(span.content)
            return
        self.tokens.append(opening)
        self.n_deleted += span.mark is _DELETED
        self.add(span.content)
        self.n_deleted -= span.mark is _DELETED
        self.tokens.append(closing)
        self.has_emphasis = self.has_emphasis or span.mark in _SIGNS

    def _add_code(self, words: str) -> None:
        if self.n_deleted and _SIGNS[_DELETED] in words:  # some renderers end the deletion there
            self.tokens.append(words)
            self.page.append(words)
            return
        fence = "`" * (1 + max(map(len, re.findall("`+", words)), default=0))
        gap = " " if words[0] == "`" or words[-1] == "`" else ""
        self._add_raw(_Token(_CODE, f"{fence}{gap}{words}{gap}{fence}"))

    def _add_raw(self, *tokens: _Token) -> None:
        """Append a picture, formula or code, with a space after another one."""
        last = self.tokens[-1] if self.tokens else ""
        is_picture = isinstance(last, _Token) and last.mark is None and last.text[:1] == "]"
        if is_picture or (isinstance(last, _Token) and last.kind in (_FORMULA, _CODE)):
            self.tokens.append(" ")
        self.tokens += tokens


_BREAK_TAG = _Token(_OWN, "<br>")


def _joined(
    tokens: Sequence[str | _Token], page: str, *, cell: bool, begins_line: bool, has_emphasis: bool = False
) -> str:
    """Join tokens, given the text of the page in them, and escape the text."""
    if has_emphasis:
        tokens = _visible_to_commonmark(tokens)
    if cell and _LINE in page:
        tokens = [_BREAK_TAG if item == _LINE else item for item in tokens]
    if not (needs_escape(page, begins_line=begins_line) or "!" in page):  # it may be before a link
        return "".join([token if isinstance(token, str) else token.text for token in tokens])
    text = escaped(_line(tokens, has_emphasis=has_emphasis), begins_line=begins_line, in_cell=cell)
    return text.replace("\n", "  \n") if "\n" in text else text


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
            if token.mark == _LINKED:
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


#: Characters that end an address in Markdown or start code; parentheses are allowed in pairs.
_UNSAFE = re.compile(r"[\s<>\\`\0-\x1f\x7f]")
#: An absolute address in which nothing needs to change.
_ORDINARY = re.compile(r"https?://[^\s<>\\`&()\0-\x1f\x7f]+")
#: An ampersand that Markdown would read as the start of a character reference.
_REFERENCE = re.compile(r"&(?=#?\w+;)")


def resolver(base: str, budget: Budget | None = None) -> Callable[[str], str]:
    """Return a function that writes an address for Markdown; an empty string for one that might run a script.

    The address is made absolute first, so that the check applies to what a reader of the Markdown gets.

    Examples
    --------
    >>> absolute = resolver("https://a.example/b/c?d#e")
    >>> absolute("/x y"), absolute("#f"), absolute("javascript:x()"), resolver("")("../x")
    ('https://a.example/x%20y', 'https://a.example/b/c?d#f', '', '../x')
    >>> absolute("?a=b&copy;=1"), resolver("javascript://a/")("/x")
    ('https://a.example/b/c?a=b&amp;copy;=1', '')
    """
    resolved = absolute_addresses(base, budget)

    def written(address: str) -> str:
        if budget is not None and len(address) > budget.left:  # not read, or each of its links would read it again
            budget.leave_out("addresses")
            return ""
        if _ORDINARY.fullmatch(address):
            return address
        address = resolved(address)
        return _written(address) if is_safe(address) else ""

    return written


def _written(address: str) -> str:
    """Write an address so that Markdown reads it whole and sees no mark in it."""
    if _UNSAFE.search(address):
        address = _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), address)
    if "&" in address:
        address = _REFERENCE.sub("&amp;", address)
    if "(" in address or ")" in address:
        depth = 0
        for mark in address:
            depth += (mark == "(") - (mark == ")")
            if depth < 0:
                break
        if depth or "](" in address:
            address = address.replace("(", "%28").replace(")", "%29")
    return address
