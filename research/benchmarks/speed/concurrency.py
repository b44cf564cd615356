"""Growth of cost with size, and scaling with threads that share a model and processes that share pages."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import blockml
from blockml.extractors import Extractor
from research.benchmarks.speed.growth import Curve, Growth, Ways, least_seconds, of_batches, of_pages, ways_of
from research.benchmarks.speed.pages import Source
from research.benchmarks.speed.subjects import on_backend

__all__ = ["growths", "processes", "threads"]

_THREADS = [1, 2, 4, 8, 16]
_PROCESSES = [1, 2]
#: Exit codes of a finished command; 1 means that a page failed.
_FINE = (0, 1)


def growths(models: Sequence[str], sources: Sequence[Source], share: float) -> Iterator[Growth]:
    """Measure all growth curves; those for many pages use the default back end and a page of medium size.

    Parameters
    ----------
    models
        Names of released models.
    sources
        Real pages.
    share
        Fraction of the largest amounts at which to stop, in (0, 1].
    """
    yield from of_pages(ways_of(models), sources, share)
    page = sorted(sources, key=lambda source: len(source.html))[len(sources) // 2]
    ways = {f"{name}, lxml": on_backend(name, "lxml") for name in models}
    yield of_batches(ways, page, share)
    yield threads(ways, page, max(16, int(64 * share)))
    yield processes(models, sources, max(2, int(600 * share)))


def threads(ways: Ways, page: Source, count: int) -> Growth:
    """Extract copies of a page in 1 to 16 threads."""

    def run(extractor: Extractor, n: int) -> None:
        def extract(_: int) -> object:
            return blockml.extract(page.html, url=page.url, charset=page.charset, model=extractor)

        with ThreadPoolExecutor(n) as pool:
            list(pool.map(extract, range(count)))

    clocks = {"CPU": time.process_time, "wall": time.perf_counter}
    curves = [
        Curve(
            f"{name}, {title}",
            _THREADS,
            [least_seconds(functools.partial(run, extractor, n), clock) / count for n in _THREADS],
        )
        for name, extractor in ways.items()
        for title, clock in clocks.items()
    ]
    return Growth("Threads that share a model", "threads", "page", curves, fitted=False)


def processes(models: Sequence[str], sources: Sequence[Source], count: int) -> Growth:
    """Run ``blockml predict`` on pages, including start-up, in one and two processes."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "pages.jsonl"
        with pages.open("w", encoding="utf-8", errors="replace") as stream:
            for number in range(count):
                source = sources[number % len(sources)]
                stream.write(json.dumps({"id": str(number), "url": source.url, "html": source.text}) + "\n")
        for model in models:
            for jobs in _PROCESSES:
                command = ["predict", str(pages), "-o", f"{folder}/out.jsonl", "--overwrite", "--jobs", str(jobs)]
                command += ["--model", model]
                for title, taken in zip(("CPU", "wall"), _command(command), strict=True):
                    seconds.setdefault(f"{model}, lxml, {title}", []).append(taken / count)
    curves = [Curve(name, _PROCESSES, taken) for name, taken in seconds.items()]
    return Growth("Processes that share the pages", "processes", "page", curves, fitted=False)


def _command(arguments: Sequence[str]) -> tuple[float, float]:
    """Measure CPU seconds of a command and its child processes, and wall seconds."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    start = time.perf_counter()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(  # noqa: S603 (our own command)
            [sys.executable, "-m", "blockml", *arguments], env=kept, stderr=said
        ) as running,
    ):
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode not in _FINE:
            said.seek(0)
            raise RuntimeError(f"blockml {' '.join(arguments)}: {said.read().decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start
