"""Benchmarks of template detection: ``python -m benchmarks.templates``."""
