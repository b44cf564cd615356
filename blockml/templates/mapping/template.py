"""Template of a page: the nodes mapped to other pages of its site (Alarte et al. 2014, definition 3.3)."""

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


@dataclass(frozen=True, slots=True, eq=False)
class PageTemplate:
    """Template that a page shares with other pages."""

    page: Page  #: Key page
    tree: Tree  #: Tree of the key page, ``n`` rows
    votes: NDArray[np.int32]  #: (n,) number of other pages that a row is mapped to
    n_pages: int  #: Number of other pages, without duplicates
    mask: NDArray[np.bool_]  #: (n,) template rows; closed under parents

    @property
    def nodes(self) -> NDArray[np.bool_]:
        """(n_nodes,) mask of the page's template nodes."""
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
    successive: bool = False,
) -> PageTemplate | None:
    """Find the template that a page shares with other pages.

    Each other page is mapped to the key page independently (definition 3.3), so their order doesn't matter. None if no
    page is left to compare. Other pages with the same visible text as the key page are skipped, because the whole page
    would be template, and so are pages with equal source. A template node is mapped to at least ``min_votes`` of the
    other pages, or all if there are fewer; the default is all, as in the paper, while the public implementation
    requires 2 of 3. For ``equality`` and ``matching`` see :func:`map_trees`.

    With ``successive``, each page is mapped to the part of the key page that the previous pages left (algorithm 2). A
    node that has dropped out then frees its counterpart on later pages for a sibling, so the template can be larger
    than by the definition, and depends on the order of pages. A page that cannot be mapped at all is skipped there and
    empties the template of the definition.

    Raises UnknownNameError for an unknown equality or matching, and UsageError for ``min_votes`` below 1 or together
    with ``successive``, because every page decides there.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p class=menu>Home</p><p>{text}</p>") for text in ("Cats", "Dogs", "Birds")]
    >>> template = page_template(pages[0], pages[1:])
    >>> [block.text for block in pages[0].blocks if template.nodes[block.node]]
    ['Home']
    """
    if min_votes is not None and min_votes < 1:
        raise UsageError(f"min_votes must be at least 1, got {min_votes}")
    if successive and min_votes is not None:
        raise UsageError("min_votes does not apply to a successive template: every page decides")
    sources: set[bytes] = set()
    tree = left = tree_of(key)
    rows = np.arange(len(tree))  # of the key page, still in the template
    votes = np.zeros(len(tree), dtype=np.int32)
    n_pages = 0
    for page in others:
        if page.blocks.texts == key.blocks.texts or page.utf8 in sources:
            continue
        if page.utf8 is not None:
            sources.add(page.utf8)
        mapped = map_trees(left, tree_of(page), equality, matching=matching) >= 0
        if successive:
            if not mapped.any() and len(left):
                continue
            rows, left = rows[mapped], left.restricted(mapped)
            votes[rows] += 1
        else:
            votes += mapped
        n_pages += 1
    if not n_pages:
        return None
    needed = n_pages if min_votes is None else min(min_votes, n_pages)
    # Mappings are closed under parents, so a parent has at least as many votes as its child.
    return PageTemplate(page=key, tree=tree, votes=votes, n_pages=n_pages, mask=votes >= needed)


def learnt_tree(template: PageTemplate) -> Tree:
    """Return only the tree of the template, for storage and for :func:`membership` on other pages."""
    return template.tree.restricted(template.mask)


def membership(page: Page, tree: Tree, equality: str | NodeEquality = "hybex") -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of the nodes of a page that belong to a learned template.

    ``tree`` comes from :func:`learnt_tree`, preferably learned with the same ``equality``; see :func:`map_trees`.

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
