"""The data that travels along the pipeline: nodes, blocks, page, extraction.

Everything is columns: one array or tuple per property, one entry per node or block. Nothing here is changed after it
was made.
"""

from blockml.page.attributes import Attributes
from blockml.page.blocks import Block, Blocks, Separator
from blockml.page.extraction import Extraction
from blockml.page.labels import MAIN_LABELS, Label, Reason, Status
from blockml.page.nodes import Flag, Nodes
from blockml.page.page import Page

__all__ = ["MAIN_LABELS", "Attributes", "Block", "Blocks", "Extraction", "Flag", "Label", "Nodes", "Page", "Reason",
"Separator", "Status"]  # fmt: skip
