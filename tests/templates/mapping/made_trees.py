"""Trees made by hand, and slow implementations to compare mappings with."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.templates.mapping import NodeEquality, Tree, tree_of
from blockml.templates.mapping.similarity import NodeComparison

#: Scores from this one on are those of nodes that are equal for any weights.
MOST = 1e3

#: The three pages of the worked example, whose template is the menu and the footer.
KEY = (
    "<body><div id=menu><a>Home</a><a>News</a><a>About</a></div>"
    "<div class=art><h1>Cats</h1><p>Cats rule.</p><p>Really.</p></div><div id=foot><p>Copyright</p></div></body>"
)
DOGS = KEY.replace("<h1>Cats</h1><p>Cats rule.</p><p>Really.</p>", "<h1>Dogs</h1><p>Dogs bark.</p>")
BIRDS = KEY.replace(
    "<h1>Cats</h1><p>Cats rule.</p><p>Really.</p>", "<h1>Birds</h1><p>Birds fly.</p><p>High.</p><p>Far.</p>"
)


class Item(NamedTuple):
    """An element below a body: its start tag, its number of children, its position and its number of siblings."""

    tag: str
    n_children: int
    position: int
    n_siblings: int

    def tree(self) -> tuple[Tree, int]:
        """Return a tree with the element, and its row."""
        inner = "<b></b>" * self.n_children
        before, after = "<i></i>" * self.position, "<i></i>" * (self.n_siblings - self.position - 1)
        tree = tree_of(blockml.parse(f"{before}<{self.tag}>{inner}</{self.tag.split()[0]}>{after}"))
        # head, body, and the elements before it
        return tree, 3 + self.position


def similarities(
    a: Tree, rows_a: Sequence[int], b: Tree, rows_b: Sequence[int], equality: str | NodeEquality = "hybex"
) -> NDArray[np.float64]:
    """Return the (len(rows_a), len(rows_b)) scores of all pairs of rows, infinite for nodes that are always equal."""
    left, right = np.repeat(np.array(rows_a, int), len(rows_b)), np.tile(np.array(rows_b, int), len(rows_a))
    scores = NodeComparison(a, b, equality).scores(left, right)
    return np.where(scores >= MOST, inf, scores).reshape(len(rows_a), len(rows_b))


def similarity(a: Tree, i: int, b: Tree, j: int, equality: str | NodeEquality = "hybex") -> float:
    """Return the score of two nodes, likewise."""
    return float(similarities(a, [i], b, [j], equality)[0, 0])


def slow_similarity(a: Tree, i: int, b: Tree, j: int, equality: NodeEquality) -> tuple[float, float]:
    """Return the similarity by its definition, and a second number that orders the infinite ones."""
    e = equality
    name = a.name(i)
    if name != b.name(j):
        return -inf, 0
    if name == "body" or (a.parent[i] == b.parent[j] == -1):
        return inf, 3
    if name == "#text" and e.text_equality and a.texts[i] != b.texts[j]:
        return -inf, 0
    ids = [tree.id_table[tree.ids[row]] if tree.ids[row] >= 0 else None for tree, row in ((a, i), (b, j))]
    classes = [set(tree.class_table[tree.classes[row]]) for tree, row in ((a, i), (b, j))]
    if e.ignore_digits:
        classes = [{"".join("0" if char.isdecimal() else char for char in name) for name in names} for names in classes]
        while any("00" in name for names in classes for name in names):
            classes = [{name.replace("00", "0") for name in names} for names in classes]
    attributes = [set(tree.attribute_table[tree.attributes[row]]) for tree, row in ((a, i), (b, j))]
    if e.exact and not (ids[0] == ids[1] and classes[0] == classes[1] and attributes[0] == attributes[1]):
        return -inf, 0
    if e.same_id and ids[0] is not None and ids[0] == ids[1]:
        return inf, 2
    cls = _jaccard(*classes, both_empty=1.0)
    att = _jaccard(*attributes, both_empty=0.75)
    counts = sorted([int(a.n_children[i]), int(b.n_children[j])])
    chd = 1.0 if counts[1] == 0 else counts[0] / counts[1]
    if e.ignore_counts and classes[0] == classes[1] and attributes[0] == attributes[1]:
        chd = 1.0
    pos = slow_place(int(a.position[i]), int(a.n_siblings[i]), int(b.position[j]), int(b.n_siblings[j]))
    if e.same_look and cls == att == 1:
        return inf, 1 if pos == 1 else 0
    return e.tag + e.cls * cls + e.pos * pos + e.att * att + e.chd * chd, 0


def slow_place(i: int, n_a: int, j: int, n_b: int) -> float:
    """Return the position score found by looking at all positions."""
    slack = abs(n_a - n_b)
    in_place = range(i, i + slack + 1) if n_a <= n_b else range(i - slack, i + 1)
    return 1 - min(abs(j - place) for place in in_place if 0 <= place < n_b) / min(n_a, n_b)


def _jaccard(one: set[Any], two: set[Any], *, both_empty: float) -> float:
    return len(one & two) / len(one | two) if one | two else both_empty


def slow_mapping(a: Tree, b: Tree, equality: NodeEquality) -> list[int]:
    """Return the greedy mapping found by repeatedly looking at all pairs of children."""
    partner = [-1] * len(a)
    if not len(a) or not len(b) or a.name(0) != b.name(0):
        return partner
    roots = [np.flatnonzero(tree.parent == -1).tolist() for tree in (a, b)]
    waiting = [(0, 0)]
    open_lists = [(roots[0][1:], roots[1][1:])]
    while waiting or open_lists:
        if waiting:
            i, j = waiting.pop()
            partner[i] = j
            open_lists.append((np.flatnonzero(a.parent == i).tolist(), np.flatnonzero(b.parent == j).tolist()))
        own, others = open_lists.pop()
        while pairs := [
            (-score, -order, i, j)
            for i in own
            for j in others
            for score, order in [slow_similarity(a, i, b, j, equality)]
            if score >= equality.threshold - 1e-9
        ]:
            _, _, i, j = min((round(score, 9), order, i, j) for score, order, i, j in pairs)
            own, others = [row for row in own if row != i], [row for row in others if row != j]
            waiting.append((i, j))
    return partner
