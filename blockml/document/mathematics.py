"""Formulas of a page as TeX, and their place in plain text."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from blockml.document.mathml import tex_of_mathml
from blockml.document.shown import TEX_SCRIPT, line_element, may_have_formulas, shown_texts, text_sums
from blockml.page import Flag, Nodes, Page

__all__ = [
    "Formulas",
    "find_formula_images",
    "find_formulas",
    "formula_of_image",
    "shown_formulas",
    "write_formulas",
    "writes_dollars",
]


#: Formulas by node, and the nodes whose subtrees repeat a formula.
Formulas = tuple[Mapping[int, str], frozenset[int]]

_NONE: Formulas = ({}, frozenset())
#: Comments and scripts; one without an end extends to the end of the page.
_SCRIPT = re.compile(
    rb"<!--.*?(?:-->|\Z)|<script\b(?P<attributes>[^>]*+)(?:>(?P<text>.*?)(?:</script\b|\Z)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TEX = re.compile(r"tex", re.IGNORECASE)
#: Pictures of formulas: addresses of the programs that draw them, classes, and characters of TeX.
_TEX_SOURCE = re.compile(r"latex|mathtex|mimetex|codecogs|/math/render/", re.IGNORECASE)
_TEX_CLASSES = frozenset({"tex", "latex", "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display"})
_TEX_SIGNS = "\\^_=+<>"
#: Line breaks that forums put into the text of a formula.
_BREAK = re.compile(r"<\s*br\s*/?>", re.IGNORECASE)
#: Numbers of displayed formulas.
_NUMBER = re.compile(r"\s*[(\[]\s*(?:[A-Z][.-]?)?[0-9]{1,3}(?:[.-][0-9]{1,3})?[a-z]?\s*[)\]]\s*")
_WRAPPED = re.compile(r"\{\\(?:display|text)style (?P<inner>.*)\}", re.DOTALL)
#: Classes of elements that show a formula a second time.
_COPIES = frozenset({"katex-html", "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display", "MathJax",
                     "MathJax_Preview", "MathJax_Display", "MathJax_SVG", "MathJax_CHTML"})  # fmt: skip


def find_formulas(page: Page) -> Formulas:
    """Find the formulas of a page.

    Returns
    -------
    tuple
        TeX with its dollar signs by node, and the nodes of copies of a formula.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>So <math alttext='x^2'><mi>x</mi><mn>2</mn></math>.</p>")
    >>> list(find_formulas(page)[0].values())
    ['$x^2$']
    """
    if not may_have_formulas(page):
        return _NONE
    nodes, held = page.nodes, page.nodes.attributes
    found: dict[int, str] = {}
    stop = 0  # end of the previous formula
    annotations = [item for item in nodes.indices("annotation").tolist() if _TEX.search(held[item].get("encoding", ""))]
    is_display: dict[int, bool] = {}  # whether the class of an element says so: many formulas may share one
    for node in nodes.indices("math").tolist():
        if node < stop:
            continue  # nothing within a formula is written
        stop = int(nodes.end[node])
        if tex := _of_mathml(nodes, node, annotations):
            around = [node, *nodes.ancestors(node, 4)]
            is_display |= {item: "display" in held[item].get("class", "") for item in around if item not in is_display}
            display = held[node].get("display") == "block" or any(is_display[item] for item in around)
            found[node] = _in_dollars(tex, display=display)
    scripts = _of_scripts(page) if TEX_SCRIPT in (page.utf8 or b"") else {}
    if not found and not scripts:
        return _NONE
    copies, stop = set[int](), 0
    in_order = np.array(sorted(found), dtype=np.int64)
    for node in np.flatnonzero(nodes.named({"span", "img", "div", "nobr"})).tolist():
        classes = nodes.attributes[node].get("class", "") if node >= stop else ""  # nothing within a copy is written
        if classes and not _COPIES.isdisjoint(classes.split()):
            stop = int(nodes.end[node])
            inner = in_order[slice(*in_order.searchsorted((node, stop)))].tolist()
            for formula in inner:  # MathJax puts its MathML inside the elements it shows
                tex = found.pop(formula)
                if not scripts:
                    found.setdefault(node, tex)
            if node not in found:
                copies.add(node)
    found.update(scripts)
    return found, frozenset(copies)


def find_formula_images(page: Page, found: Mapping[int, str], copies: Set[int]) -> dict[int, str]:
    """Find the pictures of formulas that are not in a formula or copy that :func:`find_formulas` returned.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>So <img src='https://a.example/latex.png?x%5E2' alt='x^2'>.")
    >>> list(find_formula_images(page, *find_formulas(page)).values())
    ['$x^2$']
    """
    nodes = page.nodes
    images = nodes.indices("img")
    within = np.zeros(len(nodes) + 1, dtype=np.int64)
    for node in (*found, *copies):
        within[node] += 1
        within[nodes.end[node]] -= 1
    images = images[(within.cumsum()[images] == 0) & ((nodes.flags[images] & (Flag.HEAD | Flag.NOSCRIPT)) == 0)]
    formulas = ((node, formula_of_image(nodes.attributes[node])) for node in images.tolist())
    return {node: tex for node, tex in formulas if tex}


def shown_formulas(page: Page, shown: NDArray[np.bool_], formulas: Mapping[int, str]) -> list[int]:
    """Return the formulas in paragraphs with a kept text, or between two; ``shown`` are the nodes that are written.

    A removed number of a formula, such as "(1)", is not a text between.
    """
    nodes = page.nodes
    is_text = (nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)
    for node in formulas:
        is_text[node : nodes.end[node]] = False
    n_shown = text_sums(shown & (nodes.tag == 0))
    texts = np.flatnonzero(is_text)
    found, lines = [], dict[int, int]()

    def is_number(text: np.int64) -> bool:
        return not shown[text] and _NUMBER.fullmatch(nodes.texts[int(text)]) is not None

    for node in sorted(formulas):
        around = line_element(nodes, node, lines)
        around = node if around < 0 else around
        after = int(np.searchsorted(texts, node))
        before = after - 1
        before -= before > 0 and is_number(texts[before])
        after += after < len(texts) and is_number(texts[after])
        between = before >= 0 and after < len(texts) and shown[texts[before]] and shown[texts[after]]
        if between or n_shown[nodes.end[node]] > n_shown[node] or n_shown[nodes.end[around]] > n_shown[around]:
            found.append(node)
    return found


def writes_dollars(page: Page) -> bool:
    """Tell whether a page loads a program that reads formulas between dollar signs."""
    source = page.utf8 or b""
    return any(name in source for name in (b"athjax", b"athJax", b"katex"))


def formula_of_image(attributes: Mapping[str, str]) -> str:
    """Return the formula that a picture shows, from its alternative text; empty for other pictures.

    Examples
    --------
    >>> formula_of_image({"src": "https://a.example/latex.png?x%5E2", "alt": "x^2"}), formula_of_image({"alt": "x^2"})
    ('$x^2$', '')
    """
    alt = _BREAK.sub(" ", attributes.get("alt", "")).strip()
    is_tex = any(sign in alt for sign in _TEX_SIGNS) or (len(alt) == 1 and alt.isalnum())
    if not is_tex or "$" in alt:
        return ""
    classes, source = attributes.get("class", "").lower().split(), attributes.get("src", "")
    is_named = not source.startswith("data:") and _TEX_SOURCE.search(source)
    is_formula = is_named or not _TEX_CLASSES.isdisjoint(classes)
    return _in_dollars(alt, display=False) if is_formula else ""


def _in_dollars(tex: str, *, display: bool) -> str:
    """Write a formula between dollars: within a text, or in its own line with ``display``."""
    match = _WRAPPED.fullmatch(tex := tex.strip().strip("$"))
    tex = " ".join((match["inner"] if match else tex).split())
    return f"$${tex}$$" if display else f"${tex}$"


def _of_mathml(nodes: Nodes, node: int, annotations: Sequence[int]) -> str:
    """Return the TeX of a ``math`` element: its first annotation, its ``alttext``, or TeX written from its elements."""
    place = bisect(annotations, node)
    if place < len(annotations) and annotations[place] < nodes.end[node]:
        return "".join(nodes.texts[annotations[place] : int(nodes.end[annotations[place]])]).strip()
    return nodes.attributes[node].get("alttext", "").strip() or tex_of_mathml(nodes, node)


def _of_scripts(page: Page) -> Mapping[int, str]:
    """Return the formulas of ``script`` elements, whose text is not in the tree; empty if they don't match it."""
    texts = [
        match["text"].decode("utf-8")
        for match in _SCRIPT.finditer(page.utf8 or b"")
        if match["text"] is not None and b"math/tex" in match["attributes"]
    ]
    scripts = [
        node
        for node in page.nodes.indices("script").tolist()
        if "math/tex" in page.nodes.attributes[node].get("type", "")
    ]
    if len(texts) != len(scripts):
        return {}
    return {
        node: _in_dollars(text.strip(), display="display" in page.nodes.attributes[node]["type"])
        for node, text in zip(scripts, texts, strict=True)
        if text.strip()
    }


def write_formulas(page: Page, rows: NDArray[np.intp], gaps: list[str], texts: list[str]) -> None:
    """Write formulas into ``texts`` of the kept blocks ``rows`` and into ``gaps`` before them, in place.

    TeX takes the place of the first text of its formula. A formula without kept texts, such as a script, follows the
    text before it or begins the line of the text after it. Displayed formulas get their own line.
    """
    found, copies = find_formulas(page)
    found = {**find_formula_images(page, found, copies), **found}
    if found:
        _Writer(page, rows, gaps, texts, (found, copies)).write()


class _Writer:
    """State of the walk over kept blocks and formulas, in order."""

    def __init__(
        self, page: Page, rows: NDArray[np.intp], gaps: list[str], texts: list[str], formulas: Formulas
    ) -> None:
        self.page, self.nodes, self.rows, self.gaps, self.texts = page, page.nodes, rows, gaps, texts
        found, copies = formulas
        shown = shown_formulas(page, shown_texts(page, rows), found)
        #: Formulas still to be written, last one first: node and TeX with its dollar signs.
        self.left = [(node, found[node]) for node in reversed(shown)]
        self.hides = np.zeros(len(page.nodes), dtype=bool)
        for node in (*shown, *copies):
            self.hides[node : page.nodes.end[node]] = True
        self.breaks, self.last = page.nodes.indices("br"), 0  # line breaks, and the last formula without texts
        self.copied: str | None = None  # gap before the first text of copies that precede their formula
        self.is_display = False  # whether a displayed formula was written last
        self.is_formula = False  # whether the last text ended with a formula

    def write(self) -> None:
        """Change gaps and texts."""
        blocks, lines = self.page.blocks, dict[int, int]()
        columns = (blocks.node[self.rows].tolist(), blocks.last_node[self.rows].tolist())
        for place, (first, last) in enumerate(zip(*columns, strict=True)):
            begin = ""  # formulas that begin the line of the block
            while self.left and self.nodes.end[self.left[-1][0]] <= first:
                node, tex = self.left.pop()
                if begin or self._begins(place, node, tex, first, lines):
                    begin += tex.strip("$") + " " * self.nodes.texts[self.nodes.end[node]][:1].isspace()
                else:
                    self._append(place - 1, node, tex, lines)
            if self.hides[first : last + 1].any():
                self._replace(place, first, last)
            else:
                self.copied, self.is_formula = None, False
                self._begin_line(place, display=False)
            self.texts[place] = begin + self.texts[place]
        while self.left:
            self._append(len(self.rows) - 1, *self.left.pop(), lines)

    def _replace(self, place: int, first: int, last: int) -> None:
        """Write the block at a place without the texts of its formulas and their copies."""
        pieces = []
        for node in range(first, last + 1):
            if self.left and self.left[-1][0] <= node:
                pieces.append(_line_or_word(self.left.pop()[1]))
            if not self.hides[node]:
                pieces.append(self.nodes.texts[node])
        text = "".join(pieces)
        self.texts[place] = "\n".join(line for part in text.split("\0") if (line := " ".join(part.split())))
        if not self.texts[place]:
            self.copied = self.gaps[place] if self.copied is None else self.copied
            self.gaps[place] = ""
            return
        if self.copied is not None and self.hides[first]:
            self.gaps[place] = self.copied
        self.copied = None
        if self.is_formula and self.hides[first] and not self.gaps[place]:
            self.gaps[place] = " "  # two formulas are not one
        self.is_formula = bool(self.hides[last])
        self._begin_line(place, display=text.startswith("\0"))
        self.is_display = text.endswith("\0")

    def _begins(self, place: int, node: int, tex: str, first: int, lines: dict[int, int]) -> bool:
        """Tell whether a formula without texts begins the line of a block, whose first text is the node ``first``."""
        start, stop = self.breaks.searchsorted((node, first)).tolist()
        if place == 0 or start < stop or tex.startswith("$$"):
            return False
        line, before = line_element(self.nodes, node, lines), int(self.page.blocks.last_node[self.rows[place - 1]])
        return line == line_element(self.nodes, first, lines) != line_element(self.nodes, before, lines)

    def _append(self, place: int, node: int, tex: str, lines: dict[int, int]) -> None:
        """Write a formula without texts after the block at a place, or before the first one."""
        word = _line_or_word(tex).strip("\0")
        display = tex.startswith("$$")
        if place < 0:
            self.texts[0] = f"{word}{chr(10) if display else ' '}{self.texts[0]}"
            return
        before = int(self.page.blocks.last_node[self.rows[place]])
        first, stop = self.breaks.searchsorted((max(before, self.last), node)).tolist()
        apart = first < stop or line_element(self.nodes, node, lines) != line_element(self.nodes, before, lines)
        self.last = node
        gap = self.copied if self.copied is not None else " " * self.nodes.texts[before][-1:].isspace()
        gap = "\n" if display or self.is_display or apart else gap
        self.texts[place] += f"{gap}{word}"
        self.copied, self.is_display = None, display

    def _begin_line(self, place: int, *, display: bool) -> None:
        """Start a line with the block at a place if it is a displayed formula or follows one."""
        if (display or self.is_display) and "\n" not in self.gaps[place]:
            self.gaps[place] = "\n"
        self.is_display = False


def _line_or_word(tex: str) -> str:
    """Return TeX without dollar signs, between line-end marks if it is displayed."""
    return f"\0{tex[2:-2]}\0" if tex.startswith("$$") else tex[1:-1]
