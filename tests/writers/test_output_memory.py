"""Memory for outputs of hostile pages, measured in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from blockml import _kernel

pytestmark = pytest.mark.exhaustive

#: The costliest shapes for each back end and output, from research/robustness.md.
SHAPES = ("base of 2,000 characters", "deep paragraphs", "paragraphs in nested quotations")
#: The smallest measurement counts, because the placement of objects by the allocator can only add to it.
N_RUNS = 3


def measured(backend: str) -> dict[tuple[str, str], float]:
    """Return the bytes of memory per byte of the page, by output and shape."""
    command = [sys.executable, "-m", "research.benchmarks.hostile.outputs", "--backends", backend, "--outputs", "JSON",
               "view", "--sizes", "1000", "240000", "--shapes", *SHAPES]  # fmt: skip
    root = Path(__file__).parents[2]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603 (our own module)
    lines = [json.loads(line) for line in found.stdout.splitlines() if line.startswith("{")]
    return {(line["output"], line["shape"]): line["memory"] for line in lines}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure memory")
@pytest.mark.skipif(_kernel.compiled is None, reason="needs the C extension, with which the bound was measured")
@pytest.mark.parametrize("backend", ["lxml", "lexbor", "html5lib"])
def test_outputs_take_at_most_100_bytes_per_byte(backend: str) -> None:
    """Views and JSON, which need most memory, take at most 100 bytes per byte of the page."""
    for package in ("nh3", "jinja2", {"lexbor": "selectolax"}.get(backend, backend)):
        pytest.importorskip(package)
    least: dict[tuple[str, str], float] = {}
    for _ in range(N_RUNS):
        least = {key: min(value, least.get(key, value)) for key, value in measured(backend).items()}
        too_much = {key: value for key, value in least.items() if value > 100}
        if not too_much:
            break
    assert too_much == {}
    assert len(least) == 2 * len(SHAPES)
    assert min(least.values()) > 1
