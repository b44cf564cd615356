"""Run code with the Python reference instead of the C extension."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from blockml import _kernel


@contextmanager
def python_reference() -> Iterator[None]:
    """Switch the C extension off while the context is open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        yield
