"""Detect the template that pages of one site share.

``distances`` compares the structure of pages, ``clustering`` groups them by template, ``linked`` finds pages of the
site that may share a page's template, ``frequency`` counts repeated text, ``mapping`` matches DOM trees, ``grouping``
clusters whole folders and ``site`` stores the learned template of a site in a small file.
"""

from blockml.templates.grouping import PageSummary, cluster_pages, summarise_page
from blockml.templates.site import SiteTemplate

__all__ = [
    "PageSummary", "SiteTemplate", "cluster_pages", "summarise_page",
]  # fmt: skip
