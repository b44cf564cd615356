"""Addresses of links and images, absolute and written for Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import unescape
from urllib.parse import urljoin, urlsplit

from blockml.rendering.bounds import Budget

__all__ = ["image_address", "is_placeholder", "is_safe", "resolver"]

_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_MAX_BASE = 2048
#: Links with these schemes, or relative; others might run scripts.
SAFE_LINK = re.compile(r"(?:https?:|mailto:|tel:|[^:]*(?:[/?#]|$))", re.IGNORECASE)
#: Characters that end an address in Markdown, or begin code; parentheses are allowed in pairs.
_UNSAFE = re.compile(r"[\s<>\\`\0-\x1f\x7f]")
#: An ampersand that Markdown would read as the begin of a character reference.
_REFERENCE = re.compile(r"&(?=#?\w+;)")
#: Attributes with the address of a picture that is loaded when it comes into view.
_LAZY = ("data-src", "data-lazy-src", "data-original", "data-hi-res-src", "data-url")
#: Values of these that are addresses of pictures, unlike "false", templates such as "cat_{width}.jpg", and other pages.
_PICTURE = re.compile(r"(?:https?:)?//[^{}]+|[^{}]*\.(?:jpe?g|png|gif|webp|avif|svg)\b[^{}]*", re.IGNORECASE)
#: File names of transparent pictures.
_TRANSPARENT = re.compile(r"(?:(?:spacer?|blank|transparent|trans|pixel|clear|cleardot|empty|1x1)[-_]?)+\.(?:gif|png)")


def resolver(base: str, budget: Budget | None = None) -> Callable[[str], str]:
    """Return a function that writes an address for Markdown; an empty string for one that might run a script.

    It makes the address absolute first, so that what is checked is what a reader of the Markdown sees. A base of more
    than 2,048 characters is ignored, because resolving thousands of addresses against it would take very long.

    Examples
    --------
    >>> absolute = resolver("https://a.example/b/c?d#e")
    >>> absolute("/x y"), absolute("#f"), absolute("javascript:x()"), resolver("")("../x")
    ('https://a.example/x%20y', 'https://a.example/b/c?d#f', '', '../x')
    >>> absolute("?a=b&copy;=1"), resolver("javascript://a/")("/x")
    ('https://a.example/b/c?a=b&amp;copy;=1', '')
    """
    if len(base) > _MAX_BASE:
        base = ""
        if budget is not None:
            budget.leave_out("beginnings of addresses")
    try:
        parts = urlsplit(base)
        origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else ""
    except ValueError:
        base = origin = ""

    def absolute(address: str) -> str:
        address = address.strip()
        if origin and address and not _ABSOLUTE.match(address):
            if address.startswith("/") and address[1:2] != "/" and "/." not in address:
                address = origin + address
            else:
                try:
                    address = urljoin(base, address)
                except ValueError:
                    return ""
        return _written(address) if is_safe(address) else ""

    return absolute


def is_safe(address: str) -> bool:
    """Tell whether a link runs no script, also for a reader that decodes its character references once more.

    Examples
    --------
    >>> is_safe("tel:1"), is_safe("a?b:c"), is_safe("JavaScript:x()"), is_safe("javascript&colon;x()")
    (True, True, False, False)
    """
    return SAFE_LINK.match(address) is not None and (
        "&" not in address or SAFE_LINK.match(unescape(address).strip()) is not None
    )


def _written(address: str) -> str:
    """Write an address so that Markdown reads all of it, and nothing in it as a mark."""
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


def image_address(attributes: Mapping[str, str]) -> str:
    """Return the address of a picture: ``src`` unless another attribute has one, or only ``src`` is a placeholder.

    Examples
    --------
    >>> image_address({"src": "blank.gif", "data-src": "cat.jpg"}), image_address({"src": "cat.jpg", "data-src": "no"})
    ('cat.jpg', 'cat.jpg')
    >>> image_address({"src": "blank.gif", "srcset": "cat.jpg 2x"})
    'cat.jpg'
    """
    source = attributes.get("src", "").strip()
    late = [address for name in _LAZY if (address := attributes.get(name, "").strip())]
    known = next(filter(_PICTURE.fullmatch, late), "")
    if known or (source and not source.startswith("data:") and not is_placeholder(source)):
        return known or source
    candidates = attributes.get("srcset") or attributes.get("data-srcset") or ""
    first = candidates.strip().split(" ", 1)[0].rstrip(",")
    return first or next(iter(late), "") or source


def is_placeholder(address: str) -> bool:
    """Tell whether an address has the file name of a transparent picture."""
    name = address.partition("?")[0].rpartition("/")[2]
    return _TRANSPARENT.fullmatch(name.lower()) is not None
