"""Outputs of some blocks of a page, without an extractor."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.document.build import build_document
from blockml.document.text import render_text
from blockml.page import Page
from blockml.page.bounds import Budget
from blockml.writers.html import write_fragment
from blockml.writers.markdown import write_markdown

__all__ = ["render_html", "render_markdown", "render_text"]


def render_markdown(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Return the kept blocks of a page as Markdown."""
    return write_markdown(build_document(page, kept), Budget(page))


def render_html(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Return the kept blocks of a page as HTML."""
    return write_fragment(build_document(page, kept), Budget(page))
