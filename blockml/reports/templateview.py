"""What of a page is template: its blocks beside the template, as one HTML file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.reports.templating import write_html

__all__ = ["write_template_view"]

#: Icons fill the frame without the styles that keep them small.
_ICONS = "<!DOCTYPE html><style>svg { max-width: 2em; max-height: 2em }</style>"

#: Tags for which a browser may connect elsewhere, or leave, before it asks the policy. With it they show nothing, so
#: nothing is lost.
_SILENT = re.compile(r"<(?:link|meta|base|i?frame)\b[^>]*>?", re.IGNORECASE)
#: A block is shown as template from this share on (our choice: the majority of its text).
_MAJORITY = 0.5


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """What is told of one block."""

    text: str
    share: float
    xpath: str
    words: int

    @property
    def group(self) -> str:
        """``template`` or ``own``."""
        return "template" if self.share >= _MAJORITY else "own"


def write_template_view(
    path: str | os.PathLike[str],
    *,
    page_title: str,
    page_html_label: str,
    template_html: str,
    page: Page,
    in_template: NDArray[np.bool_],
    shares: Sequence[float] | NDArray[np.floating] | None = None,
    info: Mapping[str, object] | None = None,
) -> Path:
    """Write which blocks of a page are in its template, and the template itself, as one self-contained HTML file.

    The template is rendered in a frame in which nothing runs, and for which nothing is loaded.

    Parameters
    ----------
    path
        The file; missing folders are made.
    page_title
        Heading.
    page_html_label
        What the page is called: a file, an address.
    template_html
        The template as HTML; empty if there is none.
    page
        The page.
    in_template
        (n_nodes,) whether each node is in the template.
    shares
        (n_blocks,) share of each block that is in the template, in [0, 1]; the share of its characters whose text
        nodes are if None.
    info
        Further facts, by name.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UsageError
        There are not as many decisions as nodes, or not as many shares as blocks.
    MissingExtraError
        jinja2 is not installed.
    OSError
        The file can't be written.
    """
    mask = np.asarray(in_template, dtype=bool)
    if mask.shape != (len(page.nodes),):
        raise UsageError(f"in_template must have the shape ({len(page.nodes)},), one entry per node, not {mask.shape}")
    held = _shares(page, mask) if shares is None else np.asarray(shares, dtype=np.float64)
    if held.shape != (len(page.blocks),):
        raise UsageError(f"shares must have the shape ({len(page.blocks)},), one entry per block, not {held.shape}")
    lines = _lines(page, held)
    return write_html(
        "template_view.html.jinja",
        path,
        heading=page_title or page.title or page_html_label,
        label=page_html_label,
        page=page,
        lines=lines,
        n_blocks=sum(line.group == "template" for line in lines),
        words=(float(held @ page.blocks.n_words), int(page.blocks.n_words.sum())),
        nodes=(int(mask.sum()), len(mask)),
        document=f"{_ICONS}{shown}" if (shown := _SILENT.sub(" ", template_html).strip()) else "",
        info={name.replace("_", " "): value for name, value in (info or {}).items()},
    )


def _shares(page: Page, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(n_blocks,) share of each block's characters whose text nodes are marked."""
    lengths = np.array([len(text.strip()) for text in page.nodes.texts], dtype=np.int64)
    total = np.concatenate([[0], np.cumsum(lengths)])
    marked = np.concatenate([[0], np.cumsum(lengths * mask)])
    first, stop = page.blocks.node, page.blocks.last_node + 1
    shares: NDArray[np.float64] = (marked[stop] - marked[first]) / np.maximum(total[stop] - total[first], 1)
    return shares


def _lines(page: Page, shares: NDArray[np.float64]) -> list[TemplateLine]:
    xpaths = page.nodes.xpaths(page.blocks.parent.tolist())
    rows = zip(page.blocks.texts, shares.tolist(), xpaths, page.blocks.n_words.tolist(), strict=True)
    return [TemplateLine(*row) for row in rows]
