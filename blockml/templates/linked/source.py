"""Where linked pages come from: one narrow seam for folders, archives and the web."""

from __future__ import annotations

from abc import ABC, abstractmethod

from blockml.page import Page
from blockml.templates.linked.urls import resolve

__all__ = ["PageSource"]


class PageSource(ABC):
    """Gives pages by URL.

    A page that can't be had is None, never an error: a broken link is nothing special.
    """

    @abstractmethod
    def get(self, url: str) -> Page | None:
        """Load and parse the page with this URL; its ``url`` is then the one to resolve its links against."""

    def resolve(self, page: Page, href: str) -> str | None:
        """URL that a link of a page leads to, in the form that :meth:`get` takes; None if it leads to no page."""
        return resolve(page, href)
