"""Vocabulary of class names, ids, ARIA roles and microdata of the elements above a block."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import columns_of
from blockml.features.keywords import ATTRIBUTES, KEYWORDS
from blockml.features.page_context import PageContext
from blockml.features.structure import FAR, nearest_levels

#: Groups of roles and properties of ARIA, microdata and RDFa.
ROLES: Mapping[str, tuple[str, ...]] = {
    "rolemain": ("main", "article"),
    "rolenav": ("navigation", "menu", "menubar", "menuitem", "tablist", "tab", "toolbar", "search"),
    "roleextra": ("complementary", "banner", "contentinfo", "dialog", "alert", "alertdialog", "status", "region"),
    "propbody": ("articlebody", "description", "text", "reviewbody", "recipeinstructions", "recipeingredient"),
    "prophead": ("headline", "name", "author", "datepublished"),
    "proppart": ("comment", "review", "offers", "breadcrumb", "itemlistelement"),
}

#: Bit of each word.
ROLE_BITS = {word: 1 << number for number, words in enumerate(ROLES.values()) for word in words}
#: Rows of the attributes that hold them.
_ROLE_ROWS = [ATTRIBUTES.index(name) for name in ("role", "itemprop", "property")]
_NAMES = (*(f"cls{name}" for name in KEYWORDS), *ROLES)


def vocabulary_distance(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Count levels up to the nearest element whose class or id has a word of a group, or that has one of its roles."""
    held = context.attribute_values
    roles = np.array(list(map(role_bits, held.values)), dtype=np.int64) << len(KEYWORDS)
    bits = context.keywords | np.bitwise_or.reduce(roles[held.columns[_ROLE_ROWS]], axis=0)
    levels = np.empty((len(_NAMES), len(context)), dtype=np.float32)
    nearest_levels(context, bits, levels)
    return dict(zip(_NAMES, levels, strict=True))


def role_bits(value: str) -> int:
    """Return bit ``1 << i`` for the ``i``-th group of :data:`ROLES` that has a word of an attribute's value."""
    bits = 0
    for word in value.lower().split():
        if word in ROLE_BITS:
            bits |= ROLE_BITS[word]
    return bits


COLUMNS = columns_of(
    vocabulary_distance,
    "class, id, ARIA role and microdata vocabulary of the elements above a block",
    dict.fromkeys(_NAMES, ("levels", 0, FAR)),
)
