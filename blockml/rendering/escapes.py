"""Escapes of what Markdown would read as a mark, and of nothing else."""

from __future__ import annotations

import re
from html.entities import html5

__all__ = ["escaped", "heading_line", "in_dollars"]

#: Characters of the private planes stand for marks and Markdown that is written already.
_PRIVATE = "\U000f0000-\U0010ffff"
_LINK_OPENS, _LINK_CLOSES = "\U000f0000-\U000f7fff", "\U00104000-\U00107fff"
#: Characters, beside digits, that a line begins with if it needs an escape there.
_FIRST = frozenset("#>-+*_~`=|:<")
#: Begin of a heading, quotation, item, code block, table or tag, and lines that are a rule or stand below a heading or
#: the header of a table.
_LINE_START = re.compile(
    r"^(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|~~~|```|(?P<sign>[*_])(?: ?(?P=sign)){2,} ?$|=+$|:?-[-:| ]*$|\|(?=.*\|$)"
    r"|<(?=[A-Za-z/!?])|\d{1,9}(?P<dot>[.)])(?=\s|$))",
    re.MULTILINE,
)
#: Begin of a tag, within which only the value of an attribute may have another one, or of an instruction.
_TAG = re.compile(r"""<(?=\?|!(?:--|[A-Za-z])|[A-Za-z/][^<]*(?:>|=\s*["']))""")
#: By first character, as such patterns are found fast: a backslash before punctuation or a mark, the begin of a tag,
#: an exclamation mark before a bracket.
_ALWAYS = {
    "\\": re.compile(rf"\\(?=[!-/:-@\[-`{{-~{_PRIVATE}])"),
    "<": _TAG,
    "!": re.compile(rf"!(?=\\?\[|[{_LINK_OPENS}])"),
}
#: A bracket that defines a link; brackets, and marks that open a link.
_DEFINITION = re.compile(r"^\[(?=[^\]\n]+\]:)", re.MULTILINE)
_BRACKET_OR_LINK = re.compile(rf"[\[\]{_LINK_OPENS}]")
_LINK_TEXT = re.compile(f"[{_LINK_OPENS}][^{_LINK_CLOSES}]*")
#: A bracket, or what is escaped already.
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_ENTITY = re.compile(r"&(?:#\w{1,8};|(\w{1,31};))")
_RUN = re.compile(r"([*_~`])\1*")
_RUN_OR_MARK = re.compile(rf"([*_~`{_PRIVATE}])\1*")
_FIRST_OPEN, _FIRST_CLOSE, _FIRST_RAW = "\U000f0000", "\U00100000", "\U00108000"
#: A formula ends before the next one begins, or the search for its end would begin anew at each opening bracket.
_FORMULA = re.compile(
    r"\\\((?P<inline>(?:(?!\\\().)+?)\\\)|\\\[(?P<display>(?:(?!\\\[).)+?)\\\]|\$\$(?P<dollars>[^$]+)\$\$", re.DOTALL
)
_DOLLARS = re.compile(_FORMULA.pattern + r"|(?<![\\$])\$(?P<single>[^$]+)\$", re.DOTALL)
_HAS_PRIVATE = re.compile(f"[{_PRIVATE}]")
_FORMULA_PLACE = "\1"


def heading_line(level: int, text: str) -> str:
    r"""Return the line of a heading from its Markdown; number signs at the end that would close it are escaped.

    Examples
    --------
    >>> heading_line(2, "Cats"), heading_line(1, "C #"), heading_line(1, "C#")
    ('## Cats', '# C \\#', '# C#')
    """
    before = text.rstrip("#")
    closes = len(before) < len(text) and (not before or before[-1] == " ")
    return f"{'#' * level} {text[:-1]}\\#" if closes else f"{'#' * level} {text}"


def escaped(text: str, *, marked: bool = False, code: bool = False, tex: bool = False, begins_line: bool = True) -> str:
    """Escape a paragraph.

    Parameters
    ----------
    text
        The text, with characters of private planes in place of marks.
    marked
        Whether marks of emphasis are among them.
    code
        Whether code is among them.
    tex
        Whether text between dollar signs is a formula.
    begins_line
        Whether the text begins a line, as that of a heading or cell doesn't.

    Examples
    --------
    >>> escaped("2 * 3 and *so* in a_b_c"), escaped("1. is [it](x) <b> R&D?")
    ('2 * 3 and \\\\*so\\\\* in a_b_c', '1\\\\. is \\\\[it](x) \\\\<b> R&D?')
    """
    formulas: list[str] = []
    has_tex = ("$" in text and "$$" in text) or ("\\" in text and ("\\(" in text or "\\[" in text))
    if tex or has_tex:
        text = (_DOLLARS if tex else _FORMULA).sub(lambda match: _hidden(match, formulas), text)
    for sign, pattern in _ALWAYS.items():
        if sign in text:
            text = pattern.sub(r"\\\g<0>", text)
    if "[" in text or "]" in text:
        text = _without_links(text)
        text = _LINK_TEXT.sub(_balanced, text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: match[0] if match[1] and match[1] not in html5 else f"\\{match[0]}", text)
    has_runs = "*" in text or "_" in text or "~" in text or "`" in text
    if has_runs and (places := _active_runs(text, marked=marked, code=code)):
        text = _RUN.sub(lambda match: "\\" + "\\".join(match[0]) if match.start() in places else match[0], text)
    if formulas:
        hidden = iter(formulas)
        text = re.sub(_FORMULA_PLACE, lambda _: next(hidden), text)
    if not begins_line:
        return text
    if "\n" in text:
        return _LINE_START.sub(_escaped_start, text)
    if text and (text[0] in _FIRST or text[0].isdecimal()) and (match := _LINE_START.match(text)):
        return _escaped_start(match) + text[match.end() :]
    return text


def in_dollars(tex: str, *, display: bool) -> str:
    """Write a formula within a text, or as one of its own (``display``); what may be a tag gets a space, as TeX allows.

    Examples
    --------
    >>> in_dollars("a<b>c", display=False), in_dollars("a<b", display=True)
    ('$a< b>c$', '$$a<b$$')
    """
    tex = _TAG.sub("< ", tex)
    return f"$${tex}$$" if display else f"${tex}$"


def _escaped_start(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\{match[0][-1]}" if match["dot"] else f"\\{match[0]}"


def _without_links(text: str) -> str:
    """Escape the brackets that define a link, or that are open where a closing one and the next sign begin one."""
    places = {match.start() for match in _DEFINITION.finditer(text)}
    opened: list[int] = []
    for match in _BRACKET_OR_LINK.finditer(text) if "](" in text or "][" in text else ():
        if match[0] == "[":
            opened.append(match.start())
        elif match[0] != "]":  # no link holds another
            opened.clear()
        elif text[match.end() : match.end() + 1] in ("(", "["):
            places.update(opened)
            opened.clear()
        elif opened:
            opened.pop()
    return re.sub(r"\[", lambda match: "\\" * (match.start() in places) + "[", text) if places else text


def _balanced(match: re.Match[str]) -> str:
    """Escape the brackets in the text of a link that have no partner there, as they would end it or begin another."""
    opened: list[int] = []
    alone: set[int] = set()
    for bracket in _BRACKET.finditer(match[0]):
        if bracket[0] == "[":
            opened.append(bracket.start())
        elif bracket[0] == "]" and opened:
            opened.pop()
        elif bracket[0] == "]":
            alone.add(bracket.start())
    alone.update(opened)
    if not alone:
        return match[0]
    return _BRACKET.sub(lambda bracket: "\\" * (bracket.start() in alone) + bracket[0], match[0])


def _hidden(match: re.Match[str], formulas: list[str]) -> str:
    """Keep a formula in the notation of MathJax, in that of Markdown, and return what stands in its place."""
    if _HAS_PRIVATE.search(match[0]):
        return match[0]
    inline = match["inline"] or match.groupdict().get("single")
    formulas.append(in_dollars((inline or match["display"] or match["dollars"]).strip(), display=not inline))
    return _FORMULA_PLACE


def _active_runs(text: str, *, marked: bool, code: bool) -> set[int]:
    """Return the places of runs of ``*``, ``_``, ``~`` and backticks that would begin or end a marked part."""
    able: dict[str, list[tuple[int, bool, bool]]] = {}  # place, whether it can begin and end a part
    found: set[int] = set()
    depth = 0  # marks that are open
    for match in (_RUN_OR_MARK if marked else _RUN).finditer(text):
        start, end = match.span()
        kind = text[start]
        if kind >= _FIRST_OPEN:
            depth += 1 if kind < _FIRST_CLOSE else -1 if kind < _FIRST_RAW else 0
            continue
        if kind == "~" and end - start > 2:
            continue
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        begins = not after.isspace() and (after.isalnum() or not before.isalnum())
        # A line of signs only is a rule that is escaped at its first sign; the others might end a part.
        ends = (not before.isspace() or before == "\n") and (before.isalnum() or not after.isalnum())
        if kind == "_":
            begins, ends = begins and not before.isalnum(), ends and not after.isalnum()
        elif kind == "`":
            begins = ends = True
        is_joined = depth or before >= _FIRST_OPEN or after >= _FIRST_OPEN
        if marked and ((is_joined and (begins or ends) and kind in "*~") or (begins and kind == "*")):
            found.add(start)
        elif begins or ends:
            able.setdefault(kind, []).append((start, begins, ends))
    for kind, runs in able.items():
        first = next((i for i, run in enumerate(runs) if run[1]), len(runs))
        is_paired = any(run[2] for run in runs[first + 1 :])
        if is_paired or (kind == "`" and code):
            found.update([run[0] for run in runs])
    return found
