"""Extractors of one page that need no training, by name: what combinations and stacking choose from."""

from __future__ import annotations

from collections.abc import Mapping

from blockml.extractors.base import Extractor
from blockml.extractors.boilerpipe import BoilerpipeArticle, BoilerpipeDefault, Density, NumWords
from blockml.extractors.bte import BTE
from blockml.extractors.ccb import ACCB, CCB, TCCB
from blockml.extractors.ccb_variants import TreeCCB, WeightedCCB
from blockml.extractors.cetr import CETR, CETRTM
from blockml.extractors.crunch import Crunch
from blockml.extractors.dsc import DSC
from blockml.extractors.feature import FE, KFE
from blockml.extractors.lqf import LQF
from blockml.extractors.plain import Plain

__all__ = ["METHODS"]

#: Extractors by public name.
METHODS: Mapping[str, type[Extractor]] = {
    kind.name: kind
    for kind in (
        Plain, CCB, ACCB, TCCB, WeightedCCB, TreeCCB, DSC, BTE, LQF, Crunch, NumWords, Density, BoilerpipeDefault,
        BoilerpipeArticle, CETR, CETRTM, FE, KFE,
    )
}  # fmt: skip
