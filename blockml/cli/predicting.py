"""``blockml predict``, also on Spark or datatrove by ``--engine``."""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from blockml import _kernel
from blockml.archives.kinds import read_kinds
from blockml.cli.arguments import add_jobs, chosen_options, comma_separated, positive, refuse, seconds
from blockml.cli.extracting import add_choice, chosen_extractor
from blockml.cli.output import TerminalProgress, note
from blockml.errors import UsageError, needed
from blockml.extractors import load
from blockml.extractors.routed import is_routed
from blockml.options import Options
from blockml.storage.atomic import locked_output
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.batch import BatchExtractor, Guard, Inputs, PageExtractor, RecordFields, Summary

__all__ = ["COMMANDS", "ENGINES", "run_by_engine"]


#: Minimum number of pages for a warning that a run used the fallback.
_MANY_PAGES = 50


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml predict``."""
    add = parser.add_argument
    text = (
        f"page file, folder (with all files below it that are pages, {read_kinds(in_folders=True)}), glob, or file of "
        f"many pages: {read_kinds()}; - for standard input"
    )
    add("inputs", metavar="INPUT", nargs="*", help=text)
    add("--files-from", metavar="FILE", help="read the names of inputs from FILE, one per line; - for standard input")
    text = (
        "output: a .jsonl, .csv or .parquet file, the first two also as .gz or .zst, or a folder for one document per "
        "page, whose name has no suffix or ends in /; without it, JSON lines on standard output"
    )
    add("-o", "--output", metavar="OUT", help=text)
    text = "names of the input's fields, such as html=content,url=link, if not html, id, url, charset and site"
    add("--columns", type=comma_separated, default=(), metavar="FIELD=NAME,…", help=text)
    text = (
        "table of the addresses of page files, with a column of file names (path, file …) or ids and one of addresses "
        "(url, link …)"
    )
    add("--urls", metavar="FILE", help=text)
    add_jobs(parser)
    add("--resume", action="store_true", help="continue a run that was stopped or killed")
    text = (
        "replace the output of an earlier run, start over if it is unfinished, or write documents among the input; a "
        ".txt next to its page is never replaced"
    )
    add("--overwrite", action="store_true", help=text)
    text = (
        "learn and remove the template of each site, which reads all pages twice; a page's site is the field site of "
        "its record, the host of its URL, or a subfolder of INPUT"
    )
    add("--by-site", action="store_true", help=text)
    add("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="time limit of a page (default: 60)")
    text = "memory limit of a page (on Linux), at least 32"
    add("--max-memory", type=positive, default=2048, metavar="MB", help=text)
    add("--quiet", action="store_true", help="print no progress bar and no summary")
    group = parser.add_argument_group("on an engine", "the output is a folder of part files: OUT.parquet or OUT.jsonl")
    group.add_argument("--engine", choices=ENGINES, help="engine that schedules the work, instead of --jobs processes")
    group.add_argument("--master", metavar="URL", help="Spark cluster, or local[N] for N processes")
    group.add_argument("--tasks", type=positive, metavar="N", help="number of datatrove tasks (default: one per file)")
    add_choice(parser, of_records=True)
    parser.set_defaults(run=run_predict)


COMMANDS = {"predict": add_predict}


def run_predict(arguments: argparse.Namespace) -> int:
    """Extract many pages; return 1 if some failed, 3 if all did."""
    from blockml.batch import Guard, find_inputs
    from blockml.batch.readers import read_names
    from blockml.batch.readers.page_addresses import read_addresses
    from blockml.batch.worker import LEAST_MEMORY

    if arguments.max_memory << 20 < LEAST_MEMORY:
        least = LEAST_MEMORY >> 20
        raise UsageError(f"--max-memory must be at least {least} MB, which most pages need, got {arguments.max_memory}")
    if arguments.resume and arguments.output is None:
        raise UsageError("--resume needs -o")
    if arguments.output is None:
        refuse(arguments, "without -o", overwrite=False)
    if bool(arguments.inputs) == bool(arguments.files_from):
        raise UsageError("give either INPUTs or --files-from")
    names = read_names(arguments.files_from) if arguments.files_from else arguments.inputs
    inputs = find_inputs(names, _columns(arguments.columns), listed=bool(arguments.files_from))
    if arguments.urls is not None:
        inputs.add_addresses(read_addresses(arguments.urls))
    guard = Guard(arguments.timeout, arguments.max_memory << 20)
    if arguments.engine is None:
        refuse(arguments, "without --engine", master=None, tasks=None)
    pages = None if arguments.engine else _pages(arguments, inputs)
    if pages is None:
        summary = run_by_engine(arguments, inputs, _options(arguments), guard)
    else:
        summary = _run(arguments, inputs, pages, guard)
    _report(arguments, inputs, summary)
    if pages is not None and not arguments.quiet and (rules := pages.options.rules) is not None:
        from blockml.rules import tally_notes

        for text in tally_notes(rules, summary.rules):
            note(text)
    return 0 if not summary.n_failed else 3 if summary.n_failed == summary.n_pages else 1


def _options(arguments: argparse.Namespace) -> Options:
    if arguments.fields and "text" not in arguments.fields:
        refuse(arguments, "without the field text", format="text")
    return chosen_options(arguments)


def _pages(arguments: argparse.Namespace, inputs: Inputs) -> PageExtractor:
    from blockml.batch import PageExtractor
    from blockml.batch.predict import site_templates

    options = _options(arguments)
    if arguments.by_site and arguments.template is not None:
        raise UsageError("--template and --by-site can't be combined")
    if arguments.by_site and "-" in arguments.inputs:
        raise UsageError("--by-site reads all pages twice, which standard input doesn't allow")
    extractor = chosen_extractor(arguments)
    pages = PageExtractor(extractor, options)
    if not arguments.by_site:
        return pages
    with TerminalProgress(quiet=arguments.quiet) as progress:
        sites = site_templates(inputs, extractor, options, arguments.jobs, progress)
    note(f"site templates learnt: {len(sites)}")
    return PageExtractor(extractor, options, sites)


def _columns(pairs: tuple[str, ...]) -> RecordFields:
    from blockml.batch.predict import record_fields

    return record_fields(dict(pair.partition("=")[::2] for pair in pairs))


def _run(arguments: argparse.Namespace, inputs: Inputs, pages: PageExtractor, guard: Guard) -> Summary:
    from blockml.batch import predict_to_file, predict_to_stream
    from blockml.batch.predict import by_bytes, output_path

    with TerminalProgress(quiet=arguments.quiet) as shown:
        on_result = by_bytes(inputs, shown)
        path = None if arguments.output is None else Path(arguments.output)
        if path is None or _is_stream(path):
            if arguments.resume:
                raise UsageError("--resume needs a file or a folder", source=path)
            sys.stdout.flush()
            with nullcontext(sys.stdout.buffer) if path is None else path.open("wb") as stream:
                return predict_to_stream(inputs, pages, stream, jobs=arguments.jobs, guard=guard, on_result=on_result)[
                    0
                ]
        return predict_to_file(
            inputs, pages, output_path(arguments.output), jobs=arguments.jobs, guard=guard,
            resume=arguments.resume, overwrite=arguments.overwrite, on_result=on_result,
        )  # fmt: skip


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a FIFO or a socket, which is written to and never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _report(arguments: argparse.Namespace, inputs: Inputs, summary: Summary) -> None:
    from blockml.batch.run import failures_path

    if not arguments.quiet:
        note(str(summary) if _kernel.compiled is not None else f"{summary} (kernel: {_kernel.describe()})")
        if inputs.passed_over:
            note(f"files skipped: {_counts(inputs.passed_over)}")
        if inputs.n_without_address:
            note(f"{counted(inputs.n_without_address, 'page file')} without an address in {arguments.urls}")
        if summary.n_failed and arguments.output is not None and failures_path(Path(arguments.output)).is_file():
            with failures_path(Path(arguments.output)).open(encoding="utf-8") as stream:
                first = json.loads(stream.readline())["error"]
            note(f"pages that failed: {failures_path(Path(arguments.output))}; the first: {first}")
    if _kernel.compiled is None and summary.n_pages > _MANY_PAGES:
        note("the pure Python fallback ran, about 11 times slower: install with a C compiler for the compiled kernel")


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {json.dumps(name)}" for name, count in counts.most_common(8))


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
    refuse(arguments, reason, parameters=[], template=None, by_site=False, urls=None, overwrite=False)
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
