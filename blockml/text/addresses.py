"""Addresses as browsers read them from an attribute."""

from __future__ import annotations

import re

__all__ = ["MAX_BASE", "MAX_BASE_SLASHES", "is_long_base", "read_address"]

#: Maximum characters and slashes of a base address: thousands of links are resolved against it, and each may repeat it.
MAX_BASE, MAX_BASE_SLASHES = 2_048, 64

_AROUND = "".join(map(chr, range(0x21)))
_WITHIN = re.compile(r"[\t\n\r]+")


def read_address(value: str) -> str:
    """Return the address in an attribute without what the URL standard drops.

    That is every control character and space around it, and the tabs and line breaks in it.

    Examples
    --------
    >>> read_address("\\n\\x01 https://a.example/b c\\n/d "), read_address("java\\nscript:x()")
    ('https://a.example/b c/d', 'javascript:x()')
    """
    address = value.strip(_AROUND)
    return address if address.isprintable() else _WITHIN.sub("", address)


def is_long_base(base: str) -> bool:
    """Return whether a base address is too long to resolve links against it.

    Examples
    --------
    >>> is_long_base("https://a.example/b/"), is_long_base("https://a.example/" + "b/" * 70)
    (False, True)
    """
    return len(base) > MAX_BASE or base.count("/") > MAX_BASE_SLASHES
