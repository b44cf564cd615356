"""Addresses of links and images, written for Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

from blockml.page.absolute import absolute_addresses
from blockml.page.bounds import Budget
from blockml.text.addresses import is_safe

__all__ = ["resolver"]

#: Characters that end an address in Markdown or start code; parentheses are allowed in pairs.
_UNSAFE = re.compile(r"[\s<>\\`\0-\x1f\x7f]")
#: An absolute address in which nothing needs to change.
_ORDINARY = re.compile(r"https?://[^\s<>\\`&()\0-\x1f\x7f]+")
#: An ampersand that Markdown would read as the start of a character reference.
_REFERENCE = re.compile(r"&(?=#?\w+;)")


def resolver(base: str, budget: Budget | None = None) -> Callable[[str], str]:
    """Return a function that writes an address for Markdown; an empty string for one that might run a script.

    The address is made absolute first, so that the check applies to what a reader of the Markdown gets.

    Examples
    --------
    >>> absolute = resolver("https://a.example/b/c?d#e")
    >>> absolute("/x y"), absolute("#f"), absolute("javascript:x()"), resolver("")("../x")
    ('https://a.example/x%20y', 'https://a.example/b/c?d#f', '', '../x')
    >>> absolute("?a=b&copy;=1"), resolver("javascript://a/")("/x")
    ('https://a.example/b/c?a=b&amp;copy;=1', '')
    """
    resolved = absolute_addresses(base, budget)

    def written(address: str) -> str:
        if budget is not None and len(address) > budget.left:  # not read, or each of its links would read it again
            budget.leave_out("addresses")
            return ""
        if _ORDINARY.fullmatch(address):
            return address
        address = resolved(address)
        return _written(address) if is_safe(address) else ""

    return written


def _written(address: str) -> str:
    """Write an address so that Markdown reads it whole and sees no mark in it."""
    if _UNSAFE.search(address):
        address = _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), address)
    if "&" in address:
        address = _REFERENCE.sub("&amp;", address)
    if "(" in address or ")" in address:
        depth = 0
        for mark in address:
            depth += (mark == "(") - (mark == ")")
            if depth < 0:
                break
        if depth or "](" in address:
            address = address.replace("(", "%28").replace(")", "%29")
    return address
