"""Kept blocks as Markdown, written by markdownify (extra ``markdown``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.errors import MissingExtraError
from blockml.page import Page
from blockml.rendering.html import render_html

__all__ = ["render_markdown"]


def render_markdown(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Write the kept blocks as Markdown.

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
    # The element around it tells Beautiful Soup that a text which looks like a URL is markup all the same.
    fragment = f"<div>{render_html(page, kept)}</div>"
    text: str = markdownify(fragment, heading_style="ATX", bullets="-", escape_misc=True)
    return text.strip()
