"""Matrix products with one thread: what numpy calls for them starts a thread for every core by itself.

OpenBLAS lets these threads wait busily for the next product. On a page, whose products take a few milliseconds, they
cost twice the CPU time of all the rest and save no wall time (docs/performance.md); beside other processes they take
cores away from them.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

__all__ = ["OneThread", "one_thread"]


class OneThread:
    """Holds the process to one thread for matrix products for a while: ``with one_thread(): …``.

    The number of threads is the process's, whoever sets it. So whoever comes first sets it to one, and whoever leaves
    last sets it back, among as many threads of Python as there are. Results do not depend on it.
    """

    def __init__(self) -> None:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # scikit-learn brings it

        # To find the libraries takes milliseconds, to set their number of threads microseconds.
        self._libraries = ThreadpoolController().select(user_api="blas")
        self._lock = threading.Lock()
        self._inside = 0
        self._before: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = self._libraries.limit(limits=1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._before.restore_original_limits()


@functools.cache
def one_thread() -> OneThread:
    """Return the one there is in a process.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     (np.ones((2, 3)) @ np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    return OneThread()
