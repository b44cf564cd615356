"""Extractors: every method that separates content from boilerplate, behind one interface (page in, scores out)."""

from blockml.extractors.extractor import Extractor, Plain, Traits
from blockml.extractors.registry import EXTRACTORS, AnyModel, load, model_names, resolve, save, trained
from blockml.extractors.trained import TrainedExtractor

__all__ = [
    "EXTRACTORS", "AnyModel", "Extractor", "Plain", "TrainedExtractor", "Traits", "load", "model_names", "resolve",
    "save", "trained",
]  # fmt: skip
