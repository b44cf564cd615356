"""Kills a batch at random moments and continues it, until its output equals that of an uninterrupted run.

python -m benchmarks.kills --corpora DIR
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from blockml.cli.output import note, print_rows
from blockml.datasets import open_dataset

#: Kills of a run before it is left to end.
KILLS = 20


def command(source: Path, out: Path, jobs: int) -> list[str]:
    """Return the command of a batch that begins or continues."""
    options = ["-o", str(out), "--jobs", str(jobs), "--resume", "--quiet"]
    return [sys.executable, "-m", "blockml", "predict", str(source), *options]


def trial(source: Path, folder: Path, jobs: int, kind: str, seed: int) -> dict[str, object]:
    """Kill one run at random moments, and compare its output."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    whole, out = folder / f"whole{jobs}.{kind}", folder / f"killed{jobs}.{kind}"
    start = time.monotonic()
    subprocess.run(command(source, whole, jobs), check=False)  # noqa: S603
    seconds = time.monotonic() - start
    kills = 0
    while kills < KILLS:
        process = subprocess.Popen(command(source, out, jobs), start_new_session=True)  # noqa: S603
        try:
            process.wait(chance.uniform(0.2, 0.5 * seconds))
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    subprocess.run(command(source, out, jobs), check=False)  # noqa: S603
    equal = out.read_bytes() == whole.read_bytes()
    if not equal:
        note(f"{out.name}: {difference(records(whole), records(out))}")
    left = Path(f"{out}.parts").exists()
    return {"output": kind, "jobs": jobs, "seconds": seconds, "kills": kills, "bytes equal": equal, "parts left": left}


def records(path: Path) -> list[dict[str, object]]:
    """Return the records of an output."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_table(path).to_pylist())
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def difference(whole: list[dict[str, object]], other: list[dict[str, object]]) -> str:
    """Describe where the records of a killed run differ from those of one that was not.

    Examples
    --------
    >>> difference([{"id": "a", "text": "x"}], [{"id": "a", "text": "y"}])
    "record 0: text was 'x' and is 'y'"
    """
    for number, (one, two) in enumerate(zip(whole, other, strict=False)):
        for name in one:
            if one[name] != two.get(name):
                return f"record {number}: {name} was {one[name]!r:.300} and is {two.get(name)!r:.300}"
    return f"{len(whole)} records became {len(other)}" if len(whole) != len(other) else "equal records, other bytes"


def main() -> int:
    """Kill runs of one and two processes; return 1 if an output differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    source = folder / "pages.jsonl"
    labelled = open_dataset(arguments.corpora / "wcxb").pages
    with source.open("w", encoding="utf-8") as lines:
        for number in range(arguments.pages):
            html = labelled[number % len(labelled)].load()[0].decode("utf-8", "replace")
            lines.write(json.dumps({"id": number, "html": html}) + "\n")
    rows = [
        trial(source, folder, jobs, kind, arguments.seed + jobs)
        for jobs in (1, 2)
        for kind in ("jsonl", "jsonl.gz", "parquet")
    ]
    print_rows(rows, "table")
    equal = all(row["bytes equal"] for row in rows)
    if equal:
        shutil.rmtree(folder)
    else:
        note(f"outputs are kept in {folder}")
    return int(not equal)


if __name__ == "__main__":
    raise SystemExit(main())
