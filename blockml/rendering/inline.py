"""Text within one paragraph as Markdown: emphasis, links and code, and the escapes that the text needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = ["Close", "Mark", "Open", "Raw", "Token", "inline_markdown"]


class Mark(Enum):
    """Kinds of marks around a part of a text."""

    STRONG = "**"
    EMPHASIS = "*"
    DELETED = "~~"
    SUBSCRIPT = "sub"
    SUPERSCRIPT = "sup"
    CODE = "`"
    LINK = "["


@dataclass(frozen=True, slots=True)
class Open:
    """Begin of a marked part."""

    mark: Mark
    address: str = ""  #: of a link


@dataclass(frozen=True, slots=True)
class Close:
    """End of the marked part that was opened last with the same mark."""

    mark: Mark


@dataclass(frozen=True, slots=True)
class Raw:
    """Markdown that is written as it is: an image or a formula. A line break is ``Raw("\\n")``."""

    text: str


Token = str | Open | Close | Raw

#: Tags in place of marks that CommonMark would not read as such.
_TAGS = {Mark.STRONG: "strong", Mark.EMPHASIS: "em", Mark.DELETED: "del"}
#: Place of a mark while the text around it is escaped.
_PLACE = "\0"
_SPACES = re.compile(r"[ \t\r\n\f\v]+")
#: A text without these needs no escape, wherever it stands.
_SPECIAL = re.compile(r"[\\*_`\[<&~$]|\n")
_LINE_START = re.compile(
    r"^(?:(?P<whole>#{1,6}(?=\s|$)|>|[-+](?=\s|$)|~~~|```|(?:[-=] ?)+$|\|(?=.*\|$))|\d{1,9}(?P<dot>[.)])(?=\s|$))"
)
#: A backslash before punctuation, the begin of a tag, an entity, an opening bracket whose closing one begins a link.
_ALWAYS = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|<(?=[A-Za-z/!?])|&(?=#?\w{1,31};)|\[(?=[^\[\]\0]*\][(\[])|!(?=\[)|^\[(?=[^\]]+\]:)",
    re.MULTILINE,
)
_RUN = re.compile(r"\*+|_+|~{1,2}(?!~)|`+")
_FORMULA = re.compile(r"\\\((?P<inline>.+?)\\\)|\\\[(?P<display>.+?)\\\]|\$\$(?P<dollars>[^$]+)\$\$", re.DOTALL)


def inline_markdown(tokens: Sequence[Token], *, heading: bool = False) -> str:
    """Write the text of a paragraph, heading or cell; empty if nothing of it is visible.

    Marks end and begin at words, marks without text are left out, and adjacent parts with the same mark become one.

    Examples
    --------
    >>> inline_markdown(["2 * 3, a_b, ", Open(Mark.STRONG), " so ", Close(Mark.STRONG), "it is"])
    '2 * 3, a_b, **so** it is'
    """
    if all(type(token) is str for token in tokens):
        text = _SPACES.sub(" ", "".join(tokens)).strip(" ")  # type: ignore[arg-type]
        return _escaped(text, marked=False)
    pieces = _trimmed(_with_code(tokens))
    if heading:
        strong = (Open(Mark.STRONG), Close(Mark.STRONG))
        pieces = [Raw(" ") if piece == Raw("\n") else piece for piece in pieces if piece not in strong]
    return _joined(pieces)


def _with_code(tokens: Sequence[Token]) -> Iterator[Token]:
    """Iterate over tokens with each code span as one piece; other marks inside of code are left out."""
    texts: list[str] | None = None
    for token in tokens:
        if texts is None:
            if isinstance(token, Open) and token.mark is Mark.CODE:
                texts = []
            elif not (isinstance(token, Close) and token.mark is Mark.CODE):
                yield token
        elif isinstance(token, str):
            texts.append(token)
        elif isinstance(token, Raw) or token.mark in (Mark.CODE, Mark.LINK):
            yield from _code("".join(texts))
            texts = None if isinstance(token, Close) and token.mark is Mark.CODE else []
            if not isinstance(token, Close) or token.mark is not Mark.CODE:
                yield token
    if texts:
        yield from _code("".join(texts))


def _code(text: str) -> Iterator[Token]:
    """Iterate over a code span and the white space around it."""
    words = _SPACES.sub(" ", text)
    inner = words.strip(" ")
    if not inner:
        yield words
        return
    fence = "`" * (1 + max(map(len, re.findall("`+", inner)), default=0))
    gap = " " if inner[0] == "`" or inner[-1] == "`" else ""
    yield " " * words.startswith(" ")
    yield Raw(f"{fence}{gap}{inner}{gap}{fence}")
    yield " " * words.endswith(" ")


def _trimmed(tokens: Iterator[Token]) -> list[Token]:
    """Return the tokens with single spaces, none inside the edges of marks, and no mark without text."""
    out: list[Token] = []
    opened: list[Open] = []  # open marks; the last ones are not written yet
    n_written = 0
    space = False
    for token in tokens:
        if isinstance(token, Open):
            opened.append(token)
        elif isinstance(token, Close):
            place = max((i for i, mark in enumerate(opened) if mark.mark is token.mark), default=-1)
            if place < 0:
                continue
            if place < n_written:
                out.append(token)
                n_written -= 1
            del opened[place]
        elif token == Raw("\n"):
            if out and out[-1] != token:
                out.append(token)
            space = False
        else:
            text = _SPACES.sub(" ", token) if isinstance(token, str) else token.text
            if text.startswith(" "):
                space, text = True, text[1:]
            if not text:
                continue
            if space and out and out[-1] != Raw("\n"):
                out.append(" ")
            space = isinstance(token, str) and text.endswith(" ")
            for mark in opened[n_written:]:
                _begin(out, mark)
            n_written = len(opened)
            out.append(text.removesuffix(" ") if isinstance(token, str) else token)
    while out and (out[-1] == Raw("\n") or out[-1] == " "):
        out.pop()
    out.extend(Close(mark.mark) for mark in reversed(opened[:n_written]))
    return out


def _begin(out: list[Token], mark: Open) -> None:
    """Write the begin of a mark, or continue the one that has just ended with the same mark."""
    if mark.mark is not Mark.LINK:
        if out[-1:] == [Close(mark.mark)]:
            out.pop()
            return
        if out[-2:] == [Close(mark.mark), " "]:
            del out[-2]
            return
    out.append(mark)


def _joined(pieces: Sequence[Token]) -> str:
    """Join texts and marks; texts are escaped."""
    text = "".join([piece if isinstance(piece, str) else _PLACE for piece in pieces])
    stars = any(isinstance(piece, Open) and piece.mark in _TAGS for piece in pieces)
    raw = any(isinstance(piece, Raw) and "`" in piece.text for piece in pieces)
    marks = [piece for piece in pieces if not isinstance(piece, str)]
    parts = _escaped(text, marked=stars, code=raw).split(_PLACE)
    as_tags = _needing_tags(marks, text.split(_PLACE))
    out, links = [parts[0]], [""]
    for place, (mark, after) in enumerate(zip(marks, parts[1:], strict=True)):
        if isinstance(mark, Raw):
            out.append("  \n" if mark.text == "\n" else mark.text)
        elif mark.mark is Mark.LINK:
            if isinstance(mark, Open):
                if out[-1].endswith("!"):
                    out[-1] = out[-1][:-1] + "\\!"
                links.append(mark.address)
                out.append("[")
            else:
                out.append(f"]({links.pop()})")
        else:
            tag = mark.mark.value if mark.mark in (Mark.SUBSCRIPT, Mark.SUPERSCRIPT) else None
            tag = _TAGS[mark.mark] if place in as_tags else tag
            end = "/" * isinstance(mark, Close)
            out.append(mark.mark.value if tag is None else f"<{end}{tag}>")
        out.append(after)
    return "".join(out)


def _needing_tags(marks: Sequence[Open | Close | Raw], texts: Sequence[str]) -> set[int]:
    """Return the places of emphasis that CommonMark would not read, because punctuation and a letter meet there."""
    found: set[int] = set()
    opened: list[int] = []
    for place, mark in enumerate(marks):
        if isinstance(mark, Open):
            opened.append(place)
        elif isinstance(mark, Close):
            start = next((i for i in reversed(opened) if marks[i].mark is mark.mark), None)  # type: ignore[union-attr]
            if start is None:
                continue
            opened.remove(start)
            if mark.mark not in _TAGS:
                continue
            before, first = texts[start][-1:], (texts[start + 1] or "(")[0]
            last, after = (texts[place] or ")")[-1], texts[place + 1][:1]
            if (before.isalnum() and not first.isalnum()) or (after.isalnum() and not last.isalnum()):
                found |= {start, place}
    return found


def _escaped(text: str, *, marked: bool, code: bool = False) -> str:
    """Escape what Markdown would read as a mark, and nothing else.

    Parameters
    ----------
    text
        The text, with ``_PLACE`` in place of marks.
    marked
        Whether marks of emphasis are among them.
    code
        Whether code is among them.

    Examples
    --------
    >>> _escaped("2 * 3 and *so* in a_b_c", marked=False), _escaped("1. is [it](x) <b> R&D?", marked=False)
    ('2 * 3 and \\\\*so\\\\* in a_b_c', '1\\\\. is \\\\[it](x) \\\\<b> R&D?')
    """
    if _SPECIAL.search(text):
        formulas: list[str] = []
        if "\\(" in text or "\\[" in text or "$$" in text:
            text = _FORMULA.sub(lambda match: _hide(match, formulas), text)
        text = _ALWAYS.sub(lambda match: "\\" + match[0], text)
        places = _active_runs(text, marked=marked, code=code)
        if places:
            text = _RUN.sub(
                lambda match: "".join("\\" + mark for mark in match[0]) if match.start() in places else match[0], text
            )
        for formula in formulas:
            text = text.replace("\1", formula, 1)
    match = _LINE_START.match(text)
    if match:
        place = match.start("dot") if match["dot"] else 0
        text = f"{text[:place]}\\{text[place:]}"
    return text


def _hide(match: re.Match[str], formulas: list[str]) -> str:
    """Keep a formula in the notation of MathJax, in that of Markdown, and return what stands in its place."""
    if _PLACE in match[0]:
        return match[0]
    inline = match["inline"]
    formulas.append(f"${inline.strip()}$" if inline else f"$${(match['display'] or match['dollars']).strip()}$$")
    return "\1"


def _active_runs(text: str, *, marked: bool, code: bool) -> set[int]:
    """Return the places of runs of ``*``, ``_``, ``~`` and ````` ` ````` that would begin or end a marked part."""
    able: dict[str, list[tuple[int, bool, bool]]] = {}  # place, whether it can begin and end a part
    for match in _RUN.finditer(text):
        if match.start() and text[match.start() - 1] == "\\":
            continue
        kind = match[0][0]
        before, after = text[match.start() - 1 : match.start()] or " ", text[match.end() : match.end() + 1] or " "
        begins = not after.isspace() and (after.isalnum() or not before.isalnum())
        ends = not before.isspace() and (before.isalnum() or not after.isalnum())
        if kind == "_":
            begins, ends = begins and not before.isalnum(), ends and not after.isalnum()
        if kind == "`":
            begins = ends = True
        if begins or ends:
            able.setdefault(kind, []).append((match.start(), begins, ends))
    found: set[int] = set()
    for kind, runs in able.items():
        first = next((i for i, run in enumerate(runs) if run[1]), len(runs))
        paired = any(run[2] for run in runs[first + 1 :])
        if paired or (kind in "*~" and marked) or (kind == "`" and code):
            found.update(run[0] for run in runs)
    return found
