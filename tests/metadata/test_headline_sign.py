"""Signs of links in headlines."""

from __future__ import annotations

import blockml


def test_the_sign_of_a_link_to_itself_is_no_part_of_the_title() -> None:
    """Documentation puts a pilcrow after each heading."""
    html = "<title>Quickstart</title><h1>Quickstart<a href='#q'>¶</a></h1><p>Eager to get started? " + "Go on. " * 30
    assert blockml.extract(html, model="plain").title == "Quickstart"
