"""Properties that are computed on first access and stored, without a lock.

In Python 3.11 :class:`functools.cached_property` has one lock for all instances of a class. A process that is forked
while another thread holds it waits forever in the child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["cached_property"]

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # noqa: N801 (named and used like functools.cached_property)
    """A method that is replaced by an attribute with its result.

    Threads may compute a value twice, and then all of them get the one that was stored first. So the method must return
    equal values each time.

    Parameters
    ----------
    function
        A method without arguments of a class whose instances have a ``__dict__``.

    Examples
    --------
    >>> class Page:
    ...     @cached_property
    ...     def words(self) -> list[str]:
    ...         return "cats rule".split()
    >>> page = Page()
    >>> page.words is page.words
    True
    """

    def __init__(self, function: Callable[[Any], _T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> _T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | _T:
        if instance is None:
            return self
        value: _T = instance.__dict__.setdefault(self._name, self.function(instance))
        return value
