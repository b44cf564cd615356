"""Immutable data types of the pipeline: nodes, blocks, page and extraction.

Nodes and blocks are stored as columns: one array or tuple per property, one entry per node or block.
"""

from blockml.page.attributes import Attributes
from blockml.page.blocks import MAIN_LABELS, Block, Blocks, Label, Reason, Separator, Status
from blockml.page.nodes import Flag, Nodes
from blockml.page.page import Chunk, Extraction, Image, Metadata, Page, Paragraph, ParagraphKind, Post

__all__ = ["MAIN_LABELS", "Attributes", "Block", "Blocks", "Chunk", "Extraction", "Flag", "Image", "Label", "Metadata",
"Nodes", "Page", "Paragraph", "ParagraphKind", "Post", "Reason", "Separator", "Status"]  # fmt: skip
