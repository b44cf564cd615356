"""Pictures of the main content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Image:
    """A picture of the main content."""

    address: str  #: absolute if the page has an address
    alt: str  #: text in place of the picture; empty without one
    caption: str  #: text of its caption, whether the caption is kept or not; empty without one
    width: int | None  #: in pixels, as its element says; None if it doesn't
    height: int | None  #: the same
    block: int  #: index of the last kept block before it, of ``page.blocks``; -1 if it comes before all of them
