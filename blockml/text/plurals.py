"""Counts with their nouns, for messages."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "page"), counted(1200, "page")
    ('1 page', '1,200 pages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
