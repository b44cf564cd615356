"""Pictures that are not written: spacers, counters of visits, and those that a page has twice, as they load late."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes
from blockml.rendering.links import is_placeholder

__all__ = ["Pictures"]

_NOSCRIPT = int(Flag.NOSCRIPT)
_PIXELS = re.compile(r"\s*([0-9]{1,4})(?:px)?\s*")
#: Maximum side of a point or breadth of a line, and ratio of sides that are no pixels but a shape, such as 3 to 2.
_MAX_THIN, _MAX_RATIO = 3, 3


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

    def leaves_out(self, node: int, address: str) -> bool:
        """Tell whether a picture shows nothing or is the one before, as ``noscript`` repeats those that load late."""
        return _is_spacer(self.nodes.attributes[node], address) or self._repeats(node, address)

    def _repeats(self, node: int, address: str) -> bool:
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


def _is_spacer(attributes: Mapping[str, str], address: str) -> bool:
    """Tell whether a picture without a text has a side of at most 3 pixels, or the file name of a transparent one.

    Examples
    --------
    >>> _is_spacer({"width": "1", "height": "9"}, "/a.gif"), _is_spacer({"width": "1", "alt": "Logo"}, "/a.svg")
    (True, False)
    >>> _is_spacer({"width": "3", "height": "2"}, "/a.jpg")
    False
    """
    if attributes.get("alt", "").strip():
        return False
    sizes = [_PIXELS.fullmatch(attributes.get(side, "")) for side in ("width", "height")]
    sides = sorted(int(size[1]) for size in sizes if size)
    is_shape = len(sides) == 2 and sides[0] < sides[1] <= _MAX_RATIO * sides[0]
    is_thin = not is_shape and any(0 < side <= _MAX_THIN for side in sides)  # 0 stands for any size
    return is_thin or is_placeholder(address)


def _file_name(address: str) -> str:
    """Return the file name of an address without size and suffix.

    Examples
    --------
    >>> _file_name("https://a.example/80/cat-9_720w.webp?x=1")
    'cat-9'
    """
    return re.split(r"[._?#]", address.rpartition("/")[2], maxsplit=1)[0]
