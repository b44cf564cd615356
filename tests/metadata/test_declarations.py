"""Declarations of ``meta`` elements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.metadata.json_ld import declarations

KNOWN = {"og:title": 1, "author": 2, "k": 3, "": 4}
NAMES = st.sampled_from(["content", "property", "name", "http-equiv", "itemprop", "contents"])
VALUES = st.sampled_from(["", "OG:Title", "author", "AUTHOR ", "K", "\u212a", "é", "other"])


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=6))
def test_names_in_any_case(elements: list[dict[str, str]]) -> None:
    """Names of ``meta`` elements are read in any case and order of attributes; non-ASCII names are unknown."""
    metas = "".join("<meta " + " ".join(f'{name}="{value}"' for name, value in item.items()) + ">" for item in elements)
    nodes = blockml.parse(f"<head>{metas}</head><p>x").nodes
    expected = []
    for item in elements:
        name = next(filter(None, map(item.get, ("property", "name", "http-equiv"))), "")
        known = {key for key in KNOWN if key.encode() == name.encode().lower()}
        expected += [(KNOWN[key], item["content"]) for key in known if item.get("content")]
    assert declarations(nodes, KNOWN) == expected
