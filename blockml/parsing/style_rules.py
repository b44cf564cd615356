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

from blockml.page import Flag, Page

__all__ = ["Hiding", "Selector", "StyleSheets", "hiding_of", "shows"]

_NOSCRIPT = int(Flag.NOSCRIPT)
#: Maximum bytes of style sheets that are read, and numbers of style elements, of selectors that hide, and of rules with
#: a class that are read to see whether one of them shows its elements.
_MAX_BYTES, _MAX_SHEETS, _MAX_SELECTORS, _MAX_RULES = 400_000, 100, 200, 200
#: Maximum bytes of the selectors of a rule, and of its declarations.
_MAX_PRELUDE, _MAX_BODY = 2_000, 4_000


class Hiding(IntEnum):
    """How an element is hidden from readers."""

    SHOWN = 0
    ATTRIBUTE = 1  #: attribute ``hidden``
    DISPLAY = 2  #: ``display: none``
    VISIBILITY = 3  #: ``visibility: hidden``
    OPACITY = 4  #: ``opacity: 0``
    SIZE = 5  #: ``font-size: 0``
    OFF_SCREEN = 6  #: placed outside of the screen, or clipped
    SCREEN_READER = 7  #: a class of texts that only screen readers read

    @property
    def label(self) -> str | None:
        """Name in outputs; None for ``SHOWN``."""
        return self.name.lower() if self else None


@dataclass(frozen=True, slots=True)
class Selector:
    """A simple selector of a rule that hides elements."""

    element: str  #: Element name in lower case; empty for any.
    names: frozenset[str]  #: Classes with a dot before them, ids with a hash.
    way: Hiding
    sheet: int  #: Number of its style sheet.
    start: int  #: Where its declarations start in the sheet.


_STYLE = re.compile(rb"<style(?=[\s/>])")
_OTHER_MEDIA = re.compile(rb"""\bmedia\s*=\s*["']?\s*(?!all\b|screen\s*["'\s>])""", re.IGNORECASE)
#: Starts and ends of parts of a page whose style elements don't count.
_NOT_READ = ((b"<!--", b"-->"), (b"<noscript", b"</noscript"), (b"<script", b"</script"))
_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)", re.DOTALL)
#: Declarations that may hide, in lower case.
_MAY_HIDE = tuple(
    map(
        re.compile,
        (rb"display\s*:\s*none", rb"visibility\s*:\s*(?:hidden|collapse)", rb"opacity\s*:\s*0*\.?0*[^0-9.]",
         rb"font-size\s*:\s*0*\.?0*[^0-9.]", rb":-[0-9]{3}", rb": -[0-9]{3}", rb"clip(?:-path)?\s*:\s*(?:rect|inset)"),
    )
)  # fmt: skip
_HAS_SIMPLE = re.compile(rb"(?:^|,)\s*[\w.#\x80-\xff-]+\s*(?:,|$)")
_SIMPLE = re.compile(r"([a-zA-Z][a-zA-Z0-9-]*)?((?:[.#]-?[^\W\d][\w-]*)*)")
_NAME = re.compile(r"[.#][\w-]+")
#: At-rules whose rules apply on screens.
_ON_SCREENS = re.compile(rb"@(?:media\s+(?:only\s+)?(?:screen|all)|layer\b[^{]*)\s*")
_DECLARATION = re.compile(r"(?:^|[;{])\s*([a-z-]+)\s*:([^;]*)")
_ZERO = re.compile(r"(?:0+\.?0*|\.0+)(?:[a-z]+|%)?")
#: Properties that move an element, or its text, and those that move an element with a position.
_ALWAYS_MOVING: tuple[str, ...] = ("margin-left", "margin-top", "text-indent")
_MOVING_PLACED: tuple[str, ...] = ("left", "top", "right", "bottom")
_FAR = re.compile(r"-[0-9]{3,}(?:\.[0-9]+)?(?:px|r?em|v[wh]|%|pt)?")
#: Combinators, after which a selector names other elements.
_COMBINATOR = re.compile(rb"[\s>+~]")


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
        self._sheets = [
            _COMMENT.sub(b" ", sheet) if b"/*" in sheet else sheet
            for sheet in itertools.islice(_style_texts(page), _MAX_SHEETS)
        ]
        self._lower = [sheet.lower() for sheet in self._sheets]

    def selectors(self) -> list[Selector]:
        """Return the simple selectors of rules that hide elements."""
        found: list[Selector] = []
        for number, lower in enumerate(self._lower):
            starts = {lower.rfind(b"{", max(0, place - _MAX_BODY), place) for place in self._places(lower)}
            for start in sorted(starts - {-1}):
                if len(found) < _MAX_SELECTORS:
                    found += self._of_rule(number, start)
        return found

    @staticmethod
    def _places(lower: bytes) -> Iterator[int]:
        return (match.start() for pattern in _MAY_HIDE for match in pattern.finditer(lower))

    def _of_rule(self, number: int, start: int) -> Iterator[Selector]:
        """Yield the simple selectors of the rule whose declarations start somewhere, if it hides elements."""
        css = self._sheets[number]
        prelude = css[_after(css, b"{};", start) : start].strip()
        if not _HAS_SIMPLE.search(prelude):
            return
        way = hiding_of(_body(css, start))
        if way and self._is_on_screens(number, start):
            for selector in prelude.decode("utf-8", "replace").split(","):
                match = _SIMPLE.fullmatch(selector.strip())
                if match and match[0]:
                    yield Selector((match[1] or "").lower(), frozenset(_NAME.findall(match[2])), way, number, start)

    def _is_on_screens(self, number: int, start: int, pattern: re.Pattern[bytes] = _ON_SCREENS) -> bool:
        """Tell whether a rule is outside of other rules, or directly in an at-rule that matches a pattern."""
        lower = self._lower[number]
        depth = lower.count(b"{", 0, start) - lower.count(b"}", 0, start)
        if depth != 1:
            return depth <= 0
        begin = lower.rfind(b"@", 0, start)
        return begin >= 0 and pattern.fullmatch(lower, begin, lower.find(b"{", begin)) is not None

    def reveals(self, selector: Selector) -> bool:
        """Tell whether another rule shows the elements of a selector, perhaps in some state."""
        return any(self._shows(name, selector) for name in selector.names or (selector.element,))

    def _shows(self, name: str, selector: Selector) -> bool:
        pattern = re.compile(rb"(?<![\w-])" * (not selector.names) + re.escape(name.encode()) + rb"(?![\w-])")
        for number, css in enumerate(self._sheets):
            for match in itertools.islice(pattern.finditer(css), _MAX_RULES):
                start = css.find(b"{", match.end(), match.end() + _MAX_PRELUDE)
                rest = css[match.end() : start].partition(b",")[0].rstrip() if start >= 0 else b"}"
                if b"}" in rest or b";" in rest or _COMBINATOR.search(rest):
                    continue  # no selector, or one of other elements
                own = css[_after(css, b"{},", match.start()) : match.start()]
                is_same = not own.strip() and not rest
                if is_same and (number, start) < (selector.sheet, selector.start):
                    continue  # the later rule counts
                if shows(_body(css, start), selector.way):
                    return True
        return False


def _style_texts(page: Page) -> Iterator[bytes]:
    """Yield the style sheets for screens, outside of comments, scripts and ``noscript``."""
    utf8, elements = page.utf8 or b"", page.nodes.indices("style")
    text = utf8 if b"<style" in utf8 else utf8.lower()
    starts = [match.start() for match in _STYLE.finditer(text)]
    unread = (page.nodes.flags[elements] & _NOSCRIPT > 0).tolist()
    if len(starts) != len(elements):  # some are in comments and scripts, which the tree doesn't have
        unread = [
            any(text.count(one, end, start) > text.count(other, end, start) for one, other in _NOT_READ)
            for end, start in zip((0, *starts), starts, strict=False)
        ]
    left = _MAX_BYTES
    for start, is_unread in zip(starts[:_MAX_SHEETS], unread, strict=False):
        begin, end = text.find(b">", start) + 1, text.find(b"</style", start)
        end = end if end >= 0 else len(text)
        if left > 0 and not is_unread and 0 < begin <= end and not _OTHER_MEDIA.search(text, start, begin):
            yield utf8[begin : min(end, begin + left)]
            left -= end - begin


def _after(css: bytes, signs: bytes, place: int) -> int:
    """Return the place after the last one of some signs before a place."""
    first = max(0, place - _MAX_PRELUDE)
    return max(first, 1 + max([css.rfind(sign, first, place) for sign in signs]))


def _body(css: bytes, start: int) -> str:
    """Return the declarations of a rule."""
    end = css.find(b"}", start, start + _MAX_BODY)
    return css[start + 1 : end if end >= 0 else start + _MAX_BODY].decode("utf-8", "replace")


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
