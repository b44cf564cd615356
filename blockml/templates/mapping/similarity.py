"""Similarity of two nodes of two pages, and their equality ("≜" in Alarte et al. 2014).

The paper leaves the equality open: "a ponderation" of class name, number of children, relative position and
attributes. The published presets follow the authors' later public implementation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, check_name
from blockml.templates.mapping.tree import Tree


@dataclass(frozen=True, slots=True)
class NodeEquality:
    """Equality of nodes: equal names, and a weighted sum of scores in [0, 1] that reaches a threshold.

    Raises UsageError for a weight outside of [0, 1] or a threshold outside of [0, 5].
    """

    cls: float = 0.1  #: Weight of the class names: Jaccard index; 1 if neither has any
    #: Weight of the positions among the siblings: 1 for equal ones, minus 1/m per step, where m is the length of the
    #: shorter list
    pos: float = 0.4
    #: Weight of the attributes without id and class: Jaccard index of names with values; .75 if neither has any
    att: float = 0.0
    chd: float = 0.5  #: Weight of the numbers of child nodes: smaller by larger; 1 if neither has any
    tag: float = 0.0  #: Weight of the names, which are equal: a constant
    threshold: float = 0.9  #: Minimum sum for equal nodes
    #: Whether texts must be equal, with normalised white space. False as in the public implementation, where all texts
    #: match, so that an article is template wherever two articles have the same structure.
    text_equality: bool = True
    same_id: bool = True  #: Whether equal ids make nodes equal
    same_look: bool = True  #: Whether class and attribute scores of 1 make nodes equal, preferably at equal positions
    exact: bool = False  #: Whether ids, class names and attributes must be equal
    ignore_digits: bool = False  #: Whether digits in class names are ignored, as in ``post-123``. Our choice
    #: Whether the numbers of children are ignored if class names and attributes are equal. Our choice.
    ignore_counts: bool = False

    def __post_init__(self) -> None:
        weights = {name: getattr(self, name) for name in ("cls", "pos", "att", "chd", "tag")}
        if wrong := [name for name, weight in weights.items() if not 0 <= weight <= 1]:
            raise UsageError(f"weights of a node equality must be in [0, 1]: {', '.join(wrong)}")
        if not 0 <= self.threshold <= len(weights):
            raise UsageError(f"the threshold of a node equality must be in [0, {len(weights)}], got {self.threshold}")


#: Node equalities by name. ``hybex`` is the default of the authors' public implementation, ``hybex-old`` its older
#: weights, ``label`` the paper's Fig. 1 (names only); ``strict`` requires equal attributes.
EQUALITIES: Mapping[str, NodeEquality] = MappingProxyType(
    {
        "hybex": NodeEquality(),
        "hybex-old": NodeEquality(cls=0.8, pos=0.1, att=0.0, chd=0.1),
        "label": NodeEquality(cls=0, pos=0, chd=0, tag=1, threshold=1, same_id=False, same_look=False),
        "strict": NodeEquality(cls=0, pos=0, chd=0, tag=1, threshold=1, same_id=False, same_look=False, exact=True),
        # Our choice: page builders number class names, and containers differ in length between pages.
        "blockml": NodeEquality(ignore_digits=True, ignore_counts=True),
    }
)

#: Scores of pairs that are equal for any weights, in increasing priority.
_LOOK, _LOOK_IN_PLACE, _ID, _ALWAYS = 1e3, 2e3, 1e4, 1e5

#: Rounding error of sums of decimal weights.
_TOLERANCE = 1e-9

_DIGITS = re.compile(r"\d+")


def equality_of(equality: str | NodeEquality) -> NodeEquality:
    """Return a node equality by name, or the given one; raise UnknownNameError for an unknown name.

    Examples
    --------
    >>> equality_of("hybex-old").cls
    0.8
    """
    if isinstance(equality, NodeEquality):
        return equality
    check_name("node equality", equality, EQUALITIES)
    return EQUALITIES[equality]


class NodeComparison:
    """Two trees under one equality, with common codes.

    Roots with equal names, and bodies, are always equal, because pages of one template differ in length. Scores are
    -inf for nodes that can't be equal, and large numbers for those that are equal for any weights, so that sums can be
    compared and an equal id outranks equal class names and attributes.

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.mapping.tree import tree_of
    >>> one, two = (tree_of(blockml.parse(f"<p class='{names}'>text")) for names in ("a b", "b"))
    >>> one.name(3), NodeComparison(one, two, "hybex").scores(np.array([3]), np.array([3])).round(6).tolist()
    ('p', [0.95])
    """

    def __init__(self, a: Tree, b: Tree, equality: str | NodeEquality) -> None:
        self.equality = equality_of(equality)
        self.limit = self.equality.threshold - _TOLERANCE
        self.a, self.b = Side(a), Side(b)
        table_a, table_b = a.class_table, b.class_table
        if self.equality.ignore_digits:
            table_a, table_b = _stems(table_a), _stems(table_b)
        class_sets, self.a.classes, self.b.classes = _shared(table_a, a.classes, table_b, b.classes)
        attribute_sets, self.a.attributes, self.b.attributes = _shared(
            a.attribute_table, a.attributes, b.attribute_table, b.attributes
        )
        _, self.a.ids, self.b.ids = _shared(a.id_table, a.ids, b.id_table, b.ids)
        self.names, self.a.tag, self.b.tag = _shared(a.names, a.tag, b.names, b.tag)
        self._body = self.names.index("body") if "body" in self.names else -1
        self._class_sets, self._attribute_sets = class_sets, attribute_sets

    def scores(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the (n,) scores of the pairs of row ``i[k]`` of the first tree and ``j[k]`` of the second."""
        a, b, e = self.a, self.b, self.equality
        same_class = a.classes[i] == b.classes[j]
        same_attributes = a.attributes[i] == b.attributes[j]
        has_attributes = a.attributes[i] > 0
        pos = _places(a.tree.position[i], a.tree.n_siblings[i], b.tree.position[j], b.tree.n_siblings[j])
        less = np.minimum(a.tree.n_children[i], b.tree.n_children[j])
        more = np.maximum(a.tree.n_children[i], b.tree.n_children[j])
        chd = np.where(more > 0, less / np.maximum(more, 1), 1.0)
        if e.ignore_counts:
            chd[same_class & same_attributes] = 1.0
        cls = np.ones(len(i)) if not e.cls else _overlaps(self._class_sets, a.classes[i], b.classes[j])
        att = np.ones(len(i)) if not e.att else _overlaps(self._attribute_sets, a.attributes[i], b.attributes[j])
        att[same_attributes & ~has_attributes] = 0.75
        scores = e.tag + e.cls * cls + e.pos * pos + e.att * att + e.chd * chd
        if e.same_look:
            look = same_class & same_attributes & has_attributes
            scores[look] = np.where(pos[look] == 1, _LOOK_IN_PLACE, _LOOK)
        same_id = a.ids[i] == b.ids[j]
        if e.same_id:
            scores[same_id & (a.ids[i] >= 0)] = _ID
        if e.exact:
            scores[~(same_class & same_attributes & same_id)] = -inf
        if e.text_equality:
            scores[(a.tag[i] == 0) & (a.tree.texts[i] != b.tree.texts[j])] = -inf
        scores[(a.tag[i] == self._body) | ((a.tree.parent[i] < 0) & (b.tree.parent[j] < 0))] = _ALWAYS
        scores[a.tag[i] != b.tag[j]] = -inf
        return scores

    def kinds(self) -> tuple[list[int], list[int]]:
        """Return a number for each row of both trees; rows with different numbers are never equal."""
        a, b, e = self.a, self.b, self.equality
        tags = np.concatenate([a.tag, b.tag])
        kinds = tags
        if e.text_equality:
            kinds = _refined(kinds, np.concatenate([a.tree.texts, b.tree.texts]))
        if e.exact:
            always = np.concatenate(
                [(a.tag == self._body) | (a.tree.parent < 0), (b.tag == self._body) | (b.tree.parent < 0)]
            )
            for column in ((a.classes, b.classes), (a.attributes, b.attributes), (a.ids, b.ids)):
                kinds = _refined(kinds, np.where(always, 0, np.concatenate(column)))
        return kinds[: len(a.tree)].tolist(), kinds[len(a.tree) :].tolist()

    @property
    def equates_identical(self) -> bool:
        """Whether the weights suffice to make identical nodes equal."""
        e = self.equality
        return e.tag + e.cls + e.pos + e.chd + 0.75 * e.att >= self.limit


def _overlaps(table: Sequence[frozenset[Any]], x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the Jaccard indices of the sets ``x[k]`` and ``y[k]`` of a table; 1 for equal ones."""
    pairs, which = np.unique(x * len(table) + y, return_inverse=True)
    sets = [(table[i], table[j]) for i, j in (divmod(pair, len(table)) for pair in pairs.tolist())]
    indices = [1.0 if one == other else len(one & other) / len(one | other) for one, other in sets]
    overlaps: NDArray[np.float64] = np.array(indices, dtype=np.float64)[which.reshape(-1)]
    return overlaps


class Side:
    """One of the two compared trees, with codes shared by both."""

    __slots__ = ("attributes", "classes", "ids", "tag", "tree")

    tag: NDArray[np.int64]
    ids: NDArray[np.int64]
    classes: NDArray[np.int64]
    attributes: NDArray[np.int64]

    def __init__(self, tree: Tree) -> None:
        self.tree = tree


def _refined(kinds: NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.int64]:
    """Refine kinds by further values."""
    _, values = np.unique(values, return_inverse=True)
    _, kinds = np.unique(kinds * (len(values) + 1) + values, return_inverse=True)
    return kinds


def _shared(
    table_a: Sequence[Any], codes_a: NDArray[np.int32], table_b: Sequence[Any], codes_b: NDArray[np.int32]
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Merge two tables and return the codes of both in the merged one; -1 is kept."""
    codes: dict[Any, int] = {}
    new = []
    for table, column in ((table_a, codes_a), (table_b, codes_b)):
        numbers = [codes.setdefault(entry, len(codes)) for entry in table]
        new.append(np.array([*numbers, -1], dtype=np.int64)[column])
    return list(codes), new[0], new[1]


def _stems(table: Sequence[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """Replace each number in class names by 0."""
    return tuple(frozenset(_DIGITS.sub("0", name) for name in names) for names in table)


def _places(
    i: NDArray[np.int32], n_a: NDArray[np.int32], j: NDArray[np.int32], n_b: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Score the agreement of positions ``i`` of ``n_a`` and ``j`` of ``n_b``: 1 minus 1/shorter per step."""
    slack = np.abs(n_a - n_b)
    low = np.where(n_a <= n_b, i, i - slack)
    steps = np.maximum(np.maximum(low - j, j - low - slack), 0)
    places: NDArray[np.float64] = 1.0 - steps / np.minimum(n_a, n_b)
    return places
