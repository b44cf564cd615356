"""Cost of engines that run batches, compared with ``blockml predict``, over the same pages on two cores.

Each engine runs a program of a few lines in a separate process: CPU time of all its processes, elapsed time, memory,
lines of code, and a fingerprint of the records, which is equal for all.

    python -m research.benchmarks.engines --pages 4000
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from blockml.cli.output import note, print_rows
from research.benchmarks.batch import Cost, pages, process_tree, text_of, warc_record

#: Number of files that the pages are written to, so that engines can share them.
N_FILES = 8
FIELDS = "id,url,status,text,confidence,error"
_PREDICT = "blockml predict {folder}/*.warc.gz -o {out}.jsonl --fields " + FIELDS
_EXTRACTOR = f"""from blockml.batch import BatchExtractor, Options
extractor = BatchExtractor(options=Options(fields={tuple(FIELDS.split(","))}))
"""
#: Shell commands, or programs, that write records to ``{out}``, a file or a folder of files.
ENGINES: Mapping[str, str] = {
    "blockml predict --jobs 1": f"{_PREDICT} --jobs 1",
    "blockml predict --jobs 2": f"{_PREDICT} --jobs 2",
    "blockml predict --engine spark": f"{_PREDICT} --engine spark --master local[2]",
    "blockml predict --engine datatrove": f"{_PREDICT} --engine datatrove --tasks {N_FILES} --jobs 2",
    "Spark, mapInArrow": f"""{_EXTRACTOR}from pyspark.sql import SparkSession
from blockml.batch.engines.spark import extract_frame
session = SparkSession.builder.master("local[2]").getOrCreate()
extract_frame(session.read.parquet("{{folder}}/parquet"), extractor).write.json("{{out}}")
""",
    "Ray Data": f"""{_EXTRACTOR}import ray
from blockml.batch.engines.ray import extract_dataset
ray.init(num_cpus=2, include_dashboard=False)
extract_dataset(ray.data.read_parquet("{{folder}}/parquet"), extractor).write_json("{{out}}")
""",
    "Hugging Face datasets": f"""{_EXTRACTOR}from datasets import Dataset
made = Dataset.from_parquet("{{folder}}/parquet/*.parquet", cache_dir="{{out}}.cache").with_format("arrow")
made = made.map(extractor, batched=True, batch_size=64, remove_columns=made.column_names, new_fingerprint="x")
made.with_format(None).to_json("{{out}}")
""",
    "polars": f"""{_EXTRACTOR}import polars
for number, frame in enumerate(polars.read_parquet("{{folder}}/parquet").iter_slices(64)):
    polars.from_arrow(extractor(frame.to_arrow())).write_ndjson(f"{{out}}.{{{{number}}}}")
""",
    "DuckDB": f"""{_EXTRACTOR}import duckdb, pyarrow, json
for batch in duckdb.sql("from '{{folder}}/parquet/*.parquet'").arrow(64):
    with open("{{out}}", "a") as out:
        for record in extractor(pyarrow.Table.from_batches([batch])).to_pylist():
            out.write(json.dumps(record) + "\\n")
""",
}


def write_inputs(folder: Path, n: int) -> None:
    """Write pages to WARC and Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "parquet").mkdir()
    stream = pages(n)
    for number in range(N_FILES):
        part = [(name, text_of(html, charset)) for name, html, charset in itertools.islice(stream, n // N_FILES)]
        with (folder / f"{number}.warc.gz").open("wb") as file:
            for name, html in part:
                file.write(gzip.compress(warc_record(name, html), 6))
        rows = [{"id": name, "html": html} for name, html in part]
        pq.write_table(pa.Table.from_pylist(rows), folder / "parquet" / f"{number}.parquet", row_group_size=64)


def watched(command: list[str]) -> Cost:
    """Run a command; CPU time is that of all descendant processes, for which engines don't always wait."""
    start, cpu, memory = time.monotonic(), dict[int, float](), 0
    with subprocess.Popen(command) as process:  # noqa: S603
        while process.poll() is None:
            resident = 0
            for number in process_tree(process.pid):
                try:
                    fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                except OSError:
                    continue
                cpu[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                resident += int(fields[21]) * resource.getpagesize()
            memory = max(memory, resident)
            time.sleep(0.05)
    return Cost(sum(cpu.values()), time.monotonic() - start, memory)


def fingerprint(out: Path) -> str:
    """Return the number of records, and a hash of their ids, statuses and texts."""
    files = [path for path in out.parent.rglob("*") if path.is_file() and path.stat().st_size]
    rows = []
    for file in files:
        if file.suffix in (".crc", ".cache", ".arrow", ".lock") or ".cache" in str(file) or file.name == "_SUCCESS":
            continue
        rows += [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line[:2] == '{"']
    made = sorted((row["id"], row["status"], row["text"]) for row in rows if "text" in row)
    return f"{len(made)} {hashlib.sha256(json.dumps(made).encode()).hexdigest()[:12]}"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_inputs(folder, arguments.pages)
        note("inputs written")
        for name in arguments.engines:
            out = folder / f"out-{len(rows)}" / "records"
            out.parent.mkdir()
            program = ENGINES[name].format(folder=folder, out=out)
            shell = program.startswith("blockml ")
            command = ["sh", "-c", f"{program} 2>&1 >/dev/null | tail -5"] if shell else [sys.executable, "-c", program]
            cost = watched(command)
            n_lines = len(program.strip().splitlines())
            rows.append({
                "engine": name, "CPU ms/page": 1000 * cost.cpu / arguments.pages,
                "times predict": cost.cpu / float(str(rows[0]["CPU s"])) if rows else 1.0, "CPU s": cost.cpu,
                "seconds": cost.elapsed, "peak MB": cost.memory / 1e6, "lines": n_lines, "records": fingerprint(out),
            })  # fmt: skip
            note(json.dumps(rows[-1]))
    print_rows(rows, "table")


if __name__ == "__main__":
    main()
