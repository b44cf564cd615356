"""Addresses of pictures, including lazily loaded ones, and the widest of several."""

from __future__ import annotations

import re
from collections.abc import Mapping

from blockml.text.addresses import read_address

__all__ = ["image_address", "is_placeholder"]

#: Attributes with the address of a lazily loaded picture, whatever ``src`` shows until it is loaded.
_LAZY = ("data-src", "data-lazy-src", "data-original", "data-hi-res-src", "data-url")
#: Suffixes of pictures, starts of absolute addresses, signs of templates like "cat_{width}.jpg", and of other texts.
_SUFFIX = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|svg)\b", re.IGNORECASE)
_ABSOLUTE = re.compile(r"(?:https?:)?//.", re.IGNORECASE | re.DOTALL)
_TEMPLATE, _NO_ADDRESS = re.compile("[{}]"), re.compile(r"[\s{}\"'<>]")
#: File names of transparent pictures and of placeholders for pictures that are still loading.
_TRANSPARENT = re.compile(
    r"(?:(?:spacer?|blank|transparent|trans|pixel|pxl|clear|cleardot|empty|1x1)[-_]?)+\.(?:gif|png)"
    r"|(?:.*[-_.])?(?:placeholder|lazy|lazyload|loading|loader)(?:[-_.].*)?\.(?:gif|png|svg|jpe?g|webp)"
)
#: Maximum characters of such a name, because the time grows with the square of its length.
_MAX_NAME = 200
#: A candidate of ``srcset``: an address, which may have commas, and what follows it up to the next comma. Repeats of
#: characters are possessive, so that the time grows with the length of the text only.
_CANDIDATE = re.compile(r"(?P<address>[^\s,]\S*+)(?P<descriptor>(?:(?<!,)[^,]++)?)")
_DESCRIPTOR = re.compile(r"\s*+([0-9]{1,9}+(?:\.[0-9]{1,9}+)?)[wx](?:\s++[0-9]++h)?\s*+")


def image_address(attributes: Mapping[str, str]) -> str:
    """Return the address of a picture, from ``src``, ``srcset`` or an attribute for lazy loading.

    ``src`` counts unless a known lazy-loading attribute has an address, or ``src`` is a placeholder; then the widest
    candidate of a ``srcset`` counts, and after that any ``data-*`` attribute with the address of a picture.

    Examples
    --------
    >>> image_address({"src": "blank.gif", "data-src": "cat.jpg"}), image_address({"src": "cat.jpg", "data-src": "no"})
    ('cat.jpg', 'cat.jpg')
    >>> image_address({"src": "blank.gif", "srcset": "cat.jpg 400w, cats.jpg 800w"})
    'cats.jpg'
    >>> image_address({"src": "blank.gif", "data-full": "cat.jpg"})
    'cat.jpg'
    """
    source = read_address(attributes.get("src", ""))
    late = [address for name in _LAZY if name in attributes and (address := read_address(attributes[name]))]
    known = next(filter(_is_picture, late), "")
    if known or (source and not is_placeholder(source)):
        return known or source
    sets = [value for name, value in attributes.items() if name.endswith("srcset")]
    others = [
        read_address(value) for name, value in attributes.items() if name.startswith("data-") and name not in _LAZY
    ]
    widest = next(filter(None, map(_widest, sets)), "")
    return widest or next(filter(_is_picture_file, others), "") or next(iter(late), "") or source


def _is_picture(value: str) -> bool:
    """Tell whether the value of a lazy-loading attribute is an address, unlike "false" and templates."""
    return _TEMPLATE.search(value) is None and bool(_ABSOLUTE.match(value) or _SUFFIX.search(value))


def _is_picture_file(value: str) -> bool:
    """Tell whether the value of any other attribute is the address of a picture."""
    return _SUFFIX.search(value, 1) is not None and _NO_ADDRESS.search(value) is None


def _widest(candidates: str) -> str:
    """Return the candidate of a ``srcset`` with the largest width or density, the first of equal ones.

    Examples
    --------
    >>> _widest("a.jpg, b.jpg 2x"), _widest("/w_400,h_300/a.jpg 400w, data:x 900w"), _widest("{template} 3x")
    ('b.jpg', '/w_400,h_300/a.jpg', '')
    """
    widest, found = -1.0, ""
    for match in _CANDIDATE.finditer(candidates):
        address, size = match["address"].rstrip(","), _DESCRIPTOR.fullmatch(match["descriptor"])
        if size is None and match["descriptor"].strip():
            continue  # not a width or density, such as the second word of a file name with spaces
        width = float(size[1]) if size else 1.0
        if width > widest and address and "{" not in address and not address.startswith("data:"):
            widest, found = width, address
    return found


def is_placeholder(address: str) -> bool:
    """Tell whether an address is a data URL, or has the file name of an empty picture or a loading placeholder.

    Examples
    --------
    >>> is_placeholder("/blank.gif"), is_placeholder("/img/grey-placeholder.png?v=2"), is_placeholder("/cat.gif")
    (True, True, False)
    """
    name = address.partition("?")[0].rpartition("/")[2]
    return address.startswith("data:") or (len(name) <= _MAX_NAME and _TRANSPARENT.fullmatch(name.lower()) is not None)
