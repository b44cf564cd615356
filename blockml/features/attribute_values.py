"""Attributes that name parts of a page, as numbers: what their values tell is looked up once for each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes

__all__ = ["NAMES", "Names", "numbered"]

#: Attributes whose values are told apart.
NAMES = ("class", "role", "id", "itemprop", "property")


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Values of the naming attributes, each once."""

    values: tuple[str, ...]
    """Value of each number, in document order; the first is empty."""
    columns: NDArray[np.int32]
    """(n_attributes, n_nodes + 1) number of each element's value; 0 without one, and at the end, for "no node"."""
    of: Mapping[str, NDArray[np.int32]]
    """The same by attribute."""
    numbers: dict[str, int]
    """Number of each value."""

    def classes_too(self, nodes: Nodes, others: NDArray[np.int64]) -> NDArray[np.int32]:
        """(n_nodes + 1,) number of each element's ``class``, of other elements too; rising indices."""
        classes = self.of["class"].copy()
        _number(nodes, others, ("class",), dict(self.numbers), classes[None])
        return classes


def numbered(nodes: Nodes, chosen: NDArray[np.int64]) -> Names:
    """Number the values of naming attributes of some elements; others have number 0.

    Parameters
    ----------
    nodes
        The tree.
    chosen
        Elements, rising.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<p class=a id=b>one<p class=b id=c>two").nodes
    >>> paragraphs = np.flatnonzero(nodes.named({"p"}))
    >>> names = numbered(nodes, paragraphs[:1])
    >>> names.values, names.of["class"][paragraphs].tolist(), names.of["id"][paragraphs].tolist()
    (('', 'a', 'b'), [1, 0], [2, 0])
    """
    numbers = {"": 0}
    columns = np.zeros((len(NAMES), len(nodes) + 1), dtype=np.int32)
    _number(nodes, chosen, NAMES, numbers, columns)
    return Names(tuple(numbers), columns, dict(zip(NAMES, columns, strict=True)), numbers)


def _number(
    nodes: Nodes,
    chosen: NDArray[np.int64],
    names: tuple[str, ...],
    numbers: dict[str, int],
    columns: NDArray[np.int32],
) -> None:
    """Write the numbers (n_names, n_nodes + 1) of values of some elements; new values get the next ones."""
    held = nodes.attributes
    for node in chosen.tolist():
        if its := held[node]:
            for column, name in zip(columns, names, strict=True):
                if (value := its.get(name)) is not None:
                    column[node] = numbers.setdefault(value, len(numbers))
