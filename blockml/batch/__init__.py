"""Extraction from many pages."""

from typing import TYPE_CHECKING

from blockml.page.lazy import imported_later as _imported_later

if TYPE_CHECKING:
    from blockml.batch.batch_extractor import BatchExtractor
    from blockml.batch.page_records import PageExtractor
    from blockml.batch.predict import learn_sites
    from blockml.batch.readers import Inputs, RecordFields, find_inputs, read_items
    from blockml.batch.readers.work_units import Item
    from blockml.batch.run import Summary, predict_items, predict_to_file, predict_to_stream
    from blockml.batch.worker import Guard
    from blockml.options import Options

__all__ = [
    "BatchExtractor",
    "Guard",
    "Inputs",
    "Item",
    "Options",
    "PageExtractor",
    "RecordFields",
    "Summary",
    "find_inputs",
    "learn_sites",
    "predict_items",
    "predict_to_file",
    "predict_to_stream",
    "read_items",
]

#: Modules of the names. All are imported on first use, because a worker needs few of them.
_LATER = {
    "BatchExtractor": "blockml.batch.batch_extractor",
    "Guard": "blockml.batch.worker",
    "Item": "blockml.batch.readers.work_units",
    "Options": "blockml.options",
    "PageExtractor": "blockml.batch.page_records",
    "learn_sites": "blockml.batch.predict",
    **dict.fromkeys(("Inputs", "RecordFields", "find_inputs", "read_items"), "blockml.batch.readers"),
    **dict.fromkeys(("Summary", "predict_items", "predict_to_file", "predict_to_stream"), "blockml.batch.run"),
}

if not TYPE_CHECKING:  # type checkers would take any name for granted
    __getattr__ = _imported_later(__name__, _LATER)
