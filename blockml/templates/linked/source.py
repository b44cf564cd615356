"""Interface of folders, archives and the web as sources of linked pages."""

from __future__ import annotations

from abc import ABC, abstractmethod

from blockml.page import Page
from blockml.templates.linked.urls import resolve

__all__ = ["PageSource"]


class PageSource(ABC):
    """Source of pages by URL; a page that can't be loaded is None, never an error."""

    @abstractmethod
    def get(self, url: str) -> Page | None:
        """Load and parse a page, with the base URL of its links as its ``url``."""

    def resolve(self, page: Page, href: str) -> str | None:
        """Return the URL of a page's link in the form that :meth:`get` accepts; None if it leads to no page."""
        return resolve(page, href)
