"""Progress of long calls: a function that is called as each stage advances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

__all__ = ["ProgressCallback", "ignore_progress", "tracked"]

_T = TypeVar("_T")

#: Called with the name of a stage, how many of its items are done, and how many there are (None if unknown).
ProgressCallback: TypeAlias = Callable[[str, int, int | None], None]


def ignore_progress(stage: str, done: int, total: int | None) -> None:
    """Ignore progress."""


def tracked(items: Iterable[_T], progress: ProgressCallback, stage: str, total: int | None = None) -> Iterator[_T]:
    """Yield items, and call ``progress`` at the start of the stage and after each of them.

    Examples
    --------
    >>> list(tracked("ab", print, "pages", 2))
    pages 0 2
    pages 1 2
    pages 2 2
    ['a', 'b']
    """
    progress(stage, 0, total)
    for number, item in enumerate(items, 1):
        yield item
        progress(stage, number, total)
