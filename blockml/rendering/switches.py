"""Markdown and HTML without link addresses, pictures, data tables or formatting."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blockml.document.mathematics import formula_of_image
from blockml.document.shown import layout_parts, shown_nodes
from blockml.page import Extraction, Page

__all__ = ["SWITCHES", "without"]

#: Kinds of content that can be left out.
SWITCHES = ("links", "images", "tables", "formatting")
#: Name of elements that are not written; their text then belongs to the element around them.
_OMITTED = "x-omitted"
_FORMATTING = frozenset("b big cite del dfn em font i ins mark s small strike strong tt u var".split())
_TABLES = frozenset("table caption thead tbody tfoot tr td th".split())


def without(extraction: Extraction, omitted: Collection[str]) -> Extraction:
    """Return an extraction whose Markdown and HTML leave out some of :data:`SWITCHES`.

    Examples
    --------
    >>> import blockml
    >>> page = "<p>A <b>bold</b> <a href=/b>link</a> of <img src=a.jpg width=400> words."
    >>> without(blockml.extract(page, threshold=0.0), ["links", "formatting", "images"]).markdown
    'A bold link of words.'
    """
    page, kept = extraction.page, extraction.kept
    nodes = page.nodes
    mask = np.zeros(len(nodes), dtype=bool)
    if "links" in omitted:
        mask |= nodes.named({"a"})
    if "formatting" in omitted:
        mask |= nodes.named(_FORMATTING)
    if "images" in omitted:
        pictures = np.flatnonzero(nodes.named({"img", "amp-img"})).tolist()
        mask[[node for node in pictures if not formula_of_image(nodes.attributes[node])]] = True
    if "tables" in omitted:
        kept = kept & ~_in_tables(page, kept)
    tag = np.where(mask, np.int32(len(nodes.names)), nodes.tag)
    return replace(
        extraction, page=replace(page, nodes=replace(nodes, names=(*nodes.names, _OMITTED), tag=tag)), kept=kept
    )


def _in_tables(page: Page, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether each block is in a data table."""
    nodes = page.nodes
    shown = shown_nodes(page, np.flatnonzero(kept), _TABLES, [])
    layout = layout_parts(nodes, shown)
    found = np.zeros(len(page.blocks), dtype=bool)
    for table in nodes.indices("table").tolist():
        if shown[table] and table not in layout:
            first, stop = page.blocks.node.searchsorted([table, nodes.end[table]])
            found[first:stop] = True
    return found
