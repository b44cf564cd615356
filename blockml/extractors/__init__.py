"""Page in, scores out: every way to tell content from the rest, behind one contract."""

from blockml.extractors.base import Extractor, Traits
from blockml.extractors.heuristics.plain import Plain
from blockml.extractors.registry import EXTRACTORS, AnyModel, load, model_names, resolve, save, trained
from blockml.extractors.trained import TrainedExtractor

__all__ = [
    "EXTRACTORS", "AnyModel", "Extractor", "Plain", "TrainedExtractor", "Traits", "load", "model_names", "resolve",
    "save", "trained",
]  # fmt: skip
