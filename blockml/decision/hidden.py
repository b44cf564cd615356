"""Hidden text: what no reader sees leaves the content.

Hidden words inside of a visible line always go. Of hidden elements with lines of their own, those stay that a click or
a script shows: tabs, accordions, slides and texts to expand, parts that a page streams, and elements that have so much
of the text that the page would be nothing without them.

Repeated text stays if it is most of the text: rows of a table repeat values, and tabs with one example in several
languages repeat sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from blockml.decision.lines import any_in
from blockml.decision.prediction import Draft
from blockml.outline import Outline
from blockml.page import Flag, Nodes, Page, Reason
from blockml.parsing.hiding import HiddenText, hidden_text
from blockml.parsing.style_rules import Hiding
from blockml.text.words import lazy_pattern, token_lists

__all__ = ["hidden_content", "is_most", "remove_hidden"]


#: Words in the class or id of elements that a click or a script shows.
_REVEALED = lazy_pattern(
    r"tab|accord|collaps|panel|toggle|expan|more|full|slide|carousel|swiper|faq|answer|desc|content|spoiler|drawer|reveal",
    re.IGNORECASE,
)
#: Elements before one that a click on them shows.
_BUTTONS = frozenset({"button", "dt", "summary"})
_CONTROLS = _BUTTONS | {"h1", "h2", "h3", "h4", "h5", "h6"}
#: Ids of parts that React streams in hidden elements and puts into their places.
_STREAMED = lazy_pattern(r"S:[0-9a-f]+")
#: Attributes, and a sign in their values, by which controls refer to the ids of elements that they show.
_REFERRING = (b"href\0#", b"aria-controls", b"-target\0#")
#: Nodes of an element among which an id is looked for, and levels to climb to the element before it (our choices).
_FIRST_NODES, _MAX_LEVELS = 4, 32
_LINK_LEVELS = 4  # levels above a text on which its link is looked for
_NOSCRIPT = int(Flag.NOSCRIPT)
#: What a message in ``noscript`` is about, and its maximum number of words.
_JAVASCRIPT, _MAX_MESSAGE = lazy_pattern(r"java\s?script", re.IGNORECASE), 60
_FIELD, _HIDDEN, _HIDDEN_SOURCE = "textarea", int(Flag.HIDDEN), int(Flag.HIDDEN | Flag.PREFORMATTED)
#: Shares of the words of the text that an element, and all elements hidden in one way, have at most to be removed.
_MAX_SHARE = 0.3


def remove_hidden(page: Draft) -> None:
    """Remove what no reader sees, as the policy says."""
    policy = page.policy
    if policy.hidden == "drop" or (policy.hidden == "auto" and policy.rule == "expected_f1"):
        found = hidden_content(page.outline, page.by_score, page.by_model, strict=policy.hidden == "drop")
        if found is not None:
            page.override(found, Reason.HIDDEN, kept=False)


def hidden_content(
    outline: Outline, kept: NDArray[np.bool_], content: NDArray[np.bool_], *, strict: bool = False
) -> NDArray[np.bool_] | None:
    """Return (n_blocks,) the kept blocks with hidden text to remove; None if there are none.

    The larger ``kept`` is, the more blocks are left.

    Parameters
    ----------
    outline
        The outline of the page.
    kept
        (n_blocks,) the blocks that are kept otherwise.
    content
        (n_blocks,) the blocks that the model keeps, whose words are counted.
    strict
        Whether all hidden text goes, whatever reveals it.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Cats<span hidden> (draft)</span> rule.<p>They sleep from noon to six.<p hidden>No")
    >>> hidden_content(Outline(page), np.ones(5, dtype=bool), np.ones(5, dtype=bool)).tolist()
    [False, True, False, False, True]
    """
    page = outline.page
    found = [_about_scripts(page, kept, content), _sources(page, kept, content)]
    hidden = hidden_text(page, kept | content)
    if hidden is not None:
        found.append((hidden.blocks > 0) if strict else _unrevealed(outline, hidden, kept, content))
    parts = [part for part in found if part is not None]
    removed = kept & np.logical_or.reduce(parts) if parts else None
    return removed if removed is not None and np.count_nonzero(removed) else None


def _unrevealed(
    outline: Outline, hidden: HiddenText, kept: NDArray[np.bool_], content: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return (n_blocks,) which hidden blocks no script reveals as content."""
    way, n_words, line = hidden.blocks, outline.page.blocks.n_words, outline.line
    removed = (way > 0) & any_in(line, (way == 0) & (n_words > 0))
    removed |= _of_permalinks(outline.page, kept & (way == Hiding.SCREEN_READER))
    # With what the model keeps, so that a high threshold doesn't remove what the default one leaves.
    rest = (way > 0) & (kept | content) & ~removed & (way != Hiding.SCREEN_READER)
    if np.count_nonzero(rest & kept):
        words = np.where(content, np.maximum(n_words, 1), 0)
        limit = _MAX_SHARE * int(words.sum())
        is_revealed = _Revealed(outline.page.nodes, hidden.nodes > 0)
        found = [rows for element, rows in _elements(outline.page, hidden.nodes > 0, rest) if not is_revealed(element)]
        by_way = np.bincount(way[np.concatenate(found)], words[np.concatenate(found)], len(Hiding)) if found else ()
        for rows in found:
            if by_way[way[rows[0]]] < limit:
                removed[rows] = True
    return removed


def _of_permalinks(page: Page, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) which hidden blocks are links within the page, such as those to headings, shown as a sign."""
    found, nodes, blocks = np.zeros(len(hidden), dtype=bool), page.nodes, page.blocks
    for row in (hidden & (blocks.n_linked == blocks.n_words)).nonzero()[0].tolist():
        around = nodes.ancestors(blocks.node.item(row), _LINK_LEVELS)
        link = next((nodes.attributes[node] for node in around if nodes.name(node) == "a"), {})
        found[row] = link.get("href", "")[:1] == "#"
    return found


def _about_scripts(page: Page, kept: NDArray[np.bool_], content: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return (n_blocks,) the short texts in ``noscript`` that ask for JavaScript, if there is other content."""
    blocks = page.blocks
    if not blocks.any_flag(_NOSCRIPT):  # the usual case
        return None
    found = (kept | content) & ((blocks.flags & _NOSCRIPT) > 0) & (blocks.n_words <= _MAX_MESSAGE)
    for row in found.nonzero()[0].tolist():
        found[row] = _JAVASCRIPT.search(blocks.texts[row]) is not None
    return found if np.count_nonzero(blocks.n_words[content & ~found]) else None


def _sources(page: Page, kept: NDArray[np.bool_], content: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return (n_blocks,) the sources half of whose sequences of three words are content elsewhere.

    Editors and highlighters keep the source of what they show in a ``textarea``; some sites have an article in a hidden
    ``pre`` once more, as Markdown that a button copies.
    """
    has_fields = _FIELD in page.nodes.names
    if not has_fields and not page.blocks.any_flag(_HIDDEN):  # the usual case
        return None
    found = np.zeros(len(kept), dtype=bool)
    inside = (page.blocks.flags & _HIDDEN_SOURCE) == _HIDDEN_SOURCE
    if has_fields:
        inside |= page.nodes.innermost(page.nodes.indices(_FIELD), page.blocks.node) >= 0
    texts = page.blocks.texts
    rows = (inside & (kept | content)).nonzero()[0].tolist()
    own = [_sequences([texts[row]]) for row in rows]
    shown = _sequences(compress(texts, (content & ~inside).tolist())) if rows else set()
    found[[row for row, words in zip(rows, own, strict=True) if words and 2 * len(words & shown) >= len(words)]] = True
    return found


def _sequences(texts: Iterable[str]) -> set[tuple[str, ...]]:
    """Return the sequences of three words in some texts."""
    words = list(chain.from_iterable(token_lists(list(texts))))
    return {*zip(words, words[1:], words[2:], strict=False)}


def _elements(
    page: Page, hidden: NDArray[np.bool_], among: NDArray[np.bool_]
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the outermost hidden elements, with those of some blocks that are in them."""
    rows = among.nonzero()[0]
    places = page.blocks.node[rows]
    elements = page.nodes.outermost(hidden)
    owner = elements[elements.searchsorted(places, side="right") - 1]
    # A text without size is in an element that is not marked itself.
    owner = np.where(page.nodes.tag[owner] == 0, page.nodes.parent[owner], owner)
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    yield from zip(owner[starts].tolist(), np.split(rows, starts[1:]), strict=True)


class _Revealed:
    """Tells whether a hidden element has content that a click or a script shows."""

    def __init__(self, nodes: Nodes, hidden: NDArray[np.bool_]) -> None:
        self.nodes, self.hidden = nodes, hidden
        self._shown: dict[int, set[str]] = {}
        self._targets: set[str] | None = None

    def __call__(self, element: int) -> bool:
        held = self.nodes.attributes[element]
        names, identity = held.get("class") or "", held.get("id") or ""
        return (
            _REVEALED.search(f"{names} {identity}") is not None
            or _STREAMED.fullmatch(identity) is not None
            or held.get("role") == "tabpanel"
            or "aria-labelledby" in held
            or self.follows_control(element)
            or not self.shown_beside(element).isdisjoint(names.split())
            or self.is_target(element)
        )

    def follows_control(self, element: int) -> bool:
        """Tell whether the element before it is a button, or a heading with more than a text."""
        before, parent = element - 1, int(self.nodes.parent[element])
        for _ in range(_MAX_LEVELS):
            if before <= parent:
                return False
            if self.nodes.parent[before] == parent:
                has_markup = bool(self.nodes.attributes[before]) or np.any(self.nodes.tag[before + 1 : element])
                return self.nodes.name(before) in (_CONTROLS if has_markup else _BUTTONS)
            before = int(self.nodes.parent[before])
        return False

    def shown_beside(self, element: int) -> set[str]:
        """Return the classes of elements beside it that are shown."""
        nodes, parent = self.nodes, int(self.nodes.parent[element])
        if parent not in self._shown:
            found, child = set[str](), parent + 1
            while parent >= 0 and child < nodes.end[parent]:
                if not self.hidden[child]:
                    found.update((nodes.attributes[child].get("class") or "").split())
                child = int(nodes.end[child])
            self._shown[parent] = found
        return self._shown[parent]

    def is_target(self, element: int) -> bool:
        """Tell whether a link or control refers to it, or to one of its first elements."""
        nodes = self.nodes
        if self._targets is None:
            self._targets = set()
            for held in nodes.with_words(_REFERRING).values():
                for node in held:
                    for name, value in nodes.attributes[node].items():
                        if name == "aria-controls":
                            self._targets.update(value.split())
                        elif value[:1] == "#":
                            self._targets.add(value[1:])
        last = min(int(nodes.end[element]), element + _FIRST_NODES)
        return any(nodes.attributes[node].get("id") in self._targets for node in range(element, last))


def is_most(removed: NDArray[np.bool_], others: Callable[[], NDArray[np.bool_]], words: NDArray[np.float64]) -> bool:
    """Tell whether the certain blocks that a rule would remove have more words than the others.

    Parameters
    ----------
    removed
        (n_blocks,) the certain blocks that the rule would remove: mostly none.
    others
        Returns (n_blocks,) the blocks that they are compared with.
    words
        (n_blocks,) numbers of words.

    Examples
    --------
    >>> first, last = np.array([True, False, False]), np.array([False, False, True])
    >>> is_most(last, lambda: first, np.array([20., 50., 30.]))
    True
    """
    return bool(np.count_nonzero(removed) and words[removed].sum() > words[others()].sum())
