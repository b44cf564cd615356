"""The tree that html5lib, the reference implementation of the HTML standard's algorithm, builds; within a budget.

html5lib takes more than a kilobyte for an element, and the standard reopens formatting elements that were left open in
each paragraph, so that a page may have many more elements than tags. So they are counted while they are made.
"""

from __future__ import annotations

import warnings
from typing import Any

from blockml.errors import MissingExtraError

__all__ = ["TooManyElements", "html5lib_root", "most_elements"]

#: Elements of any page, and bytes for each element of a longer one.
_ELEMENTS, _BYTES_PER_ELEMENT = 3_000, 25


class TooManyElements(Exception):  # noqa: N818 (ends a parse early; callers of the package never get it)
    """The tree has more elements than the budget allows."""


def most_elements(n_bytes: int) -> int:
    """Return the most elements of the tree of a page of so many bytes.

    Examples
    --------
    >>> most_elements(10_000), most_elements(1_000_000)
    (3000, 40000)
    """
    return max(_ELEMENTS, n_bytes // _BYTES_PER_ELEMENT)


def html5lib_root(text: str, most: int) -> Any:  # noqa: ANN401 (an ElementTree element)
    """Parse a page and return its root element.

    Parameters
    ----------
    text
        The page.
    most
        Most elements, including those that the tree loses again.

    Raises
    ------
    MissingExtraError
        html5lib is not installed.
    TooManyElements
        There are more elements.
    AssertionError
        html5lib fails, as it does on svg in broken tables.
    """
    try:
        import html5lib  # slow to load, and rarely needed
    except ImportError as error:
        raise MissingExtraError("the back end html5lib", "html5lib") from error

    made: list[Any] = []
    builder: Any = html5lib.getTreeBuilder("etree")

    class Element(builder.elementClass):  # type: ignore[misc]  # clones have the class of their original
        def __init__(self, name: str, namespace: str | None = None) -> None:
            if len(made) >= most:
                raise TooManyElements
            super().__init__(name, namespace)
            made.append(self)

    parser: Any = html5lib.HTMLParser(tree=builder, namespaceHTMLElements=False)
    parser.tree.elementClass = Element
    parser.parseError = _ignore
    try:
        with warnings.catch_warnings():
            # html5lib warns about names that XML forbids, which don't matter here.
            warnings.simplefilter("ignore")
            return parser.parse(text)
    finally:
        for element in made:  # parents and children refer to each other, and would stay until a garbage collection
            element.parent, element._childNodes = None, []  # noqa: SLF001 (the public setter would empty the tree)


def _ignore(*_: object) -> None:
    """Take a parse error, of which html5lib would keep a list that is longer than the page."""
