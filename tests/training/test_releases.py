"""Releases: the licence in a card is that of the pages, whatever the name of their folder."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

from blockml.datasets import open_dataset

ROOT = Path(__file__).parents[2]


def test_only_the_pages_of_a_collection_get_its_licence() -> None:
    """A folder named wcxb with other or changed pages does not get the licence of WCXB."""
    script = runpy.run_path(str(ROOT / "train.py"))
    named = open_dataset(f"wcxb={ROOT / 'data' / 'pages'}")
    assert script["with_terms"](named) is named

    class Benchmark(type(named)):  # type: ignore[misc]
        """A data set with the fingerprint of the benchmark."""

        def checksum(self) -> str:
            """Return the fingerprint."""
            return str(next(iter(script["TERMS"])))

    pages = Benchmark(*[getattr(named, name) for name in ("name", "path", "format", "pages")])
    terms = script["with_terms"](pages)
    assert terms.licence == "CC-BY-4.0"
    assert "Web Content eXtraction Benchmark" in terms.attribution
    assert replace(terms, licence="", attribution="") == pages
