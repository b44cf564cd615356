"""Extractors that need no training, by name. A module is imported when its extractor is first used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from blockml.extractors.extractor import Extractor


class Extractors(Mapping[str, type[Extractor]]):
    """Classes of extractors by public name, imported on first use.

    Parameters
    ----------
    places
        Module below ``blockml``, and class, by name: ``extractors.base:Plain``.

    Examples
    --------
    >>> Extractors({"plain": "extractors.extractor:Plain"})["plain"]().name
    'plain'
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = dict(places)

    def __getitem__(self, name: str) -> type[Extractor]:
        module, _, kind = self.places[name].partition(":")
        found: type[Extractor] = getattr(importlib.import_module(f"blockml.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


#: Extractors of single pages, which combinations and stacking choose from.
METHODS = Extractors(
    {
        "plain": "extractors.extractor:Plain",
        "ccb": "extractors.heuristics.ccb:CCB",
        "accb": "extractors.heuristics.ccb:ACCB",
        "tccb": "extractors.heuristics.ccb:TCCB",
        "wccb": "extractors.heuristics.ccb:WeightedCCB",
        "dccb": "extractors.heuristics.ccb:TreeCCB",
        "dsc": "extractors.heuristics.dsc:DSC",
        "bte": "extractors.heuristics.bte:BTE",
        "lqf": "extractors.heuristics.lqf:LQF",
        "crunch": "extractors.heuristics.crunch:Crunch",
        "numwords": "extractors.heuristics.boilerpipe:NumWords",
        "density": "extractors.heuristics.boilerpipe:Density",
        "boilerpipe-default": "extractors.heuristics.boilerpipe:BoilerpipeDefault",
        "boilerpipe-article": "extractors.heuristics.boilerpipe:BoilerpipeArticle",
        "cetr": "extractors.heuristics.cetr:CETR",
        "cetr-tm": "extractors.heuristics.cetr:CETRTM",
        "fe": "extractors.heuristics.feature_extractor:FE",
        "kfe": "extractors.heuristics.feature_extractor:KFE",
    }
)
#: Combinations of extractors.
COMBINATIONS = Extractors(
    {
        "union": "extractors.combinations:Union",
        "intersection": "extractors.combinations:Intersection",
        "majority": "extractors.combinations:Majority",
        "serial": "extractors.combinations:Serial",
    }
)
#: Extractors that use other pages of the site.
SITE_METHODS = Extractors(
    {
        "df": "sites.template_methods:TextFrequency",
        "blockdf": "sites.template_methods:BlockFrequency",
        "entropy": "sites.template_methods:Entropy",
        "ibdf": "sites.template_methods:IBDF",
        "etdm": "sites.template_methods:TreeMapping",
    }
)
