"""Detect templates by mapping the DOM trees of a site's pages to each other (Alarte et al. 2014)."""

from blockml.templates.mapping.etdm import MATCHINGS, map_trees
from blockml.templates.mapping.similarity import EQUALITIES, NodeEquality
from blockml.templates.mapping.template import (
    MAJORITY,
    PageTemplate,
    content_blocks,
    learnt_tree,
    main_container,
    membership,
    page_template,
    template_html,
    template_share,
)
from blockml.templates.mapping.tree import Tree, tree_of

__all__ = [
    "EQUALITIES", "MAJORITY", "MATCHINGS", "NodeEquality", "PageTemplate", "Tree", "content_blocks", "learnt_tree",
    "main_container", "map_trees", "membership", "page_template", "template_html", "template_share", "tree_of",
]  # fmt: skip
