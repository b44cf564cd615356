"""Addresses of pictures, including lazily loaded ones, and the widest of several."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["image_address", "is_placeholder"]

#: Attributes with the address of a lazily loaded picture, whatever ``src`` shows until it is loaded.
_LAZY = ("data-src", "data-lazy-src", "data-original", "data-hi-res-src", "data-url")
#: Values of these that are addresses of pictures, unlike "false", templates like "cat_{width}.jpg" and other pages.
_PICTURE = re.compile(r"(?:https?:)?//[^{}]+|[^{}]*\.(?:jpe?g|png|gif|webp|avif|svg)\b[^{}]*", re.IGNORECASE)
#: The same for other attributes, which may hold the address of anything.
_PICTURE_FILE = re.compile(r"[^\s{}\"'<>]+\.(?:jpe?g|png|gif|webp|avif|svg)\b[^\s{}\"'<>]*", re.IGNORECASE)
#: File names of transparent pictures and of placeholders for pictures that are still loading.
_TRANSPARENT = re.compile(
    r"(?:(?:spacer?|blank|transparent|trans|pixel|pxl|clear|cleardot|empty|1x1)[-_]?)+\.(?:gif|png)"
    r"|(?:.*[-_.])?(?:placeholder|lazy|lazyload|loading|loader)(?:[-_.].*)?\.(?:gif|png|svg|jpe?g|webp)"
)
#: A candidate of ``srcset``: an address, which may have commas, and its width or density.
_CANDIDATE = re.compile(r"\s*,?\s*(?P<address>\S*[^\s,])(?:\s+(?P<size>[0-9]+(?:\.[0-9]+)?)[wx])?\s*(?:,\s|,$|$)")


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
    source = attributes.get("src", "").strip()
    late = [address for name in _LAZY if (address := attributes.get(name, "").strip())]
    known = next(filter(_PICTURE.fullmatch, late), "")
    if known or (source and not is_placeholder(source)):
        return known or source
    sets = [value for name, value in attributes.items() if name.endswith("srcset")]
    others = [value.strip() for name, value in attributes.items() if name.startswith("data-") and name not in _LAZY]
    widest = next(filter(None, map(_widest, sets)), "")
    return widest or next(filter(_PICTURE_FILE.fullmatch, others), "") or next(iter(late), "") or source


def _widest(candidates: str) -> str:
    """Return the candidate of a ``srcset`` with the largest width or density, the first of equal ones.

    Examples
    --------
    >>> _widest("a.jpg, b.jpg 2x"), _widest("/w_400,h_300/a.jpg 400w, data:x 900w"), _widest("{template} 3x")
    ('b.jpg', '/w_400,h_300/a.jpg', '')
    """
    found = [
        (float(match["size"] or 1), match["address"])
        for match in _CANDIDATE.finditer(candidates)
        if not match["address"].startswith("data:") and "{" not in match["address"]
    ]
    return max(found, key=lambda item: item[0])[1] if found else ""


def is_placeholder(address: str) -> bool:
    """Tell whether an address is a data URL, or has the file name of an empty picture or a loading placeholder.

    Examples
    --------
    >>> is_placeholder("/blank.gif"), is_placeholder("/img/grey-placeholder.png?v=2"), is_placeholder("/cat.gif")
    (True, True, False)
    """
    name = address.partition("?")[0].rpartition("/")[2]
    return address.startswith("data:") or _TRANSPARENT.fullmatch(name.lower()) is not None
