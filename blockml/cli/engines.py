"""``blockml predict --engine``: Spark or datatrove extracts the pages and writes a folder of part files."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from blockml.cli.arguments import refuse
from blockml.errors import UsageError, needed
from blockml.extractors import load
from blockml.extractors.routed import is_routed
from blockml.storage.lock import locked_output

if TYPE_CHECKING:
    from blockml.batch import BatchExtractor, Guard, Inputs, Summary
    from blockml.options import Options

__all__ = ["ENGINES", "run_by_engine"]

ENGINES = ("spark", "datatrove")
#: Suffixes of the output's name, which select the format of the part files.
_SUFFIXES = (".parquet", ".jsonl")


def run_by_engine(arguments: argparse.Namespace, inputs: Inputs, options: Options, guard: Guard) -> Summary:
    """Extract the pages of the inputs with an engine and count the records.

    Raises
    ------
    UsageError
        An option has no effect with the engine, or the output isn't a new folder that ends in .parquet or .jsonl.
    MissingExtraError
        The engine isn't installed.
    """
    from blockml.batch import BatchExtractor, Summary

    _check(arguments, options)
    out = Path(arguments.output)
    extractor = BatchExtractor(
        _model(arguments), options=options, columns=inputs.fields, isolation="process", guard=guard
    )
    options.adapted(load(extractor.model))  # a wrong name or option fails here, not in the workers
    with locked_output(out):
        if out.exists() and not (arguments.resume and out.is_dir()):
            raise UsageError("exists already; choose another folder", source=out)
        if arguments.engine == "spark":
            return Summary(_by_spark(arguments.master, inputs, extractor, out))
        from blockml.batch.engines.datatrove import run_locally

        return Summary(run_locally(inputs, extractor, out, tasks=arguments.tasks, workers=arguments.jobs))


def _check(arguments: argparse.Namespace, options: Options) -> None:
    """Reject options that the engine doesn't support."""
    reason = f"with --engine {arguments.engine}"
    refuse(arguments, reason, parameters=[], template=None, by_site=False, urls=None)
    if arguments.engine == "spark":
        refuse(arguments, f"{reason}; --master sets the number of processes", jobs=1)
        refuse(arguments, f"{reason}, which retries failed tasks", resume=False, tasks=None)
    else:
        refuse(arguments, reason, master=None)
    if "-" in arguments.inputs:
        raise UsageError("--engine needs files, which its workers read; standard input isn't one")
    if options.fields and "status" not in options.fields:
        raise UsageError("--engine counts pages by status: add status to --fields")
    if arguments.output is None or not arguments.output.endswith(_SUFFIXES):
        raise UsageError(f"--engine needs -o with a folder whose name ends in one of: {', '.join(_SUFFIXES)}")


def _model(arguments: argparse.Namespace) -> str:
    """Return the name that the workers load the extractor by."""
    name: str = arguments.model
    return str(Path(name).resolve()) if Path(name).is_file() or is_routed(name) else name


def _by_spark(master: str | None, inputs: Inputs, extractor: BatchExtractor, out: Path) -> Counter[str]:
    with needed("Spark", "spark"):
        from pyspark.sql import SparkSession

    from blockml.batch.engines.spark import extract_files, write_records

    if master is not None and master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("blockml")
    session = (builder.master(master) if master else builder).getOrCreate()
    try:
        return write_records(extract_files(session, inputs, extractor), out)
    finally:
        session.stop()
