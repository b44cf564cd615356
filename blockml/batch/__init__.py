"""Many pages in, many records out."""

from blockml.batch.inputs import Item, find_inputs, read_items
from blockml.batch.runner import Summary, predict, predict_to_file

__all__ = ["Item", "Summary", "find_inputs", "predict", "predict_to_file", "read_items"]
