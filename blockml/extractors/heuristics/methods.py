"""Extractors of one page that need no training, by name: what combinations and stacking choose from."""

from __future__ import annotations

from collections.abc import Mapping

from blockml.extractors.base import Extractor
from blockml.extractors.heuristics.boilerpipe import BoilerpipeArticle, BoilerpipeDefault, Density, NumWords
from blockml.extractors.heuristics.bte import BTE
from blockml.extractors.heuristics.ccb import ACCB, CCB, TCCB
from blockml.extractors.heuristics.ccb_variants import TreeCCB, WeightedCCB
from blockml.extractors.heuristics.cetr import CETR, CETRTM
from blockml.extractors.heuristics.crunch import Crunch
from blockml.extractors.heuristics.dsc import DSC
from blockml.extractors.heuristics.feature_extractor import FE, KFE
from blockml.extractors.heuristics.lqf import LQF
from blockml.extractors.heuristics.plain import Plain

__all__ = ["METHODS"]

#: Extractors by public name.
METHODS: Mapping[str, type[Extractor]] = {
    kind.name: kind
    for kind in (
        Plain, CCB, ACCB, TCCB, WeightedCCB, TreeCCB, DSC, BTE, LQF, Crunch, NumWords, Density, BoilerpipeDefault,
        BoilerpipeArticle, CETR, CETRTM, FE, KFE,
    )
}  # fmt: skip
