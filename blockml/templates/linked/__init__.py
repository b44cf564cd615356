"""Find the pages of a site that share a page's template, by following its links.

The sources of pages are in separate modules: :mod:`~.folder`, :mod:`~.archive` and :mod:`~.web`.
"""

from blockml.templates.linked.archive import ArchiveSource
from blockml.templates.linked.folder import FolderSource, open_source
from blockml.templates.linked.links import Link, PageSource, find_links, is_page, normalise, resolve_link, same_site
from blockml.templates.linked.menus import ORDERS, Candidate, Menu, find_menu, menu_candidates, ordered
from blockml.templates.linked.training import Lack, Subdigraph, TrainingSet, find_subdigraph, training_set
from blockml.templates.linked.web import WebSource

__all__ = [
    "ORDERS", "ArchiveSource", "Candidate", "FolderSource", "Lack", "Link", "Menu", "PageSource", "Subdigraph",
    "TrainingSet", "WebSource", "find_links", "find_menu", "find_subdigraph", "is_page", "menu_candidates", "normalise",
    "open_source", "ordered", "resolve_link", "same_site", "training_set",
]  # fmt: skip
