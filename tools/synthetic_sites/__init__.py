"""Labelled pages of our own making: six templated sites from a seed, and hand-written pages for difficult cases.

``python -m tools.synthetic_sites -o data --seed 0`` writes them, ``--check`` compares.
"""

from __future__ import annotations

from tools.synthetic_sites.annotate import LABELS, LabelledText, annotate
from tools.synthetic_sites.build import build, check, site_pages, write

__all__ = ["LABELS", "LabelledText", "annotate", "build", "check", "site_pages", "write"]
