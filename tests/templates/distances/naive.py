"""The six distances in plain Python over the nodes of a page, slow and obvious."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, Any

from tests.strategies import path_of

if TYPE_CHECKING:
    from collections.abc import Set

    from blockml.page import Nodes, Page

#: A tree: its name and its children.
Tree = tuple[str, tuple[Any, ...]]

VOID = "area base br col embed hr img input link meta param source track wbr".split()


def elements(nodes: Nodes) -> list[int]:
    """Return the nodes that are not text."""
    return [node for node in range(len(nodes)) if nodes.name(node) != "#text"]


def children(nodes: Nodes, node: int) -> list[int]:
    """Return the nodes directly below one; the roots are below -1."""
    return [other for other in range(len(nodes)) if nodes.parent[other] == node]


def paths(page: Page) -> set[tuple[str, ...]]:
    """Return the names from a root to each element that contains no elements."""
    nodes = page.nodes
    inner = {int(nodes.parent[node]) for node in elements(nodes)}
    return {tuple(map(nodes.name, path_of(nodes, node))) for node in elements(nodes) if node not in inner}


def path_shingles(page: Page, q: int) -> set[tuple[str, ...]]:
    """Return the runs of names on the paths."""
    runs: set[tuple[str, ...]] = set()
    for path in paths(page):
        runs.update(path[start : start + q] for start in range(max(len(path) - q, 0) + 1))
    return runs


def tags(page: Page) -> list[str]:
    """Return the start tags and end tags."""
    sequence: list[str] = []

    def write(node: int) -> None:
        name = page.nodes.name(node)
        if name != "#text":
            sequence.append(name)
            for child in children(page.nodes, node):
                write(child)
            if name not in VOID:
                sequence.append("/" + name)

    for root in children(page.nodes, -1):
        write(root)
    return sequence


def tag_shingles(page: Page, q: int) -> set[tuple[str, ...]]:
    """Return the runs of tags."""
    sequence = tags(page)
    return {tuple(sequence[start : start + q]) for start in range(len(sequence) - q + 1)}


def set_distance(a: Set[Any], b: Set[Any]) -> float:
    """Return the share of the larger set that the sets do not have in common."""
    return 1 - len(a & b) / max(len(a), len(b)) if a or b else 0.0


def vector_distance(a: Page, b: Page, known: Set[str]) -> float:
    """Return the Euclidean distance of counts."""
    first, second = (Counter(page.nodes.name(node) for node in elements(page.nodes)) for page in (a, b))
    return sqrt(sum((first[name] - second[name]) ** 2 for name in known))


def sequence_distance(a: Page, b: Page) -> float:
    """Return one minus the share of the longest common subsequence, by the textbook algorithm."""
    first, second = tags(a), tags(b)
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, s in enumerate(first):
        for j, t in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if s == t else max(table[i][j + 1], table[i + 1][j])
    return 1 - table[-1][-1] / max(len(first), len(second)) if first or second else 0.0


def forest(page: Page) -> tuple[Tree, ...]:
    """Return the trees of a page."""

    def tree(node: int) -> Tree:
        below = [child for child in children(page.nodes, node) if page.nodes.name(child) != "#text"]
        return page.nodes.name(node), tuple(tree(child) for child in below)

    roots = children(page.nodes, -1)
    return tuple(tree(root) for root in roots if page.nodes.name(root) != "#text")


def size(trees: tuple[Tree, ...]) -> int:
    """Return the number of nodes of some trees."""
    return sum(1 + size(below) for _, below in trees)


@cache
def edits(a: tuple[Tree, ...], b: tuple[Tree, ...]) -> int:
    """Return the cost of the cheapest edits from one sequence of trees to another, by trying all."""
    if not a or not b:
        return size(a) + size(b)
    (name, below), (other_name, other_below) = a[0], b[0]
    return min(
        size(a[:1]) + edits(a[1:], b),
        size(b[:1]) + edits(a, b[1:]),
        (name != other_name) + edits(below, other_below) + edits(a[1:], b[1:]),
    )


def tree_distance(a: Page, b: Page) -> float:
    """Return the number of edits divided by the sum of both sizes."""
    first, second = forest(a), forest(b)
    return edits(first, second) / (size(first) + size(second)) if first or second else 0.0
