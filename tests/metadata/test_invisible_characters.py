"""Soft hyphens and zero-width characters in declared metadata."""

import pytest

import blockml
from blockml.metadata.metadata import page_metadata


@pytest.mark.parametrize(
    "head",
    [
        "<meta property=og:title content='Förder&shy;mittel für &#8203;alle&#xfeff;'>",
        '<script type="application/ld+json">{"@type": "Article", "headline": "Förder\\u00admittel für alle"}</script>',
        "<title>Förder&shy;mittel f&#8288;ür alle</title>",
    ],
)
def test_declared_titles(head: str) -> None:
    """Invisible characters are removed from titles wherever they are declared, so that title and heading are equal."""
    page = blockml.parse(f"<!DOCTYPE html><html lang=de><head>{head}</head><h1>Förder&shy;mittel für alle</h1><p>Text.")
    assert page_metadata(page).title == "Fördermittel für alle"
