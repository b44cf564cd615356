"""Addresses as browsers read them from an attribute."""

from __future__ import annotations

import re

__all__ = ["read_address"]

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
