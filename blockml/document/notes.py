"""Footnotes: marks and their notes; marks whose note is not written and links back are hidden."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.document.shown import line_element, text_sums
from blockml.outline import FOOTNOTE_MARK
from blockml.page import Nodes, Page

__all__ = ["Notes", "find_notes"]

#: Beginnings of attributes of links within the page, and names of attributes that such links refer to.
_WITHIN, _IDS = (b"href\0#",), (b"id\0", b"name\0")
#: Texts of links back to marks.
_BACK = re.compile(r"\s*(?:[\^↑⇑↩↵⤴⏎]\ufe0e?\s*)+")
#: Texts before and after a mark whose brackets would be empty without it.
_BEFORE, _AFTER = re.compile(r"[\[(]\s*\Z|\A\s*[,;]\s*\Z"), re.compile(r"\s*[\]),;]")
_LETTERS = re.compile(r"\s*[a-z]{1,2}\s*")
_MAX_LENGTH = 20  # maximum characters of a mark's text


class Notes(NamedTuple):
    """Footnotes that are shown."""

    marks: dict[int, str]  #: anchor of the note that each mark refers to, by the node of its link
    notes: dict[int, str]  #: anchor of each note, by its element


def find_notes(page: Page, shown: NDArray[np.bool_]) -> Notes:
    """Find footnotes; clear in ``shown`` (n_nodes,) links back from notes, and marks whose notes aren't written.

    Of a mark in brackets outside of the link, only the link is cleared, because the brackets would otherwise be empty.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Cats<a href='#n1'>[1]</a> rule.</p><ol><li id=n1>Ask one. <a href='#r1'>↩</a></ol>")
    >>> shown = page.nodes.tag == 0
    >>> list(find_notes(page, shown).marks.values())
    ['n1']
    >>> [text for text, is_shown in zip(page.nodes.texts, shown) if is_shown]
    ['Cats', '[1]', ' rule.', 'Ask one. ']
    """
    nodes = page.nodes
    named = [node for node in nodes.with_any(_WITHIN) if nodes.name(node) == "a"]
    if not named:
        return Notes({}, {})
    sums = text_sums(shown)
    texts = {node: _text(nodes, node) for node in named if sums[nodes.end[node]] > sums[node + 1]}
    marks = {node: text for node, text in texts.items() if FOOTNOTE_MARK.fullmatch(text) or _BACK.fullmatch(text)}
    if not marks:
        return Notes({}, {})
    names = {node: nodes.attributes[node].get("href", "").strip()[1:] for node in marks}
    targets: dict[str, int] = {}
    if any(names.values()):  # "#" leads to the top of the page
        for node in nodes.with_any(_IDS):
            attributes = nodes.attributes[node]
            targets.setdefault(attributes.get("id") or attributes.get("name") or "", node)
    n_shown, lines = text_sums(shown & (nodes.tag == 0)), dict[int, int]()
    found = Notes({}, {})
    signs: dict[int, bool] = {}  # whether the first text of an element is a sign of links back
    for node, text in marks.items():
        target = targets.get(names[node], -1) if names[node] else -1
        sign = nodes.parent.item(node) + 1  # a sign before several links back
        if sign not in signs:
            signs[sign] = _BACK.fullmatch(nodes.texts[sign]) is not None
        has_sign = signs[sign]
        is_back = _BACK.fullmatch(text) or (_LETTERS.fullmatch(text) and (has_sign or 0 <= target < node))
        note = line_element(nodes, target, lines) if target >= 0 else -1  # a target may be empty, before its note
        is_written = note < 0 or n_shown[nodes.end[note]] > n_shown[note]
        if not is_back and not is_written and _is_in_brackets(nodes, node):
            shown[node] = False
        elif is_back or not is_written:
            shown[node : nodes.end[node]] = False
            shown[sign] &= not has_sign
        elif note >= 0:
            found.marks[node] = found.notes[note] = names[node]
    return found


def _is_in_brackets(nodes: Nodes, node: int) -> bool:
    """Tell whether an element begins or continues numbers in brackets: a bracket or separator is on both sides."""
    end = nodes.end.item(node)
    after = nodes.texts[end] if end < len(nodes) else ""
    return _BEFORE.search(nodes.texts[node - 1][-_MAX_LENGTH:]) is not None and _AFTER.match(after) is not None


def _text(nodes: Nodes, node: int) -> str:
    """Return the text of a link, or its start."""
    text = ""
    for item in range(node + 1, nodes.end.item(node)):
        text += nodes.texts[item]
        if len(text) > _MAX_LENGTH:
            break
    return text
