"""Formulas in plain text: the TeX of each is written once and replaces the texts of its elements and its copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.document.mathematics import Formulas, find_formula_images, find_formulas, shown_formulas
from blockml.document.shown import line_element, shown_texts
from blockml.page import Page

__all__ = ["write_formulas"]


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
