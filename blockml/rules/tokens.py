"""Reads the text of a selector token by token, with errors that name the place and what is legal there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from blockml.errors import UsageError

__all__ = ["SelectorReader"]

#: Maximum characters of a selector, levels of brackets in it, and steps and tests.
MOST_CHARACTERS, MOST_NESTED, MOST_TESTS = 1_000, 5, 64
#: Maximum digits of a number.
_MOST_DIGITS = 6

_T = TypeVar("_T")


class SelectorReader:
    """The text of a selector, and the place in it up to which it has been read.

    Parameters
    ----------
    text
        The selector.

    Raises
    ------
    UsageError
        It is empty or too long.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self._level = 0
        self._n_tests = 0
        if not text.strip():
            raise UsageError("a selector is empty")
        if len(text) > MOST_CHARACTERS:
            raise UsageError(f"a selector may have at most {MOST_CHARACTERS:,} characters, got {len(text):,}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what matches a pattern here, if anything does."""
        found = pattern.match(self.text, self.place)
        self.place = self.place if found is None else found.end()
        return found

    def take(self, *signs: str) -> str:
        """Read the first of some signs that is here, after white space; empty if none is."""
        start = self._after_space()
        for sign in signs:
            if self.text.startswith(sign, start):
                self.place = start + len(sign)
                return sign
        return ""

    def expect(self, sign: str) -> None:
        """Read a sign; raise UsageError if it is not here."""
        if not self.take(sign):
            self.fail(f"expected {sign!r}")

    def ended(self) -> bool:
        """Tell whether only white space is left."""
        return self._after_space() == len(self.text)

    def nested(self, read: Callable[[], _T]) -> _T:
        """Read something inside of brackets."""
        self._level += 1
        if self._level > MOST_NESTED:
            self.fail(f"brackets may be nested {MOST_NESTED} deep")
        found = read()
        self._level -= 1
        return found

    def count(self, test: _T) -> _T:
        """Count a step or a test, and return it."""
        self._n_tests += 1
        if self._n_tests > MOST_TESTS:
            self.fail(f"a selector may have at most {MOST_TESTS} steps and tests")
        return test

    def number(self, digits: str) -> int:
        """Return the value of a number that was read."""
        if len(digits) > _MOST_DIGITS:
            self.fail(f"a number may have at most {_MOST_DIGITS} digits")
        return int(digits)

    def fail(self, message: str) -> NoReturn:
        """Raise UsageError with the place."""
        here = self.text[self.place : self.place + 20] or "its end"
        raise UsageError(f"the selector {self.text!r} can't be read at {here!r}: {message}")

    def _after_space(self) -> int:
        place = self.place
        while place < len(self.text) and self.text[place].isspace():
            place += 1
        return place
