"""Peak memory of batches of different lengths, which must not grow with them.

The input is a WARC file of pages of labelled collections, given several times; ids repeat, which a batch allows.

    python -m research.benchmarks.batch_memory --pages 10000 50000 100000
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from pathlib import Path

from blockml.cli.output import note, print_rows
from research.benchmarks.batch import cost_of, pages, text_of, warc_record

#: Pages of the file that is repeated.
FILE_PAGES = 500
#: Longest page: with short pages many are extracted in little time, and long ones would determine the peak.
MOST_BYTES = 20_000


def write_file(path: Path) -> None:
    """Write the file."""
    count = 0
    with path.open("wb") as file:
        for name, source, charset in pages(50 * FILE_PAGES):
            html = text_of(source, charset)
            if len(html) <= MOST_BYTES:
                file.write(gzip.compress(warc_record(name, html), 6))
                count += 1
            if count == FILE_PAGES:
                return


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 50_000, 100_000])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as made:
        source, out = Path(made) / "pages.warc.gz", Path(made) / "out.jsonl.gz"
        write_file(source)
        note("input written")
        for jobs in arguments.jobs:
            for n in arguments.pages:
                inputs = [str(source)] * (n // FILE_PAGES)
                command = [sys.executable, "-m", "blockml", "predict", *inputs, "-o", str(out), "--jobs", str(jobs)]
                cost = cost_of([*command, "--quiet"])
                rows.append({"pages": n, "processes": jobs, "peak MB": cost.memory / 1e6, "CPU s": cost.cpu})
                note(json.dumps(rows[-1]))
    print_rows(rows, "table")


if __name__ == "__main__":
    main()
