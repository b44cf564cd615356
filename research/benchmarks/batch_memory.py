"""Peak memory of batches of different lengths, which must not grow with them, as the kernel counts it.

The input is one WARC file, or one of JSON lines, with as many pages as asked for: copies of 500 pages of labelled
collections, each with its own id. ``VmHWM`` is the largest resident memory that a process ever had, which includes
pages of memory that processes share; ``PSS`` (proportional set size) divides those among the processes, so its sum is
what the run as a whole takes.

    python -m research.benchmarks.batch_memory --pages 10000 50000 100000
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice, product
from pathlib import Path

from blockml.cli.output import note, print_rows
from research.benchmarks.batch import pages, process_tree, text_of, warc_record

#: Number of pages that are repeated.
DIFFERENT_PAGES = 500
#: Longest page: with short pages many are extracted in little time, and long ones would determine the peak.
MOST_BYTES = 20_000
#: Seconds between two looks at the processes.
INTERVAL = 0.2


def short_pages() -> Iterator[tuple[str, bytes]]:
    """Yield names and sources of the pages."""
    count = 0
    for name, source, charset in pages(50 * DIFFERENT_PAGES):
        html = text_of(source, charset)
        if len(html) <= MOST_BYTES:
            yield name, html
            count += 1
        if count == DIFFERENT_PAGES:
            return


def write_file(path: Path, sources: Sequence[tuple[str, bytes]], n: int) -> None:
    """Write a number of pages in the format of a file's name."""
    with path.open("wb") as file:
        for number, (name, html) in enumerate(islice(cycle(sources), n)):
            page_id = f"{name}/{number}"
            if path.suffix == ".gz":
                file.write(gzip.compress(warc_record(page_id, html), 6))
            else:
                file.write(json.dumps({"id": page_id, "html": html.decode()}).encode() + b"\n")


def kilobytes(number: int, file: str, field: str) -> int:
    """Return a field of a process's ``status`` or ``smaps_rollup``; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{number}/{file}").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)


def measured(command: list[str]) -> tuple[int, list[int], int]:
    """Run a command; return the peaks of itself, of its other processes, and of the sum of all, in kilobytes."""
    peaks: dict[int, int] = {}
    most = 0
    with subprocess.Popen(command) as process:  # noqa: S603
        while process.poll() is None:
            numbers = list(process_tree(process.pid))
            for number in numbers:
                peaks[number] = max(peaks.get(number, 0), kilobytes(number, "status", "VmHWM"))
            most = max(most, sum(kilobytes(number, "smaps_rollup", "Pss") for number in numbers))
            time.sleep(INTERVAL)
    if process.returncode > 1:
        raise SystemExit(f"{command} ended with {process.returncode}")
    own = peaks.pop(process.pid, 0)
    return own, sorted(peaks.values(), reverse=True), most


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 50_000, 100_000])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--formats", nargs="+", default=["warc.gz", "jsonl"], choices=["warc.gz", "jsonl"])
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as made:
        sources = list(short_pages())
        for kind, n in product(arguments.formats, arguments.pages):
            path = Path(made) / f"pages.{kind}"
            write_file(path, sources, n)
            for jobs in arguments.jobs:
                output = str(Path(made) / "out.jsonl.gz")
                command = [sys.executable, "-m", "blockml", "predict", str(path), "-o", output, "--overwrite"]
                command += ["--jobs", str(jobs)]
                own, workers, total = measured([*command, "--quiet"])
                shown = {"parent MB": own / 1000, "largest worker MB": max(workers, default=0) / 1000}
                rows.append({"input": kind, "pages": n, "workers": jobs, **shown, "sum of PSS MB": total / 1000})
                note(json.dumps(rows[-1]))
    print_rows(rows, "table")


if __name__ == "__main__":
    main()
