"""The template of a page: what of it is mapped to other pages of its site (Alarte et al. 2014, definition 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.mapping.etdm import map_trees
from blockml.templates.mapping.similarity import NodeEquality
from blockml.templates.mapping.tree import Tree, tree_of

__all__ = ["PageTemplate", "learnt_tree", "membership", "page_template"]


@dataclass(frozen=True, slots=True, eq=False)
class PageTemplate:
    """Which part of a page is the template that other pages share with it."""

    page: Page
    """The page itself, called key page."""
    tree: Tree
    """Its tree, ``n`` rows."""
    votes: NDArray[np.int32]
    """(n,) number of other pages that a row is mapped to."""
    n_pages: int
    """Number of other pages, without duplicates."""
    mask: NDArray[np.bool_]
    """(n,) whether a row belongs to the template; the parent of a row that does belongs to it too."""

    @property
    def nodes(self) -> NDArray[np.bool_]:
        """(n_nodes,) whether a node of the page belongs to the template."""
        inside = np.zeros(len(self.page.nodes), dtype=bool)
        inside[self.tree.nodes[self.mask]] = True
        return inside


def page_template(
    key: Page,
    others: Sequence[Page],
    *,
    equality: str | NodeEquality = "hybex",
    min_votes: int | None = None,
    matching: str = "greedy",
) -> PageTemplate | None:
    """Find the template that a page shares with other pages.

    Each of the other pages is mapped to the key page alone, so their order doesn't matter.

    Parameters
    ----------
    key
        The page whose template is wanted.
    others
        Other pages, at best of the same template. Those whose visible text is that of the key page are skipped: with a
        copy of itself, all of a page would be template. So are those that another one has the very source of.
    equality, matching
        See :func:`map_trees`.
    min_votes
        To how many of the other pages a node has to be mapped; no more than there are is ever asked for. Default: all
        of them, as in the paper. The public implementation asks for 2 of 3.

    Returns
    -------
    PageTemplate or None
        None if no page is left to compare with.

    Raises
    ------
    UnknownNameError
        No such equality or matching.
    UsageError
        ``min_votes`` is below 1.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p class=menu>Home</p><p>{text}</p>") for text in ("Cats", "Dogs", "Birds")]
    >>> template = page_template(pages[0], pages[1:])
    >>> [block.text for block in pages[0].blocks if template.nodes[block.node]]
    ['Home']
    """
    if min_votes is not None and min_votes < 1:
        raise UsageError(f"a template needs one vote at least, not {min_votes}")
    sources: set[bytes] = set()
    tree = tree_of(key)
    votes = np.zeros(len(tree), dtype=np.int32)
    n_pages = 0
    for page in others:
        if page.blocks.texts == key.blocks.texts or page.utf8 in sources:
            continue
        if page.utf8 is not None:
            sources.add(page.utf8)
        votes += map_trees(tree, tree_of(page), equality, matching=matching) >= 0
        n_pages += 1
    if not n_pages:
        return None
    needed = n_pages if min_votes is None else min(min_votes, n_pages)
    # Each mapping is closed upwards, so a parent has as many votes as its child, or more.
    return PageTemplate(page=key, tree=tree, votes=votes, n_pages=n_pages, mask=votes >= needed)


def learnt_tree(template: PageTemplate) -> Tree:
    """The template alone, to be stored and found again on other pages by :func:`membership`."""
    return template.tree.restricted(template.mask)


def membership(page: Page, tree: Tree, equality: str | NodeEquality = "hybex") -> NDArray[np.bool_]:
    """Which nodes of a new page belong to a template that was learnt before.

    Parameters
    ----------
    page
        Any page, at best of the same site.
    tree
        A template, as :func:`learnt_tree` gives it.
    equality
        See :func:`map_trees`; at best what the template was learnt with.

    Returns
    -------
    NDArray[np.bool_]
        (n_nodes,) in the order of ``page.nodes``.

    Raises
    ------
    UnknownNameError
        No such equality.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p class=menu>Home</p><p>{text}</p>") for text in ("Cats", "Dogs", "Birds")]
    >>> template = learnt_tree(page_template(pages[0], [pages[1]]))
    >>> membership(pages[2], template).tolist()
    [True, True, True, True, True, True, False]
    """
    own = tree_of(page)
    inside = np.zeros(len(page.nodes), dtype=bool)
    inside[own.nodes[map_trees(own, tree, equality) >= 0]] = True
    return inside
