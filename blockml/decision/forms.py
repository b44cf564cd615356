"""Pages that are forms: log-ins, registrations and contact forms have hardly any content besides their fields."""

from __future__ import annotations

from blockml.page import Page

__all__ = ["is_form"]

#: Types of fields that people write into.
_WRITTEN = frozenset({"text", "email", "tel", ""})
#: Minimum fields to write into, and fields and buttons altogether (our choices: comments below a post need fewer);
#: fields that are looked at, so that hostile pages cost little.
_MIN_WRITTEN, _MIN_FIELDS, _MOST = 3, 8, 1000


def is_form(page: Page) -> bool:
    """Tell whether a page asks for a password, or for several pieces of text.

    Examples
    --------
    >>> import blockml
    >>> is_form(blockml.parse("<form><input name=name><input type=password></form>"))
    True
    >>> is_form(blockml.parse("<form><input type=search><button>Go</button></form>"))
    False
    """
    nodes = page.nodes
    fields = nodes.indices("input")
    types = [(nodes.attributes[node].get("type") or "").lower() for node in fields[:_MOST].tolist()]
    if "password" in types:
        return True
    n_written = sum(kind in _WRITTEN for kind in types) + len(nodes.indices("textarea"))
    return n_written >= _MIN_WRITTEN and len(fields) + len(nodes.indices("button")) >= _MIN_FIELDS
