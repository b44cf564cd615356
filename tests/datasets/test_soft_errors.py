"""Bot challenges, error messages and empty application shells."""

from __future__ import annotations

import pytest

import blockml
from blockml.datasets import soft_error

WORDS = " ".join(["word"] * 60)


@pytest.mark.parametrize(
    "html",
    [
        "<title>Just a moment...</title><p>Checking your connection.</p>",
        "<title>Making sure you're not a bot!</title><p>Loading...</p>",
        "<title>Attention Required! | Cloudflare</title><p>Please wait.</p>",
        "<title>Shop - Page Not Found</title><p>Sorry.</p>",
        "<title>Shop: Page not found</title><p>Sorry.</p>",
        "<title>Shop</title><h1>404 Page Not Found</h1><p>Sorry.</p>",
        "<p>404 : Page Not Found</p>",
        "<h1>Access Denied</h1><p>You don't have permission.</p>",
        "<h1>503 Service Unavailable</h1>",
        "<p>The topic or post you requested does not exist</p>",
        "<p>We are sorry: the page you are looking for could not be found.</p>",
        "<p>The requested URL /old.html was not found on this server.</p>",
        "<p>You need to enable JavaScript to run this app.</p>",
    ],
)
def test_soft_errors(html: str) -> None:
    """Each page is recognised as a soft error."""
    assert soft_error(blockml.parse(html)) is not None


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<title>Page not found</title>",  # no blocks to classify
        "<title>Why a page is not found</title><p>It was moved, mostly.</p>",
        "<p>He was denied access to the page, and found it anyway.</p>",
        "<p>404</p><p>562</p>",  # numbers of replies
        f"<p>{WORDS}</p><noscript>Please enable JavaScript.</noscript>",
        "<title>Page not found</title>" + f"<p>{WORDS}</p>" * 9,
        f"<p>The page you requested {WORDS} does not exist.</p>",  # too long for a message
    ],
)
def test_normal_pages_are_not_soft_errors(html: str) -> None:
    """Long pages, sentences about errors, and numbers are not soft errors."""
    assert soft_error(blockml.parse(html)) is None
