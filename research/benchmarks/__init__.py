"""Benchmarks, which aren't part of the installed package."""
