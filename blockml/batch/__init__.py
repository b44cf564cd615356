"""Extraction from many pages."""

from blockml.batch.inputs import Item, find_inputs, read_items
from blockml.batch.runner import Summary, predict, predict_to_file
from blockml.batch.sites import learn_sites

__all__ = ["Item", "Summary", "find_inputs", "learn_sites", "predict", "predict_to_file", "read_items"]
