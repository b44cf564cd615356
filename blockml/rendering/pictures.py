"""Pictures that a page has twice, as those that load late."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes

__all__ = ["Pictures"]

_NOSCRIPT = int(Flag.NOSCRIPT)


class Pictures:
    """The pictures that were met so far.

    Parameters
    ----------
    nodes
        The nodes of a page.
    shown
        (n_nodes,) whether each is written.
    """

    def __init__(self, nodes: Nodes, shown: NDArray[np.bool_]) -> None:
        self.nodes, self.shown = nodes, shown
        self.picture = -1, ""  # node and address of the last one

    def repeats(self, node: int, address: str) -> bool:
        """Tell whether a picture is the one before once more, as ``noscript`` has it for pictures that load late."""
        before, self.picture = self.picture, (node, address)
        flags, attributes = self.nodes.flags, self.nodes.attributes
        if before[0] < 0:
            return False
        if before[1] != address:
            is_late, was_late = flags[node] & _NOSCRIPT, flags[before[0]] & _NOSCRIPT
            if is_late == was_late or attributes[node].get("alt") != attributes[before[0]].get("alt"):
                return False
            if was_late and not attributes[node].get("alt") and _file_name(address) != _file_name(before[1]):
                return False  # what comes first in noscript may be a counter of visits
        between = slice(before[0], node)
        return not (self.shown[between] & (self.nodes.tag[between] == 0)).any()


def _file_name(address: str) -> str:
    """Return the file name of an address without size and suffix.

    Examples
    --------
    >>> _file_name("https://a.example/80/cat-9_720w.webp?x=1")
    'cat-9'
    """
    return re.split(r"[._?#]", address.rpartition("/")[2], maxsplit=1)[0]
