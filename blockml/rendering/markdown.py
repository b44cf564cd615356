"""Rendering of kept blocks as Markdown, by markdownify (extra ``markdown``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.errors import MissingExtraError
from blockml.page import Page
from blockml.rendering.html import render_html

__all__ = ["render_markdown"]


def render_markdown(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Render the kept blocks, given by a mask of shape (n_blocks,), as Markdown.

    Raises
    ------
    MissingExtraError
        markdownify is not installed.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats <b>rule</b> the <a href='/w'>world</a>.</p>")
    >>> print(render_markdown(page, [True] * len(page.blocks)))
    # Cats
    <BLANKLINE>
    Cats **rule** the [world](/w).
    """
    try:
        from markdownify import markdownify
    except ImportError as error:
        raise MissingExtraError("Markdown output", "markdown") from error
    # Without an element, Beautiful Soup warns that a text may be a URL.
    fragment = f"<div>{render_html(page, kept)}</div>"
    text: str = markdownify(fragment, heading_style="ATX", bullets="-", escape_misc=True)
    return text.strip()
