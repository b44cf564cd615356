"""Simulation of a crawl's extraction on many machines, from service times measured here.

The pages of labelled collections are extracted one by one; the time of each page, scaled by its bytes to the mean size
of a crawl's pages, is the sample from which simulated WARC files draw. Workers take files from a queue. Sometimes a
worker is lost (a spot machine that is taken back) or a file can't be fetched, and is processed again; some pages run
into the time limit. The result is the time of the whole crawl, the core-hours including repeated work, and the delay
by the slowest files at the end.

    python -m research.benchmarks.scale --corpora DIR --report research/scale.md
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.cli.output import print_rows, write_output
from blockml.datasets import open_dataset
from research.benchmarks.speed.document import filled

COLLECTIONS = ("wcxb", "l3s-gn1", "fundus", "magic-html")
#: Pages and mean bytes of a page in a WARC file of Common Crawl, from one file of CC-MAIN-2026 (3.70 GB, 19,785 pages).
FILE_PAGES, PAGE_BYTES = 19_785, 187_000
#: Number of extractions of each page, of which the fastest counts.
PASSES = 5
#: Number of pages in a group whose mean time is compared with that of others.
GROUP = 100
#: Prices of a core-hour in dollars, on demand and as a spot machine (our assumptions).
ON_DEMAND, SPOT = 0.04, 0.015


@dataclass(frozen=True)
class Plan:
    """A crawl and the machines that extract it."""

    files: int = 100_000
    workers: int = 1_000
    shard_files: int = 1  #: Number of files in a task.
    fetch_seconds: float = 12.0  #: Download of a file of 1.1 GB at 90 MB/s, before its pages are extracted.
    overhead: float = 1.2  #: CPU time of a page including reading and writing, as a ratio to the bare extraction.
    start_seconds: float = 1.0  #: Start of the process and of the model, once a task.
    worker_loss: float = 0.05  #: Lost workers per worker and hour.
    fetch_failures: float = 0.01  #: Share of fetches that fail and are repeated.
    page_timeouts: float = 2e-6  #: Share of pages that run into the time limit.
    page_limit: float = 60.0  #: Time limit of a page in seconds.


@dataclass(frozen=True)
class Outcome:
    """Result of a simulation."""

    hours: float  #: Time until the last file is done.
    core_hours: float  #: Time of all workers, without idle time at the end.
    wasted: float  #: Share of the core-hours that was repeated.
    busy: float  #: Share of the time for which the workers were busy.
    attempts: int  #: Number of tasks that were started.


def service_times(corpora: Path, limit: int) -> NDArray[np.float64]:
    """Return the seconds of the extraction of pages, scaled to the mean size of a crawl's pages."""
    model = blockml.load("default")
    sources = [page.load()[0] for name in COLLECTIONS for page in open_dataset(corpora / name).pages[:limit]]
    mean = sum(map(len, sources)) / len(sources)
    # Several passes over all pages, because other load on the machine lasts longer than a page.
    passes = [[_seconds(source, model) for source in sources] for _ in range(PASSES)]
    fastest: NDArray[np.float64] = np.min(passes, axis=0) * PAGE_BYTES / mean
    return fastest


def _seconds(source: bytes, model: Any) -> float:  # noqa: ANN401 (any extractor)
    start = time.process_time()
    blockml.extract(source, model=model)
    return time.process_time() - start


def file_seconds(times: NDArray[np.float64], plan: Plan, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the seconds of each task: fetches, pages and pages that run into their limit."""
    tasks = -(-plan.files // plan.shard_files)
    pages = FILE_PAGES * plan.shard_files
    # The sum of so many pages is normally distributed. Files differ by the kinds of their pages, at most as much as
    # groups of pages of our collections, each of which has few kinds.
    groups = times[: len(times) // GROUP * GROUP].reshape(-1, GROUP).mean(axis=1)
    sums = pages * rng.normal(times.mean(), groups.std(), tasks).clip(0) * plan.overhead
    sums += rng.poisson(pages * plan.page_timeouts, tasks) * plan.page_limit
    fetches = 1 + rng.geometric(1 - plan.fetch_failures, (tasks, plan.shard_files)) - 1
    found: NDArray[np.float64] = sums + fetches.sum(axis=1) * plan.fetch_seconds + plan.start_seconds
    return found


def simulate(times: NDArray[np.float64], plan: Plan, seed: int = 0) -> Outcome:
    """Assign tasks to workers when they become free, and a lost worker's task to the next one."""
    rng = np.random.default_rng(seed)
    queue = list(file_seconds(times, plan, rng)[::-1])
    free = [0.0] * plan.workers
    heapq.heapify(free)
    done = wasted = end = 0.0
    attempts = 0
    while queue:
        start = heapq.heappop(free)
        seconds = queue.pop()
        attempts += 1
        lost = rng.exponential(3600 / plan.worker_loss) if plan.worker_loss else np.inf
        if lost < seconds:
            wasted += lost
            queue.append(seconds)
            heapq.heappush(free, start + lost + 120)  # a replacement machine takes two minutes to start
            continue
        done += seconds
        end = max(end, start + seconds)
        heapq.heappush(free, start + seconds)
    total = done + wasted
    return Outcome(end / 3600, total / 3600, wasted / total, total / (end * plan.workers), attempts)


def rows(times: NDArray[np.float64], overhead: float) -> Iterator[dict[str, str]]:
    """Yield the simulated plans."""
    plans = {
        "1,000 workers": Plan(),
        "100 workers": Plan(workers=100),
        "10,000 workers": Plan(workers=10_000),
        "tasks of 10 files": Plan(shard_files=10),
        "workers lost once in 2 hours": Plan(worker_loss=0.5),
        "the same, tasks of 10 files": Plan(worker_loss=0.5, shard_files=10),
        "ten times as many timeouts": Plan(page_timeouts=2e-5),
        "ten times as many, limit 10 s": Plan(page_timeouts=2e-5, page_limit=10.0),
        "fetched at 20 MB/s": Plan(fetch_seconds=55.0),
    }
    for name, plan in plans.items():
        found = simulate(times, replace(plan, overhead=overhead))
        yield {
            "plan": name,
            "hours": f"{found.hours:.2f}",
            "core-hours": f"{found.core_hours:,.0f}",
            "done twice": f"{found.wasted:.1%}",
            "busy": f"{found.busy:.1%}",
            "tasks begun": f"{found.attempts:,}",
            "$ on demand": f"{found.core_hours * ON_DEMAND:,.0f}",
            "$ spot": f"{found.core_hours * SPOT:,.0f}",
        }


def in_short(times: NDArray[np.float64], plan: Plan) -> list[dict[str, str]]:
    """Return the costs of a page, a file and the crawl."""
    ms, overhead = 1000 * times, plan.overhead
    found = simulate(times, plan)
    quantiles = "{:.1f}, {:.1f}, {:.0f}".format(*np.quantile(ms, (0.5, 0.99)), ms.max())
    facts = {
        "extraction of a page of 187 KB, ms of one core": f"{ms.mean():.2f}",
        "its median, 99th percentile and maximum": quantiles,
        "MB of HTML a second and core": f"{PAGE_BYTES / 1000 / ms.mean():.0f}",
        "the same with reading, decompression and writing, as a ratio": f"{overhead:.2f}",
        "seconds of a WARC file of 19,785 pages": f"{FILE_PAGES * times.mean() * overhead:.0f}",
        "core-hours of the month": f"{found.core_hours:,.0f}",
        "hours on 1,000 cores": f"{found.hours:.1f}",
        f"$ on demand, at {ON_DEMAND} a core-hour": f"{found.core_hours * ON_DEMAND:.0f}",
        f"$ on spot machines, at {SPOT}": f"{found.core_hours * SPOT:.0f}",
    }
    return [{"what": what, "value": value} for what, value in facts.items()]


def main() -> None:
    """Measure, simulate, and print or fill a document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300, help="maximum number of pages of each collection")
    text = "what benchmarks.batch measures for WARC files: CPU time of a page as a ratio to the bare extraction"
    parser.add_argument("--overhead", type=float, default=Plan.overhead, help=text)
    parser.add_argument("--report", type=Path, help="document whose tables are replaced")
    arguments = parser.parse_args()
    times = service_times(arguments.corpora, arguments.limit)
    tables = {
        "In short": in_short(times, Plan(overhead=arguments.overhead)),
        "Plans": list(rows(times, arguments.overhead)),
    }
    for table in tables.values():
        print_rows(table, "table")
    if arguments.report is not None:
        write_output(filled(arguments.report.read_text(encoding="utf-8"), {"scale": tables}), arguments.report)


if __name__ == "__main__":
    main()
