"""Attacks on batches: two runs onto one output, kills, damaged archives, escapes for terminals, forks and odd names.

    python -m research.benchmarks.hostile.batches --report research/robustness.md

makes each attack ``--times`` times and writes a table of how often it did harm.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from blockml.batch import find_inputs, read_items
from blockml.cli.output import note
from research.benchmarks.hostile.__main__ import markdown, replace_tables
from research.fuzz.archives import warc_record
from research.fuzz.mutations import mutated

#: Pages of a run, more than two of its units of work.
N_PAGES = 700
#: Records of a damaged archive, and seconds after which a process counts as hung.
_RECORDS, _WAIT = 12, 120
_MARKS = "<!-- table of batches -->", "<!-- end of table of batches -->"
#: An extractor whose last page takes as long as a file exists.
_SLOW = """
import pathlib, time
from blockml.extractors import Plain

class Slow(Plain):
    def predict(self, page):
        while page.title == "slow" and pathlib.Path("hold").exists():
            time.sleep(0.02)
        return super().predict(page)
"""
#: Forks processes that extract while four threads do so too; prints how many of them hang.
_FORKS = """
import faulthandler, os, threading
import blockml

page = b"<p>The cat sat on the mat and looked.</p>" * 500

def work():
    while True:
        blockml.render(blockml.extract(page), "json")

blockml.render(blockml.extract(page), "json")
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
n_hung = 0
for _ in range(5):
    if (child := os.fork()) == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        blockml.render(blockml.extract(page), "json")
        os._exit(0)
    n_hung += os.waitpid(child, 0)[1] != 0
print(n_hung, flush=True)
os._exit(0)
"""


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "blockml", "predict", *arguments, "--fields", "id,status,text", "--quiet"]


def _run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 (our own command)
        _command(*arguments), cwd=folder, capture_output=True, text=True, timeout=_WAIT, check=False,
        env=os.environ | environment, errors="surrogateescape",
    )  # fmt: skip


def _ids(output: Path) -> list[str]:
    return [json.loads(line)["id"] for line in output.read_text(encoding="utf-8").splitlines()]


@contextmanager
def _slow_run(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a run that has written most pages and waits at the last one until ``hold`` is removed."""
    (folder / "slow_extractor.py").write_text(_SLOW, encoding="utf-8")
    pages = [f"<title>page</title><p>Words of page {number}" for number in range(N_PAGES - 1)]
    rows = [{"id": f"p{number}", "html": html} for number, html in enumerate([*pages, "<title>slow</title><p>Last"])]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "hold").touch()
    command = _command("in.jsonl", "-o", "out.jsonl", "--model", "slow_extractor:Slow")
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{Path.cwd()}"}
    with subprocess.Popen(command, cwd=folder, text=True, env=environment) as process:  # noqa: S603 (our own command)
        lock, part = folder / ".out.jsonl.lock", folder / "out.jsonl.parts" / "00000.new"
        while not (lock.exists() and lock.read_text(encoding="utf-8") and part.exists()):
            if process.poll() is not None:
                raise RuntimeError("the first run ended too early")
            time.sleep(0.02)
        yield process
        process.kill()


def two_runs(folder: Path, _: random.Random) -> bool:
    """Start a second run, with and without --resume: it is refused, and the first one writes every page once."""
    again = ["in.jsonl", "-o", "out.jsonl", "--model", "plain"]
    with _slow_run(folder) as first:
        refused = [_run(folder, *again, *more).returncode for more in ([], ["--resume"])] == [2, 2]
        (folder / "hold").unlink()
        ended = first.wait(_WAIT) == 0
    return refused and ended and _ids(folder / "out.jsonl") == [f"p{number}" for number in range(N_PAGES)]


def kill(folder: Path, _: random.Random) -> bool:
    """Kill a run and resume it: the output is that of a whole run, byte for byte, and no other file is left."""
    with _slow_run(folder) as first:
        first.kill()
    (folder / "hold").unlink()
    path = f"{folder}{os.pathsep}{Path.cwd()}"
    model = ["--model", "slow_extractor:Slow"]
    _run(folder, "in.jsonl", "-o", "out.jsonl", *model, "--resume", PYTHONPATH=path)
    _run(folder, "in.jsonl", "-o", "whole.jsonl", *model, PYTHONPATH=path)
    left = {file.name for file in folder.iterdir() if ".part" in file.name or file.name.endswith(".new")}
    return (folder / "out.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes() and not left


def damaged_archive(folder: Path, chance: random.Random) -> bool:
    """Damage a WARC file: ``read_items`` and ``predict`` give the same pages, each once."""
    records = [gzip.compress(warc_record(number, b"<p>page %d" % number)) for number in range(_RECORDS)]
    (folder / "a.warc.gz").write_bytes(mutated(b"".join(records), chance, (b"WARC/1.0\r\n", b"\x1f\x8b\x08")))
    ended = _run(folder, "a.warc.gz", "-o", "out.jsonl", "--model", "plain")
    output = folder / "out.jsonl"
    found, wanted = _ids(output) if output.exists() else [], []
    wanted = [item.id for item in read_items(find_inputs([str(folder / "a.warc.gz")]))]
    names = [name.rpartition("/")[2] for name in wanted]
    return "Traceback" not in ended.stderr and [name.rpartition("/")[2] for name in found] == names


def line_feeds(folder: Path, chance: random.Random) -> bool:
    """End the header of one record with line feeds: every record gives a row."""
    odd = chance.randrange(_RECORDS)
    records = [
        warc_record(number, b"<p>page %d" % number, ends="\n" if number == odd else "\r\n")
        for number in range(_RECORDS)
    ]
    (folder / "a.warc.gz").write_bytes(b"".join(map(gzip.compress, records)))
    _run(folder, "a.warc.gz", "-o", "out.jsonl", "--model", "plain")
    return len(set(_ids(folder / "out.jsonl"))) == _RECORDS


def escapes(folder: Path, _: random.Random) -> bool:
    """Put control characters and very long words into headers and names: messages are short and have none."""
    record = warc_record(1, b"<p>x").replace(b"WARC-Date: 2026", b"WARC-Date: \x1b]0;evil\x07\x1b[2J" + b"x" * 99_999)
    name = "a\x1b[31m\u202e.warc"
    (folder / name).write_bytes(record[:-20].replace(b"Content-Length: ", b"Content-Length: \x1b[2J"))
    said = _run(folder, name, "missing\x1b[2J.html", "-o", "out.jsonl").stderr
    return 0 < len(said) < 10_000 and all(sign == "\n" or sign.isprintable() for sign in said)


def forks(folder: Path, _: random.Random) -> bool:
    """Fork while threads extract: the children end."""
    command = [sys.executable, "-c", _FORKS]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    return ended.stdout.strip() == "0"


def odd_names(folder: Path, _: random.Random) -> bool:
    """Name files outside of ASCII and UTF-8 in the locale C: every page has a row with a distinct id."""
    names = ["a.html", "ü.html", "猫.html", "a b.html", "\udcff.html"]
    (folder / "in").mkdir()
    for name in names:
        (folder / "in" / name).write_text("<p>Cats rule.", encoding="utf-8")
    _run(folder, "in", "-o", "out.jsonl", "--model", "plain", LC_ALL="C")
    return len(set(_ids(folder / "out.jsonl"))) == len(names)


#: Attacks by name; each tells whether it did no harm.
ATTACKS: Mapping[str, Callable[[Path, random.Random], bool]] = {
    "a second run onto the same output": two_runs,
    "a killed run, resumed": kill,
    "damaged WARC files": damaged_archive,
    "line feeds in the header of a record": line_feeds,
    "control characters in headers and names": escapes,
    "forks while threads extract (5 each)": forks,
    "names outside of ASCII in the locale C": odd_names,
}


def rows(times: int, names: list[str]) -> list[dict[str, object]]:
    """Make each attack a number of times; return how often it did harm."""
    found: list[dict[str, object]] = []
    for name in names:
        n_harmed = 0
        for seed in range(times):
            with tempfile.TemporaryDirectory() as folder:
                n_harmed += not ATTACKS[name](Path(folder), random.Random(seed))  # noqa: S311 (no secret)
        found.append({"attack": name, "times": times, "did harm": n_harmed})
        note(f"{name}: {n_harmed} of {times}")
    return found


def main() -> None:
    """Make the attacks and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS), default=list(ATTACKS), metavar="NAME")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--report", type=Path, help="document whose table is replaced (default: print it)")
    arguments = parser.parse_args()
    table = markdown(rows(arguments.times, arguments.attacks))
    if arguments.report is None:
        print(table)
    else:
        replace_tables(arguments.report, table, _MARKS)


if __name__ == "__main__":
    main()
