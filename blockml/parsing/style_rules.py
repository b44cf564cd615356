"""Rules of ``style`` elements that hide elements.

Only simple rules for screens count: their selectors consist of an element name, classes and an id, such as ``p.note``.
Rules that show the same elements in some state, such as ``.tab.active``, tell that a script reveals them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from blockml import _kernel
from blockml.page import Flag, Page
from blockml.text.words import lazy_pattern

__all__ = ["Hiding", "HidingSelector", "StyleSheets", "hiding_of", "shows"]

_NOSCRIPT = int(Flag.NOSCRIPT)
#: Limits for a page: bytes of style sheets, style elements, selectors that hide elements, and rules with a class that
#: are searched for one that shows a hidden element.
_MAX_BYTES, _MAX_SHEETS, _MAX_SELECTORS, _MAX_RULES = 400_000, 100, 100, 200
#: Limits for a rule: bytes of its selectors, bytes of its declarations, and number of rules that it is nested in.
_MAX_PRELUDE, _MAX_BODY, _MAX_DEPTH = 2_000, 4_000, 2


class Hiding(IntEnum):
    """How an element is hidden from readers."""

    SHOWN = 0
    ATTRIBUTE = 1  #: attribute ``hidden``
    DISPLAY = 2  #: ``display: none``
    VISIBILITY = 3  #: ``visibility: hidden``
    OPACITY = 4  #: ``opacity: 0``
    SIZE = 5  #: ``font-size: 0``
    OFF_SCREEN = 6  #: placed outside of the screen, or clipped
    SCREEN_READER = 7  #: a class for text that only screen readers read

    @property
    def label(self) -> str | None:
        """Name in outputs; None for ``SHOWN``."""
        return self.name.lower() if self else None


@dataclass(frozen=True, slots=True)
class HidingSelector:
    """A simple selector of a rule that hides elements."""

    element: str  #: Element name in lower case; empty for any.
    names: frozenset[str]  #: Classes with a dot before them, ids with a hash.
    way: Hiding
    sheet: int  #: Number of its style sheet.
    start: int  #: Where its declarations start in the sheet.


_STYLE = lazy_pattern(rb"<style", re.IGNORECASE)
_OTHER_MEDIA = lazy_pattern(rb"""\bmedia\s*=\s*["']?\s*(?!all\b|screen\s*["'\s>])""", re.IGNORECASE)
#: Starts and ends of parts of a page whose style elements don't count.
_NOT_READ = ((b"<!--", b"-->"), (b"<noscript", b"</noscript"), (b"<script", b"</script"))
_COMMENT = lazy_pattern(rb"/\*.*?(?:\*/|\Z)", re.DOTALL)
_BRACES = lazy_pattern(rb"([{}])")
#: Declarations that may hide, and selectors of which one has no blanks, combinators and other signs.
_MAY_HIDE = lazy_pattern(
    rb"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:opacity|font-size)\s*:\s*[0.]|:\s*-[0-9]{3}|clip",
    re.IGNORECASE,
)
_HAS_SIMPLE = lazy_pattern(rb"(?:\A|,)\s*[\w.#\x80-\xff-]+\s*(?:,|\Z)")
_SIMPLE = lazy_pattern(r"([a-zA-Z][a-zA-Z0-9-]*)?((?:[.#]-?[^\W\d][\w-]*)*)")
_NAME = lazy_pattern(r"[.#][\w-]+")
#: At-rules whose rules apply on screens.
_ON_SCREENS = lazy_pattern(rb"\s*@(?:media\s+(?:only\s+)?(?:screen|all)\s*|layer\b[^{]*)\{", re.IGNORECASE)
_DECLARATION = lazy_pattern(r"(?:^|[;{])\s*([a-z-]+)\s*:([^;]*)")
_ZERO = lazy_pattern(r"(?:0+\.?0*|\.0+)(?:[a-z]+|%)?")
#: Properties that move an element, or its text, and those that move an element with a position.
_ALWAYS_MOVING: tuple[str, ...] = ("margin-left", "margin-top", "text-indent")
_MOVING_PLACED: tuple[str, ...] = ("left", "top", "right", "bottom")
_FAR = lazy_pattern(r"-[0-9]{3,}(?:\.[0-9]+)?(?:px|r?em|v[wh]|%|pt)?")
#: Single bytes of names.
_OF_NAMES = frozenset(bytes([sign]) for sign in range(128) if chr(sign).isalnum()) | {b"_", b"-"}
#: Combinators, after which a selector names other elements.
_COMBINATOR = lazy_pattern(rb"[\s>+~]")


class StyleSheets:
    """The style sheets of a page, as far as they are read.

    Examples
    --------
    >>> import blockml
    >>> page = "<style>.a, p.b { display: none } .c { opacity: 0 } .c.on { opacity: 1 }</style>"
    >>> sheets = StyleSheets(blockml.parse(page))
    >>> [(selector.element, sorted(selector.names), selector.way.label) for selector in sheets.selectors()]
    [('', ['.a'], 'display'), ('p', ['.b'], 'display'), ('', ['.c'], 'opacity')]
    >>> [sheets.reveals(selector) for selector in sheets.selectors()]
    [False, False, True]
    """

    def __init__(self, page: Page) -> None:
        self._sheets = [_COMMENT.sub(b" ", sheet) for sheet in _style_texts(page)]

    def selectors(self) -> list[HidingSelector]:
        """Return the simple selectors of rules that hide elements."""
        read = _hiding_rules if _kernel.compiled is None else _kernel.compiled.hiding_rules
        found: list[HidingSelector] = []
        for number, css in enumerate(self._sheets):
            on_screens = {-1: True}  # by rule around others, whose text is read once
            for first, brace, end, outer in read(css):
                if len(found) >= _MAX_SELECTORS:
                    return found
                if outer not in on_screens:
                    on_screens[outer] = _ON_SCREENS.match(css, outer) is not None
                way = hiding_of(_body(css, brace, end)) if on_screens[outer] else Hiding.SHOWN
                selectors = _simple_selectors(css[first:brace].decode("utf-8", "replace")) if way else ()
                for element, names in itertools.islice(selectors, _MAX_SELECTORS - len(found)):
                    found.append(HidingSelector(element, names, way, number, brace))
        return found

    def reveals(self, selector: HidingSelector) -> bool:
        """Tell whether another rule shows the elements of a selector, perhaps in some state."""
        return any(self._shows(name, selector) for name in selector.names or (selector.element,))

    def _shows(self, name: str, selector: HidingSelector) -> bool:
        for number, css in enumerate(self._sheets):
            for begin, stop in itertools.islice(_places_of(name.encode(), css), _MAX_RULES):
                start = css.find(b"{", stop, stop + _MAX_PRELUDE)
                rest = css[stop:start].partition(b",")[0].rstrip() if start >= 0 else b"}"
                if b"}" in rest or b";" in rest or _COMBINATOR.search(rest):
                    continue  # no selector, or one of other elements
                own = css[_after(css, b"{},", begin) : begin]
                is_same = not own.strip() and not rest
                if is_same and (number, start) < (selector.sheet, selector.start):
                    continue  # the later rule counts
                end = css.find(b"}", start, start + _MAX_BODY)
                if shows(_body(css, start, end if end >= 0 else len(css)), selector.way):
                    return True
        return False


def _style_tags(utf8: bytes) -> list[int]:
    """Return the places of ``<style`` in any case; reference implementation."""
    return [match.start() for match in _STYLE.finditer(utf8)]


def _style_texts(page: Page) -> Iterator[bytes]:
    """Yield the style sheets for screens, outside of comments, scripts and ``noscript``."""
    utf8, elements = page.utf8 or b"", page.nodes.indices("style")
    starts = (_style_tags if _kernel.compiled is None else _kernel.compiled.style_tags)(utf8)
    unread = (page.nodes.flags[elements] & _NOSCRIPT > 0).tolist()
    if len(starts) != len(elements):  # some are in comments and scripts, which the tree doesn't have
        unread = [
            any(utf8.rfind(one, first, start) > utf8.rfind(other, first, start) for one, other in _NOT_READ)
            for start in starts[:_MAX_SHEETS]
            for first in [max(0, start - _MAX_PRELUDE)]
        ]
    left, end = _MAX_BYTES, 0
    for start, is_unread in zip(starts[:_MAX_SHEETS], unread, strict=False):
        begin = utf8.find(b">", start) + 1
        end = end if start < end else _style_end(utf8, start)
        if left > 0 and not is_unread and 0 < begin <= end and not _OTHER_MEDIA.search(utf8, start, begin):
            yield utf8[begin : min(end, begin + left)]
            left -= end - begin


def _style_end(utf8: bytes, start: int) -> int:
    """Return the offset at which the style element ends that starts at ``start``."""
    end = utf8.find(b"<", start + 1)  # a single byte is found many times faster than two
    while end >= 0 and utf8[end : end + 7].lower() != b"</style":
        end = utf8.find(b"<", end + 1)
    return len(utf8) if end < 0 else end


def _hiding_rules(css: bytes) -> list[tuple[int, int, int, int]]:
    """Find the rules that may hide elements; reference implementation of the C extension.

    Such a rule has a simple selector and is at the top level or directly in another rule. Each tuple has the offsets
    of its selectors, its opening brace, the end of its declarations, and the rule that it is nested in, or -1.
    """
    parts = _BRACES.split(css)
    found: list[tuple[int, int, int, int]] = []
    place, depth, outer = 0, 0, -1
    for text, brace, body in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
        end = place + len(text)
        if brace == b"{":
            first = place + text.rfind(b";") + 1
            if depth < _MAX_DEPTH and _HAS_SIMPLE.search(css[first:end]) and _MAY_HIDE.search(body):
                found.append((first, end, end + 1 + len(body), outer if depth else -1))
            if not depth:
                outer = first
            depth += 1
        else:
            depth -= depth > 0
        place = end + 1
    return found


def _simple_selectors(prelude: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the element names, and the classes and ids, of the simple selectors of a rule."""
    for selector in prelude.split(","):
        match = _SIMPLE.fullmatch(selector.strip())
        if match and match[0]:
            yield (match[1] or "").lower(), frozenset(_NAME.findall(match[2]))


def _places_of(name: bytes, css: bytes) -> Iterator[tuple[int, int]]:
    """Yield where an element name, or a class or id with its sign, starts and ends in a style sheet."""
    begin = css.find(name)  # faster than a regular expression
    while begin >= 0:
        end = begin + len(name)
        is_whole = css[end : end + 1] not in _OF_NAMES and (name[0] in b".#" or css[begin - 1 : begin] not in _OF_NAMES)
        if is_whole:
            yield begin, end
        begin = css.find(name, end if is_whole else begin + 1)


def _after(css: bytes, signs: bytes, place: int) -> int:
    """Return the place after the last one of some signs before a place."""
    first = max(0, place - _MAX_PRELUDE)
    return max(first, 1 + max([css.rfind(sign, first, place) for sign in signs]))


def _body(css: bytes, brace: int, end: int) -> str:
    """Return the declarations between an opening brace and their end."""
    return css[brace + 1 : min(end, brace + _MAX_BODY)].decode("utf-8", "replace")


def _properties(declarations: str) -> dict[str, str]:
    """Return the values of properties; the last declaration of a property counts."""
    return {name: value.replace("!important", "").strip() for name, value in _DECLARATION.findall(declarations.lower())}


def hiding_of(declarations: str) -> Hiding:
    """Tell how the declarations of a rule or a ``style`` attribute hide an element.

    Examples
    --------
    >>> hiding_of("color: red; DISPLAY: none !important").label, hiding_of("opacity: 0.5").label
    ('display', None)
    >>> hiding_of("position: absolute; left: -9999px").label
    'off_screen'
    """
    own = _properties(declarations)
    if own.get("display") == "none":
        return Hiding.DISPLAY
    if own.get("visibility") in ("hidden", "collapse"):
        return Hiding.VISIBILITY
    if _ZERO.fullmatch(own.get("opacity", "")) and not any(_moves(name) for name in own):
        return Hiding.OPACITY
    if _ZERO.fullmatch(own.get("font-size", "")):
        return Hiding.SIZE
    sides = _ALWAYS_MOVING
    if own.get("position") in ("absolute", "fixed"):
        if own.get("clip", "").startswith(("rect(0", "rect(1px")) or own.get("clip-path", "").startswith(
            ("inset(50%", "inset(100%")
        ):
            return Hiding.OFF_SCREEN
        sides += _MOVING_PLACED
    return Hiding.OFF_SCREEN if any(_FAR.fullmatch(own.get(side, "")) for side in sides) else Hiding.SHOWN


def _moves(name: str) -> bool:
    """Tell whether a property belongs to an animation, which may show the element."""
    return name.startswith(("animation", "transition", "transform", "will-change")) or name.endswith(
        ("-animation", "-transition", "-transform")
    )


def shows(declarations: str, way: Hiding) -> bool:
    """Tell whether declarations show elements that would otherwise be hidden in this way."""
    own = _properties(declarations)
    if way is Hiding.DISPLAY:
        return own.get("display", "none") != "none"
    if way is Hiding.VISIBILITY:
        return own.get("visibility") == "visible"
    if way in (Hiding.OPACITY, Hiding.SIZE):
        name = "opacity" if way is Hiding.OPACITY else "font-size"
        return name in own and not _ZERO.fullmatch(own[name])
    return False
