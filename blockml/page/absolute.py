"""Addresses of links and images, made absolute."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

from blockml.page.bounds import Budget
from blockml.text.addresses import MAX_BASE, MAX_BASE_SLASHES, is_long_base, read_address

__all__ = ["absolute_addresses"]

_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)


def absolute_addresses(base: str, budget: Budget | None = None) -> Callable[[str], str]:
    """Return a function that makes an address absolute; empty for one that can't be read.

    A base of more than 2,048 characters or 64 slashes is ignored, because resolving thousands of addresses against it
    would be very slow.
    """
    if is_long_base(base):
        base = ""
        if budget is not None:
            budget.leave_out(
                "base addresses of links",
                f"the page's base has more than {MAX_BASE:,} characters or {MAX_BASE_SLASHES} slashes",
            )
    try:
        parts = urlsplit(base)
        origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else ""
    except ValueError:
        base = origin = ""

    def absolute(address: str) -> str:
        address = read_address(address)
        if origin and address and not _ABSOLUTE.match(address):
            if address.startswith("/") and address[1:2] != "/" and "/." not in address:
                return origin + address
            try:
                return urljoin(base, address)
            except ValueError:
                return ""
        return address

    return absolute
