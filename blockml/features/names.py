"""Attributes that name parts of a page, as numbers: what their values tell is looked up once for each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml import kernel
from blockml.page import Nodes

__all__ = ["Names", "numbered"]

#: Attributes whose values are told apart; the first of them on all elements, the others on those above blocks only.
_NAMES, _EVERYWHERE = ("class", "role", "id", "itemprop", "property"), 2


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Values of the naming attributes, each once."""

    values: tuple[str, ...]
    """Value of each number, in document order; the first is empty."""
    of: Mapping[str, NDArray[np.int32]]
    """(n_nodes + 1,) number of each element's value, by attribute; 0 without one, and at the end, for "no node"."""


def numbered(nodes: Nodes, above: NDArray[np.int64]) -> Names:
    """Number the values of ``class`` and ``role`` of all elements, and of other attributes of some.

    Parameters
    ----------
    nodes
        The tree.
    above
        Elements whose ``id``, ``itemprop`` and ``property`` are wanted; others have number 0.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<p class=a id=b>one<p class=b id=c>two").nodes
    >>> paragraphs = np.flatnonzero(nodes.named({"p"}))
    >>> names = numbered(nodes, paragraphs[:1])
    >>> names.values, names.of["class"][paragraphs].tolist(), names.of["id"][paragraphs].tolist()
    (('', 'a', 'b'), [1, 2], [2, 0])
    """
    numbers = {"": 0}
    wanted = (nodes.tag != 0) * np.uint8(_EVERYWHERE)
    wanted[above] = len(_NAMES)
    attributes = nodes.attributes if isinstance(nodes.attributes, list) else list(nodes.attributes)
    columns = np.zeros((len(_NAMES), len(nodes) + 1), dtype=np.int32)
    if kernel.compiled is not None:
        kernel.compiled.numbered(attributes, _NAMES, wanted, numbers, columns)
    else:
        for node in np.flatnonzero(wanted).tolist():
            if held := attributes[node]:
                for column, name in zip(columns[: wanted[node]], _NAMES, strict=False):
                    if (value := held.get(name)) is not None:
                        column[node] = numbers.setdefault(value, len(numbers))
    return Names(tuple(numbers), dict(zip(_NAMES, columns, strict=True)))
