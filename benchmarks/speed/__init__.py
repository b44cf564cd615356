"""Cost of an extraction, as a multiple of lxml's parse of the same page: ``python -m benchmarks.speed``."""

from benchmarks.speed.clock import cpu_seconds
from benchmarks.speed.subjects import parse_only

__all__ = ["cpu_seconds", "parse_only"]
