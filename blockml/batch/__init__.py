"""Extraction from many pages."""

from blockml.batch.extractor import BatchExtractor
from blockml.batch.items import Item
from blockml.batch.readers import Inputs, RecordFields, find_inputs, read_items
from blockml.batch.records import PageExtractor
from blockml.batch.run import Summary, predict_items, predict_to_file, predict_to_stream
from blockml.batch.sites import learn_sites
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
