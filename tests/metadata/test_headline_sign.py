"""Permalink signs in headlines."""

from __future__ import annotations

import pytest

import blockml


@pytest.mark.parametrize("sign", ["¶", "\uf0c1"])
def test_a_permalink_sign_is_not_part_of_the_title(sign: str) -> None:
    """The pilcrow or icon that documentation puts after each heading is not part of the title."""
    html = f"<title>Quickstart</title><h1>Quickstart<a href='#q'>{sign}</a></h1><p>Get started? " + "Go on. " * 30
    assert blockml.extract(html, model="plain").title == "Quickstart"
