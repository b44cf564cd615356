"""Releases: the licence in a card is that of the pages, whatever the name of their folder."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

from blockml.datasets import open_dataset

ROOT = Path(__file__).parents[2]


def test_no_model_is_trained_on_the_sites_of_held_out_pages() -> None:
    """Labelled pages whose site has held-out pages are left out of a collection; pages of unknown sites stay."""
    script = runpy.run_path(str(ROOT / "train.py"))
    labels = {name: script["labelled"](Path("pool"), path).pages for name, path in script["LABELS"].items()}
    held_out = {
        page.site for page in script["labelled"](Path("pool"), script["HELD_OUT_LABELS"]).pages if page.site_known
    }
    for name, pages in labels.items():
        left = script["with_our_labels"](name, "pool").pages
        assert {page.id for page in pages} - {page.id for page in left} == {
            page.id for page in pages if page.site in held_out
        }
    assert len(script["with_our_labels"]("pool2", "pool")) < len(labels["pool2"])


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
