"""Cost of batches: of ``blockml predict`` on JSON lines and WARC files beside a bare loop, and of a crawl.

All figures are CPU time per page: of a large file less that of a small one, so that the start of processes is not
counted. Each program runs in a new process, in turns; the minimum of all rounds counts.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from research.benchmarks.speed.pages import Source
from research.benchmarks.speed.processes import child
from research.benchmarks.speed.tables import Table

__all__ = ["batch_table", "crawl_table", "warc_record"]

#: Pages of the small file, and how many times as many the large one has.
_FEW, _TIMES = 30, 6
#: Pages and bytes of a page of a month of Common Crawl, as in research/scale.md.
_CRAWL, _PAGE = 2.0e9, 187_000

#: A loop of extractions: what has to be done in any case.
_LOOP = """
import json, sys, time, blockml
model = blockml.load("default")
with open(sys.argv[1], encoding="utf-8") as lines:
    pages = [json.loads(line) for line in lines]
for page in pages:
    result = blockml.extract(page["html"].encode(), url=page["url"], model=model)
    {}
"""
#: The command; CPU time of its workers is reported besides.
_COMMAND = """
import os, sys, tempfile, blockml.cli
with tempfile.TemporaryDirectory() as folder:
    sys.stdout.flush()
    blockml.cli.main(["predict", sys.argv[1], "-o", folder + "/out.jsonl", "--quiet", *sys.argv[2:]])
times = os.times()
workers = times.children_user + times.children_system
"""
_TEXT = ("--fields", "id,status,text")
_MARKDOWN = (*_TEXT, "--format", "markdown")


def warc_record(source: Source, number: int) -> bytes:
    """Write a response as a compressed record of a WARC file."""
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + source.text.encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{number:032x}>\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: {_url(source, number)}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + body + b"\r\n\r\n", 6)


def _url(source: Source, number: int) -> str:
    return source.url or f"http://example.org/{number}"


def _write(sources: Sequence[Source], count: int, lines: Path, archive: Path) -> None:
    """Write as many pages as JSON lines and as a WARC file."""
    with lines.open("w", encoding="utf-8") as stream, archive.open("wb") as records:
        for number in range(count):
            source = sources[number % len(sources)]
            row = {"id": str(number), "url": _url(source, number), "html": source.text}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            records.write(warc_record(source, number))


def batch_table(sources: Sequence[Source], rounds: int) -> Table:
    """Measure the command on the same pages as the bare loop before it, which gives the same outputs.

    ``two jobs`` is a bound on the speed of ``--jobs 2`` on two cores: the process that reads and writes shares them.
    """
    programs = {
        "bare loop": (_LOOP.format("result.text"), "lines", ()),
        "JSON lines, text": (_COMMAND, "lines", _TEXT),
        "WARC, text": (_COMMAND, "archive", _TEXT),
        "bare loop, Markdown": (_LOOP.format("result.markdown"), "lines", ()),
        "JSON lines, Markdown": (_COMMAND, "lines", _MARKDOWN),
        "WARC, Markdown": (_COMMAND, "archive", _MARKDOWN),
        "bare loop, with metadata": (_LOOP.format("result.text, result.metadata"), "lines", ()),
        "JSON lines, with metadata": (_COMMAND, "lines", ()),
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for count in (_FEW, _FEW * _TIMES):
            paths[count] = {kind: Path(folder) / f"{kind}{count}" for kind in ("lines", "archive")}
            paths[count]["lines"] = paths[count]["lines"].with_suffix(".jsonl")
            paths[count]["archive"] = paths[count]["archive"].with_suffix(".warc.gz")
            _write(sources, count, paths[count]["lines"], paths[count]["archive"])
        least: dict[tuple[str, int], tuple[float, float]] = {}
        for _ in range(rounds):
            for name, (program, kind, options) in programs.items():
                for count, its in paths.items():
                    found = child(program, str(its[kind]), *options)
                    taken, before = (found["cpu"], found["workers"]), least.get((name, count))
                    least[name, count] = (
                        taken if before is None else (min(taken[0], before[0]), min(taken[1], before[1]))
                    )
    rows: Table = []
    bare = 0.0
    for name in programs:
        own, workers = (
            1000 * (least[name, _FEW * _TIMES][which] - least[name, _FEW][which]) / (_FEW * (_TIMES - 1))
            for which in (0, 1)
        )
        bare = own if name.startswith("bare") else bare
        row = {"": name, "CPU ms a page": own + workers, "of the bare loop": (own + workers) / bare}
        rows.append(row | ({"two jobs": min(2.0, 2 * workers / (own + workers))} if workers else {}))
    return rows


def crawl_table(sources: Sequence[Source], rounds: int) -> Table:
    """Measure a WARC file of real pages whose mean size is that of Common Crawl's, and compute a month of it.

    Pages are taken from the smallest on, as long as their mean stays below that size; the result is scaled by bytes.
    """
    chosen: list[Source] = []
    for source in sorted(sources, key=lambda source: len(source.html)):
        if sum(len(one.html) for one in (*chosen, source)) <= _PAGE * (len(chosen) + 1):
            chosen.append(source)
    mean = sum(len(source.html) for source in chosen) / len(chosen)
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for count in (len(chosen), _TIMES * len(chosen)):
            files[count] = Path(folder) / f"{count}.warc.gz"
            _write(chosen, count, Path(folder) / "lines.jsonl", files[count])
        least = dict.fromkeys(files, float("inf"))
        for _ in range(rounds):
            for count, path in files.items():
                found = child(_COMMAND, str(path), *_TEXT)
                least[count] = min(least[count], found["cpu"] + found["workers"])
    more = (_TIMES - 1) * len(chosen)
    each = (least[_TIMES * len(chosen)] - least[len(chosen)]) / more * _PAGE / mean
    return [
        {"": "pages of the WARC file", "value": f"{len(chosen)}"},
        {"": "kB a page", "value": f"{mean / 1000:.0f}"},
        {"": "CPU ms a page of 187 kB, from WARC to JSON lines", "value": f"{1000 * each:.2f}"},
        {"": "core-hours of 2.0 billion pages", "value": f"{_CRAWL * each / 3600:,.0f}"},
    ]
