"""Values of the attributes that name parts of a page, as numbers: each distinct value is read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes

#: Attributes whose values are numbered.
ATTRIBUTES = ("class", "role", "id", "itemprop", "property")


@dataclass(frozen=True, slots=True, eq=False)
class AttributeValues:
    """Unique values of :data:`ATTRIBUTES`, and the number of each element's value."""

    values: tuple[str, ...]  #: Value of each number, in document order; the first is empty
    #: (n_attributes, n_nodes + 1) number of each element's value; 0 without one, and at the end for "no node"
    columns: NDArray[np.int32]
    of: Mapping[str, NDArray[np.int32]]  #: Rows of :attr:`columns` by attribute
    numbers: dict[str, int]  #: Number of each value

    @classmethod
    def of_nodes(cls, nodes: Nodes, chosen: NDArray[np.int64]) -> Self:
        """Number the values of some elements, given by rising indices; others have number 0.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<p class=a id=b>one<p class=b id=c>two").nodes
        >>> paragraphs = np.flatnonzero(nodes.named({"p"}))
        >>> found = AttributeValues.of_nodes(nodes, paragraphs[:1])
        >>> found.values, found.of["class"][paragraphs].tolist(), found.of["id"][paragraphs].tolist()
        (('', 'a', 'b'), [1, 0], [2, 0])
        """
        numbers = {"": 0}
        columns = np.zeros((len(ATTRIBUTES), len(nodes) + 1), dtype=np.int32)
        _write_numbers(nodes, chosen, ATTRIBUTES, numbers, columns)
        return cls(tuple(numbers), columns, dict(zip(ATTRIBUTES, columns, strict=True)), numbers)

    def more_classes(self, nodes: Nodes, chosen: NDArray[np.int64]) -> NDArray[np.int32]:
        """Number the values of ``class`` of more elements, too: (n_nodes + 1,)."""
        classes = self.of["class"].copy()
        _write_numbers(nodes, chosen, ("class",), dict(self.numbers), classes[None])
        return classes


def _write_numbers(
    nodes: Nodes,
    chosen: NDArray[np.int64],
    attributes: tuple[str, ...],
    numbers: dict[str, int],
    columns: NDArray[np.int32],
) -> None:
    """Write the numbers (n_attributes, n_nodes + 1) of some elements; new values get the next ones."""
    for node in chosen.tolist():
        if held := nodes.attributes[node]:
            for column, attribute in zip(columns, attributes, strict=True):
                if (value := held.get(attribute)) is not None:
                    column[node] = numbers.setdefault(value, len(numbers))
