"""Cost of an extraction compared with that of another checkout of blockml, in turns on the same pages.

Each version runs in a separate process and times its own calls, the two alternating page by page; the minimum of all
rounds counts for each page and version. The other checkout needs its extension compiled in place (``pip install -e``).

    python -m research.benchmarks.speed.versions ../other-checkout --kilobytes 20 200
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from blockml.cli.output import write_output
from research.benchmarks.speed.pages import Source, sample
from research.benchmarks.speed.tables import markdown

#: Program of a measured process, with calls that every version has: it reads the sizes of pages and the pages, then
#: numbers of pages, and answers each with the CPU seconds of one extraction.
_PROGRAM = """
import gc, sys, time
import blockml
read, checkout, model = sys.stdin.buffer, *sys.argv[1:]
if not blockml.__file__.startswith(checkout):
    sys.exit(f"{blockml.__file__} is not below {checkout}")
pages = [read.read(int(size)) for size in read.readline().split()]
for page in pages[:3]:
    blockml.extract(page, model=model)
gc.collect(); gc.freeze()
for line in read:
    page = pages[int(line)]
    gc.collect()
    start = time.process_time()
    blockml.extract(page, model=model).text
    print(time.process_time() - start, flush=True)
"""


class _Version:
    """A process that times extractions by the blockml of one checkout."""

    def __init__(self, checkout: Path, model: str, pages: Sequence[Source]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(  # noqa: S603 (this Python, and the program above)
            [sys.executable, "-P", "-c", _PROGRAM, str(checkout), model],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._write(" ".join(str(len(page.html)) for page in pages).encode() + b"\n")
        self._write(b"".join(page.html for page in pages))

    def seconds(self, page: int) -> float:
        """Extract a page and return its CPU seconds."""
        self._write(f"{page}\n".encode())
        return float(_open(self.process.stdout).readline())

    def close(self) -> None:
        """End the process."""
        _open(self.process.stdin).close()
        self.process.wait()
        _open(self.process.stdout).close()

    def _write(self, data: bytes) -> None:
        stream = _open(self.process.stdin)
        stream.write(data)
        stream.flush()


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("the process has no pipe")
    return stream


def compare(checkouts: Sequence[Path], model: str, pages: Sequence[Source], rounds: int) -> list[list[float]]:
    """Return, for each checkout, the minimum CPU seconds of each page."""
    versions = [_Version(checkout, model, pages) for checkout in checkouts]
    try:
        times = np.full((rounds, len(versions), len(pages)), np.inf)
        for turn in range(rounds):
            for page in range(len(pages)):
                for number, version in enumerate(versions):
                    times[turn, number, page] = version.seconds(page)
    finally:
        for version in versions:
            version.close()
    minima: list[list[float]] = times.min(axis=0).tolist()
    return minima


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table of the models' costs in both versions."""
    parser = argparse.ArgumentParser(
        prog="python -m research.benchmarks.speed.versions",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA", ""))
    parser.add_argument("--dataset", default="wcxb", help="folder of the data set within it (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=60, help="drawn at random (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds; the minimum counts (default: %(default)s)")
    parser.add_argument("--kilobytes", type=float, nargs=2, default=(20, 200), metavar=("FROM", "TO"))
    parser.add_argument("--model", nargs="+", default=["default", "kim2013"])
    options = parser.parse_args(argv)
    if not options.corpora:
        parser.error("BLOCKML_CORPORA names no folder of corpora")
    if not (options.other / "blockml").is_dir():
        parser.error(f"{options.other} has no folder blockml")
    pages = sample(Path(options.corpora) / options.dataset, options.pages, tuple(options.kilobytes))
    rows = []
    for model in options.model:
        found = np.array(compare([Path(__file__).parents[3], options.other.resolve()], model, pages, options.rounds))
        mine, other = 1000 * found
        means = {"this, ms": mine.mean(), "other, ms": other.mean(), "ratio of means": mine.sum() / other.sum()}
        rows.append({"model": model, **means, "median of ratios": np.median(mine / other)})
    write_output(f"{len(pages)} pages, {options.rounds} rounds\n\n{markdown(rows)}\n", None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
