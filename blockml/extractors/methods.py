"""Extractors that need no training, by name. A module is imported when its extractor is first used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from blockml.extractors.base import Extractor


class Extractors(Mapping[str, type[Extractor]]):
    """Classes of extractors by public name, imported on first use.

    Parameters
    ----------
    places
        Module below ``blockml.extractors``, and class, by name: ``heuristics.plain:Plain``.

    Examples
    --------
    >>> Extractors({"plain": "heuristics.plain:Plain"})["plain"]().name
    'plain'
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = dict(places)

    def __getitem__(self, name: str) -> type[Extractor]:
        module, _, kind = self.places[name].partition(":")
        found: type[Extractor] = getattr(importlib.import_module(f"blockml.extractors.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


#: Extractors of single pages, which combinations and stacking choose from.
METHODS = Extractors(
    {
        "plain": "heuristics.plain:Plain",
        "ccb": "heuristics.ccb:CCB",
        "accb": "heuristics.ccb:ACCB",
        "tccb": "heuristics.ccb:TCCB",
        "wccb": "heuristics.ccb_variants:WeightedCCB",
        "dccb": "heuristics.ccb_variants:TreeCCB",
        "dsc": "heuristics.dsc:DSC",
        "bte": "heuristics.bte:BTE",
        "lqf": "heuristics.lqf:LQF",
        "crunch": "heuristics.crunch:Crunch",
        "numwords": "heuristics.boilerpipe:NumWords",
        "density": "heuristics.boilerpipe:Density",
        "boilerpipe-default": "heuristics.boilerpipe:BoilerpipeDefault",
        "boilerpipe-article": "heuristics.boilerpipe:BoilerpipeArticle",
        "cetr": "heuristics.cetr:CETR",
        "cetr-tm": "heuristics.cetr:CETRTM",
        "fe": "heuristics.feature_extractor:FE",
        "kfe": "heuristics.feature_extractor:KFE",
    }
)
#: Combinations of extractors.
COMBINATIONS = Extractors(
    {
        "union": "combinations:Union",
        "intersection": "combinations:Intersection",
        "majority": "combinations:Majority",
        "serial": "combinations:Serial",
    }
)
#: Extractors that use other pages of the site.
SITE_METHODS = Extractors(
    {
        "df": "site.methods:TextFrequency",
        "blockdf": "site.methods:BlockFrequency",
        "entropy": "site.methods:Entropy",
        "ibdf": "site.methods:IBDF",
        "etdm": "site.methods:TreeMapping",
    }
)
