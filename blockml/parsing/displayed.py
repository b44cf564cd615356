"""Text as browsers show it where that differs from the text in the source.

Browsers put quotation marks around ``q``, never show the content of ``canvas``, ``video`` and similar elements, and
show pictures of emoji and initials as characters, names of icons as icons, and addresses that scripts decode. Tags that
are escaped by mistake and shortcodes of content management systems are shown, but not meant to be. A table cell that
has only a check mark or a cross, drawn by a font, a style or an ``svg``, has that sign or its label as text. Items of
lists begin with their signs if one of them is a drawn cross.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes
from blockml.page.attributes import NO_ATTRIBUTES, Attributes, searched_together
from blockml.text.words import lazy_pattern

__all__ = ["as_displayed", "as_laid_out"]

#: Elements whose content browsers show only if they don't know the element.
_FALLBACKS = frozenset({"audio", "canvas", "object", "progress", "video"})
#: Maximum characters of such a content: more is the rest of a page after an element that is not closed (our choice).
_MAX_FALLBACK = 1_000
#: Attribute words of elements that are shown as other text.
_EMOJI, _SMILEY, _ICONS, _PROTECTED, _INITIAL = b"emoji", b"smiley", b"material-", b"data-cfemail", b"drop"
_INLINE, _WORD_LIST = b"inline", b"mso-list"
_CROSSES = (b"times", b"xmark", b"cross", b"-close", b"-remove", b"bi-x", b"lucide-x")
_CHANGING = (_ICONS, _PROTECTED, _WORD_LIST)
_WORDS = searched_together((_EMOJI, _SMILEY, _INITIAL, *_CHANGING, _INLINE, *_CROSSES))
#: Class of an element with the name of an icon, and such a name.
_ICON_CLASS = lazy_pattern(
    r"(?:\A|\s)material-(?:icons|symbols)(?:-(?:outlined|rounded|round|sharp|two-tone))?(?:\s|\Z)"
)
_ICON_NAME = lazy_pattern(r"\s*[a-z][a-z0-9_]*\s*")
#: Classes of check marks and crosses, after the name of an icon font (``fa-check``) or by themselves (``checkmark``),
#: and names of such icons.
_OF_FONT = (
    r"(?:^|\s)(?:[a-z]{1,12}[-_])?(?:fa[brsl]?|bi|ti|mdi|ri|la|icon|ion|glyphicon|dashicons|lucide|tabler)[-_]"
    r"(?:[a-z]{1,12}-)?"
)
_SHAPE = r"(?:[-_]?(?:alt|bold|circle|fill|icon|lg|line|mark|outline|rounded|sharp|solid|square))*(?=\s|$)"
_SIGNS = {
    "✓": lazy_pattern(
        rf"{_OF_FONT}(?:check(?:ed)?|done|ok|tick|yes){_SHAPE}|(?:^|\s)(?:check|tick){_SHAPE}", re.IGNORECASE
    ),
    "✗": lazy_pattern(
        rf"{_OF_FONT}(?:close|cross|no|remove|times|x){_SHAPE}|(?:^|\s)(?:cross|times|x-?mark){_SHAPE}", re.IGNORECASE
    ),
}
#: Classes that say the opposite of a check mark beside them.
_NOT = lazy_pattern(r"(?:^|\s)(?:disabled|excluded|false|inactive|no|not[-_]?\w*|off|un\w+)(?=\s|$)", re.IGNORECASE)
_SIGN_NAMES = {
    **dict.fromkeys(("check", "check_box", "check_circle", "check_small", "done", "done_all", "task_alt"), "✓"),
    **dict.fromkeys(("block", "cancel", "clear", "close", "do_not_disturb", "highlight_off", "not_interested"), "✗"),
}
#: Elements that draw such a sign, and elements around it: a cell with another one, such as a button, is left as it is.
#: Maximum characters of a label (our choice).
_DRAWN = frozenset("b circle div em g i line path polyline rect s span strong svg use title #text".split())
_MAX_LABEL = 40
_WRITTEN_SIGNS = frozenset("✓✔✗✘☑☒✅❌×")
_HIDDEN = int(Flag.HIDDEN)
_SHOWN_INLINE = lazy_pattern(r"display\s*:\s*inline(?:-block)?\s*(?:;|!|\Z)", re.IGNORECASE)
#: Quotation marks by language, outer and inner (Unicode CLDR); others have those of English.
_MARKS: Mapping[str, tuple[str, str, str, str]] = {
    "en": ("“", "”", "‘", "’"), "de": ("„", "“", "‚", "‘"), "cs": ("„", "“", "‚", "‘"), "sk": ("„", "“", "‚", "‘"),
    "fr": ("«", "»", "«", "»"), "es": ("«", "»", "“", "”"), "it": ("«", "»", "“", "”"), "pt": ("“", "”", "‘", "’"),
    "ru": ("«", "»", "„", "“"), "uk": ("«", "»", "„", "“"), "pl": ("„", "”", "«", "»"), "sv": ("”", "”", "’", "’"),
    "fi": ("”", "”", "’", "’"), "ja": ("「", "」", "『", "』"), "zh": ("“", "”", "‘", "’"), "nb": ("«", "»", "‘", "’"),
}  # fmt: skip
#: Quotation marks that a page may write itself.
_QUOTES = frozenset("\"'“”„‟«»‘’‚‹›「」『』")
#: Maximum characters of the alternative text of an emoji, which may consist of several signs; nodes of an icon or
#: address, and levels between an item and its sign (our choices).
_MAX_ALT, _MAX_NODES, _MAX_LEVELS = 12, 8, 3
#: Signs in texts of escaped end tags, and of shortcodes such as ``[vc_row]`` and ``[quote id=3]…[/quote]``.
_MARKUP = ("</", "[/", "[vc_")
_ESCAPED = lazy_pattern(r"<(a|b|em|i|strong|u)(?:\s[^<>]*)?>([^<>]*)</\1>")
_SHORTCODE = lazy_pattern(
    r"\[(?:vc|et_pb|fusion|av|su)_\w+[^\[\]]{0,500}\]|\[/[a-z][\w-]*\]|"
    r"\[[a-z]\w*(?:\s+[a-z]\w*=(?:\"[^\"\[\]]*\"|“[^“”\[\]]*”|'[^'\[\]]*'|[\w.-]+))+\s*/?\]"
)
#: Bullets of Word, some of which are letters in the font Symbol or Wingdings.
_BULLETS = frozenset("·o§Øüv•▪–-")
#: Sign of links from a note back to the text.
_BACK = "↩"
#: Elements in which a ``rt`` is a reading.
_WITH_READINGS = frozenset({"ruby", "rb", "rbc", "rtc"})
#: Elements of pages that may write about tags and shortcodes.
_CODE = frozenset({"pre", "code", "kbd", "samp", "textarea", "xmp"})


def as_displayed(nodes: Nodes) -> Nodes:
    """Return the nodes with the texts that browsers show; the same nodes if there is no difference.

    Examples
    --------
    >>> import blockml
    >>> blockml.parse("<p>She said <q>no</q>.<canvas>Old browser</canvas>").blocks.texts
    ('She said', '“no”', '.')
    """
    names, found = nodes.names, nodes.with_words(_WORDS)
    has_fallbacks, texts = not _FALLBACKS.isdisjoint(names), "".join(nodes.texts)
    # Few texts have the first characters, which are found fastest.
    has_markup = ("<" in texts or "[" in texts) and _CODE.isdisjoint(names) and any(sign in texts for sign in _MARKUP)
    signs = _signs_of_cells(nodes) if "td" in names else {}
    if crosses := [node for word in (*_CROSSES, _ICONS) for node in found[word]]:
        signs |= _signs_of_items(nodes, crosses)
    drawn = {*found[_EMOJI], *found[_SMILEY], *found[_INITIAL]}
    pictures = [node for node in sorted(drawn) if nodes.name(node) == "img"]
    is_changed = has_fallbacks or has_markup or pictures or signs or "q" in names or "rt" in names or _BACK in texts
    if not is_changed and not any(map(found.get, _CHANGING)):
        return nodes
    edited = _Edited(nodes)
    if "q" in names:
        edited.quote()
    if has_fallbacks:
        edited.leave_out_fallbacks()
    if "rt" in names:
        edited.leave_out_readings()
    edited.write_pictures(pictures)
    if has_markup:
        edited.leave_out_markup()
    if _BACK in texts:
        edited.leave_out_links_back()
    for node in found[_ICONS]:
        edited.leave_out_icon(node)
    for node in found[_PROTECTED]:
        edited.decode_address(node)
    for node in found[_WORD_LIST]:
        if _is_word_mark(nodes, node) and _paragraph(nodes, node) >= 0:
            edited.leave_out(edited.inner(node))
    result = edited.result()
    return _with_texts(result, signs) if signs else result


def _signs_of_cells(nodes: Nodes) -> dict[int, str]:
    """Return the text of each table cell that has no text, but a check mark, a cross or a drawing with a label."""
    cells = np.flatnonzero(nodes.named({"td", "th"}))
    n_nodes = nodes.end[cells] - cells
    cells = cells[(n_nodes > 1) & (n_nodes <= _MAX_NODES)]
    may_draw = np.array([False, *(name in _DRAWN for name in nodes.names[1:])])  # most cells start with text or a link
    cells = cells[may_draw[nodes.tag[cells + 1]]]
    found = {cell: _sign(nodes, cell) for cell in cells.tolist()}
    return {cell: sign for cell, sign in found.items() if sign}


def _signs_of_items(nodes: Nodes, crosses: list[int]) -> dict[int, str]:
    """Return the sign of each item in lists with an item that begins with one of the elements ``crosses``.

    A list has at least two signs, because one may be the button that closes a menu.
    """
    lists = set()
    for node in crosses:
        item = next((above for above in nodes.ancestors(node, _MAX_LEVELS) if nodes.name(above) == "li"), -1)
        if item >= 0 and _first_sign(nodes, item) == "✗":
            lists.add(nodes.parent.item(item))
    items = nodes.indices("li")
    found = {item: _first_sign(nodes, item) for item in items[np.isin(nodes.parent[items], list(lists))].tolist()}
    n_signs = Counter(nodes.parent.item(item) for item, sign in found.items() if sign)
    return {item: sign + " " for item, sign in found.items() if sign and n_signs[nodes.parent.item(item)] > 1}


def _first_sign(nodes: Nodes, item: int) -> str:
    """Return the sign that is drawn before the text of an item; empty without one, and for an item without a text."""
    signs = set[str]()
    for node in range(item + 1, min(nodes.end.item(item), item + _MAX_NODES)):
        if nodes.flags.item(node) & _HIDDEN:
            continue
        if nodes.tag[node] == 0:
            text = nodes.texts[node].strip()
            if _is_icon(nodes, nodes.parent.item(node)):
                signs |= _signs_of_name(text)
                continue
            return signs.pop() if len(signs) == 1 and text[:1] not in _WRITTEN_SIGNS else ""
        if nodes.name(node) not in _DRAWN:
            return ""
        signs |= _signs_of_class(nodes.attributes[node])
    return ""


def _is_icon(nodes: Nodes, node: int) -> bool:
    """Tell whether an element shows the name in it as an icon."""
    return _ICON_CLASS.search(nodes.attributes[node].get("class", "")) is not None


def _signs_of_name(name: str) -> set[str]:
    """Return the sign that an icon shows; none for other icons."""
    return {_SIGN_NAMES[name]} if name in _SIGN_NAMES else set()


def _signs_of_class(attributes: Mapping[str, str]) -> set[str]:
    """Return the signs that an element with a class draws; none if its classes contradict each other."""
    classes = attributes.get("class")
    found = {sign for sign, pattern in _SIGNS.items() if pattern.search(classes)} if classes else set()
    return set() if len(found) > 1 or (classes and "✓" in found and _NOT.search(classes)) else found


def _sign(nodes: Nodes, cell: int) -> str:
    """Return the label or the sign of the drawing in a cell; empty for a cell with anything else, or with two signs."""
    label, signs = "", set[str]()
    for node in range(cell + 1, int(nodes.end[cell])):
        name = nodes.name(node)
        if name not in _DRAWN:
            return ""
        if nodes.flags.item(node) & _HIDDEN:
            continue
        held = nodes.attributes[node]
        if text := nodes.texts[node].strip():
            above = int(nodes.parent[node])
            if nodes.name(above) == "title":
                label = label or text
            elif _is_icon(nodes, above):
                signs |= _signs_of_name(text)
            else:
                return ""
        if name in ("i", "span", "svg") or held.get("role") == "img":
            label = label or held.get("aria-label", "")
        signs |= _signs_of_class(held)
    if 0 < len(label) <= _MAX_LABEL:
        return " ".join(label.split())
    return signs.pop() if len(signs) == 1 else ""


def _with_texts(nodes: Nodes, texts: Mapping[int, str]) -> Nodes:
    """Return the nodes with a text at the start of some elements, each of which contains other nodes."""
    above = np.array(sorted(texts))
    number = np.arange(len(nodes) + 1, dtype=np.int32)
    number += (above + 1).searchsorted(number, side="right").astype(np.int32)  # index with the new texts
    old, new = number[:-1], number[above] + 1

    def column(values: NDArray[Any], inserted: NDArray[Any] | int) -> NDArray[Any]:
        whole = np.empty(len(old) + len(new), dtype=values.dtype)
        whole[old], whole[new] = values, inserted
        return whole

    held, all_texts = nodes.attributes, [*nodes.texts, *(texts[node] for node in above.tolist())]
    rows = column(np.arange(len(old)), np.arange(len(old), len(all_texts))).tolist()
    if isinstance(held, Attributes):
        attributes: Sequence[Mapping[str, str]] = Attributes(column(held.number, 0), held.given, held.pairs, held.ends)
    else:
        attributes = [held[row] if row < len(held) else NO_ATTRIBUTES for row in rows]
    return Nodes(
        names=nodes.names,
        tag=column(nodes.tag, 0),
        parent=column(np.where(nodes.parent < 0, np.int32(-1), number[nodes.parent]), number[above]),
        depth=column(nodes.depth, nodes.depth[above] + 1),
        end=column(number[nodes.end], new + 1),
        flags=column(nodes.flags, nodes.flags[above]),
        attributes=attributes,
        texts=[all_texts[row] for row in rows],
    )


def as_laid_out(nodes: Nodes) -> Nodes | None:
    """Return the nodes with the names of elements that have the layout which styles give; None without any.

    A ``div`` or ``p`` within a line is a ``span``, and a paragraph with a bullet of Word is an ``li``.

    Examples
    --------
    >>> import blockml
    >>> blockml.parse("<div>It costs $<div style='display:inline'>5</div>.</div>").blocks.separators.tolist()
    [4, 0, 0]
    """
    held = nodes.with_words(_WORDS)
    if not held[_INLINE] and not held[_WORD_LIST]:  # the usual case
        return None
    spans = [node for node in held[_INLINE] if _is_inline(nodes, node)]
    items = [_paragraph(nodes, node) for node in held[_WORD_LIST] if _is_word_mark(nodes, node)]
    names, tag = list(nodes.names), nodes.tag.copy()
    for name, found in (("span", spans), ("li", [node for node in items if node >= 0])):
        if found:
            if name not in names:
                names.append(name)
            tag[found] = names.index(name)
    return replace(nodes, names=tuple(names), tag=tag) if spans or items else None


def _is_word_mark(nodes: Nodes, node: int) -> bool:
    """Tell whether an element has the mark of an item of a list in Word."""
    style = (nodes.attributes[node].get("style") or "").replace(" ", "").lower()
    return "mso-list:ignore" in style


def _paragraph(nodes: Nodes, node: int) -> int:
    """Return the paragraph that starts with the bullet of an item; -1 if the mark is not a bullet."""
    texts = [nodes.texts[text] for text in range(node, int(nodes.end[node])) if nodes.tag[text] == 0]
    if "".join(texts).strip() not in _BULLETS:
        return -1
    return next((above for above in nodes.ancestors(node, _MAX_NODES) if nodes.name(above) == "p"), -1)


def _is_inline(nodes: Nodes, node: int) -> bool:
    """Tell whether a style shows an element within a line, and it is directly beside a text."""
    if nodes.name(node) not in ("div", "p") or not _SHOWN_INLINE.search(nodes.attributes[node].get("style") or ""):
        return False
    beside = [place for place in (node - 1, int(nodes.end[node])) if 0 <= place < len(nodes)]
    return any(nodes.tag[place] == 0 and nodes.parent[place] == nodes.parent[node] for place in beside)


class _Edited:
    """Copy of a page's nodes with texts as browsers display them."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes, self.texts, self.flags = nodes, list(nodes.texts), nodes.flags.copy()
        self.is_text = nodes.tag == 0

    def result(self) -> Nodes:
        """Return the changed nodes."""
        nodes = self.nodes
        return Nodes(
            nodes.names, nodes.tag, nodes.parent, nodes.depth, nodes.end, self.flags, nodes.attributes, self.texts
        )

    def inner(self, node: int) -> list[int]:
        """Return the texts in an element."""
        end = int(self.nodes.end[node])
        return [] if end == node + 1 else (self.is_text[node:end].nonzero()[0] + node).tolist()

    def quote(self) -> None:
        """Write quotation marks around quotations, in the marks of the page's language."""
        nodes = self.nodes
        language = "en"
        for node in nodes.indices("html")[:1].tolist():
            language = nodes.attributes[node].get("lang", "en").lower().partition("-")[0]
        outer_start, outer_end, inner_start, inner_end = _MARKS.get(language, _MARKS["en"])
        texts = self.is_text.nonzero()[0]
        open_ends: list[int] = []
        levels: list[tuple[int, int]] = []  # each quotation, and whether it is within another one
        for node in nodes.indices("q").tolist():
            while open_ends and open_ends[-1] <= node:
                open_ends.pop()
            levels.append((node, len(open_ends) % 2))
            open_ends.append(int(nodes.end[node]))
        for node, is_inner in reversed(levels):
            first, after = texts.searchsorted((node, int(nodes.end[node]))).tolist()
            if first == after:
                continue
            one, last = int(texts[first]), int(texts[after - 1])
            begin = self.texts[one].lstrip()
            if begin[:1] in _QUOTES:
                continue  # the page writes its own marks, and a style leaves out the browser's
            blanks = self.texts[one][: len(self.texts[one]) - len(begin)]
            self.texts[one] = blanks + (inner_start if is_inner else outer_start) + begin
            self.texts[last] = self.texts[last].rstrip() + (inner_end if is_inner else outer_end)

    def leave_out_fallbacks(self) -> None:
        """Leave out fallbacks, which browsers show only if they don't know the element around them."""
        after = 0
        for node in np.flatnonzero(self.nodes.named(_FALLBACKS)).tolist():
            if node < after:
                continue
            after = int(self.nodes.end[node])
            inner = self.inner(node)
            if sum(len(self.texts[text]) for text in inner) <= _MAX_FALLBACK:
                self.leave_out(inner)

    def leave_out_readings(self) -> None:
        """Leave out the readings that are shown above characters, unless the page puts them into brackets."""
        nodes, bracketed = self.nodes, {*self.nodes.parent[self.nodes.indices("rp")].tolist()}
        for node in nodes.indices("rt").tolist():
            parent = nodes.parent.item(node)
            if parent not in bracketed and parent >= 0 and nodes.name(parent) in _WITH_READINGS:
                self.leave_out(self.inner(node))

    def leave_out(self, texts: list[int]) -> None:
        """Exclude texts from all blocks."""
        self.flags[texts] |= int(Flag.HEAD)

    def write_pictures(self, pictures: list[int]) -> None:
        """Add the alternative texts of pictures of emoji and initials to the text beside them."""
        nodes = self.nodes
        for node in pictures:
            alt = nodes.attributes[node].get("alt", "").strip()[: _MAX_ALT + 1]
            before, after = node - 1, node + 1
            is_emoji = any(unicodedata.category(sign) == "So" for sign in alt) and len(alt) <= _MAX_ALT
            if is_emoji and self.is_beside(before, node):
                self.texts[before] += alt
            elif self.is_beside(after, node) and (
                is_emoji or (len(alt) == 1 and alt.isupper() and self.texts[after][:1].islower())
            ):
                self.texts[after] = alt + self.texts[after]
            else:
                continue
            self.leave_out([node])  # outputs have the text instead of the picture

    def leave_out_markup(self) -> None:
        """Leave out escaped tags around words, and shortcodes."""
        for node in self.is_text.nonzero()[0].tolist():
            text = self.texts[node]
            if "</" in text:
                text = _ESCAPED.sub(r"\2", text)
            if "[" in text:
                text = _SHORTCODE.sub("", text)
            if text == self.texts[node]:
                continue
            if text.strip():
                self.texts[node] = text
            else:
                self.leave_out([node])

    def leave_out_links_back(self) -> None:
        """Leave out the signs of links from a note back to the text."""
        nodes = self.nodes
        for node in nodes.indices("a").tolist():
            if (nodes.attributes[node].get("href") or "").startswith("#"):
                inner = self.inner(node)
                if len(inner) == 1 and self.texts[inner[0]].strip() == _BACK:
                    self.leave_out(inner)

    def is_beside(self, text: int, node: int) -> bool:
        """Tell whether a node is a text in the element that contains another node."""
        nodes = self.nodes
        return 0 <= text < len(nodes) and bool(self.is_text[text]) and nodes.parent[text] == nodes.parent[node]

    def leave_out_icon(self, node: int) -> None:
        """Leave out the name of an icon, which its font shows as a picture."""
        is_small = self.nodes.end[node] - node <= _MAX_NODES
        if is_small and _is_icon(self.nodes, node):
            inner = self.inner(node)
            if len(inner) == 1 and _ICON_NAME.fullmatch(self.texts[inner[0]]):
                self.leave_out(inner)

    def decode_address(self, node: int) -> None:
        """Write an e-mail address that a script decodes: its bytes, each combined with the first one."""
        inner = self.inner(node) if self.nodes.end[node] - node <= _MAX_NODES else []
        try:
            key, *signs = bytes.fromhex(self.nodes.attributes[node].get("data-cfemail", ""))
            address = bytes(sign ^ key for sign in signs).decode("ascii")
        except ValueError:
            return
        if inner and "@" in address and address.isprintable():
            blanks = self.texts[inner[0]][: len(self.texts[inner[0]]) - len(self.texts[inner[0]].lstrip())]
            self.texts[inner[0]] = blanks + address
            self.leave_out(inner[1:])
