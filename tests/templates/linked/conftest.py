"""Fixtures for tests of fetching."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockml.templates.linked.web import WebSource
from tests.templates.linked.webserver import Site


@pytest.fixture
def site() -> Iterator[Site]:
    """A server that knows no page but those a test gives it."""
    server = Site()
    yield server
    server.close()


@pytest.fixture
def web() -> Iterator[WebSource]:
    """A source that may talk to the loopback address."""
    with WebSource(allow_private=True, delay=0) as source:
        yield source
