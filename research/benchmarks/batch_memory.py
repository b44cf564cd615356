"""Peak memory of batches of different lengths, which must not grow with them, as the kernel counts it.

The input is a WARC file, or JSON lines, of pages of labelled collections, given several times; ids repeat, which a
batch allows. ``VmHWM`` is the largest resident memory that a process ever had, which includes pages that processes
share; ``PSS`` (proportional set size) divides those among the processes, so its sum is what the run as a whole takes.

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
from collections.abc import Iterator
from pathlib import Path

from blockml.cli.output import note, print_rows
from research.benchmarks.batch import pages, process_tree, text_of, warc_record

#: Pages of the file that is repeated.
FILE_PAGES = 500
#: Longest page: with short pages many are extracted in little time, and long ones would determine the peak.
MOST_BYTES = 20_000
#: Seconds between two looks at the processes.
INTERVAL = 0.2


def short_pages() -> Iterator[tuple[str, bytes]]:
    """Yield names and sources of the pages of a file."""
    count = 0
    for name, source, charset in pages(50 * FILE_PAGES):
        html = text_of(source, charset)
        if len(html) <= MOST_BYTES:
            yield name, html
            count += 1
        if count == FILE_PAGES:
            return


def write_files(folder: Path) -> dict[str, Path]:
    """Write the pages in each format; return the files by format."""
    files = {"warc.gz": folder / "pages.warc.gz", "jsonl": folder / "pages.jsonl"}
    with files["warc.gz"].open("wb") as warc, files["jsonl"].open("w", encoding="utf-8") as lines:
        for name, html in short_pages():
            warc.write(gzip.compress(warc_record(name, html), 6))
            lines.write(json.dumps({"id": name, "html": html.decode()}) + "\n")
    return files


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
        files = write_files(Path(made))
        note("input written")
        for kind in arguments.formats:
            for jobs in arguments.jobs:
                for n in arguments.pages:
                    inputs = [str(files[kind])] * (n // FILE_PAGES)
                    output = str(Path(made) / "out.jsonl.gz")
                    command = [sys.executable, "-m", "blockml", "predict", *inputs, "-o", output, "--jobs", str(jobs)]
                    own, workers, total = measured([*command, "--quiet"])
                    shown = {"parent MB": own / 1000, "largest worker MB": max(workers, default=0) / 1000}
                    rows.append({"input": kind, "pages": n, "workers": jobs, **shown, "sum of PSS MB": total / 1000})
                    note(json.dumps(rows[-1]))
    print_rows(rows, "table")


if __name__ == "__main__":
    main()
