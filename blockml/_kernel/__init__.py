"""Optional C extension that speeds up parsing, features, predictors and decisions.

It is compiled when blockml is installed, if there is a C compiler. Each function has a reference implementation in
Python, which is used without the extension and gives identical results. ``BLOCKML_PURE=1`` in the environment disables
the extension, at installation or at run time.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Protocol, cast

from blockml._kernel.batch import BatchKernel
from blockml._kernel.decision import DecisionKernel
from blockml._kernel.features import AttributeValues, FeatureKernel, PageTree, Tables
from blockml._kernel.metadata import MetadataKernel
from blockml._kernel.parsing import ParsingKernel
from blockml._kernel.predictors import PredictorKernel

__all__ = ["AttributeValues", "Compiled", "PageTree", "Tables", "compiled", "describe"]


class Compiled(ParsingKernel, FeatureKernel, PredictorKernel, DecisionKernel, MetadataKernel, BatchKernel, Protocol):
    """Functions of the compiled module. Arrays are contiguous and of the annotated types.

    Sizes and indices are checked, so that nothing is read or written beyond an array. Contents of trees are
    checked before they are passed, by :mod:`blockml.predictors`.
    """


def _load() -> Compiled | None:
    if os.environ.get("BLOCKML_PURE", "0") not in {"", "0"}:
        return None
    try:
        module: Any = importlib.import_module("blockml._kernel._compiled")
    except ImportError:
        return None
    return cast("Compiled", module)


#: The compiled module; None if it is missing or disabled.
compiled: Compiled | None = _load()


def describe() -> str:
    """Name the implementation that runs: the compiled C extension, or the pure Python fallback."""
    return "pure Python fallback" if compiled is None else "compiled"
