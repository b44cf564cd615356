"""What authors of a page call its parts: words in ``class`` and ``id``, ARIA roles, microdata."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.attribute_values import NAMES
from blockml.features.column import columns_of
from blockml.features.keywords import KEYWORDS
from blockml.features.page_context import PageContext
from blockml.features.structure import FAR, nearest_levels

__all__ = ["COLUMNS", "ROLES", "called"]

#: Roles and properties, from ARIA, microdata and RDFa, by what they tell.
ROLES: Mapping[str, tuple[str, ...]] = {
    "rolemain": ("main", "article"),
    "rolenav": ("navigation", "menu", "menubar", "menuitem", "tablist", "tab", "toolbar", "search"),
    "roleextra": ("complementary", "banner", "contentinfo", "dialog", "alert", "alertdialog", "status", "region"),
    "propbody": ("articlebody", "description", "text", "reviewbody", "recipeinstructions", "recipeingredient"),
    "prophead": ("headline", "name", "author", "datepublished"),
    "proppart": ("comment", "review", "offers", "breadcrumb", "itemlistelement"),
}

#: The bit of each word.
ROLE_BITS = {word: 1 << number for number, words in enumerate(ROLES.values()) for word in words}
#: Attributes that say them, as rows of numbers.
_ROLE_ROWS = [NAMES.index(name) for name in ("role", "itemprop", "property")]
_NAMES = (*(f"cls{name}" for name in KEYWORDS), *ROLES)


def called(view: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Levels up to the nearest element whose class or id holds a word of a group, or that has such a role."""
    names = view.names
    roles = np.array(list(map(role_bits, names.values)), dtype=np.int64) << len(KEYWORDS)
    bits = view.keywords | np.bitwise_or.reduce(roles[names.columns[_ROLE_ROWS]], axis=0)
    levels = np.empty((len(_NAMES), len(view)), dtype=np.float32)
    nearest_levels(view, bits, levels)
    return dict(zip(_NAMES, levels, strict=True))


def role_bits(value: str) -> int:
    """Bit ``1 << i`` for the ``i``-th group of :data:`ROLES` that has one of the words in an attribute's value."""
    bits = 0
    for word in value.lower().split():
        if word in ROLE_BITS:
            bits |= ROLE_BITS[word]
    return bits


COLUMNS = columns_of(
    called,
    "class, id, ARIA role and microdata vocabulary of the elements above a block",
    dict.fromkeys(_NAMES, ("levels", 0, FAR)),
)
