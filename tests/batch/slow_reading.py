"""Extractor whose worker processes hang, or run out of memory, while they read certain records of WARC files."""

from __future__ import annotations

from typing import Any

from blockml.archives import warc
from blockml.archives.http import Response, read_response
from blockml.extractors import Plain


class SlowReading(Plain):
    """Keeps everything; a worker that gets it can't read records that contain ``hang`` or ``hog``."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a call that changes the reader of the worker process."""
        return _in_worker, ()


def _in_worker() -> SlowReading:
    def slow(block: bytes) -> Response:
        while b"<p>hang" in block:
            pass
        if b"<p>hog" in block:
            _ = [bytes(1 << 26) for _ in range(1000)]
        return read_response(block)

    vars(warc)["read_response"] = slow
    return SlowReading()
