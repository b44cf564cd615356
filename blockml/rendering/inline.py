"""Text within one paragraph as Markdown: emphasis, links, code and pictures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum

from blockml.page.lazy import Lazy
from blockml.rendering.escapes import escaped

__all__ = ["InlineText", "Mark"]


class Mark(StrEnum):
    """Kinds of marks around a part of a text."""

    STRONG = "strong"
    EMPHASIS = "em"
    DELETED = "del"
    SUBSCRIPT = "sub"
    SUPERSCRIPT = "sup"
    CODE = "code"
    LINK = "a"


#: Members of an enumeration are looked up slowly in Python 3.11.
_LINKED, _CODED, _STRONG = Mark.LINK, Mark.CODE, Mark.STRONG
#: Marks of CommonMark. Others, and these where CommonMark would not see them, are written as tags.
_SIGNS = {Mark.STRONG: "**", Mark.EMPHASIS: "*", Mark.DELETED: "~~"}
#: Marks stand in the text as characters of the private planes, so that methods of strings and regular expressions do
#: most of the work: marks that open (links first), marks that close (links last), and Markdown that is written already.
_LINK, _OPEN, _CLOSE, _LINK_CLOSE, _RAW, _BREAK = 0xF0000, 0xF8000, 0x100000, 0x104000, 0x108000, "\U0010fffe"
#: Maximum number of marks that open and of raw pieces in one paragraph; others are left out. There is room for twice as
#: many, since links in code are counted twice.
_MAX_MARKS = 0x1FF0
_PRIVATE = re.compile("[\U000f0000-\U0010ffff]")
_OPENS, _CLOSES = "\U000f0000-\U000fffff", "\U00100000-\U00107fff"
#: What is more than punctuation: a letter or digit, and Markdown that is written already.
_SUBSTANCE = re.compile("[^\\W_]|[\U00108000-\U0010fffd]")
#: White space inside the edges of a mark; a mark without text; a mark that ends where one begins.
_LOOSE = re.compile(f"[{_OPENS}][ \\n]|[ \\n][{_CLOSES}]")
_OPENING = re.compile(f"[{_OPENS}][ \\n{_OPENS}]*")
_CLOSING = re.compile(f"[ \\n]*[{_CLOSES}](?:[ \\n{_CLOSES}]*[{_CLOSES}])?")
_EMPTY = re.compile(f"[{_OPENS}]([ \\n]*)[{_CLOSES}]")
_MEETING = re.compile(f"([{_CLOSES}])( ?)([{_OPENS}])")
_SPACES, _BREAKS = re.compile("  +"), re.compile(" *\\n[ \\n]*")
#: The page has no formulas between dollar signs.
NO_TEX = Lazy(lambda: False)


class InlineText:
    """A paragraph, heading or cell under way.

    Marks end and begin at words, marks without text are left out, and adjacent parts with the same mark become one.

    Parameters
    ----------
    has_private
        Whether texts may have characters of the private planes, which are left out.
    has_tex
        Whether the page writes formulas between dollar signs; asked only for texts that have some.

    Examples
    --------
    >>> paragraph = InlineText(has_private=False)
    >>> paragraph.text("2 * 3, a_b, ")
    >>> paragraph.open(Mark.STRONG)
    >>> paragraph.text(" so ")
    >>> paragraph.close(Mark.STRONG)
    >>> paragraph.text("it is")
    >>> paragraph.take()
    '2 * 3, a_b, **so** it is'
    """

    __slots__ = (
        "_count",
        "_has_code",
        "_has_private",
        "_has_tex",
        "_is_marked",
        "_kinds",
        "_opened",
        "_written",
        "parts",
    )

    def __init__(self, *, has_private: bool, has_tex: Lazy[bool] = NO_TEX) -> None:
        self._has_private, self._has_tex = has_private, has_tex
        self._count = 0  # number of marks and raw pieces so far
        self._has_code = self._is_marked = False  # whether marks of code and of emphasis stand in the paragraph
        self.parts: list[str] = []  #: texts, and characters in place of marks
        self._written: dict[str, str] = {}  # Markdown of each such character
        self._kinds: dict[str, Mark] = {}  # kind of each character of a mark
        self._opened: list[tuple[Mark, str, int]] = []  # open marks: kind, address, place in ``parts``

    def text(self, text: str) -> None:
        """Append a text without white space but single spaces."""
        self.parts.append(_PRIVATE.sub("", text) if self._has_private else text)

    def raw(self, markdown: str) -> None:
        """Append Markdown that is written as it is: a picture or a formula."""
        if self._count < _MAX_MARKS:
            if self.parts and self.parts[-1] in self._written and self.parts[-1] not in self._kinds:
                self.parts.append(" ")  # pictures or code without a space between them
            self._append(_RAW, markdown)

    def line_break(self) -> None:
        """Append a line break."""
        self.parts.append(_BREAK)

    def ends_with_break(self) -> bool:
        """Tell whether the last thing is a line break, but for white space."""
        return next((part for part in reversed(self.parts) if part.strip()), None) is _BREAK

    def has(self, mark: Mark) -> bool:
        """Tell whether a mark is open."""
        return bool(self._opened) and mark in [kind for kind, _, _ in self._opened]

    def open(self, mark: Mark, address: str = "") -> None:
        """Begin a marked part; ``address`` is that of a link."""
        if self._count >= _MAX_MARKS:
            return
        self._opened.append((mark, address, len(self.parts)))
        if mark is _LINKED:
            self._append(_LINK, "[", mark)
        elif mark is not _CODED:
            self._is_marked |= mark in _SIGNS
            self._append(_OPEN, _SIGNS.get(mark) or f"<{mark.value}>", mark)

    def close(self, mark: Mark, *, without: frozenset[str] = frozenset()) -> None:
        """End the part that was opened last with a mark; leave it out if its text is one of ``without``."""
        place = len(self._opened) - 1
        while place >= 0 and self._opened[place][0] is not mark:
            place -= 1
        if place < 0:
            return
        _, address, start = self._opened.pop(place)
        if self.cut(start, without):
            return
        if mark is _CODED:
            self._end_code(start)
        elif self._has_text(start):
            parts = self.parts
            is_spaced = parts[-1][-1:].isspace()
            if is_spaced:
                parts[-1] = parts[-1].rstrip()
            if mark is _LINKED:
                self._append(_LINK_CLOSE, f"]({address})", mark)
            else:
                self._append(_CLOSE, _SIGNS.get(mark) or f"</{mark.value}>", mark)
            if is_spaced:
                parts.append(" ")

    def cut(self, start: int, texts: frozenset[str]) -> bool:
        """Remove the parts from a place on if their text is one of some texts; tell whether it is."""
        if not texts or _PRIVATE.sub("", "".join(self.parts[start:])).strip() not in texts:
            return False
        del self.parts[start:]
        return True

    def _has_text(self, start: int) -> bool:
        """Move white space out of the begin of a mark; without text leave the mark out and return false."""
        parts = self.parts
        place, end, is_spaced = start + 1, len(parts), False
        while place < end and (not parts[place] or parts[place].isspace()):
            place, is_spaced = place + 1, is_spaced or bool(parts[place])
        if place == end:
            parts[start:] = [" "] * is_spaced
            return False
        if parts[place][0].isspace():
            parts[place], is_spaced = parts[place].lstrip(), True
        if is_spaced:
            parts[start:place] = [" ", parts[start]]
        return True

    def take(self, *, heading: bool = False, cell: bool = False) -> str:
        """Return the paragraph as Markdown and begin the next one; empty if nothing is visible.

        Marks that are open go on in the next paragraph; a link does only if it has no text yet. Texts of a heading or
        a cell begin no line, so that nothing is escaped at their begin.
        """
        begins_line = not (heading or cell)
        parts = self.parts
        if len(parts) == 1 and not self._opened and not self._written and not self._has_private:
            self.parts = []
            text = parts[0].strip(" ")
            has_tex = "$" in text and self._reads_dollars(text)
            return "" if text is _BREAK else escaped(text, tex=has_tex, begins_line=begins_line)
        going_on: list[tuple[Mark, str]] = []
        if self._opened:
            for mark, address, start in self._opened:
                if mark is not _LINKED or not self._is_visible(start):
                    going_on.append((mark, address))
            for mark, _, _ in self._opened[::-1]:
                self.close(mark)
        text = "".join(self.parts)
        text = " ".join(text.split()) if "  " in text else text.strip(" ")
        self.parts = []
        if self._written:
            text = self._laid_out(text, heading=heading, cell=cell)
            self._written, self._kinds = {}, {}
            self._has_code = self._is_marked = False
            self._count = 0
        elif text:
            if _BREAK in text:
                text = text.replace(_BREAK, " ") if heading else _BREAKS.sub("\n", text.replace(_BREAK, "\n"))
                text = text.strip(" \n").replace("\n", _BREAK if cell else "\n")
            has_tex = "$" in text and self._reads_dollars(text)
            text = escaped(text, tex=has_tex, begins_line=begins_line).replace("\n", "  \n")
        if cell:
            text = text.replace(_BREAK, "<br>")
        for mark, address in going_on:
            self.open(mark, address)
        return text

    def _reads_dollars(self, text: str) -> bool:
        """Tell whether a text may have formulas between dollar signs."""
        return text.count("$") > 1 and self._has_tex.value

    def _append(self, first: int, markdown: str, mark: Mark | None = None) -> None:
        """Append a character in place of Markdown."""
        sign = chr(first + self._count)
        self._count += 1
        self.parts.append(sign)
        self._written[sign] = markdown
        if mark is not None:
            self._kinds[sign] = mark

    def _is_visible(self, start: int) -> bool:
        """Tell whether something but pictures is visible in the paragraph from a place on."""
        return any(
            part.strip() and part not in self._kinds and part is not _BREAK and self._written.get(part, "")[:1] != "!"
            for part in self.parts[start:]
        )

    def _end_code(self, start: int) -> None:
        """Write the parts from a place on as code; links go on around it and other marks are left out."""
        inner = self.parts[start:]
        del self.parts[start:]
        code: list[str] = []
        for part in [*inner, _BREAK]:
            kind = self._kinds.get(part)
            if part is not _BREAK and kind is not _LINKED and (kind is not None or part not in self._written):
                if kind is None:
                    code.append(part)
                continue
            text = "".join(code)
            words = " ".join(text.split())
            if words:
                self.parts += [" "] * text[0].isspace()
                fence = "`" * (1 + max(map(len, re.findall("`+", words)), default=0))
                gap = " " if words[0] == "`" or words[-1] == "`" else ""
                self._has_code = True
                self.raw(f"{fence}{gap}{words}{gap}{fence}")
            self.parts += [" "] * text[-1:].isspace()
            code = []
            if part in self._written:  # characters stand in the order of their numbers
                first = _RAW if kind is None else _LINK_CLOSE if ord(part) >= _CLOSE else _LINK
                self._append(first, self._written.pop(part), self._kinds.pop(part, None))
            else:
                self.parts.append(part)
        self.parts.pop()

    def _laid_out(self, text: str, *, heading: bool, cell: bool) -> str:
        """Place the marks of a paragraph, escape its text and write both."""
        if heading and (_STRONG in self._kinds.values() or _BREAK in text):
            strong = [sign for sign, mark in self._kinds.items() if mark is _STRONG]
            text = text.translate(dict.fromkeys(map(ord, strong), None) | {ord(_BREAK): " "})
        text = text.replace(_BREAK, "\n")
        written = self._written
        places, is_lettered = self._places(text)
        if places is None:
            text = self._tidied(text)
            text = text.replace("\n", _BREAK) if cell else text  # a tag, which signs stand beside
        if self._is_marked and not is_lettered:
            written, places = {**written, **self._tags(text)}, None
        has_tex = "$" in text and self._reads_dollars(text)
        is_marked, has_code = self._is_marked, self._has_code
        safe = escaped(text, marked=is_marked, code=has_code, tex=has_tex, begins_line=not (heading or cell))
        if places is None or safe != text:
            text = safe.replace("\n", "  \n")
            places = _found_in_order(written, text)
        parts: list[str] = []
        start = 0
        for sign, place in places:
            parts += text[start:place], written[sign]
            start = place + 1
        return "".join([*parts, text[start:]])

    def _places(self, text: str) -> tuple[list[tuple[str, int]] | None, bool]:
        """Find the marks, if all stand apart, with text on their inner sides and no white space or break there.

        The second answer is whether they stand at letters or digits, where CommonMark sees them.
        """
        if "\n" in text:
            return None, False
        places: list[tuple[str, int]] = []
        last, last_closes, last_sign, is_lettered = -1, False, "", True
        end = len(text) - 1
        for sign in self._written:
            place = text.find(sign, last + 1)
            if place < 0:
                continue
            closes = _CLOSE <= ord(sign) < _RAW
            if last_closes and not closes and place <= last + 2 and self._meet(last_sign, sign, place - last):
                return None, False
            if sign in self._kinds:
                inner = place - 1 if closes else place + 1
                if not 0 <= inner <= end or text[inner] == " ":
                    return None, False
                is_lettered = is_lettered and text[inner].isalnum()
            places.append((sign, place))
            last, last_closes, last_sign = place, closes, sign
        return places, is_lettered

    def _meet(self, closing: str, opening: str, distance: int) -> bool:
        """Tell whether two marks have to be joined or kept apart."""
        first, second = self._kinds.get(closing), self._kinds.get(opening)
        return second is not None and (distance == 1 or (first is second and first is not _LINKED))

    def _tidied(self, text: str) -> str:
        """Leave out marks without text, move white space out of marks and join those with the same mark."""
        while _EMPTY.search(text):
            text = _EMPTY.sub(r"\1", text)
        if _LOOSE.search(text):
            text = _OPENING.sub(_spaces_first, text)
            text = _CLOSING.sub(_spaces_last, text)
        if _MEETING.search(text):
            text = _MEETING.sub(self._merged, text)
        return _BREAKS.sub("\n", _SPACES.sub(" ", text)).strip(" \n")

    def _merged(self, match: re.Match[str]) -> str:
        """Go on with a mark that ends where the next one begins."""
        kind = self._kinds.get(match[1])
        if kind is not self._kinds.get(match[3]) or kind is _LINKED:
            return match[0]
        between = match.string[match.start() - 1] + match.string[match.end() : match.end() + 1]
        return match[2] or " " * (min(between) >= chr(_RAW))  # code beside code would be one piece

    def _tags(self, text: str) -> dict[str, str]:
        """Return the tags to write for marks that CommonMark would not see; nothing around punctuation alone."""
        found: dict[str, str] = {}
        opened: list[tuple[Mark, int, bool]] = []  # kind, place, whether it is seen
        for match in _PRIVATE.finditer(text):
            sign, kind = match[0], self._kinds.get(match[0])
            if kind not in _SIGNS or kind is None:
                continue
            before, after = text[match.start() - 1 : match.start()] or " ", text[match.end() : match.end() + 1] or " "
            if sign < chr(_CLOSE):
                is_run = before >= chr(_CLOSE) and self._kinds.get(before) in _SIGNS  # one run with the signs before
                is_seen = not is_run and not (_is_punctuation(after) and _is_letter(before))
                opened.append((kind, match.start(), is_seen))
                continue
            place = next((i for i in range(len(opened) - 1, -1, -1) if opened[i][0] is kind), -1)
            if place >= 0:
                _, start, is_seen = opened.pop(place)
                if not is_seen or (_is_punctuation(before) and _is_letter(after)):
                    is_bare = kind is not Mark.DELETED and not _SUBSTANCE.search(text, start, match.start())
                    found[text[start]], found[sign] = ("", "") if is_bare else (f"<{kind.value}>", f"</{kind.value}>")
        return found


def _found_in_order(signs: Iterable[str], text: str) -> list[tuple[str, int]]:
    """Return the characters that stand in a text, which have the same order there, with their places."""
    places: list[tuple[str, int]] = []
    last = -1
    for sign in signs:
        place = text.find(sign, last + 1)
        if place >= 0:
            places.append((sign, place))
            last = place
    return places


def _is_punctuation(sign: str) -> bool:
    """Tell whether CommonMark takes a character for punctuation; marks are, as most begin with it."""
    return not sign.isalnum() and (unicodedata.category(sign)[0] in "PS" or sign >= chr(_LINK))


def _is_letter(sign: str) -> bool:
    """Tell whether CommonMark takes a character for neither white space nor punctuation."""
    return sign.isalnum() or not (sign.isspace() or _is_punctuation(sign))


def _spaces_first(match: re.Match[str]) -> str:
    """Move white space before the marks that open around it."""
    marks = match[0].replace(" ", "").replace("\n", "")
    return ("\n" if "\n" in match[0] else " " * (" " in match[0])) + marks


def _spaces_last(match: re.Match[str]) -> str:
    """Move white space after the marks that close around it."""
    marks = match[0].replace(" ", "").replace("\n", "")
    return marks + ("\n" if "\n" in match[0] else " " * (" " in match[0]))
