"""``blockml predict``."""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockml import _kernel
from blockml.cli.arguments import add_jobs, chosen_options, comma_separated, positive, refuse, seconds
from blockml.cli.engines import ENGINES, run_by_engine
from blockml.cli.extracting import add_choice, chosen_extractor
from blockml.cli.output import bar_class, note
from blockml.errors import UsageError
from blockml.options import Options
from blockml.text.plurals import counted

if TYPE_CHECKING:
    from blockml.batch import Guard, Inputs, PageExtractor, Summary
    from blockml.batch.pool import Result

__all__ = ["COMMANDS"]

#: Minimum number of pages of a run with the fallback to print a warning.
_MANY_PAGES = 50


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml predict``."""
    add = parser.add_argument
    text = (
        "page file, folder (with all page, WARC and ARC files below it), glob, or file of many pages: .jsonl, WARC, "
        "ARC or Parquet; - for standard input"
    )
    add("inputs", metavar="INPUT", nargs="+", help=text)
    text = (
        "output: a .jsonl, .jsonl.gz, .jsonl.zst or .parquet file, or a folder for one document per page; without it, "
        "JSON lines on standard output"
    )
    add("-o", "--output", metavar="OUT", help=text)
    text = "names of the input's fields, as html=content,url=link, if they aren't html, id, url, charset and site"
    add("--columns", type=comma_separated, default=(), metavar="FIELD=NAME,…", help=text)
    add_jobs(parser)
    add("--resume", action="store_true", help="continue a run that was stopped or killed")
    text = (
        "learn the template of each site and remove it, which reads all pages twice; the site of a page is the site of "
        "its record, the host of its URL, or a subfolder of INPUT"
    )
    add("--by-site", action="store_true", help=text)
    add("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="time limit of a page (default: 60)")
    add("--max-memory", type=positive, default=2048, metavar="MB", help="memory limit of a page (on Linux)")
    add("--quiet", action="store_true", help="print no progress bar and no summary")
    group = parser.add_argument_group("on an engine", "the output is a folder of part files: OUT.parquet or OUT.jsonl")
    group.add_argument("--engine", choices=ENGINES, help="what schedules the work, instead of --jobs processes")
    group.add_argument("--master", metavar="URL", help="of Spark's cluster, or local[N] for N processes")
    group.add_argument("--tasks", type=positive, metavar="N", help="of datatrove (default: one for each file)")
    add_choice(parser, of_records=True)
    parser.set_defaults(run=run_predict)


COMMANDS = {"predict": add_predict}


def run_predict(arguments: argparse.Namespace) -> int:
    """Extract many pages; return 1 if some failed, 3 if all did."""
    from blockml.batch import Guard, find_inputs

    if arguments.resume and arguments.output is None:
        raise UsageError("--resume needs -o")
    inputs = find_inputs(arguments.inputs, _columns(arguments.columns))
    guard = Guard(arguments.timeout, arguments.max_memory << 20)
    if arguments.engine is None:
        refuse(arguments, "without --engine", master=None, tasks=None)
    pages = None if arguments.engine else _pages(arguments, inputs)
    if pages is None:
        summary = run_by_engine(arguments, inputs, _options(arguments), guard)
    else:
        summary = _run(arguments, inputs, pages, guard)
    _report(arguments, inputs, summary)
    return 0 if not summary.n_failed else 3 if summary.n_failed == summary.n_pages else 1


def _options(arguments: argparse.Namespace) -> Options:
    if arguments.fields and "text" not in arguments.fields:
        refuse(arguments, "without the field text", output_format="text")
    return chosen_options(arguments)


def _pages(arguments: argparse.Namespace, inputs: Inputs) -> PageExtractor:
    from blockml.batch import PageExtractor, learn_sites, read_items

    options = _options(arguments)
    if arguments.by_site and arguments.template is not None:
        raise UsageError("--template and --by-site exclude each other")
    if arguments.by_site and "-" in arguments.inputs:
        raise UsageError("--by-site reads all pages twice, which standard input doesn't allow")
    extractor = chosen_extractor(arguments)
    pages = PageExtractor(extractor, options)
    if not arguments.by_site:
        return pages
    parsing = pages.extractor.parsing
    sites = learn_sites(lambda: read_items(inputs), parsing, limits=options.limits, jobs=arguments.jobs)
    note(f"site templates learnt: {len(sites)}")
    return PageExtractor(extractor, options, sites)


def _columns(pairs: tuple[str, ...]) -> Any:  # noqa: ANN401 (RecordFields, imported late)
    from dataclasses import fields

    from blockml.batch import RecordFields

    chosen = dict(pair.partition("=")[::2] for pair in pairs)
    known = [field.name for field in fields(RecordFields)]
    if any(name not in known or not value for name, value in chosen.items()):
        raise UsageError(f"--columns takes FIELD=NAME; choose fields of: {', '.join(known)}")
    return RecordFields(**chosen)


def _run(arguments: argparse.Namespace, inputs: Inputs, pages: PageExtractor, guard: Guard) -> Summary:
    from blockml.batch import predict_to_file, predict_to_stream

    with _progress(inputs, quiet=arguments.quiet) as progress:
        if arguments.output is None:
            sys.stdout.flush()
            return predict_to_stream(
                inputs, pages, sys.stdout.buffer, jobs=arguments.jobs, guard=guard, progress=progress
            )[0]
        path = Path(arguments.output)
        if arguments.output.endswith(os.sep):
            path.mkdir(parents=True, exist_ok=True)
        if _is_stream(path):
            if arguments.resume:
                raise UsageError("--resume needs a file or a folder", source=path)
            with path.open("wb") as stream:
                return predict_to_stream(inputs, pages, stream, jobs=arguments.jobs, guard=guard, progress=progress)[0]
        return predict_to_file(
            inputs, pages, path.resolve(), jobs=arguments.jobs, guard=guard, resume=arguments.resume, progress=progress
        )


def _is_stream(path: Path) -> bool:
    """Tell whether a path is a device, a FIFO or a socket, which is written to and never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _progress(inputs: Inputs, *, quiet: bool) -> Iterator[Callable[[Result, Summary], None]]:
    """Show a progress bar over the bytes of the input, on a terminal."""
    if (bars := bar_class(quiet=quiet)) is None:
        yield lambda *_: None
        return
    from blockml.batch.packing import End

    total = inputs.size()
    with bars(total=total or None, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr) as bar:

        def show(result: Result, summary: Summary) -> None:
            if isinstance(result.part, End):
                bar.update(result.unit.stored)
            rate = summary.n_pages / bar.format_dict["elapsed"] if bar.format_dict["elapsed"] else 0.0
            bar.set_postfix_str(f"{counted(summary.n_pages, 'page')}, {rate:,.0f} pages/s, {summary.n_failed:,} failed")

        yield show


def _report(arguments: argparse.Namespace, inputs: Inputs, summary: Summary) -> None:
    from blockml.batch.run import failures_path

    if not arguments.quiet:
        note(f"{summary} (kernel: {_kernel.describe()})")
        if inputs.passed_over:
            note(f"files passed over: {_counts(inputs.passed_over)}")
        if summary.n_failed and arguments.output is not None and failures_path(Path(arguments.output)).is_file():
            with failures_path(Path(arguments.output)).open(encoding="utf-8") as stream:
                first = json.loads(stream.readline())["error"]
            note(f"pages that failed: {failures_path(Path(arguments.output))}; the first: {first}")
    if _kernel.compiled is None and summary.n_pages > _MANY_PAGES:
        note("the pure Python fallback ran, about 11 times slower: install with a C compiler for the compiled kernel")


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {json.dumps(name)}" for name, count in counts.most_common(8))
