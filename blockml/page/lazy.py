"""Values that are computed on first access: fields, properties and sequences.

In Python 3.11 :class:`functools.cached_property` has one lock for all instances of a class. A process that is forked
while another thread holds it waits forever in the child.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["Lazy", "LazySequence", "cached_property", "imported_later"]


_T = TypeVar("_T")


def imported_later(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the function ``__getattr__`` of a package that imports some of its names when they are first used.

    Parameters
    ----------
    package
        Name of the package.
    modules
        The module that defines each name.

    Raises
    ------
    AttributeError
        When the function is called with another name.

    Examples
    --------
    >>> imported_later("blockml", {"open_dataset": "blockml.datasets"})("open_dataset").__name__
    'open_dataset'
    """

    def find(name: str) -> Any:  # noqa: ANN401 (any object)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = vars(sys.modules[package])[name] = getattr(importlib.import_module(modules[name]), name)
        return value

    return find


class LazySequence(Sequence[_T]):
    """Values computed together on first access; equal to a tuple of them, and pickled as one.

    Parameters
    ----------
    n
        Number of values.
    compute
        Returns all values.

    Examples
    --------
    >>> squares = LazySequence(3, lambda: (0, 1, 4))
    >>> len(squares), squares[-1], squares == (0, 1, 4)
    (3, 4, True)
    """

    def __init__(self, n: int, compute: Callable[[], tuple[_T, ...]]) -> None:
        self._n = n
        self._compute: Callable[[], tuple[_T, ...]] | None = compute
        self._values: tuple[_T, ...] = ()

    def _all(self) -> tuple[_T, ...]:
        if (compute := self._compute) is not None:  # two threads may both compute; the values are equal
            self._values = compute()
            self._compute = None  # frees the data that the closure refers to
        return self._values

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[_T]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, index: int | slice) -> _T | tuple[_T, ...]:
        return self._all()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | LazySequence) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type[tuple[_T, ...]], tuple[tuple[_T, ...]]]:
        return tuple, (self._all(),)


class Lazy(Generic[_T]):
    """A value computed on first access; pickled as the value.

    Parameters
    ----------
    compute
        Returns the value.

    Examples
    --------
    >>> Lazy(lambda: 3).value
    3
    """

    __slots__ = ("_compute", "_values")

    def __init__(self, compute: Callable[[], _T]) -> None:
        self._compute: Callable[[], _T] | None = compute
        self._values: tuple[_T, ...] = ()

    @property
    def value(self) -> _T:
        """The value."""
        if (compute := self._compute) is not None:  # two threads may both compute; the values are equal
            self._values = (compute(),)
            self._compute = None
        return self._values[0]

    @property
    def is_known(self) -> bool:
        """Whether the value has been computed."""
        return self._compute is None

    def __reduce__(self) -> tuple[Callable[[_T], Lazy[_T]], tuple[_T]]:
        return _known, (self.value,)


def _known(value: _T) -> Lazy[_T]:
    """Return a lazy value that is already known."""
    return Lazy(lambda: value)


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
