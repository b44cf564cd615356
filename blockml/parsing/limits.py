"""Bounds that keep one page from exhausting the machine."""

from __future__ import annotations

from dataclasses import dataclass

from blockml.errors import UsageError

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one page. A limit that is reached gives a warning and the status ``truncated``.

    Raises
    ------
    UsageError
        A limit is not an integer or below 1.
    """

    bytes: int = 64 * 2**20  #: Bytes of the source (characters of a ``str``) that are parsed; the rest is ignored.
    nodes: int = 500_000  #: Elements and text nodes; later ones are left out. A block takes 2 kB of memory.
    #: Nesting levels; deeper elements are flattened into their ancestor at this level, with their text.
    depth: int = 4_000

    def __post_init__(self) -> None:
        for name in ("bytes", "nodes", "depth"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"limits.{name} must be an integer of at least 1, got {value!r}")
