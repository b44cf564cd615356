"""Page in, scores out: every way to tell content from the rest, behind one contract."""

from blockml.extractors.base import Extractor, Traits
from blockml.extractors.plain import Plain
from blockml.extractors.registry import EXTRACTORS, load, model_names, resolve
from blockml.extractors.supervised import Supervised

__all__ = ["EXTRACTORS", "Extractor", "Plain", "Supervised", "Traits", "load", "model_names", "resolve"]
