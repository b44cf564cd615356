"""Settings shared by all tests: the hypothesis profiles and the folder of labelled corpora."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from blockml import _kernel

# Parsers load lazily and the machine may be busy, so a slow call is not an error.
# Continuous integration uses the same examples every time; local runs search for new ones.
settings.register_profile(
    "exhaustive",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile("sample", settings.get_profile("exhaustive"), max_examples=30)


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples hypothesis makes where a test doesn't say it; see the conftest of the project."""
    settings.load_profile("exhaustive" if config.option.exhaustive else "sample")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Return the folder of the labelled corpora."""
    folder = os.environ.get("BLOCKML_CORPORA")
    if not folder:
        pytest.skip("needs labelled corpora: set BLOCKML_CORPORA to their folder")
    path = Path(folder)
    if not path.is_dir():
        pytest.skip(f"needs labelled corpora: BLOCKML_CORPORA is not a folder: {folder}")
    return path


@pytest.fixture(params=["python", "compiled"])
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with the Python implementation and with the C extension."""
    if request.param == "python":
        monkeypatch.setattr(_kernel, "compiled", None)
    elif _kernel.compiled is None:
        pytest.skip("needs the compiled kernel: there was no compiler, or BLOCKML_PURE is set")
    return str(request.param)


@pytest.fixture
def compiled() -> _kernel.Compiled:
    """Return the compiled kernel."""
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel: there was no compiler, or BLOCKML_PURE is set")
    return _kernel.compiled


def pytest_collection_finish() -> None:
    """Exclude the collected tests from later garbage collections, which would scan them each time."""
    gc.freeze()
