"""Cost of pages, start, threads, batches, size and a crawl, each compared with alternatives in turns in one run.

Times are CPU times; the minimum of some rounds counts for each page, program and run. Threads are timed by the wall
clock, which is only meaningful on an idle machine; the share of time without Python's lock doesn't depend on that.
Pages are split in two halves by their hash: tune on the first half and look at the second when the tuning is finished.

    python -m research.benchmarks.speed.goals [SECTION …] --corpora CORPORA
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import blockml
from blockml import _kernel
from blockml.cli.output import write_output
from blockml.errors import check_name
from blockml.evaluation.comparison.systems import PEERS
from research.benchmarks.speed.batches import batch_table, crawl_table
from research.benchmarks.speed.clock import WHOLE, Laps, Subject, cpu_seconds, measured
from research.benchmarks.speed.pages import Source, long_page, sample
from research.benchmarks.speed.processes import child
from research.benchmarks.speed.subjects import extracting, floor
from research.benchmarks.speed.tables import Table, markdown, whole_table

_SECTIONS = ("pages", "start", "threads", "unlocked", "batch", "growth", "crawl")
#: Functions of the C extension that release Python's lock, besides parsers.
_UNLOCKED = ("new_attribute_values", "write_columns", "ancestor_words", "tree_sums", "mlp_probabilities")
#: Bytes of growing pages.
_SIZES = (10_000, 100_000, 1_000_000, 5_000_000, 20_000_000)
#: Programs whose start is measured; the first two import what blockml always needs.
_STARTS = {
    "Python": "",
    "import numpy, lxml.etree": "import numpy, lxml.etree",
    "import blockml": "import blockml",
    "blockml extract FILE": (
        "import os, sys, blockml.cli\nout = os.dup(1); os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
        "blockml.cli.main(['extract', sys.argv[1]])\nos.dup2(out, 1)"
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m research.benchmarks.speed.goals", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", default=[], metavar="SECTION", help=f"of {', '.join(_SECTIONS)} (default: all)"
    )
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA", ""))
    parser.add_argument("--dataset", default="wcxb", help="folder of the data set within it (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=60, help="of each kind (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args(argv)
    wanted = options.sections or _SECTIONS
    for section in wanted:
        check_name("section", section, _SECTIONS)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    folder = Path(options.corpora) / options.dataset
    kinds = {"20 to 200 kB": (20, 200), "all sizes": (0, 10**6)}
    drawn = {kind: sample(folder, options.pages, sizes) for kind, sizes in kinds.items()}
    for kind, sources in drawn.items():
        for second in (False, True) if "pages" in wanted else ():
            if not (half := [source for source in sources if _is_second(source) is second]):
                continue
            times = measured(half, subjects := _subjects(), options.rounds)
            _print(
                f"Pages of {kind}, {'second' if second else 'first'} half",
                whole_table(times, [subject.name for subject in subjects]),
            )
    sources = drawn["20 to 200 kB"]
    tables: dict[str, Callable[[], Table]] = {
        "start": lambda: _starts(sources[0], options.rounds),
        "threads": lambda: _threads(sources, options.rounds),
        "unlocked": lambda: _unlocked(sources, options.rounds),
        "batch": lambda: batch_table(sources, options.rounds),
        "growth": lambda: _growth(drawn["all sizes"], options.rounds),
        "crawl": lambda: crawl_table(drawn["all sizes"], options.rounds),
    }
    for section, measure in tables.items():
        if section in wanted:
            _print(section.capitalize(), measure())
    return 0


def _is_second(source: Source) -> bool:
    return hashlib.sha256(source.html).digest()[0] % 2 == 1


def _print(title: str, rows: Table) -> None:
    write_output(f"\n## {title}\n\n{markdown(rows)}\n", None)


def _subjects() -> list[Subject]:
    """Return all systems: parsers, resiliparse if it is installed, and models with and without metadata."""
    found = floor()
    if find_spec("resiliparse"):
        adapter = PEERS["resiliparse"].adapter

        def by_resiliparse(laps: Laps, source: Source) -> None:
            text = source.text
            laps(WHOLE, lambda: adapter(text, source.url))

        found.append(Subject("resiliparse", by_resiliparse, may_fail=True))
    models = {name: blockml.load(name) for name in ("kim2013", "default")}
    found += [extracting(name, model) for name, model in models.items()]

    def with_metadata(laps: Laps, source: Source) -> None:
        laps(WHOLE, lambda: blockml.extract(source.html, url=source.url, model=models["default"]).metadata)

    return [*found, Subject("default, with metadata", with_metadata)]


def _starts(page: Source, rounds: int) -> Table:
    """Measure the lowest CPU time and memory of processes from their start."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_bytes(page.html)
        runs = [{name: child(program, str(path)) for name, program in _STARTS.items()} for _ in range(rounds)]
    return [
        {
            "": name,
            "CPU ms": 1000 * min(run[name]["cpu"] for run in runs),
            "MB": min(run[name]["height"] for run in runs),
        }
        for name in _STARTS
    ]


def _threads(sources: Sequence[Source], rounds: int) -> Table:
    """Measure extractions by one and two threads of this process."""
    model = blockml.load("default")
    least: dict[int, float] = {}
    for _ in range(rounds):
        for n in (1, 2):
            start = time.perf_counter()
            with ThreadPoolExecutor(n) as pool:
                list(pool.map(lambda source: blockml.extract(source.html, model=model).text, sources))
            least[n] = min(least.get(n, float("inf")), time.perf_counter() - start)
    return [
        {"threads": n, "wall ms a page": 1000 * least[n] / len(sources), "speed": least[1] / least[n]} for n in least
    ]


def _unlocked(sources: Sequence[Source], rounds: int) -> Table:
    """Measure the share of time in functions that release Python's lock, and the most that threads can gain by it."""
    kernel = _kernel.compiled
    if kernel is None:
        return []
    seconds: dict[str, float] = {}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> object:
            start = time.thread_time()
            result = function(*arguments)
            seconds[name] = seconds.get(name, 0.0) + time.thread_time() - start
            return result

        return call

    watched: Any = ModuleType("watched")  # hashable, unlike other namespaces
    vars(watched).update(vars(kernel))
    for name in _UNLOCKED:
        setattr(watched, name, timed(name, getattr(kernel, name)))
    make = kernel.nodes_builder
    watched.nodes_builder = lambda *given: (*(made := make(*given))[:-2], timed("parse_libxml2", made[-2]), made[-1])
    model, whole = blockml.load("default"), "whole page"
    least: dict[str, list[float]] = {}
    try:
        _kernel.compiled = watched
        for turn in range(rounds + 1):  # the first one only fills caches
            for number, source in enumerate(sources):
                seconds.clear()
                timed(whole, lambda html: blockml.extract(html, model=model).text)(source.html)
                for name, taken in seconds.items() if turn else ():
                    row = least.setdefault(name, [math.inf] * len(sources))
                    row[number] = min(row[number], taken)
    finally:
        _kernel.compiled = kernel
    all_of = sum(least[whole])
    shares = {name: sum(taken for taken in row if taken < math.inf) / all_of for name, row in least.items()}
    free = sum(share for name, share in shares.items() if name != whole)
    rows: Table = [{"": name, "share of the time": share} for name, share in shares.items() if name != whole]
    rows.append({"": "together", "share of the time": free})
    return [*rows, {"": "speed of threads at most, by Amdahl's law", "share of the time": 1 / (1 - free)}]


def _growth(sources: Sequence[Source], rounds: int) -> Table:
    """Measure the cost of a byte on pages of growing size that repeat the body of a real page."""
    model = blockml.load("default")
    rows: Table = []
    for size in _SIZES:
        html = long_page(sources, size)
        taken = min(cpu_seconds(lambda html=html: blockml.extract(html, model=model)) for _ in range(rounds))  # type: ignore[misc]
        rows.append({"kB": size // 1000, "ms": 1000 * taken, "ms/MB": 1e9 * taken / size})
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
