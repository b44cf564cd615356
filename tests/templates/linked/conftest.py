"""Fixtures for tests of fetching."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockml.templates.linked import WebSource
from tests.templates.linked.webserver import Site


@pytest.fixture
def site() -> Iterator[Site]:
    """Run a server that has only the pages given to it."""
    server = Site()
    yield server
    server.close()


@pytest.fixture
def web() -> Iterator[WebSource]:
    """Return a source that may connect to the loopback address."""
    with WebSource(allow_private=True, delay=0) as source:
        yield source
