"""Headless Chromium, driven by playwright, which records the messages and requests of a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["SIZES", "Watched", "chromium", "watched"]

#: Viewports of a desktop and of a phone.
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 800}}


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium, or skip the test if Chromium or playwright is not installed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A page of the browser, with its console messages and requested URLs."""

    page: Page
    problems: list[str] = field(default_factory=list)  #: Errors and warnings of the console, uncaught errors, dialogs
    addresses: list[str] = field(default_factory=list)

    def leaving(self, *allowed: str) -> list[str]:
        """Return the requested URLs that start with none of the allowed prefixes."""
        return [address for address in self.addresses if not address.startswith((*allowed, "data:", "blob:"))]


@contextmanager
def watched(browser: Browser, size: str) -> Iterator[Watched]:
    """Open an empty page with a viewport from :data:`SIZES`."""
    width = SIZES[size]
    context = browser.new_context(viewport={"width": width["width"], "height": width["height"]})
    try:
        found = Watched(context.new_page())
        page = found.page
        page.on("console", lambda said: found.problems.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: found.problems.append(str(error)))
        page.on("dialog", lambda dialog: found.problems.append(dialog.message))
        page.on("request", lambda request: found.addresses.append(request.url))
        yield found
    finally:
        context.close()
