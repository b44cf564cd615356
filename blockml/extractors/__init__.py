"""Page in, scores out: every way to tell content from the rest, behind one contract."""

from blockml.extractors.base import Extractor, Traits
from blockml.extractors.heuristics.plain import Plain
from blockml.extractors.registry import EXTRACTORS, load, model_names, resolve
from blockml.extractors.trained import TrainedExtractor

__all__ = ["EXTRACTORS", "Extractor", "Plain", "TrainedExtractor", "Traits", "load", "model_names", "resolve"]
