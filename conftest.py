"""Settings that must precede the import of tests, and the choice of tests.

Tests run side by side, one on each processor. Threads of OpenMP wait for each other by spinning: with two processes on
two busy processors, fitting boosted trees took nine times the processor time that it takes with one thread.
"""

import os
import zlib
from importlib.util import find_spec

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

collect_ignore = [] if find_spec("datatrove") else ["blockml/batch/engines/datatrove.py"]

#: Tests with the mark ``exhaustive`` that run without the option: one in so many.
_SAMPLE = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs all tests; ``BLOCKML_EXHAUSTIVE=1`` does the same in every stage of ``.ci/run``."""
    parser.addoption(
        "--exhaustive", action="store_true", default=os.environ.get("BLOCKML_EXHAUSTIVE", "0") not in {"", "0"},
        help="run all tests with the mark 'exhaustive' instead of a sample, and more examples of hypothesis",
    )  # fmt: skip


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most of the slow tests, unless they are asked for by the option or by their file or name."""
    chosen = any(".py" in argument or "::" in argument for argument in config.args) or config.option.keyword
    if config.option.exhaustive or chosen:
        return
    left_out = [
        item for item in items if item.get_closest_marker("exhaustive") and zlib.crc32(item.nodeid.encode()) % _SAMPLE
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        omitted = set(left_out)
        items[:] = [item for item in items if item not in omitted]
