"""Selectors of elements: steps and tests that are evaluated for all nodes of a page at once.

XPath is compiled to steps (:mod:`blockml.rules.xpath`), and CSS is translated to XPath before. A step maps the
marked nodes of a page to other marked nodes, and a test marks the nodes that pass it. Both are a fixed number of passes
over columns, so that the time of a selector is its length times the nodes of the page, whatever both say (Gottlob,
Koch and Pichler, "Efficient algorithms for processing XPath queries", 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes
from blockml.page.attributes import Attributes
from blockml.page.lazy import cached_property
from blockml.page.subtrees import nearest_above, subtree_sums

__all__ = ["AXES", "Attribute", "Count", "Either", "Has", "Named", "Not", "PathStep", "Position", "Selector"]
__all__ += ["SelectorTree", "Test", "Text"]

#: Which of a page's nodes are marked, (n_nodes,).
Mask: TypeAlias = NDArray[np.bool_]

#: Comparisons of a text with a value, by operator.
_HOLDS: Mapping[str, Callable[[str, str], bool]] = {
    "exists": lambda _text, _value: True,
    "=": lambda text, value: text == value,
    "*=": lambda text, value: value in text,
    "^=": lambda text, value: text.startswith(value),
    "$=": lambda text, value: text.endswith(value),
}


class SelectorTree:
    """The nodes of a page with the columns that several selectors read, each computed when it is first needed."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.elements: Mask = nodes.tag != 0
        self._named: dict[str, Mask] = {}

    def named(self, name: str) -> Mask:
        """Return the elements with a name."""
        if name not in self._named:
            self._named[name] = self.nodes.named({name})
        return self._named[name]

    def with_attribute(self, name: str, part: str, holds: Callable[[str], bool]) -> Mask:
        """Return the elements whose attribute exists and passes a test; only values that contain ``part`` can."""
        held = self.nodes.attributes
        if not isinstance(held, Attributes):
            return np.fromiter(((value := item.get(name)) is not None and holds(value) for item in held), bool)
        found = np.zeros(len(held.given), dtype=bool)
        for number in (*held.mapped(), *_sets_with(held, (part or name).encode("utf-8", "surrogatepass"))):
            value = held.mapping(number).get(name)
            found[number] = value is not None and holds(value)
        return found[held.number]

    @cached_property
    def joined(self) -> tuple[str, NDArray[np.int64]]:
        """All texts of the page, joined, and (n_nodes + 1,) where the text of each node starts in them."""
        starts = np.zeros(len(self.nodes) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, self.nodes.texts), np.int64, len(self.nodes)), out=starts[1:])
        return "".join(self.nodes.texts), starts

    @cached_property
    def siblings(self) -> _Siblings:
        """Nodes by parent."""
        return _Siblings(self.nodes.parent)


def _sets_with(held: Attributes, part: bytes) -> Iterable[int]:
    """Yield the numbers of the attribute sets whose names or values contain some bytes."""
    place = held.pairs.find(part)
    while place >= 0:
        number = int(held.ends.searchsorted(place, side="right"))
        yield number
        place = held.pairs.find(part, int(held.ends[number]))


class _Siblings:
    """Nodes in groups by parent, each in document order."""

    def __init__(self, parent: NDArray[np.int32]) -> None:
        self.order = order = np.argsort(parent, kind="stable")  #: (n_nodes,) nodes, group after group.
        new = np.diff(parent[order], prepend=-2) != 0  # roots have the parent -1
        group, starts = np.cumsum(new) - 1, np.append(np.flatnonzero(new), len(order))
        #: (n_nodes,) where the group of each of them starts in ``order``, and where it ends.
        self.start, self.end = starts[group], starts[group + 1]

    def counts(self, marked: Mask, *, after: bool = False) -> NDArray[np.int64]:
        """Return (n_nodes,) number of marked nodes before each node in its group, or ``after`` it."""
        below = np.zeros(len(self.order) + 1, dtype=np.int64)
        np.cumsum(marked[self.order], out=below[1:])
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = below[self.end] - below[1:] if after else below[:-1] - below[self.start]
        return found


def _children(tree: SelectorTree, marked: Mask) -> Mask:
    return np.append(marked, False)[tree.nodes.parent]


def _descendants(tree: SelectorTree, marked: Mask) -> Mask:
    return nearest_above(tree.nodes, marked) >= 0


def _parents(tree: SelectorTree, marked: Mask) -> Mask:
    found = np.zeros(len(marked) + 1, dtype=bool)
    found[tree.nodes.parent[marked]] = True
    return found[:-1]


def _ancestors(tree: SelectorTree, marked: Mask) -> Mask:
    return subtree_sums(tree.nodes, marked) > marked


def _next(tree: SelectorTree, marked: Mask, *, step: int = 1) -> Mask:
    elements = tree.siblings.order[tree.elements[tree.siblings.order]]
    found = np.zeros(len(marked), dtype=bool)
    one, other = (elements[:-1], elements[1:])[::step]
    same = tree.nodes.parent[one] == tree.nodes.parent[other]
    found[other[same]] = marked[one[same]]
    return found


#: Elements that are on an axis of marked ones, and the opposite axis.
AXES: Mapping[str, tuple[Callable[[SelectorTree, Mask], Mask], str]] = {
    "self": (lambda _, marked: marked, "self"),
    "child": (_children, "parent"),
    "parent": (_parents, "child"),
    "descendant": (_descendants, "ancestor"),
    "ancestor": (_ancestors, "descendant"),
    "descendant-or-self": (lambda tree, marked: marked | _descendants(tree, marked), "ancestor-or-self"),
    "ancestor-or-self": (lambda tree, marked: marked | _ancestors(tree, marked), "descendant-or-self"),
    "following-sibling": (lambda tree, marked: tree.siblings.counts(marked) > 0, "preceding-sibling"),
    "preceding-sibling": (lambda tree, marked: tree.siblings.counts(marked, after=True) > 0, "following-sibling"),
    "next": (_next, "previous"),
    "previous": (lambda tree, marked: _next(tree, marked, step=-1), "next"),
}


class Test(Protocol):
    """A condition on elements."""

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:
        """Return the nodes that pass; ``among`` marks those that pass the tests before it."""


@dataclass(frozen=True, slots=True)
class Named:
    """Passes elements with a name."""

    name: str

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:  # noqa: ARG002 (the protocol)
        """Return the nodes that pass."""
        return tree.named(self.name)


@dataclass(frozen=True, slots=True)
class Attribute:
    """Compares an attribute with a value."""

    name: str
    operator: str = "exists"
    value: str = ""
    normalized: bool = False  #: Whether white space in the attribute is normalised first.
    padded: bool = False  #: Whether a blank is put before and after it first, as XPath has to do for words.

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:  # noqa: ARG002 (the protocol)
        """Return the nodes that pass."""
        part = max(self.value.split(), key=len, default="")
        return tree.with_attribute(self.name, part, self.passes)

    def passes(self, text: str) -> bool:
        """Tell whether the value of an attribute passes."""
        text = " ".join(text.split()) if self.normalized else text
        return _HOLDS[self.operator](f" {text} " if self.padded else text, self.value)


@dataclass(frozen=True, slots=True)
class Text:
    """Compares the text of an element with a value: ``*=`` or ``^=``; or one of its ``own`` texts, also ``=``."""

    operator: str
    value: str
    own: bool = False

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:  # noqa: ARG002 (the protocol)
        """Return the nodes that pass."""
        if self.own:
            holds = _HOLDS[self.operator]
            passes = np.fromiter((holds(text, self.value) for text in tree.nodes.texts), bool, len(tree.nodes))
            return _parents(tree, passes & ~tree.elements)
        text, starts = tree.joined
        places, place = [], text.find(self.value)
        while place >= 0:
            places.append(place)
            place = text.find(self.value, place + 1)
        # The first occurrence in or after each node must end in it.
        first = np.array([*places, len(text) + 1])[np.searchsorted(places, starts[:-1])]
        ends = first + len(self.value) <= starts[tree.nodes.end]
        return ends & (first == starts[:-1]) if self.operator == "^=" else ends


@dataclass(frozen=True, slots=True)
class Position:
    """Passes the sibling at a place, from 1, among those that pass the tests before it, or the last of them."""

    place: int
    last: bool = False

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:
        """Return the nodes that pass."""
        return np.asarray(tree.siblings.counts(among, after=self.last) == (0 if self.last else self.place - 1))


@dataclass(frozen=True, slots=True)
class Count:
    """Compares the number of an element's siblings before it, or ``after`` it, with a number."""

    after: bool
    name: str  #: Name of the siblings that count; ``*`` for all elements.
    shift: int  #: Added to their number first.
    modulo: int  #: Then the remainder of the division by this counts, if it is not 0.
    operator: str  #: ``=``, ``<=`` or ``>=``.
    number: int

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:  # noqa: ARG002 (the protocol)
        """Return the nodes that pass."""
        counted = tree.elements if self.name == "*" else tree.named(self.name)
        found = tree.siblings.counts(counted, after=self.after) + self.shift
        found = found % self.modulo if self.modulo else found
        compare = {"=": np.equal, "<=": np.less_equal, ">=": np.greater_equal}[self.operator]
        return np.asarray(compare(found, self.number))


@dataclass(frozen=True, slots=True)
class Has:
    """Passes elements from which a path leads to an element."""

    steps: tuple[PathStep, ...]

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:  # noqa: ARG002 (the protocol)
        """Return the nodes that pass."""
        found = tree.elements
        for step in reversed(self.steps):
            marked = found & step.passing(tree)
            found = AXES[AXES[step.axis][1]][0](tree, marked)
        return found


@dataclass(frozen=True, slots=True)
class Not:
    """Passes elements that fail a test."""

    test: Test

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:
        """Return the nodes that pass."""
        return ~self.test.marks(tree, among)


@dataclass(frozen=True, slots=True)
class Either:
    """Passes elements that pass all tests of at least one of several groups."""

    groups: tuple[tuple[Test, ...], ...]

    def marks(self, tree: SelectorTree, among: Mask) -> Mask:
        """Return the nodes that pass."""
        none = np.zeros(len(among), dtype=bool)
        return np.asarray(np.logical_or.reduce([none, *(all_pass(tests, tree, among) for tests in self.groups)]))


def all_pass(tests: Sequence[Test], tree: SelectorTree, among: Mask) -> Mask:
    """Return the nodes that pass all tests, in their order."""
    for test in tests:
        among = among & test.marks(tree, among)
    return among


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of an XPath: selects the elements on an axis that pass all tests."""

    axis: str  #: One of :data:`AXES`.
    tests: tuple[Test, ...] = ()
    texts: bool = False  #: Whether texts pass too, as in the step that ``//`` abbreviates.

    def passing(self, tree: SelectorTree) -> Mask:
        """Return all elements that pass the tests."""
        return all_pass(self.tests, tree, tree.elements | self.texts)


def _select(steps: Sequence[PathStep], tree: SelectorTree) -> Mask:
    """Return the elements that steps from the root of a page lead to."""
    found = None  # the root
    for step in steps:
        passing = step.passing(tree)
        if found is not None:
            found = AXES[step.axis][0](tree, found) & passing
        else:
            found = passing & (tree.nodes.parent < 0) if step.axis == "child" else passing
    return np.zeros(len(tree.nodes), dtype=bool) if found is None else found & tree.elements


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled CSS selector or XPath; see :func:`blockml.rules.compile_selector`."""

    text: str  #: As it was written.
    xpath: str  #: In XPath 1.0.
    is_css: bool
    paths: tuple[tuple[PathStep, ...], ...]  #: Alternatives.
    attribute: str | None = None  #: Attribute that the value is read from; None for the text.

    def select(self, tree: SelectorTree) -> Mask:
        """Return (n_nodes,) which elements match."""
        return np.asarray(np.logical_or.reduce([_select(steps, tree) for steps in self.paths]))
