"""The hottest loops once more, compiled: used where there was a compiler when blockml was installed.

Each function has a twin in Python beside its only caller, which gives the same to the last bit and serves without it.
``BLOCKML_PURE=1`` in the environment leaves the compiled ones out, while installing or while running.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["Compiled", "compiled"]


class Compiled(Protocol):
    """What the compiled module holds. Arrays are contiguous and of the types named; nothing else is checked."""

    @staticmethod
    def tree_sums(
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        value: NDArray[np.float64],
        roots: NDArray[np.int32],
        matrix: NDArray[np.float32],
        sums: NDArray[np.float64],
        /,
    ) -> None:
        """Add to ``sums`` (n_rows,) the leaf values of each row: :meth:`blockml.trees.Trees.predict`."""

    @staticmethod
    def row_means(
        rows: NDArray[np.float32],
        width: int,
        index: NDArray[np.int64],
        starts: NDArray[np.int64],
        skip_zeros: int,
        means: NDArray[np.float32],
        /,
    ) -> None:
        """Write into ``means`` the mean of the rows of each group: :meth:`blockml.nets.Pool.mean`."""


def _found() -> Compiled | None:
    """The compiled module, if there is one and it is wanted."""
    if os.environ.get("BLOCKML_PURE", "0") not in {"", "0"}:
        return None
    try:
        module: Any = importlib.import_module("blockml.kernel._compiled")
    except ImportError:
        return None
    return cast("Compiled", module)


#: The compiled module; None where there is none.
compiled: Compiled | None = _found()
