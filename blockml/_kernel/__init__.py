"""Optional C extension that speeds up parsing, features, predictors and decisions.

It is compiled when blockml is installed, if there is a C compiler. Each function has a reference implementation in
Python, which is used without the extension and gives identical results. ``BLOCKML_PURE=1`` in the environment disables
the extension, at installation or at run time.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, cast

from blockml._kernel.protocol import Arrays, Compiled, KernelAttributes, PageTree, Tables

__all__ = ["Arrays", "Compiled", "KernelAttributes", "PageTree", "Tables", "compiled", "describe"]


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
