"""Synthetic sites, defined by the links between their pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import blockml
from blockml.page import Page
from blockml.templates.linked import PageSource

HOST = "http://site.example/"


def page_with_links(name: str, targets: Iterable[str], text: str | None = None) -> Page:
    """Return a page at ``/name`` with a text and a list of links."""
    items = "".join(f"<li><a href='{target}'>to {target}</a></li>" for target in targets)
    return blockml.parse(f"<p>{name if text is None else text}</p><ul>{items}</ul>", url=HOST + name)


class DictSource(PageSource):
    """A source of pages by name that records requests.

    ``redirects`` maps names to the page that is returned instead.
    """

    def __init__(self, targets: Mapping[str, str | Iterable[str]], redirects: Mapping[str, str] | None = None) -> None:
        self.targets = targets
        self.redirects = redirects or {}
        self.asked: list[str] = []

    def get(self, url: str) -> Page | None:
        """Return the page of a URL, or None."""
        assert url.startswith(HOST)
        name = url.removeprefix(HOST)
        self.asked.append(name)
        name = self.redirects.get(name, name)
        return page_with_links(name, self.targets[name]) if name in self.targets else None
