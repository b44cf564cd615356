"""Small pages that reproduce public bug reports of metadata readers, with the correct values.

The pages in ``tests/reported_pages`` are invented and in the public domain (CC0).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import blockml

PAGES = Path(__file__).parents[1] / "reported_pages"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("05-weixin-visibility", {"authors": ("林一舟",)}),
        ("08-jupyterbook-math", {"title": "Fitting a line"}),
        ("10-jsonld-author-parts", {"authors": ("Odile Farrant", "Jon Teague")}),
        ("12-byline-names", {"authors": ("ABBY GOODWYN", "TOBY BYRNE", "Rosaleen McAndrews")}),
        ("15-dates-visible", {"published": "2020-04-17", "modified": "2023-12-02", "authors": ("Wren Aldous",)}),
        ("32-pipermail", {"published": "2019-10-08", "authors": ("Elin Sarkova",)}),
        ("54-phpbb", {"title": "Zander in February", "published": "2019-04-07", "authors": ("ruff",)}),
        ("81-site-h1-entry-h2", {"title": "On borrowed poles", "published": "2012-03-04"}),
        ("82-citation-authors", {"authors": ("Agnes Thorne", "Elof J. Brunn")}),
        (
            "128-itemprop-tokens",
            {
                "published": "2019-07-21T09:00:06+00:00",
                "modified": "2019-07-22T10:00:00+00:00",
                "authors": ("Ada Vell",),
                "image": "https://i.example/mill-6435.jpg",
            },
        ),
        ("141-date-reiwa", {"published": "2024-03-05", "title": "堰の上の水車小屋"}),
        ("144-event-date", {"published": None, "authors": ()}),
    ],
)
def test_public_reports(name: str, expected: dict[str, object]) -> None:
    """Each page has the metadata that a human reader would write down."""
    found = blockml.extract((PAGES / f"{name}.html").read_bytes()).metadata
    assert {field: getattr(found, field) for field in expected} == expected
