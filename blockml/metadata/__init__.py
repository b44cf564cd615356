"""Metadata of a page, from its declarations and, as a last resort, from its visible text."""
