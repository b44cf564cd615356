"""Matrix products with one thread: what numpy calls for them starts a thread for every core by itself.

OpenBLAS lets these threads wait busily for the next product. On a page, whose products take a few milliseconds, they
cost twice the CPU time of all the rest and save no wall time (docs/performance.md); beside other processes they take
cores away from them.
"""

from __future__ import annotations

import functools
import threading
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["one_thread"]

#: Of threads that come at the same time, the second one must find what the first one has set; else it would later set
#: that again as what was before.
_TURN = threading.Lock()


class _Held(AbstractContextManager[None]):
    """The process's matrix products held to one thread: a class, as a generator and a stack cost a small page 1 %."""

    __slots__ = ("_limit",)

    def __enter__(self) -> None:
        libraries = _libraries()
        self._limit = None
        with _TURN:
            if any(library.get_num_threads() != 1 for library in libraries.lib_controllers):
                self._limit = libraries.limit(limits=1)
                self._limit.__enter__()

    def __exit__(self, *raised: object) -> None:
        if self._limit is not None:
            with _TURN:
                self._limit.__exit__(*raised)


def one_thread() -> AbstractContextManager[None]:
    """Hold the process's matrix products to one thread for a while. Results do not depend on it.

    Whoever finds them held already leaves them alone. So among threads that come and go they are never held for good;
    at worst, the products of one that stays are made by several threads after another one has left.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     (np.ones((2, 3)) @ np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    return _Held()


@functools.cache
def _libraries() -> Any:  # noqa: ANN401 (a type of a package without types)
    """What numpy calls for matrix products: to find it takes milliseconds, to set its threads microseconds."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # scikit-learn brings it

    return ThreadpoolController().select(user_api="blas")
