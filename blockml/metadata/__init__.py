"""Metadata of a page, from what it declares and, as a last resort, from what it shows."""
