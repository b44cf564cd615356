"""Generator of synthetic labelled pages: six templated sites, and hand-written pages for difficult cases.

``python -m tools.synthetic_sites -o data --seed 0`` writes them; ``--check`` compares them with the files in ``data``.
"""

from __future__ import annotations

from tools.synthetic_sites.annotate import LABELS, LabelledText, annotate
from tools.synthetic_sites.build import build, check, site_pages, write

__all__ = ["LABELS", "LabelledText", "annotate", "build", "check", "site_pages", "write"]
