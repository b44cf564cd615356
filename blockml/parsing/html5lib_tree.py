"""Trees built by html5lib, the reference implementation of the HTML standard's algorithm, within a budget.

html5lib needs more than a kilobyte per element, and the standard reopens unclosed formatting elements in each
paragraph, so that a page may have many more elements than tags. For most tags html5lib searches the open elements. So
the budget counts the elements as they are created, the open elements at each of them and at each tag, and the children
that are searched for the position of a new element. To append a character, html5lib copies the whole name, value or
comment; the copied characters are counted too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from blockml.errors import needed

__all__ = ["html5lib_root", "most_elements", "most_steps"]

#: Elements allowed on any page, and bytes per element on longer pages.
_ELEMENTS, _BYTES_PER_ELEMENT = 3_000, 25
#: Open elements, summed over all elements and tags, allowed on any page, and per byte on longer pages. None of 86
#: labelled pages above 60 kB has two per byte.
_STEPS, _STEPS_PER_BYTE = 2_000_000, 6
#: Copied characters allowed on any page, and per byte on longer pages; characters read between two counts.
_COPIED, _COPIED_PER_BYTE, _INTERVAL = 2_000_000_000, 20_000, 64
#: Number of children that cost as much to compare as one open element.
_CHILDREN = 8
#: Characters of a text after which a comment starts a new one: html5lib copies a text to append to it.
_TEXT = 4_000


class _TooCostly(Exception):  # noqa: N818 (ends a parse early; callers never get it)
    """The tree costs more than the budget allows."""


def most_elements(n_bytes: int) -> int:
    """Return the maximum number of elements of a page with this many bytes.

    Examples
    --------
    >>> most_elements(10_000), most_elements(1_000_000)
    (3000, 40000)
    """
    return max(_ELEMENTS, n_bytes // _BYTES_PER_ELEMENT)


def most_steps(n_bytes: int) -> int:
    """Return the maximum number of open elements, summed over the elements and tags of a page with this many bytes.

    Examples
    --------
    >>> most_steps(10_000), most_steps(1_000_000)
    (2000000, 6000000)
    """
    return max(_STEPS, n_bytes * _STEPS_PER_BYTE)


def html5lib_root(text: str, n_bytes: int) -> Any:  # noqa: ANN401 (an ElementTree element or a reason)
    """Parse a page and return its root element, or why html5lib can't parse it.

    Parameters
    ----------
    text
        The page.
    n_bytes
        Its size, which determines the budget.

    Raises
    ------
    MissingExtraError
        html5lib is not installed.
    """
    with needed("the back end html5lib", "html5lib"):
        import html5lib  # slow to load, and rarely needed

    made: list[Any] = []
    steps = 0
    most, enough = most_elements(n_bytes), most_steps(n_bytes)
    builder: Any = html5lib.getTreeBuilder("etree")

    def spend(n_searched: int) -> None:
        nonlocal steps
        steps += n_searched
        if steps > enough:
            raise _TooCostly("its elements are nested too deeply for html5lib")

    class Element(builder.elementClass):  # type: ignore[misc]  # clones have the class of their original
        def __init__(self, name: str, namespace: str | None = None) -> None:
            spend(len(tree.openElements))
            if len(made) >= most:
                raise _TooCostly(f"it has more than {most} elements")
            super().__init__(name, namespace)
            made.append(self)

        def insertText(self, data: str, insertBefore: Any = None) -> None:  # noqa: ANN401, N802, N803 (html5lib's names)
            last = self._element[-1].tail if len(self._element) else self._element.text
            if insertBefore is not None:
                spend(len(self._element) // _CHILDREN)
            elif last and len(last) > _TEXT:
                self.appendChild(builder.commentClass(""))
            super().insertText(data, insertBefore)

        def insertBefore(self, node: Any, refNode: Any) -> None:  # noqa: ANN401, N802, N803 (html5lib's names)
            spend(len(self._element) // _CHILDREN)
            super().insertBefore(node, refNode)

        def removeChild(self, node: Any) -> None:  # noqa: ANN401, N802 (html5lib's name)
            spend(len(self._element) // _CHILDREN)
            super().removeChild(node)

    class Parser(html5lib.HTMLParser):
        def mainLoop(self) -> None:  # noqa: N802 (html5lib's name)
            stream: Any = self.tokenizer.stream
            stream.reportCharacterErrors = None  # it pops the first of a list of thousands for each control character
            most_copied = max(_COPIED, n_bytes * _COPIED_PER_BYTE)
            stream.char = _counted(stream.char, self.tokenizer, most_copied, lambda: spend(len(tree.openElements)))
            super().mainLoop()

    parser: Any = Parser(tree=builder, namespaceHTMLElements=False)
    tree = parser.tree
    tree.elementClass = Element
    parser.parseError = _ignore
    try:
        with warnings.catch_warnings():
            # html5lib warns about names that XML forbids, which don't matter here.
            warnings.simplefilter("ignore")
            return parser.parse(text)
    except _TooCostly as error:
        return str(error)
    except MemoryError:  # lxml may have enough memory for the page, but running out of memory must be reported
        raise
    except Exception:  # noqa: BLE001 (html5lib raises anything, for example on svg in broken tables and long numbers)
        return "html5lib failed on it"
    finally:
        # These objects refer to each other, and would stay until a garbage collection.
        for element in made:
            element.parent, element._childNodes = None, []  # noqa: SLF001 (the public setter would empty the tree)
        made.clear()
        tree.reset()
        parser.tokenizer.stream.dataStream = None  # holds the page, four bytes per character


def _counted(
    char: Callable[[], Any],
    tokenizer: Any,  # noqa: ANN401 (html5lib's)
    most: int,
    spend_tag: Callable[[], None],
) -> Callable[[], Any]:
    """Return a function that reads a character, until tags and comments have copied too many by an estimate.

    It calls ``spend_tag`` at each tag.
    """
    n_read = n_copied = before = 0

    def read() -> Any:  # noqa: ANN401 (a character, or None at the end)
        nonlocal n_read, n_copied, before
        n_read += 1
        if n_read % _INTERVAL == 0:
            length = _length(tokenizer.currentToken or {})
            n_copied += length * _INTERVAL if length != before else 0  # one that doesn't grow has ended
            before = length
            if n_copied > most:
                raise _TooCostly("its tags or comments are too long for html5lib")
        character = char()
        if character == "<":
            spend_tag()
        return character

    return read


def _length(token: Mapping[str, Any]) -> int:
    """Return the length of the growing part of a tag, comment or doctype: its name, last attribute or text."""
    data = token.get("data")
    last = data[-1] if isinstance(data, list) and data else ()
    return sum(len(value) for value in (*token.values(), *last) if isinstance(value, str))


def _ignore(*_: object) -> None:
    """Ignore a parse error; html5lib's list of them would be longer than the page."""
