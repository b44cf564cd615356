"""Matrix products with one thread: what numpy calls for them starts a thread for every core by itself.

OpenBLAS lets these threads wait busily for the next product: beside other processes they take cores away from them.
blockml's own extractors multiply no matrices by numpy; those of users may.
"""

from __future__ import annotations

import functools
import threading
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["one_thread"]

#: Of threads that come and go at the same time, each must find what the others have left.
_TURN = threading.Lock()


class _Held(AbstractContextManager[None]):
    """The process's matrix products held to one thread: a class, as a generator and a stack cost a small page 1 %.

    The first of several threads sets it, and the last one sets back what was before: whoever is still at work when
    another one leaves has one thread all along.
    """

    __slots__ = ()
    _count = 0
    _before: tuple[int, ...] = ()

    def __enter__(self) -> None:
        with _TURN:
            threads = _threads()
            if not _Held._count:
                _Held._before = threads
            if any(number > 1 for number in threads):
                _set_threads((1,) * len(threads))
            _Held._count += 1

    def __exit__(self, *raised: object) -> None:
        with _TURN:
            _Held._count -= 1
            if not _Held._count and any(number > 1 for number in _Held._before):
                _set_threads(_Held._before)


def one_thread() -> AbstractContextManager[None]:
    """Hold the process's matrix products to one thread for a while, until the last of those who ask for it is done.

    Some versions of OpenBLAS round products by several threads otherwise, in the last bit.

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


def _threads() -> tuple[int, ...]:
    """Threads of each library; 1 where it doesn't tell."""
    return tuple([library.get_num_threads() or 1 for library in _libraries().lib_controllers])


def _set_threads(numbers: tuple[int, ...]) -> None:
    """Set the threads of each library."""
    for library, number in zip(_libraries().lib_controllers, numbers, strict=True):
        library.set_num_threads(number)
        # In newer versions of threadpoolctl a thread that has set a library's threads owns them until it lets go.
        if clear := getattr(library, "clear_controlling_thread", None):
            clear()
