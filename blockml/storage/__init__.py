"""Atomic files, and files with a JSON header and arrays."""
