"""Benchmarks of template detection: ``python -m research.benchmarks.templates``."""
