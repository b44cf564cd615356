"""Pages with gold from the collections that the default model was not trained on, with its extraction of each page.

The other benchmarks of surveys read them. Collections are read completely; predictions take about a minute.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import blockml
from blockml.datasets import LabelledPage, open_dataset
from blockml.evaluation import bag_scores
from blockml.extract import extract_page
from blockml.extractors import Extractor
from blockml.parsing import parse

#: Collections with gold text that the default model was not trained on.
HELD_OUT = ("l3s-gn1", "dragnet-2012", "ir-research-big9-chaos", "cleanportaleval", "cleaneval", "dataset-popular")
#: Those with several pages of a site.
WITH_SITES = HELD_OUT[:4]


@dataclass(frozen=True, slots=True)
class Predicted:
    """A labelled page and a model's extraction of it."""

    collection: str
    page: LabelledPage
    gold: str
    text: str
    confidence: float
    f1: float

    @property
    def group(self) -> str:
        """Site, or site and year, of the page in its collection."""
        return f"{self.collection}/{self.page.template_group}"


def corpora() -> Path:
    """Return the folder of the corpora; exit if ``BLOCKML_CORPORA`` is not set."""
    folder = os.environ.get("BLOCKML_CORPORA")
    if not folder:
        raise SystemExit("set BLOCKML_CORPORA to the folder of the labelled corpora")
    return Path(folder)


def labelled_pages(names: Sequence[str] = HELD_OUT) -> Iterator[tuple[str, LabelledPage]]:
    """Yield the pages of collections whose gold is valid, with the name of the collection."""
    for name in names:
        for page in open_dataset(f"{name}={corpora() / name}").pages:
            if page.trusted:
                yield name, page


def predict_page(collection: str, page: LabelledPage, extractor: Extractor) -> Predicted | None:
    """Extract a page; None if it has no gold text."""
    html, gold = page.load()
    text = None if gold is None else gold.text()
    if text is None:
        return None
    parsed = parse(html, url=page.url, charset=page.charset, **extractor.parsing.options())
    result = extract_page(parsed, extractor)
    return Predicted(collection, page, text, result.text, result.confidence, bag_scores(text, result.text).f1)


def predicted(names: Sequence[str] = HELD_OUT, model: str = "default") -> list[Predicted]:
    """Extract all pages of collections."""
    extractor = blockml.load(model)
    found = (predict_page(name, page, extractor) for name, page in labelled_pages(names))
    return [item for item in found if item is not None]


def by_group(pages: Sequence[Predicted], least: int) -> dict[str, list[Predicted]]:
    """Return the pages of each group that has enough of them, in the order of the collections."""
    groups: dict[str, list[Predicted]] = defaultdict(list)
    for item in pages:
        if item.page.site_known or item.page.extra.get("cluster"):
            groups[item.group].append(item)
    return {name: items for name, items in groups.items() if len(items) >= least}
