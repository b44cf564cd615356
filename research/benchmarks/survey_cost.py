"""Cost and memory of a survey: CPU time compared with that of the run, and peak memory by the number of records.

The run extracts the pages of an input in one process; the survey reads its output, with and without the pages.
Larger outputs repeat its records in JSON lines with other ids, and with URLs of one site or of 1,000. Each size is
surveyed in a separate process::

    python -m research.benchmarks.survey_cost CRAWL.warc.gz --records 10000 100000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import blockml
from blockml.batch import find_inputs, predict_items, read_items
from blockml.cli.output import print_rows
from blockml.surveying import survey

_CHILD = """
import resource, sys, time
from blockml.surveying import survey
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
found = survey(sys.argv[1])
seconds = time.process_time() - start
size = len(found.html())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(found.glance["pages"], found.glance["sites"], before, peak, seconds, size)
"""


def cost_rows(name: str, output: Path) -> list[dict[str, object]]:
    """Extract an input and survey it, and return CPU seconds."""
    extractor, inputs = blockml.load("default"), find_inputs([name])
    blockml.extract("<p>Cats")  # imports
    start = time.process_time()
    with output.open("w", encoding="utf-8") as stream:
        for record in predict_items(read_items(inputs), extractor, isolation="none"):
            stream.write(json.dumps(record) + "\n")
    of_run = time.process_time() - start
    survey([{"id": "a", "text": "b"}]).html()  # imports
    rows: list[dict[str, object]] = [{"what": "predict", "CPU seconds": round(of_run, 2), "of the run": 1.0}]
    for what, pages in (("survey", None), ("survey with the pages", name)):
        start = time.process_time()
        survey(output, inputs=pages).html()
        seconds = time.process_time() - start
        rows.append({"what": what, "CPU seconds": round(seconds, 2), "of the run": round(seconds / of_run, 3)})
    return rows


def memory_row(records: Sequence[dict[str, Any]], size: int, n_sites: int, folder: Path) -> dict[str, object]:
    """Survey an output of this size in another process and return its peak memory."""
    path = folder / "large.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for number in range(size):
            record = dict(records[number % len(records)])
            record |= {"id": f"{number}", "url": f"https://s{number % n_sites}.example/{number}"}
            record["text"] = f"{number} {record['text']}"
            stream.write(json.dumps(record) + "\n")
    command = [sys.executable, "-c", _CHILD, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (our own code)
    pages, sites, before, peak, seconds, html = run.stdout.split()
    return {
        "records": int(pages),
        "sites": int(sites),
        "MB of the output": path.stat().st_size >> 20,
        "MB before": int(before) >> 10,
        "peak MB": int(peak) >> 10,
        "CPU ms a record": round(1000 * float(seconds) / size, 2),
        "kB of the report": int(html) >> 10,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("input", help="pages of the run")
    parser.add_argument("--records", nargs="*", type=int, default=[10_000, 100_000])
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print_rows(cost_rows(arguments.input, folder / "out.jsonl"), "table")
        print()
        records = [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]
        rows = [memory_row(records, size, sites, folder) for size in arguments.records for sites in (1, 1000)]
        print_rows(rows, "table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
