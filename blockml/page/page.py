"""A parsed page: tree, blocks, and what parsing found out."""

from __future__ import annotations

from dataclasses import dataclass

from blockml.page.blocks import Blocks
from blockml.page.labels import Status
from blockml.page.nodes import Nodes

__all__ = ["Page"]


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A parsed page: what every feature, extractor and report works on."""

    url: str | None
    """Where the page came from, if known."""
    title: str
    """Text of the first ``title``, white space normalised."""
    encoding: str
    """Name of the encoding the bytes were decoded with; ``utf-8`` for a ``str``."""
    encoding_source: str
    """The rule that found it: see :func:`blockml.parsing.decoding.decode`."""
    backend: str
    """The parser that built the tree."""
    profile: str
    """The segmentation profile that cut the blocks."""
    warnings: tuple[str, ...]
    """What was odd about the page, one sentence each."""
    status: Status
    """``ok``, ``empty_page``, ``truncated`` or ``undecodable``: what parsing alone can say."""
    nodes: Nodes
    """The tree."""
    blocks: Blocks
    """The text blocks, in document order."""
    utf8: bytes | None = None
    """The text that was parsed, in UTF-8; None for a page made from another one."""

    @property
    def source(self) -> str | None:
        """The text that was parsed, made anew each time; None for a page made from another one."""
        return None if self.utf8 is None else self.utf8.decode("utf-8")
