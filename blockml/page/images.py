"""Pictures of the main content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Image:
    """A picture of the main content."""

    address: str  #: absolute if the page has an address
    alt: str  #: alternative text; empty without one
    caption: str  #: text of its caption, even if it was removed; empty without one
    width: int | None  #: in pixels, from its element; None if not given
    height: int | None  #: likewise
    block: int  #: index in ``page.blocks`` of the last kept block before it; -1 if no kept block precedes it
