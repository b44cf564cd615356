"""How a page is parsed, as a model or extractor asks for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ParsingOptions"]


@dataclass(frozen=True, slots=True)
class ParsingOptions:
    """How pages were parsed when a model was trained; prediction parses them the same way."""

    backend: str = "lxml"
    profile: str = "anchor"
    keep_wordless: bool = True
    tokenizer: str = "space"

    def options(self) -> dict[str, Any]:
        """Return the arguments of :func:`blockml.parse`."""
        return asdict(self)
