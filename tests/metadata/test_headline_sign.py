"""Signs of links in headlines."""

from __future__ import annotations

import pytest

import blockml


@pytest.mark.parametrize("sign", ["¶", "\uf0c1"])
def test_the_sign_of_a_link_to_itself_is_no_part_of_the_title(sign: str) -> None:
    """Documentation puts a pilcrow, or an icon, after each heading."""
    html = f"<title>Quickstart</title><h1>Quickstart<a href='#q'>{sign}</a></h1><p>Get started? " + "Go on. " * 30
    assert blockml.extract(html, model="plain").title == "Quickstart"
