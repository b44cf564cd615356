"""``blockml compare``."""

from __future__ import annotations

import argparse
from pathlib import Path

from blockml.cli.arguments import add_datasets, add_format, add_jobs, given_datasets, positive, refuse, seed
from blockml.cli.output import TerminalProgress, command_line, note, print_rows, writing
from blockml.comparing import compare, mean_cells
from blockml.errors import UsageError
from blockml.evaluation.comparison.systems import choose
from blockml.text.words import counted

__all__ = ["COMMANDS"]


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml compare``."""
    parser.description = (
        "Run extractors, models and other tools on labelled pages, score their outputs, and write tables and a report. "
        "Results of an earlier run in the same directory are reused."
    )
    add = parser.add_argument
    text = (
        "name ('--list' shows them) or model file, optionally with :PARAMETER=VALUE,... (backend=NAME for another HTML "
        "parser); 'all' for every extractor and model of blockml, 'peers' for every other tool"
    )
    add("systems", nargs="*", metavar="EXTRACTOR", help=text)
    add_datasets(parser, required=False)
    add("-o", "--output", metavar="DIR", help="directory of outputs, scores, tables and report")
    text = "outputs of another tool: a table (JSON lines, CSV, Parquet) with id and text of each page; may be repeated"
    add("--outputs", action="append", default=[], metavar="NAME=FILE", help=text)
    text = (
        "compare models on their training pages: each page is extracted by a model trained, by the same recipe or "
        "adaptation, on the other folds"
    )
    add("--cross-validate", action="store_true", help=text)
    add("--folds", type=positive, metavar="N", help="with --cross-validate: number of folds (default: 5; adapted: 10)")
    add_jobs(parser)
    add("--timeout", type=positive, default=30, metavar="S", help="seconds per page")
    add("--limit", type=positive, metavar="N", help="compare on a random sample of N pages")
    add("--seed", type=seed, default=0, metavar="N", help="random seed of the sample, and of folds and training")
    add("--list", action="store_true", help="list all systems with their version or how to install it")
    add_format(parser)
    add("--quiet", action="store_true", help="print only problems")
    parser.set_defaults(run=run_compare)


COMMANDS = {"compare": add_compare}


def run_compare(arguments: argparse.Namespace) -> int:
    """Compare systems; return 1 if a system given by name could not be run."""
    if arguments.list:
        refuse(arguments, "with --list", datasets=[], output=None, outputs=[], jobs=1, timeout=30, limit=None, seed=0)
        refuse(arguments, "with --list", quiet=False, cross_validate=False, folds=None)
        if arguments.systems:
            raise UsageError(f"--list lists all systems; leave out {' '.join(arguments.systems)}")
        chosen = choose(["all", "peers"])
        rows = [{"name": item.name, "kind": item.kind, "version": item.version} for item in chosen.systems]
        rows += [{"name": name, "kind": "peer", "version": f"missing: {text}"} for name, text in chosen.missing.items()]
        print_rows(rows, arguments.format)
        return 0
    if not arguments.datasets or not arguments.output or not (arguments.systems or arguments.outputs):
        raise UsageError("compare needs a system, --dataset and -o; or --list")
    if not arguments.cross_validate:
        refuse(arguments, "without --cross-validate", folds=None)
        if arguments.limit is None:
            refuse(arguments, "without --limit or --cross-validate", seed=0)

    with writing(Path(arguments.output)), TerminalProgress(quiet=arguments.quiet) as progress:
        found = compare(
            arguments.systems,
            given_datasets(arguments, arguments.datasets),
            output=arguments.output,
            outputs=arguments.outputs,
            out_of_fold=arguments.cross_validate,
            n_folds=arguments.folds,
            limit=arguments.limit,
            seed=arguments.seed,
            jobs=arguments.jobs,
            timeout=arguments.timeout,
            command=command_line(),
            progress=progress,
            report=(lambda _: None) if arguments.quiet else progress.report,
        )
    print_rows(found.means if arguments.format == "json" else mean_cells(found.means), arguments.format)
    for (dataset, system), seen in found.seen.items():
        if seen.worth_telling:
            note(f"{dataset}: {system}{'†' if seen.pages else ''}, {seen}")
    for dataset, name, difference in found.out_of_fold:
        pages = counted(difference.pages, "page")
        sign = "significant" if difference.difference.significant else "not significant"
        note(
            f"{dataset}, page bag F1 out of fold, by {difference.protocol}: {name} - {difference.model} = "
            f"{difference.interval} on {pages}, {'too few for an interval' if difference.is_few else sign}"
        )
    note(f"report: {found.directory / 'report.html'}")
    missing = {row["name"]: row["install"] for row in found.tables["missing_systems"]}
    for name, install in missing.items():
        note(f"{name} could not be run: {install}")
    return 1 if missing.keys() & set(arguments.systems) else 0
