"""Kills batches and their workers at random moments and resumes them until their outputs are complete.

Each output must equal that of a run that wasn't killed, byte for byte. Parts of an output are completed five times a
second instead of every ten seconds, so that kills hit them in every state.

    python -m research.benchmarks.kills --corpora DIR
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from blockml.batch.run import parts_path
from blockml.cli.output import note, print_rows
from blockml.datasets import open_dataset
from research.benchmarks.batch import process_tree

KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet", "folder")
#: Number of kills of the parent process in a trial.
KILLS = 20
#: Share of the kills before which a worker is killed too.
WORKER_KILLS = 0.5
_PROGRAM = """
import sys
import blockml.batch.packing
from blockml.cli import main
blockml.batch.packing._PART_SECONDS = 0.2
sys.exit(main(sys.argv[1:]))
"""


def command(source: Path, out: Path, jobs: int) -> list[str]:
    """Return the command that starts or resumes a batch."""
    options = ["-o", str(out), "--jobs", str(jobs), "--resume", "--quiet"]
    return [sys.executable, "-c", _PROGRAM, "predict", str(source), *options]


def trial(source: Path, folder: Path, jobs: int, kind: str, seed: int) -> dict[str, object]:
    """Kill runs at random moments; compare the output of each run that ends, and start the next one."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    whole, out = folder / f"whole{jobs}.{kind}", folder / f"killed{jobs}.{kind}"
    prepare(whole, kind)
    start = time.monotonic()
    subprocess.run(command(source, whole, jobs), check=True)  # noqa: S603
    seconds = time.monotonic() - start
    wanted = records(whole)
    found: Counter[str] = Counter()
    manifest = parts_path(out) / "manifest.json"
    while found["kills"] < KILLS or not found["outputs"]:
        if not manifest.exists():  # nothing was started, or the output is complete
            prepare(out, kind)
        process = subprocess.Popen(command(source, out, jobs))  # noqa: S603
        if found["kills"] < KILLS:
            found.update(kill(process, chance, seconds))
        if (code := process.wait()) not in (0, -signal.SIGKILL):
            raise SystemExit(f"{out.name} ended with {code}")
        if code == 0 or (out.is_file() and not manifest.exists()):
            found["outputs"] += 1
            found["unequal"] += not equal(whole, wanted, out)
    failed = sum(record["status"] in {"timeout", "crashed", "unreadable"} for record in wanted)
    counts = {name: found[name] for name in ("kills", "worker kills", "outputs", "unequal")}
    left = [path.name for path in folder.glob("blockml-*")]
    return {"output": kind, "jobs": jobs, "seconds": seconds, **counts, "failed pages": failed, "files left": len(left)}


def kill(process: subprocess.Popen[bytes], chance: random.Random, seconds: float) -> Counter[str]:
    """Kill a run at a random moment, sometimes a worker before, and return the counts of kills."""
    found: Counter[str] = Counter()
    moment = chance.uniform(0.0, 0.4 * seconds)
    if chance.random() < WORKER_KILLS:
        before = chance.uniform(0.0, moment)
        moment -= before
        time.sleep(before)
        if workers := list(process_tree(process.pid))[1:]:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
                found["worker kills"] += 1
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.kill()
        found["kills"] += 1
    return found


def prepare(out: Path, kind: str) -> None:
    """Remove an output; a folder of documents is created again."""
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    if kind == "folder":
        out.mkdir()


def equal(whole: Path, wanted: list[dict[str, Any]], out: Path) -> bool:
    """Compare two outputs; describe pages that differ, and keep their output."""
    if contents(whole) == contents(out):
        return True
    kept = out.with_name(f"unequal-{time.time_ns()}-{out.name}")
    out.rename(kept)
    for line in differences(wanted, records(kept)) or ["equal records, other bytes"]:
        note(f"{kept.name}: {line}")
    return False


def contents(out: Path) -> dict[str, bytes]:
    """Return the bytes of the files of an output."""
    files = [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def records(out: Path) -> list[dict[str, Any]]:
    """Return the records of an output; for documents their names and texts."""
    if out.is_dir():
        return [{"id": name, "status": "", "text": text.decode()} for name, text in sorted(contents(out).items())]
    if out.suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_table(out).to_pylist())
    data = out.read_bytes()
    if out.suffix == ".gz":
        data = gzip.decompress(data)
    if out.suffix == ".zst":
        import zstandard

        data = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    return [json.loads(line) for line in data.splitlines()]


def differences(wanted: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[str]:
    """Describe the pages whose records differ, at most ten of them.

    Examples
    --------
    >>> differences([{"id": "a", "text": "x"}], [{"id": "a", "text": "y"}])
    ["page a: text was 'x' and is 'y'"]
    """
    lines = [] if len(wanted) == len(found) else [f"{len(wanted)} records became {len(found)}"]
    for one, two in zip(wanted, found, strict=False):
        for name in one:
            if one[name] != two.get(name):
                reason = f" ({two['error']})" if two.get("error") else ""
                lines.append(f"page {one['id']}: {name} was {one[name]!r:.200} and is {two.get(name)!r:.200}{reason}")
    return lines[:10]


def main() -> int:
    """Kill runs of one and two processes; return 1 if an output differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--outputs", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    os.environ["TMPDIR"] = str(folder)
    source = folder / "pages.jsonl"
    labelled = open_dataset(arguments.corpora / "wcxb").pages
    with source.open("w", encoding="utf-8") as lines:
        for number in range(arguments.pages):
            html = labelled[number % len(labelled)].load()[0].decode("utf-8", "replace")
            lines.write(json.dumps({"id": number, "html": html}) + "\n")
    rows = []
    for jobs in arguments.jobs:
        for kind in arguments.outputs:
            rows.append(trial(source, folder, jobs, kind, arguments.seed + jobs))
            note(json.dumps(rows[-1]))
    print_rows(rows, "table")
    failed = any(row["unequal"] or row["files left"] for row in rows)
    if failed:
        note(f"outputs are kept in {folder}")
    else:
        shutil.rmtree(folder)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
