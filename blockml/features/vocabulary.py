"""What authors of a page call its parts: words in ``class`` and ``id``, ARIA roles, microdata."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import columns_of
from blockml.features.keywords import KEYWORDS
from blockml.features.structure import FAR, nearest_levels
from blockml.features.view import View

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

_ROLE_OF = {word: number for number, words in enumerate(ROLES.values()) for word in words}
_ROLE_ATTRIBUTES = ("role", "itemprop", "property")


def called(view: View) -> Mapping[str, NDArray[np.generic]]:
    """Levels up to the nearest element whose class or id holds a word of a group, or that has such a role."""
    nodes = view.nodes
    roles = np.zeros(len(nodes) + 1, dtype=np.int64)
    for node in view.elements:
        attribute = nodes.attributes[node]
        for key in _ROLE_ATTRIBUTES:
            if value := attribute.get(key):
                for word in value.lower().split():
                    roles[node] |= 1 << _ROLE_OF[word] if word in _ROLE_OF else 0
    return nearest_levels(view, view.keywords, [f"cls{name}" for name in KEYWORDS]) | nearest_levels(
        view, roles, list(ROLES)
    )


COLUMNS = columns_of(
    called,
    "class, id, ARIA role and microdata vocabulary of the elements above a block",
    dict.fromkeys((*(f"cls{name}" for name in KEYWORDS), *ROLES), ("levels", 0, FAR)),
)
