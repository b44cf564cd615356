"""Functions of the C extension that read inputs of batches."""

from __future__ import annotations

from typing import Protocol

__all__ = ["BatchKernel"]


class BatchKernel(Protocol):
    """Functions from lines to pages."""

    @staticmethod
    def json_string(line: bytes, start: int, /) -> tuple[bytes | None, int]:
        """Return the bytes of a JSON string whose characters begin at ``start``, and the offset of its end.

        The end is the quotation mark. The bytes are None if the string has escapes by code point or control characters,
        or doesn't end; they may be invalid UTF-8. Reference: ``json.loads``.
        """
