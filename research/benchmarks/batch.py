"""Cost of batches by input format and number of processes, compared with a loop of bare extractions and other tools.

The pages of labelled collections are repeated under new ids until there are enough, and written as a folder, JSON
lines, a WARC file and a Parquet file. JSON lines are in UTF-8, like those of most programs; those of Python's ``json``,
which by default escapes characters outside ASCII, are a separate kind. With ``--folder`` the inputs are kept, so that
a table can be measured in parts.

Each row is a run of ``blockml predict`` in a separate process: CPU time of the process and its workers, elapsed time,
peak memory of all of them, and a fingerprint of the records. Because a machine's speed depends on its other load, the
run is stopped every second for a turn of the loop of bare extractions, and the ratio is to its mean time.

    python -m research.benchmarks.batch --pages 20000
"""

from __future__ import annotations

import argparse
import compileall
import gzip
import hashlib
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import blockml
from blockml.cli.output import note, print_rows
from blockml.datasets import open_dataset

#: Collections whose pages are repeated.
COLLECTIONS = ("wcxb", "l3s-gn1", "fundus", "magic-html")
#: Pages of the loop of bare extractions.
BARE_PAGES = 2_000
#: Seconds of a run between two turns of the loop, and pages of a turn.
TURN_SECONDS, TURN_PAGES = 1.0, 100
#: Turns of one and of two bare loops.
SCALING_TURNS = 60
KINDS = ("folder", "JSON lines", "JSON lines, escaped", "WARC", "Parquet")
#: Numbers of processes and further options.
RUNS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (1, ("--fields", "id,url,status,text,confidence,error")),
    (2, ("--fields", "id,url,status,text,confidence,error")),
    (1, ()),
    (2, ()),
)
_LOOP = """
import itertools, random, sys, time
import blockml
from blockml.batch import find_inputs, read_items
model = blockml.load("default")
items = itertools.islice(read_items(find_inputs([sys.argv[1]])), 0, None, int(sys.argv[2]))
pages = [(item.read(), item.url, item.charset) for item in items]
random.Random(0).shuffle(pages)
turns = itertools.cycle(pages)
for line in sys.stdin:
    start = time.process_time()
    for html, url, charset in itertools.islice(turns, int(line)):
        blockml.extract(html, url=url, charset=charset, model=model).text
    print(time.process_time() - start, flush=True)
"""
_PEERS = {
    "fastwarc + trafilatura": "from trafilatura import extract\nextracted = lambda html: extract(html)",
    "fastwarc + resiliparse": (
        "from resiliparse.extract.html2text import extract_plain_text\n"
        "from resiliparse.parse.html import HTMLTree\n"
        "from resiliparse.parse.encoding import detect_encoding\n"
        "def extracted(html):\n"
        "    tree = HTMLTree.parse_from_bytes(html, detect_encoding(html))\n"
        "    return extract_plain_text(tree, main_content=True)"
    ),
}
_PEER_LOOP = """
import json, sys
from fastwarc.warc import ArchiveIterator, WarcRecordType
{peer}
with open(sys.argv[1], "rb") as stream, open(sys.argv[2], "w") as out:
    for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
        try:
            text = extracted(record.reader.read())
        except Exception as error:
            text = None
        out.write(json.dumps({{"id": record.record_id, "text": text}}) + "\\n")
"""


@dataclass(frozen=True)
class Cost:
    """Cost of a process with its children."""

    cpu: float  #: Seconds.
    elapsed: float  #: Seconds.
    memory: int  #: Peak of the sum of resident memory, in bytes.


def pages(n: int) -> Iterator[tuple[str, bytes, str | None]]:
    """Yield ids, bytes and charsets of ``n`` pages."""
    corpora = Path(os.environ["BLOCKML_CORPORA"])
    labelled = [page for name in COLLECTIONS for page in open_dataset(corpora / name).pages]
    for number, page in enumerate(itertools.islice(itertools.cycle(labelled), n)):
        yield f"p{number:06d}", page.load()[0], page.charset


def text_of(html: bytes, charset: str | None) -> bytes:
    """Return a page as UTF-8, so that it is the same page in JSON, where it can't be bytes."""
    return str(blockml.parse(html, charset=charset).source).encode("utf-8", "replace")


def warc_record(name: str, html: bytes) -> bytes:
    """Return a WARC record."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html
    header = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <{name}>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return header.encode() + block + b"\r\n\r\n"


def write_inputs(folder: Path, n: int) -> dict[str, Path]:
    """Write the pages in every format; charsets are declared by HTTP where the collection declares them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ("pages", "pages.jsonl", "escaped.jsonl", "pages.warc.gz", "pages.parquet")
    made = {kind: folder / name for kind, name in zip(KINDS, names, strict=True)}
    complete = folder / f"{n}-pages"
    if complete.exists():
        return made
    made["folder"].mkdir(parents=True)
    columns = pa.schema([("id", pa.string()), ("html", pa.binary())])
    with (
        made["JSON lines"].open("w", encoding="utf-8") as lines,
        made["JSON lines, escaped"].open("w", encoding="ascii") as escaped,
        made["WARC"].open("wb") as warc,
        pq.ParquetWriter(made["Parquet"], columns, compression="zstd") as parquet,
    ):
        stream = pages(n)
        while group := list(itertools.islice(stream, 200)):
            rows = []
            for name, source, charset in group:
                html = text_of(source, charset)
                rows.append({"id": name, "html": html})
                (made["folder"] / f"{name}.html").write_bytes(html)
                record = {"id": name, "html": html.decode()}
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                escaped.write(json.dumps(record) + "\n")
                warc.write(gzip.compress(warc_record(name, html), 6))
            parquet.write_table(pa.Table.from_pylist(rows, columns))
    complete.touch()
    return made


class Loop:
    """Loop of bare extractions of every n-th page from memory, which takes turns with the measured run."""

    def __init__(self, folder: Path, n: int) -> None:
        command = [sys.executable, "-c", _LOOP, str(folder), str(max(1, n // BARE_PAGES))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        self.clear()
        self.turn()  # loads the pages

    def clear(self) -> None:
        """Forget the turns so far."""
        self._times: list[float] = []

    def turn(self) -> None:
        """Extract some pages."""
        self.begin()
        self.end()

    def begin(self) -> None:
        """Start extracting some pages."""
        assert self._process.stdin is not None  # noqa: S101 (for the type checker)
        self._process.stdin.write(f"{TURN_PAGES}\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Wait until the pages are extracted."""
        assert self._process.stdout is not None  # noqa: S101 (for the type checker)
        self._times.append(float(self._process.stdout.readline()))

    def seconds(self) -> float:
        """Return the mean CPU seconds of a page."""
        return sum(self._times) / len(self._times) / TURN_PAGES

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def loop_scaling(folder: Path, n: int) -> float:
    """Return the pages a second of two bare loops as a multiple of one, which is the machine's best scaling."""
    loops = [Loop(folder, n), Loop(folder, n)]
    elapsed = [0.0, 0.0]
    for turn in range(SCALING_TURNS):
        for number, chosen in enumerate((loops[turn % 2 : turn % 2 + 1], loops)):
            start = time.monotonic()
            for loop in chosen:
                loop.begin()
            for loop in chosen:
                loop.end()
            elapsed[number] += time.monotonic() - start
    for loop in loops:
        loop.close()
    return 2 * elapsed[0] / elapsed[1]


def cost_of(command: list[str], loop: Loop | None = None) -> Cost:
    """Run a command to its end, and stop it every second for a turn of the loop."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with subprocess.Popen(command, start_new_session=True) as process:  # noqa: S603
        peak = [0]
        watcher = threading.Thread(target=_watch, args=(process, peak))
        watcher.start()
        while loop is not None and process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(TURN_SECONDS)
            stopped = time.monotonic()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGSTOP)
            loop.turn()
            start += time.monotonic() - stopped
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)
        code = process.wait()
        elapsed = time.monotonic() - start
        watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code > 1:
        raise SystemExit(f"{command} ended with {code}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Cost(cpu, elapsed, peak[0])


def _watch(process: subprocess.Popen[bytes], peak: list[int]) -> None:
    """Sum the resident memory of a process and its children, ten times a second."""
    page = resource.getpagesize()
    while process.poll() is None:
        total = 0
        for number in process_tree(process.pid):
            try:
                total += int(Path(f"/proc/{number}/statm").read_text(encoding="ascii").split()[1]) * page
            except OSError:
                continue
        peak[0] = max(peak[0], total)
        time.sleep(0.1)


def process_tree(number: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield number
    try:
        for task in Path(f"/proc/{number}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                yield from process_tree(int(child))
    except OSError:
        return


def digest(path: Path) -> str:
    """Return a fingerprint of the ids and texts of records."""
    found = hashlib.sha256()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            found.update(json.dumps([record["id"], record["status"], record["text"]]).encode())
    return found.hexdigest()[:12]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="measure other tools too")
    parser.add_argument("--inputs", nargs="+", choices=KINDS, default=KINDS, help="kinds of input to measure")
    parser.add_argument(
        "--runs",
        type=int,
        default=len(RUNS),
        help="measure the first of: six fields by one process and by two, all fields by one and by two",
    )
    parser.add_argument("--loops", action="store_true", help="measure two bare loops at once, too")
    parser.add_argument("--folder", type=Path, help="where the inputs are written and kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        inputs = write_inputs(arguments.folder or folder, arguments.pages)
        note("inputs written")
        compileall.compile_dir(Path(blockml.__file__).parent, quiet=1)  # as an installer does
        if arguments.loops:
            note(f"two bare loops: {loop_scaling(inputs['folder'], arguments.pages):.2f} times the pages of one")
        rows: list[dict[str, Any]] = []
        loop = Loop(inputs["folder"], arguments.pages)
        out = folder / "out.jsonl"
        for kind, source in ((kind, inputs[kind]) for kind in arguments.inputs):
            for jobs, extra in RUNS[: arguments.runs]:
                command = [sys.executable, "-m", "blockml", "predict", str(source), "-o", str(out), "--overwrite"]
                command += ["--jobs", str(jobs)]
                loop.clear()
                cost = cost_of([*command, *extra, "--quiet"], loop)
                line = row(kind + (", six fields" if extra else ""), jobs, cost, arguments.pages, loop.seconds())
                rows.append(line | {"records": digest(out)})
                note(json.dumps(rows[-1]))
        for peer, code in _PEERS.items() if arguments.peers else ():
            program = _PEER_LOOP.format(peer=code)
            loop.clear()
            cost = cost_of([sys.executable, "-c", program, str(inputs["WARC"]), str(folder / "peer.jsonl")], loop)
            rows.append(row(peer, 1, cost, arguments.pages, loop.seconds()))
            note(json.dumps(rows[-1]))
        loop.close()
    names = list(dict.fromkeys(name for line in rows for name in line))
    print_rows([{name: line.get(name) for name in names} for line in rows], "table")


def row(kind: str, jobs: int, cost: Cost, n: int, bare: float) -> dict[str, Any]:
    """Return a row of the table."""
    return {
        "input": kind,
        "jobs": jobs,
        "CPU ms/page": 1000 * cost.cpu / n,
        "bare loop": 1000 * bare,
        "ratio": cost.cpu / n / bare,
        "pages/s": n / cost.elapsed,
        "peak MB": cost.memory / 1e6,
    }


if __name__ == "__main__":
    main()
