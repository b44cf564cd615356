"""Atomic files, and files of a JSON header and arrays."""
