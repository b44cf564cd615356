"""Single-threaded matrix products.

OpenBLAS starts a thread per core, and idle threads spin, which takes cores away from other processes. The extractors of
blockml compute no matrix products with numpy; custom extractors may.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from blockml.page.cached import cached_property

__all__ = ["one_thread"]


class _ThreadLimit(AbstractContextManager[None]):
    """Limits the BLAS libraries to one thread; shared by the threads of the process.

    The number of BLAS threads is global to the process: the first thread to enter sets the limit and the last one to
    exit restores the previous numbers, so that no thread loses the limit while it works.
    """

    def __init__(self) -> None:
        self.renew_lock()
        self._n_users = 0
        self._before: tuple[int, ...] = ()

    def renew_lock(self) -> None:
        """Replace the lock in a forked process."""
        self._lock = threading.Lock()

    @cached_property
    def _libraries(self) -> Sequence[Any]:
        try:
            from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
        except ImportError:  # installed for training; models predict without BLAS
            return ()

        return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)

    def __enter__(self) -> None:
        with self._lock:
            threads = tuple([library.get_num_threads() or 1 for library in self._libraries])
            if not self._n_users:
                self._before = threads
            if any(number > 1 for number in threads):
                self._set((1,) * len(threads))
            self._n_users += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._n_users -= 1
            if not self._n_users and any(number > 1 for number in self._before):
                self._set(self._before)

    def _set(self, numbers: Sequence[int]) -> None:
        for library, number in zip(self._libraries, numbers, strict=True):
            library.set_num_threads(number)
            # In newer versions of threadpoolctl the thread that sets the number of threads owns the library until it
            # clears it.
            if clear := getattr(library, "clear_controlling_thread", None):
                clear()


#: One per process, because the number of BLAS threads is global.
_LIMIT = _ThreadLimit()
if hasattr(os, "register_at_fork"):  # another thread may have held the lock
    os.register_at_fork(after_in_child=_LIMIT.renew_lock)


def one_thread() -> AbstractContextManager[None]:
    """Limit matrix products of this process to one thread.

    Some versions of OpenBLAS round multi-threaded products differently in the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     (np.ones((2, 3)) @ np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    return _LIMIT
