"""Code blocks of a page: their unchanged lines and their language, also in plain text."""

from __future__ import annotations

import re
from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from blockml.document.shown import OF_CODE, shown_texts
from blockml.page import Flag, Nodes, Page
from blockml.text.words import lazy_pattern

__all__ = [
    "CODE",
    "LINE_ELEMENTS",
    "code_language",
    "code_lines",
    "line_numbers",
    "line_starts",
    "listings",
    "with_line_elements",
    "write_code",
]


#: Elements whose text is code.
CODE = frozenset({"pre", "listing", "xmp", "textarea"})

#: Classes with which highlighters name a language.
_LANGUAGE = lazy_pattern(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|code-|brush:\s*)([\w+#.-]{1,40})(?![\w+#.-])", re.ASCII
)
#: Number of characters of a class attribute that are read, because an element with a very long one may contain
#: thousands of code blocks.
_MAX_CLASSES = 1000
_LANGUAGES = ("data-lang", "data-language", "data-code-language", "lang-name")
#: Words after these prefixes that are not a language.
_NO_LANGUAGE = frozenset("none plain plaintext text txt no-highlight nohighlight notranslate default block wrapper box "
                         "auto toolbar container example snippet listing header highlight line".split())  # fmt: skip
#: Elements of one line each; a button may follow the code.
LINE_ELEMENTS = frozenset({"div", "p", "li", "tr", "button"})
#: Inline elements and classes that hold one line each, which highlighters lay out as blocks, with or without line
#: breaks.
_INLINE, _OF_LINE = frozenset({"span", "code"}), lazy_pattern(r"(?:^|[\s_-])line(?:$|\s)")
#: Levels of elements between a line of code and the listing.
_MAX_LEVELS = 5
#: Maximum length of white space between two lines of code.
_MAX_GAP = 200
#: Classes of line numbers.
_NUMBERS = frozenset("lineno linenos line-number line-numbers ln lnt gutter linenumber blob-num crayon-nums lines-num "
                     "hljs-ln-numbers".split())  # fmt: skip
#: A word that each of these, and each class of a line, has.
_OF_LINES = (b"line", b"ln", b"gutter", b"-num")
#: Words in the class of a line of code, or of an element around all lines, where these are not in ``pre``.
_AROUND_ALL = "syntaxhighlighter"
_OF_ONE_LINE = ("crayon-line", "blob-code", "lines-code", "hljs-ln-code", "code-line")
#: Enum members are slow to look up in Python 3.11.
_PREFORMATTED = int(Flag.PREFORMATTED)
_AROUND_LINES = frozenset({"table", "ol", "ul"})
#: Numbers with this many digits are not line numbers; Python refuses to parse more than 4,300 digits.
_MAX_DIGITS = 10


def code_language(nodes: Nodes, node: int) -> str:
    """Return the language of a code block, as named by the element, its only child or the elements around it.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<pre><code class='hljs language-py'>x</code></pre>").nodes
    >>> code_language(nodes, nodes.indices("pre")[0])
    'py'
    """
    inner = [node + 1] if node + 1 < nodes.end[node] and nodes.tag[node + 1] != 0 else []
    for item in [*inner, node, *nodes.ancestors(node, 3)]:
        attributes = nodes.attributes[item]
        if not attributes:
            continue
        for name in _LANGUAGES:
            if re.fullmatch(r"[\w+#.-]{1,20}", attributes.get(name, ""), re.ASCII):
                return attributes[name].lower()
        for match in _LANGUAGE.finditer(attributes.get("class", "")[:_MAX_CLASSES]):
            if _NO_LANGUAGE.isdisjoint(re.split("__|-", match[1].lower())):
                return match[1].lower()
    return ""


def line_starts(nodes: Nodes) -> list[int]:
    """Return the inline elements in preformatted text that start a line directly after another, without a line break.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<pre><i class=line>a</i><span class=line>b</span><span class=line>c</span>")
    >>> [page.nodes.texts[node + 1] for node in line_starts(page.nodes)]
    ['c']
    """
    named = np.array(nodes.with_any(_OF_LINES), dtype=np.intp)
    named = named[(nodes.flags[named] & _PREFORMATTED) > 0]
    lines = [node for node in named.tolist() if nodes.name(node) in _INLINE and _OF_LINE.search(_classes(nodes, node))]
    texts = np.flatnonzero(nodes.tag == 0) if lines else named
    ends = set(nodes.end[lines].tolist())
    found: list[int] = []
    for node in filter(ends.__contains__, lines):
        is_broken = nodes.name(node - 1) == "br" or nodes.texts[node - 1].endswith("\n")
        place = texts.searchsorted(node)
        after = nodes.texts[texts[place]][:_MAX_GAP] if place < len(texts) else ""  # starts with white space between
        if not is_broken and "\n" not in after[: len(after) - len(after.lstrip())]:
            found.append(node)
    return found


def line_numbers(nodes: Nodes) -> frozenset[int]:
    """Return the elements that are named as line numbers of code.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<pre><i class=lineno>1</i> <b class=linear>x</b>").nodes
    >>> [nodes.name(node) for node in line_numbers(nodes)]
    ['i']
    """
    named = nodes.with_any(_OF_LINES)
    return frozenset([node for node in named if not _NUMBERS.isdisjoint(_classes(nodes, node)[:_MAX_CLASSES].split())])


def listings(nodes: Nodes) -> list[int]:
    """Return the tables, lists and other elements that are code blocks, because highlighters use them to lay out lines.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<table><tr><td class=blob-num>1<td class=blob-code>x = 1</table>").nodes
    >>> [nodes.name(node) for node in listings(nodes)]
    ['table']
    """
    found = set()
    for node in nodes.with_any(OF_CODE):  # each of the names has one of the words
        classes = _classes(nodes, node)
        if nodes.flags[node] & _PREFORMATTED:
            continue
        if _AROUND_ALL in classes:
            found.add(node)
        if any(word in classes for word in _OF_ONE_LINE):
            around = [item for item in nodes.ancestors(node, _MAX_LEVELS) if nodes.name(item) in _AROUND_LINES]
            found.add(around[0] if around else int(nodes.parent[node]))
    return sorted(node for node in found if node >= 0)


def with_line_elements(nodes: Nodes, names: Set[str] = LINE_ELEMENTS) -> list[int]:
    """Return the preformatted elements that contain an element with one of the given names, those of lines by default.

    Examples
    --------
    >>> import blockml
    >>> with_line_elements(blockml.parse("<pre><div>a</div><div></div><div>b</div></pre><pre>c</pre>").nodes)
    [3]
    """
    if CODE.isdisjoint(nodes.names):
        return []
    outer = np.flatnonzero(nodes.named(CODE))
    lines = np.flatnonzero(nodes.named(names) & ((nodes.flags & _PREFORMATTED) != 0))
    return outer[lines.searchsorted(nodes.end[outer]) > lines.searchsorted(outer)].tolist()  # type: ignore[no-any-return]


def _classes(nodes: Nodes, node: int) -> str:
    return nodes.attributes[node].get("class", "")


def code_lines(nodes: Nodes, node: int, shown: NDArray[np.bool_], starts: Set[int], numbered: Set[int]) -> list[str]:
    """Return the lines of a code block, given all ``line_starts`` and ``line_numbers``; empty for a column of these."""
    code = _code(nodes, node, shown, starts, numbered)
    lines = [line.rstrip() for line in code.replace("\r", "").replace("\xa0", " ").split("\n")]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    numbers = [line.strip() for line in lines if line.strip()]
    if len(numbers) > 1 and numbers[0].isdecimal() and len(numbers[0]) < _MAX_DIGITS:
        first = int(numbers[0])
        if numbers == [str(number) for number in range(first, first + len(numbers))]:
            return []
    return lines


def _code(nodes: Nodes, node: int, shown: NDArray[np.bool_], starts: Set[int], numbered: Set[int]) -> str:
    """Join the texts of a code block without line numbers; removed texts are replaced by a space or a line break."""
    pieces: list[str] = []
    skipped, gap, is_empty = 0, "", False
    ends: list[int] = []  # of the open elements that hold one line each
    content = -1  # the next text or line break: the result of the last search
    names, first, stop = nodes.names, node + 1, nodes.end.item(node)
    columns = (nodes.tag[first:stop].tolist(), nodes.end[first:stop].tolist(), shown[first:stop].tolist())
    for item, (tag, end, is_shown, text) in enumerate(zip(*columns, nodes.texts[first:stop], strict=True), start=first):
        while ends and ends[-1] <= item:
            ends.pop()
            _break(pieces)
        if item < skipped:
            continue
        if tag == 0:
            own, is_empty = _after_empty_line(text) if is_empty else text, False
            if is_shown or not own.strip():
                if pieces and not (gap == " " and pieces[-1].endswith("\n")):  # a line keeps its indent
                    pieces.append(gap)
                pieces.append(own)
                gap = ""
            else:
                gap = "\n" if "\n" in own or gap == "\n" else " "
        elif names[tag] == "br" or item in starts:
            pieces.append("\n")
        elif item in numbered:
            skipped = end
            before = nodes.texts[item + 1] if item + 1 < skipped else ""  # white space between tags is in the next text
            pieces += ["\n"] * before[: len(before) - len(before.lstrip())].count("\n")
        elif names[tag] in LINE_ELEMENTS:
            _break(pieces)
            ends.append(end)
            content = _next_content(nodes, item, stop, numbered) if content < item else content
            if pieces and names[tag] != "button" and content >= end:
                pieces.append("\n")
                is_empty, skipped = True, ends.pop()
    return "".join(pieces)


def _next_content(nodes: Nodes, item: int, end: int, numbered: Set[int]) -> int:
    """Return the first line break, or text that is not a line number, at or after a node; else ``end``."""
    while item < end and nodes.tag[item] != 0 and nodes.name(item) != "br":
        item = int(nodes.end[item]) if item in numbered else item + 1
    return item


def _after_empty_line(text: str) -> str:
    """Return a text without the white space of the empty line before it."""
    inner = text.lstrip()
    indent = text[: len(text) - len(inner)].rpartition("\n")[2]
    return inner if len(indent) == 1 else indent + inner


def _break(pieces: list[str]) -> None:
    """End the current line, if there is one."""
    if pieces and not pieces[-1].endswith("\n"):
        pieces.append("\n")


def write_code(page: Page, rows: NDArray[np.intp], gaps: list[str], texts: list[str]) -> None:
    """Replace the texts of code by its lines, in place.

    ``texts`` are those of the kept blocks ``rows``, and ``gaps`` the white space before each. The first block of a
    listing gets all of its lines, and its other blocks get an empty text. Columns of line numbers are removed. Code in
    ``pre`` that has no element for each line is not changed.
    """
    nodes, owners = page.nodes, page.blocks.node[rows]
    with_lines, numbered = _preformatted(page, rows)
    code = sorted({*listings(nodes), *with_lines, *numbered})
    if not code:
        return
    ranges = np.searchsorted(owners, np.array([code, nodes.end[code]], dtype=owners.dtype)).T.tolist()
    shown, starts, numbers, after = shown_texts(page, rows), frozenset(line_starts(nodes)), line_numbers(nodes), 0
    for node, (first, stop) in zip(code, ranges, strict=True):
        if node < after or first == stop:
            continue
        after = nodes.end.item(node)
        lines = code_lines(nodes, node, shown, starts, numbers)
        is_column = not lines and stop < len(rows) and page.blocks.flags[rows[stop]] & _PREFORMATTED  # of line numbers
        if node in numbered and not is_column:
            continue
        texts[first:stop] = ["\n".join(lines), *[""] * (stop - first - 1)]
        gaps[first + 1 : stop] = [""] * (stop - first - 1)
        if "\n" not in gaps[first]:
            gaps[first] = "\n"
        if not lines and stop < len(gaps):
            gaps[stop], gaps[first] = gaps[first], ""


def _preformatted(page: Page, rows: NDArray[np.intp]) -> tuple[list[int], set[int]]:
    """Return the preformatted elements with an element for each line, and others whose text starts with a number."""
    nodes, blocks = page.nodes, page.blocks
    if not blocks.any_flag(_PREFORMATTED) or not (blocks.flags[rows] & _PREFORMATTED).any():
        return [], set()
    with_lines = with_line_elements(nodes, LINE_ELEMENTS | {"br"})
    others = {*np.flatnonzero(nodes.named(CODE)).tolist()}.difference(with_lines)
    return with_lines, {node for node in others if _has_number(nodes, node)}


def _has_number(nodes: Nodes, node: int) -> bool:
    """Tell whether the first text of an element starts with a number."""
    texts = nodes.tag[node : nodes.end[node]] == 0
    place = int(texts.argmax())
    return bool(texts[place]) and nodes.texts[node + place].lstrip()[:1].isdecimal()
