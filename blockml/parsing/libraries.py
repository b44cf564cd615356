"""Functions of the C libraries in lxml and selectolax, by which the compiled kernel parses without Python's help.

Both packages hold the library of a parser as a whole, with its public functions; lxml brings the headers too, for such
use. Where a build of them hides the functions, as on Windows, pages go through the packages' own doors instead, and
nothing else changes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import ModuleType
from typing import TypeAlias

__all__ = ["Addresses", "addresses"]

Addresses: TypeAlias = tuple[int, ...]
"""Where functions are in the memory of this process."""


def addresses(module: ModuleType, names: Sequence[str]) -> Addresses | None:
    """Find functions in the library that a module is.

    Parameters
    ----------
    module
        A compiled module.
    names
        Names of C functions.

    Returns
    -------
    Addresses | None
        In the order of the names; None unless all are there.

    Examples
    --------
    >>> from lxml import etree
    >>> addresses(etree, ["htmlNoSuchFunction"]) is None
    True
    """
    if module.__file__ is None:
        return None
    try:
        library = ctypes.CDLL(module.__file__)  # is loaded already
        found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
    except (AttributeError, OSError):
        return None
    return tuple([address for address in found if address]) if all(found) else None
