"""Metadata of a page, from what it declares and, as a last resort, from what it shows."""

from blockml.metadata.metadata import page_metadata

__all__ = ["page_metadata"]
