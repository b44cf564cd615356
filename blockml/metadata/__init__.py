"""Metadata of a page, from its declarations and, as a last resort, from its visible text."""

from blockml.metadata.metadata import page_metadata

__all__ = ["page_metadata"]
