"""Cost of an extraction, as a multiple of lxml's parse of the same page: ``python -m research.benchmarks.speed``."""

from research.benchmarks.speed.clock import cpu_seconds
from research.benchmarks.speed.subjects import parse_only

__all__ = ["cpu_seconds", "parse_only"]
