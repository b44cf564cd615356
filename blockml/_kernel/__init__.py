"""The hottest loops once more, compiled: used where there was a compiler when blockml was installed.

Each function has a twin in Python, which gives the same to the last bit and serves without it.
``BLOCKML_PURE=1`` in the environment leaves the compiled ones out, while installing or while running.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Protocol, cast

from blockml._kernel.features import AttributeValues, FeatureKernel, PageTree, Tables
from blockml._kernel.parsing import ParsingKernel
from blockml._kernel.predictors import PredictorKernel

__all__ = ["AttributeValues", "Compiled", "PageTree", "Tables", "compiled", "describe"]


class Compiled(ParsingKernel, FeatureKernel, PredictorKernel, Protocol):
    """What the compiled module holds. Arrays are contiguous and of the types named.

    Sizes and indices are checked, so that nothing is read or written beyond an array; what is in trees and in a
    parser's events is not.
    """


def _found() -> Compiled | None:
    """The compiled module, if there is one and it is wanted."""
    if os.environ.get("BLOCKML_PURE", "0") not in {"", "0"}:
        return None
    try:
        module: Any = importlib.import_module("blockml._kernel._compiled")
    except ImportError:
        return None
    return cast("Compiled", module)


#: The compiled module; None where there is none.
compiled: Compiled | None = _found()


def describe() -> str:
    """Name the implementation that runs: the compiled C extension, or the pure Python fallback."""
    return "pure Python fallback" if compiled is None else "compiled"
