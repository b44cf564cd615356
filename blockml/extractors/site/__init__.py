"""Extractors that use other pages of the same site."""
