"""Escapes of exactly those characters that Markdown would read as a mark.

All of them are found in :func:`escaped`, on the line as written, so that a tag or link is also seen if it is made of a
text, a picture, a formula and an address. Only text of the page is escaped, never our own marks.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from html.entities import html5

__all__ = ["Kind", "Line", "escaped", "heading_line", "needs_escape"]


class Kind(StrEnum):
    """Kinds of characters of a line, one letter each."""

    TEXT = "t"  #: text of the page
    MARKED = "m"  #: text of the page within a link or emphasis
    ALT = "a"  #: text of a picture
    FORMULA = "f"
    CODE = "c"  #: inline code with its backticks
    OWN = "o"  #: marks, tags and addresses that we write


@dataclass(slots=True)
class Line:
    """A paragraph, heading or cell as it is written, before escapes; a paragraph may have several lines."""

    written: str
    kinds: str  #: One :class:`Kind` for each character.
    text: str  #: ``written`` with a zero in place of each character that is not text of the page.
    links: Sequence[tuple[int, int]] = ()  #: Where the text of each link begins and ends.
    has_emphasis: bool = False  #: Whether marks of emphasis are among our own.


#: Enum members are slow to look up in Python 3.11.
_TEXT, _ALT, _FORMULA, _CODE = "tm", "a", "f", "c"
#: First characters, besides digits, of lines that may need an escape there.
_FIRST = frozenset("#>-+*_~`=|:<")
#: Start of a heading, quotation, item, code block, table or tag, and lines that are a rule or underline a heading or
#: the header of a table.
_LINE_START = re.compile(
    r"^(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|~~~|```|(?P<sign>[*_])(?: ?(?P=sign)){2,} ?$|=+$|:?-[-:| ]*$|\|(?=.*\|$)"
    r"|<(?=[A-Za-z/!?])|\d{1,9}(?P<dot>[.)])(?=\s|$))",
    re.MULTILINE,
)
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_PICTURE = re.compile(r"!(?=\\?\[)")
_MAIL = r"[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9.-]+>"
#: Start of a tag (in which only the value of an attribute may contain another start), an instruction or an address.
_TAG = re.compile(rf"""<(?=\?|!(?:--|[A-Za-z]|\[CDATA\[)|[A-Za-z/][^<]*(?:>|=\s*["'])|{_MAIL})""")
#: The same in a row of a table, where the end of the tag may be in a later cell.
_TAG_START = re.compile(rf"<(?=[A-Za-z/!?]|{_MAIL})")
_ENTITY = re.compile(r"&(?:#\w{1,8};|(\w{1,31};))")
_BRACKET, _DEFINITION = re.compile(r"[\[\]]"), re.compile(r"^\[", re.MULTILINE)
_RUN = re.compile(r"([*_~`])\1*")
#: Replacements in formulas for characters that would start a tag, link or code; TeX shows the same.
_IN_FORMULA = {"<": "< ", "]": "] ", "`": "‘"}


def heading_line(level: int, text: str) -> str:
    r"""Return the line of a heading from its Markdown; trailing number signs that would close it are escaped.

    Examples
    --------
    >>> heading_line(2, "Cats"), heading_line(1, "C #"), heading_line(1, "C#")
    ('## Cats', '# C \\#', '# C#')
    """
    before = text.rstrip("#")
    closes = len(before) < len(text) and (not before or before[-1] == " ")
    return f"{'#' * level} {text[:-1]}\\#" if closes else f"{'#' * level} {text}"


def needs_escape(page: str, *, begins_line: bool) -> bool:
    """Tell whether the page's text of a line, without marks and code, has a character that may need an escape.

    Exclamation marks are not looked for, because they need an escape only before a link or bracket.

    Examples
    --------
    >>> needs_escape("1 and 2", begins_line=False), needs_escape("1. a", begins_line=True)
    (False, True)
    """
    if begins_line and (page[:1] in _FIRST or page[:1].isdecimal() or "\n" in page):
        return True
    # Looking for each sign is many times faster than a regular expression, and most lines have none.
    return (
        "*" in page or "_" in page or "[" in page or "]" in page or "<" in page or "\\" in page or "~" in page
        or "`" in page or ("&" in page and ";" in page)
    )  # fmt: skip


def escaped(line: Line, *, begins_line: bool = True, in_cell: bool = False) -> str:
    """Escape a line.

    Parameters
    ----------
    line
        The line.
    begins_line
        Whether it starts a line of Markdown; a heading or cell doesn't.
    in_cell
        Whether other cells are on the same line: parsers without tables may pair marks of different cells.

    Examples
    --------
    >>> def of(text):
    ...     return escaped(Line(text, "t" * len(text), text))
    >>> of("2 * 3 and *so* in a_b_c"), of("1. is [it](x) <b> R&D?")
    ('2 * 3 and \\\\*so\\\\* in a_b_c', '1\\\\. is \\\\[it](x) \\\\<b> R&D?')
    """
    text, places = line.written, set[int]()
    if "\\" in text:
        places.update([match.start() for match in _BACKSLASH.finditer(text)])
    if "<" in text:
        places.update([match.start() for match in (_TAG_START if in_cell else _TAG).finditer(text)])
    if "!" in text:
        places.update([match.start() for match in _PICTURE.finditer(text)])
    if "&" in text:
        entities = [match.start() for match in _ENTITY.finditer(text) if not match[1] or match[1] in html5]
        places.update([place for place in entities if line.kinds[place] != _FORMULA])
    if "[" in text or "]" in text:
        _add_brackets(line, places, begins_line=begins_line, in_cell=in_cell)
    if "*" in text or "_" in text or "~" in text or "`" in text:
        _add_runs(line, places, in_cell=in_cell)
    if begins_line and ("\n" in text or text[:1] in _FIRST or text[:1].isdecimal()):
        for match in _LINE_START.finditer(text):
            places.add(match.end() - 1 if match["dot"] else match.start())
    if not places:
        return text
    pieces, done = list[str](), 0
    in_order = array("q", sorted(places))
    places.clear()  # a set of integers takes ten times as much memory as an array, and pieces as much again
    for place in in_order:
        kind = line.kinds[place]
        if kind in _TEXT or kind == _ALT:
            pieces += text[done:place], "\\"
            done = place
        elif kind == _FORMULA:
            pieces += text[done:place], _IN_FORMULA.get(text[place], text[place])
            done = place + 1
    return "".join([*pieces, text[done:]])


def _add_brackets(  # noqa: PLR0912 (one pass over brackets)
    line: Line, places: set[int], *, begins_line: bool, in_cell: bool
) -> None:
    """Add the brackets that would start or end a link, picture or definition, or end the text of a link."""
    text, kinds = line.written, line.kinds
    brackets = [match.start() for match in _BRACKET.finditer(text) if kinds[match.start()] not in "oc"]
    if not brackets:
        return
    opened: list[int] = []
    fixed: list[int] = []  # brackets of formulas before all of these, which are not escaped
    for place in brackets:
        if kinds[place] == _ALT:
            places.add(place)
        elif text[place] == "[":
            opened.append(place)
        elif text[place + 1 : place + 2] in ("(", "[") and kinds[place + 1] in "tmf":
            for start in opened:
                if kinds[start] == _FORMULA:
                    fixed.append(start)
                else:
                    places.add(start)
            opened = []
            if in_cell or kinds[place] == _FORMULA or fixed:  # in a table, one in another cell may be the partner
                places.add(place)
        elif opened:
            opened.pop()
        elif fixed:
            fixed.pop()
        elif in_cell and kinds[place] != _FORMULA:
            places.add(place)
    if in_cell:
        places.update(opened)
    for start, end in line.links:
        first, last = bisect(brackets, start - 1), bisect(brackets, end - 1)
        places.update(_unpaired(line, [place for place in brackets[first:last] if place not in places]))
    if begins_line and "]:" in text:
        ends = [place for place in map(re.Match.start, re.finditer(r"\]", text)) if place not in places]
        for match in _DEFINITION.finditer(text):
            following = bisect(ends, match.start())
            if following < len(ends) and text[ends[following] + 1 : ends[following] + 2] == ":":
                places.add(match.start())


def _unpaired(line: Line, brackets: Sequence[int]) -> list[int]:
    """Return those of the given brackets that have no partner among them."""
    opened, found = list[int](), list[int]()
    for place in brackets:
        if line.kinds[place] == _FORMULA:
            continue
        if line.written[place] == "[":
            opened.append(place)
        elif opened:
            opened.pop()
        else:
            found.append(place)
    return found + opened


def _add_runs(line: Line, places: set[int], *, in_cell: bool) -> None:
    """Add the runs of ``*``, ``_``, ``~`` and backticks that would start or end a marked part."""
    text, marked = line.text, line.has_emphasis
    able: dict[str, array[int]] = {}  # start and end of each run that can start or end a part
    first, last = dict[str, int](), dict[str, int]()  # the first of these that can start one, the last that can end one
    for match in _RUN.finditer(text):
        start, end = match.span()
        kind = text[start]
        if kind == "~" and end - start > 2:
            continue
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        begins = not after.isspace() and (after.isalnum() or not before.isalnum())
        # A line of only signs is a rule, which is escaped at its first sign; the others might end a part.
        ends = (not before.isspace() or before == "\n") and (before.isalnum() or not after.isalnum())
        if kind == "_":
            begins, ends = begins and not before.isalnum(), ends and not after.isalnum()
        elif kind == "`":
            begins = ends = True
        is_joined = line.kinds[start] == "m" or "\0" in (before, after)
        if marked and ((is_joined and (begins or ends) and kind in "*~") or (begins and kind == "*")):
            places.update(range(start, end))
        elif begins or ends:
            runs = able.setdefault(kind, array("q"))
            if begins:
                first.setdefault(kind, len(runs))
            if ends:
                last[kind] = len(runs)
            runs.extend((start, end))
    for kind, runs in able.items():
        is_pair = kind in first and last.get(kind, 0) > first[kind]
        if is_pair or (kind == "`" and (in_cell or _CODE in line.kinds)):
            for start, end in zip(runs[::2], runs[1::2], strict=True):
                places.update(range(start, end))
    if "`" in line.written and "\0" in text:
        places.update([place for place, sign in enumerate(line.written) if sign == "`" and line.kinds[place] in "af"])
