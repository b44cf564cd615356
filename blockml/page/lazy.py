"""A sequence that is computed when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

__all__ = ["LazySequence"]

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """Values that most users never look at, computed on first use; equal to a tuple of them, and pickled as one.

    Parameters
    ----------
    n
        Their number.
    compute
        Computes all of them.

    Examples
    --------
    >>> squares = LazySequence(3, lambda: (0, 1, 4))
    >>> len(squares), squares[-1], squares == (0, 1, 4)
    (3, 4, True)
    """

    def __init__(self, n: int, compute: Callable[[], tuple[T, ...]]) -> None:
        self._n = n
        self._compute: Callable[[], tuple[T, ...]] | None = compute
        self._values: tuple[T, ...] = ()

    def _all(self) -> tuple[T, ...]:
        """All values; what they are computed from is let go."""
        if (compute := self._compute) is not None:  # threads may compute twice, which does no harm
            self._values = compute()
            self._compute = None
        return self._values

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._all()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | LazySequence) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type[tuple[T, ...]], tuple[tuple[T, ...]]]:
        return tuple, (self._all(),)
