"""Extractors: every method that separates content from boilerplate, behind one interface (page in, scores out)."""

from typing import TYPE_CHECKING

from blockml.extractors.extractor import Extractor, Plain, Traits
from blockml.extractors.matrix import page_matrix
from blockml.extractors.registry import EXTRACTORS, AnyModel, load, model_names, resolve, save, trained
from blockml.extractors.trained_extractor import ParsedBy, TrainedExtractor
from blockml.page.lazy import imported_later as _imported_later

if TYPE_CHECKING:
    from blockml.extractors.combinations import Intersection, Majority, Serial, Union
    from blockml.extractors.routed import Route, RoutedExtractor, read_routed, write_routed

__all__ = [
    "EXTRACTORS", "AnyModel", "Extractor", "Intersection", "Majority", "ParsedBy", "Plain", "Route", "RoutedExtractor",
    "Serial", "TrainedExtractor", "Traits", "Union", "load", "model_names", "page_matrix", "read_routed", "resolve",
    "save", "trained", "write_routed",
]  # fmt: skip

#: Modules of the names that are imported on first use, because extracting a page doesn't need them.
_LATER = {
    **dict.fromkeys(("Intersection", "Majority", "Serial", "Union"), "blockml.extractors.combinations"),
    **dict.fromkeys(("Route", "RoutedExtractor", "read_routed", "write_routed"), "blockml.extractors.routed"),
}

if not TYPE_CHECKING:  # type checkers would take any name for granted
    __getattr__ = _imported_later(__name__, _LATER)
