"""``blockml compare``."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockml.cli.arguments import positive
from blockml.cli.output import note, print_rows, progress_bar
from blockml.datasets import open_dataset
from blockml.errors import UsageError
from blockml.parsing.options import ParsingOptions

if TYPE_CHECKING:
    from blockml.evaluation.comparison.store import Sample, Store

__all__ = ["add_commands"]

#: Systems whose worst pages can be looked at.
_LEADING = 3


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "compare",
        help="run extractors, models and other people's tools on labelled pages, and report",
        description="Run extractors, models and other people's tools on labelled pages, score what they give, and "
        "write tables and a report. What an earlier run into the same directory has done is not done again.",
    )
    parser.add_argument(
        "systems",
        nargs="*",
        metavar="EXTRACTOR",
        help="a name ('--list' tells them) or a model file, with :PARAMETER=VALUE,... behind it if need be; "
        "'all' for every extractor and model of blockml, 'peers' for every other tool",
    )
    parser.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="[NAME=]DIR",
        dest="datasets",
        help="a folder of labelled pages; may be given more than once ('blockml datasets' lists the layouts)",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="where outputs, scores, tables and report are written")
    parser.add_argument(
        "--outputs",
        action="append",
        default=[],
        metavar="NAME=FILE.jsonl",
        help='what any other tool gave: a line {"id", "text"} for each page; may be given more than once',
    )
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (default: %(default)s)")
    parser.add_argument(
        "--timeout", type=positive, default=30, metavar="S", help="seconds for a page (default: %(default)s)"
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="compare on a random sample of so many pages")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="decides the sample")
    parser.add_argument("--list", action="store_true", help="list all systems with their version, or how to get them")
    parser.add_argument("--format", choices=["table", "json"], default="table", help="(default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="tell only what went wrong")
    parser.set_defaults(run=run_compare)


def run_compare(arguments: argparse.Namespace) -> int:
    """Compare systems; 1 if one that was asked for by its name can't be run."""
    if arguments.list:
        return _list(arguments.format)
    from blockml.evaluation.comparison.running import compare
    from blockml.evaluation.comparison.store import Store, draw_sample
    from blockml.evaluation.comparison.systems import choose
    from blockml.reports import write_comparison

    if not arguments.datasets or not arguments.output or not (arguments.systems or arguments.outputs):
        raise UsageError("compare needs a system, --dataset and -o; or --list")
    chosen = choose(arguments.systems, arguments.outputs)
    samples = [draw_sample(open_dataset(spec), arguments.limit, arguments.seed) for spec in arguments.datasets]

    def progress(pages: Iterable[Any], total: int) -> Iterable[Any]:
        wrap: Any = progress_bar(total, "page", quiet=arguments.quiet)
        wrapped: Iterable[Any] = wrap(pages)
        return wrapped

    directory = Path(arguments.output)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tables = compare(
            chosen,
            samples,
            Store(directory),
            jobs=arguments.jobs,
            timeout=arguments.timeout,
            command=shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            progress=progress,
            report=(lambda _: None) if arguments.quiet else note,
        )
        rows = _rows(tables)
        print_rows(rows if arguments.format == "json" else [_shown(row) for row in rows], arguments.format)
        parsings = {system.name: system.parsing for system in chosen.systems if system.kind == "own"}
        _write_views(tables, samples, Store(directory), parsings)
        note(f"report: {write_comparison(tables, directory)}")
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=error.filename or directory) from error
    for row in tables["missing_systems"]:
        note(f"{row['name']} could not be run: {row['install']}")
    missing = {row["name"] for row in tables["missing_systems"]}
    return 1 if missing & set(arguments.systems) else 0


def _write_views(
    tables: Mapping[str, Any], samples: Sequence[Sample], store: Store, parsings: Mapping[str, ParsingOptions]
) -> None:
    """Show what each system keeps of the pages that are hard for all, and of the worst of the leading systems."""
    from blockml.reports import Judged, write_page_views

    for sample in samples:
        name = sample.dataset.name
        bag = [
            (row["mean"], row["system"])
            for row in tables["means"]
            if (row["dataset"], row["metric"], row["slice_kind"]) == (name, "bag_f1", "all") and row["mean"] is not None
        ]
        leading = {system for _, system in sorted(bag, reverse=True)[:_LEADING]}
        wanted = {row["id"] for row in tables["hardest"] if row["dataset"] == name}
        wanted |= {row["id"] for row in tables["worst"] if row["dataset"] == name and row["system"] in leading}
        made: dict[str, dict[str, list[int] | str]] = {page_id: {} for page_id in wanted}
        for row in tables["outcomes"]:
            if row["dataset"] == name:
                # Blocks as another segmentation cuts them are not those that the view shows.
                knows_blocks = parsings.get(row["system"]) == ParsingOptions()
                for output in store.read("outputs", name, row["system"]):
                    if output["id"] in wanted:
                        kept = output["kept"] if knows_blocks else None
                        made[output["id"]][row["system"]] = output["text"] if kept is None else kept
        pages = [page for page in sample.dataset.pages if page.id in wanted]
        write_page_views((Judged(name, page, made[page.id]) for page in pages), store.directory)


def _list(output_format: str) -> int:
    """List all systems."""
    from blockml.evaluation.comparison.systems import choose

    chosen = choose(["all", "peers"])
    rows = [{"name": item.name, "kind": item.kind, "version": item.version} for item in chosen.systems]
    rows += [{"name": name, "kind": "peer", "version": f"missing: {text}"} for name, text in chosen.missing.items()]
    print_rows(rows, output_format)
    return 0


def _rows(tables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The main numbers: a row for each data set and system, the best first."""
    from blockml.evaluation.comparison.grid import OUTCOMES

    means = {
        (row["dataset"], row["system"], row["metric"]): row for row in tables["means"] if row["slice_kind"] == "all"
    }
    cost = {(row["dataset"], row["system"]): row["ms_mean"] for row in tables["cost"]}
    rows = []
    for outcome in tables["outcomes"]:
        place = outcome["dataset"], outcome["system"]
        bag, lcs, block = (means.get((*place, metric), {}) for metric in ("bag_f1", "lcs_f1", "block_f1"))
        rows.append(
            {
                "dataset": place[0],
                "system": place[1],
                "bag_f1": bag.get("mean"),
                "low": bag.get("low"),
                "high": bag.get("high"),
                "lcs_f1": lcs.get("mean"),
                "block_f1": block.get("mean"),
                "ms": cost[place],
                **{name: outcome[name] for name in OUTCOMES[1:]},
            }
        )
    order = {row["name"]: number for number, row in enumerate(tables["datasets"])}
    return sorted(rows, key=lambda row: (order[row["dataset"]], -(row["bag_f1"] or 0)))


def _shown(row: Mapping[str, Any]) -> dict[str, str]:
    """A row for people."""
    from blockml.evaluation.comparison.grid import OUTCOMES

    return {
        "data set": row["dataset"],
        "system": row["system"],
        "bag F1": _number(row["bag_f1"]),
        "95 %": f"[{_number(row['low'])}, {_number(row['high'])}]",
        "LCS F1": _number(row["lcs_f1"]),
        "block F1": _number(row["block_f1"]),
        "ms/page": _number(row["ms"], 1),
        "not ok": ", ".join(f"{row[name]} {name}" for name in OUTCOMES[1:] if row[name]) or "-",
    }


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
