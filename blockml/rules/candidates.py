"""Candidates of selectors: what the elements of a page are called by names that are likely to last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page import Metadata, Page

__all__ = ["RulesPage", "candidates", "is_stable"]

#: Elements whose names say what they are for; ``meta`` and ``time`` have values of metadata.
_NAMED = frozenset(
    "article aside blockquote dl figcaption figure footer form h1 h2 h3 h4 h5 h6 header iframe main nav ol pre section "
    "table time ul".split()
)
#: Elements that are told from others by the stable name of their parent.
_CHILDREN = frozenset("div dl h1 h2 h3 h4 h5 h6 li ol p section span table ul".split())
#: Attributes with one name, beside ``id`` and ``class``.
_NAMING = ("role", "itemprop", "property", "name", "data-testid", "data-component", "data-qa", "rel")
_MOST_CLASSES = 8
_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{1,39}")
_PROPERTY = re.compile(r"[A-Za-z][A-Za-z_.:-]{1,39}")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Minimum letters of the parts of a name on average, and minimum letters of a part without vowels that looks random.
_MEAN_PART, _RANDOM_PART = 2.5, 5


@dataclass(frozen=True, slots=True, eq=False)
class RulesPage:
    """A page to learn from, with the blocks that rules are to keep."""

    id: str
    page: Page
    wanted: NDArray[np.bool_]  #: (n_blocks,) content, by a decision or by labels.
    known: NDArray[np.bool_]  #: (n_blocks,) whether that is known.
    metadata: Metadata  #: Values that rules are to read.


def is_stable(name: str) -> bool:
    """Tell whether a name is likely to be the same on later pages: it has no digits, and its parts look like words.

    Examples
    --------
    >>> [is_stable(name) for name in ("entry-content", "articleBody", "post-12", "css-qXzPt", "sc-bdVaJa")]
    [True, True, False, False, False]
    """
    parts = _PARTS.findall(name)
    if not _NAME.fullmatch(name) or (len(parts) > 1 and sum(map(len, parts)) < _MEAN_PART * len(parts)):
        return False
    return not any(len(part) >= _RANDOM_PART and not set("aeiouyAEIOUY") & set(part) for part in parts)


def candidates(page: Page) -> dict[str, list[int]]:
    """Return the elements of a page by each CSS selector that may become a rule, in document order.

    A selector is an id, a class, an attribute that names a part, or an element whose name does, or a child of one of
    these.

    Examples
    --------
    >>> import blockml
    >>> found = candidates(blockml.parse("<div id=main class='entry x1'><p>One</p><p>Two</p></div>"))
    >>> {name: len(nodes) for name, nodes in found.items()}
    {'#main': 1, '.entry': 1, '#main > p': 2, '.entry > p': 2}
    """
    nodes = page.nodes
    found: dict[str, list[int]] = {}
    own: dict[int, list[str]] = {}
    for node in np.flatnonzero(nodes.tag != 0).tolist():
        name, attributes = nodes.name(node), nodes.attributes[node]
        terms = list(_terms(name, attributes)) if attributes or name in _NAMED else []
        own[node] = terms
        above = own.get(nodes.parent.item(node)) if name in _CHILDREN else None
        for term in (*terms, *(f"{term} > {name}" for term in above or ())):
            found.setdefault(term, []).append(node)
    return found


def _terms(name: str, attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield selectors of an element by itself."""
    if name in _NAMED:
        yield name
    if is_stable(value := attributes.get("id", "")):
        yield f"#{value}"
    for value in dict.fromkeys(attributes.get("class", "").split()[:_MOST_CLASSES]):
        if is_stable(value):
            yield f".{value}"
    for key in _NAMING:
        value = attributes.get(key, "")
        if value and _PROPERTY.fullmatch(value):
            yield f'{name if name == "meta" else ""}[{key}="{value}"]'
