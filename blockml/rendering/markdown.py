"""Rendering of kept blocks as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.document.build import build_document
from blockml.page import Page
from blockml.writers.bounds import Budget
from blockml.writers.markdown import write_markdown

__all__ = ["render_markdown"]


def render_markdown(page: Page, kept: NDArray[np.bool_] | Sequence[bool], *, budget: Budget | None = None) -> str:
    """Render the kept blocks, given by a mask of shape (n_blocks,), as Markdown."""
    return write_markdown(build_document(page, kept), budget or Budget(page))
