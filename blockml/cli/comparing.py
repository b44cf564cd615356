"""``blockml compare``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blockml.cli.arguments import add_datasets, add_format, add_jobs, open_datasets, positive, refuse, seed
from blockml.cli.output import command_line, note, print_rows, progress_bar, writing
from blockml.errors import UsageError
from blockml.evaluation.comparison.grid import OUTCOMES
from blockml.evaluation.comparison.running import compare
from blockml.evaluation.comparison.store import PageSample, Store, draw_sample
from blockml.evaluation.comparison.systems import choose
from blockml.parsing.options import ParsingOptions

__all__ = ["COMMANDS"]

#: Number of leading systems whose worst pages get a view.
_LEADING = 3


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
    text = 'outputs of another tool: one line {"id", "text"} per page; may be repeated'
    add("--outputs", action="append", default=[], metavar="NAME=FILE.jsonl", help=text)
    add_jobs(parser)
    add("--timeout", type=positive, default=30, metavar="S", help="seconds per page")
    add("--limit", type=positive, metavar="N", help="compare on a random sample of N pages")
    add("--seed", type=seed, default=0, metavar="N", help="random seed of the sample")
    add("--list", action="store_true", help="list all systems with their version or how to install it")
    add_format(parser)
    add("--quiet", action="store_true", help="print only problems")
    parser.set_defaults(run=run_compare)


COMMANDS = {"compare": add_compare}


def run_compare(arguments: argparse.Namespace) -> int:
    """Compare systems; return 1 if a system given by name could not be run."""
    if arguments.list:
        refuse(arguments, "with --list", datasets=[], output=None, outputs=[], jobs=1, timeout=30, limit=None, seed=0)
        refuse(arguments, "with --list", quiet=False)
        if arguments.systems:
            raise UsageError(f"--list lists all systems; leave out {' '.join(arguments.systems)}")
        chosen = choose(["all", "peers"])
        rows = [{"name": item.name, "kind": item.kind, "version": item.version} for item in chosen.systems]
        rows += [{"name": name, "kind": "peer", "version": f"missing: {text}"} for name, text in chosen.missing.items()]
        print_rows(rows, arguments.format)
        return 0
    from blockml.reports import write_comparison  # needs an optional package

    if not arguments.datasets or not arguments.output or not (arguments.systems or arguments.outputs):
        raise UsageError("compare needs a system, --dataset and -o; or --list")
    if arguments.limit is None:
        refuse(arguments, "without --limit", seed=0)
    chosen = choose(arguments.systems, arguments.outputs)
    datasets = open_datasets(arguments, arguments.datasets)
    samples = [draw_sample(dataset, arguments.limit, arguments.seed) for dataset in datasets]

    def progress(pages: Iterable[Any], total: int) -> Iterable[Any]:
        wrapped: Iterable[Any] = progress_bar(total, "page", quiet=arguments.quiet)(pages)
        return wrapped

    directory = Path(arguments.output)
    with writing(directory):
        directory.mkdir(exist_ok=True)
        tables = compare(
            chosen,
            samples,
            Store(directory),
            jobs=arguments.jobs,
            timeout=arguments.timeout,
            command=command_line(),
            progress=progress,
            report=(lambda _: None) if arguments.quiet else note,
        )
        main_rows = _rows(tables)
        print_rows(main_rows if arguments.format == "json" else [_cells(row) for row in main_rows], arguments.format)
        parsings = {system.name: system.parsing for system in chosen.systems if system.kind == "own"}
        with Store(directory).locked():
            _write_views(tables, samples, Store(directory), parsings)
            note(f"report: {write_comparison(tables, directory)}")
    missing = {row["name"]: row["install"] for row in tables["missing_systems"]}
    for name, install in missing.items():
        note(f"{name} could not be run: {install}")
    return 1 if missing.keys() & set(arguments.systems) else 0


def _write_views(
    tables: Mapping[str, Any], samples: Sequence[PageSample], store: Store, parsings: Mapping[str, ParsingOptions]
) -> None:
    """Write views of the hardest pages, and of the worst pages of the leading systems.

    Views of an earlier comparison that the report would link to are written anew.
    """
    from blockml.reports import PagePredictions, view_name, write_page_views

    for sample in samples:
        name = sample.dataset.name
        bag = [
            (row["mean"], row["system"])
            for row in tables["means"]
            if (row["dataset"], row["metric"], row["slice_kind"]) == (name, "bag_f1", "all") and row["mean"] is not None
        ]
        leading = {system for _, system in sorted(bag, reverse=True)[:_LEADING]}
        wanted = {row["id"] for row in tables["hardest"] if row["dataset"] == name}
        wanted |= {
            row["id"]
            for row in tables["worst"]
            if row["dataset"] == name
            and (row["system"] in leading or (store.directory / view_name(name, row["id"])).is_file())
        }
        outputs: dict[str, dict[str, list[int] | str]] = {page_id: {} for page_id in wanted}
        for system in (row["system"] for row in tables["outcomes"] if row["dataset"] == name):
            # The view shows the blocks of the default segmentation; those of another one are not comparable.
            has_blocks = parsings.get(system) == ParsingOptions()
            for output in store.read("outputs", name, system):
                if output["id"] in wanted:
                    kept = output["kept"] if has_blocks else None
                    outputs[output["id"]][system] = output["text"] if kept is None else kept
        pages = [page for page in sample.dataset.pages if page.id in wanted]
        write_page_views((PagePredictions(name, page, outputs[page.id]) for page in pages), store.directory)


def _rows(tables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the main scores by data set and system, best system first; by blocks if the gold is no text."""
    overall = [row for row in tables["means"] if row["slice_kind"] == "all"]
    means = {(row["dataset"], row["system"], row["metric"]): row for row in overall}
    cost = {(row["dataset"], row["system"]): row["ms_mean"] for row in tables["cost"]}
    rows = []
    for outcome in tables["outcomes"]:
        place = outcome["dataset"], outcome["system"]
        bag, lcs, block = (means.get((*place, metric), {}) for metric in ("bag_f1", "lcs_f1", "block_f1"))
        row = {"dataset": place[0], "system": place[1]}
        row |= {"bag_f1": bag.get("mean"), "low": bag.get("low"), "high": bag.get("high")}
        row |= {"lcs_f1": lcs.get("mean"), "block_f1": block.get("mean"), "ms": cost[place]}
        rows.append(row | {name: outcome[name] for name in OUTCOMES[1:]})
    order = {row["name"]: number for number, row in enumerate(tables["datasets"])}
    return sorted(rows, key=lambda row: (order[row["dataset"]], -(row["bag_f1"] or 0), -(row["block_f1"] or 0)))


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    """Format a row for the printed table."""
    bag, low, high, lcs, block = (
        "-" if row[name] is None else f"{row[name]:.3f}" for name in ("bag_f1", "low", "high", "lcs_f1", "block_f1")
    )
    return {
        "data set": row["dataset"],
        "system": row["system"],
        "bag F1": bag,
        "95 %": "-" if low == "-" else f"[{low}, {high}]",
        "LCS F1": lcs,
        "block F1": block,
        "ms/page": "-" if row["ms"] is None else f"{row['ms']:.1f}",
        "not ok": ", ".join(f"{row[name]} {name}" for name in OUTCOMES[1:] if row[name]) or "-",
    }
