"""Find the pages of a site that share a page's template, by following its links.

The sources of pages are in separate modules: :mod:`~.folder`, :mod:`~.archive` and :mod:`~.web`.
"""

from blockml.templates.linked.link_order import ORDERS, ordered
from blockml.templates.linked.links import Link, PageSource, is_page, links
from blockml.templates.linked.menus import Candidate, Menu, find_menu, menu_candidates
from blockml.templates.linked.subdigraph import Subdigraph, find_subdigraph
from blockml.templates.linked.training import Lack, TrainingSet, training_set
from blockml.templates.linked.urls import normalise, resolve_link, same_site

__all__ = [
    "ORDERS", "Candidate", "Lack", "Link", "Menu", "PageSource", "Subdigraph", "TrainingSet", "find_menu",
    "find_subdigraph", "is_page", "links", "menu_candidates", "normalise", "ordered", "resolve_link", "same_site",
    "training_set",
]  # fmt: skip
