"""Parsing options of models and extractors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ParsingOptions"]


@dataclass(frozen=True, slots=True)
class ParsingOptions:
    """Parsing options of the training pages, which prediction must use too."""

    backend: str = "lxml"
    profile: str = "anchor"
    keep_wordless: bool = True
    tokenizer: str = "space"

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of :func:`blockml.parse`."""
        return {name: getattr(self, name) for name in self.__slots__}
