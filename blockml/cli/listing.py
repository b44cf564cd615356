"""The lists: ``models``, ``extractors``, ``datasets``, ``features``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from blockml.cli.arguments import (
    add_columns,
    add_format,
    add_jobs,
    add_options,
    given_datasets,
    parsing_options,
    refuse,
)
from blockml.cli.output import TerminalProgress, note, print_rows, writing
from blockml.datasets import LAYOUTS, Dataset
from blockml.errors import UnknownNameError, UsageError
from blockml.extractors import EXTRACTORS, model_names, trained
from blockml.features import COLUMNS, FEATURE_SETS, describe_columns, feature_set
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.datasets.tags import TagRow

__all__ = ["COMMANDS"]


def add_features(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml features``."""
    parser.description = "List feature columns with unit, range, value where there is no block, and source."
    parser.add_argument("set", nargs="?", metavar="SET", help="feature set, instead of all base columns")
    text = "count tags inside and outside the main content of these labelled pages"
    parser.add_argument("--tags", metavar="[NAME=]PATH", help=text)
    add_columns(parser)
    text = "with --tags: draw the shares, and the tags of one page along its lines"
    parser.add_argument("-o", "--output", metavar="FILE.html", help=text)
    add_options(parser, "backend")
    parser.add_argument("--page", metavar="ID", help="with -o: the page to draw, instead of the first with content")
    add_format(parser)
    parser.set_defaults(run=run_features)


def add_list_datasets(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml datasets``."""
    parser.description = "List the layouts of labelled pages, or check their gold; exits with 1 if there are findings."
    parser.add_argument("check", nargs="*", metavar="[NAME=]PATH", help="folder or table of labelled pages to check")
    add_columns(parser)
    add_jobs(parser)
    add_format(parser)
    parser.set_defaults(run=run_datasets)


def run_models(arguments: argparse.Namespace) -> int:
    """List released models with the first lines of their cards."""
    from blockml.model.card import at_a_glance

    models = [trained(name).model for name in model_names()]
    print_rows([{"name": f"{item.name} {item.version}"} | at_a_glance(item) for item in models], arguments.format)
    return 0


def run_extractors(arguments: argparse.Namespace) -> int:
    """List untrained extractors."""
    rows = [
        {"name": name, "description": (kind.__doc__ or "").strip().splitlines()[0]}
        | {"uses site": kind.traits.uses_site, "source": kind.traits.source}
        for name, kind in EXTRACTORS.items()
    ]
    print_rows(rows, arguments.format)
    return 0


def run_features(arguments: argparse.Namespace) -> int:
    """List the columns of a set, or all base columns and the sets, or count tags in labelled pages."""
    from blockml.datasets.tags import tag_distribution

    if arguments.output and not arguments.tags:
        raise UsageError("-o needs --tags")
    if arguments.page and not arguments.output:
        raise UsageError("--page needs -o")
    if arguments.tags and arguments.set:
        raise UsageError(f"--tags counts tags instead of listing columns; leave out {arguments.set}")
    if not arguments.tags:
        refuse(arguments, "without --tags", backend=None)
    if arguments.tags:
        dataset = given_datasets(arguments, [arguments.tags])[0]
        if arguments.page and arguments.page not in (legal := [page.id for page in dataset.pages]):
            raise UnknownNameError("page", arguments.page, legal[:20])
        rows = tag_distribution(dataset, **parsing_options(arguments))
        print_rows([asdict(row) for row in rows], arguments.format)
        if arguments.output:
            _write_tags(arguments, dataset, rows)
    elif arguments.set:
        print_rows(describe_columns(feature_set(arguments.set).columns), arguments.format)
    else:
        print_rows(describe_columns(f"{name}_0" for name in COLUMNS), arguments.format)
        for item in FEATURE_SETS.values():
            note(f"set {item.name}, version {item.version}: {len(item.columns)} columns ({item.source})")
    return 0


def _write_tags(arguments: argparse.Namespace, dataset: Dataset, rows: Sequence[TagRow]) -> None:
    """Draw the tags of a data set and of one of its pages."""
    from blockml.datasets.tags import tag_points
    from blockml.parsing import parse
    from blockml.reports.tagview import write_tags  # needs an optional package

    points, name = None, ""
    for labelled in dataset.pages:
        if arguments.page in (None, labelled.id):
            html, gold = labelled.load()
            page = parse(html, url=labelled.url, charset=labelled.charset, **parsing_options(arguments))
            labels = None if gold is None else gold.label(page)
            if labels is not None and labels.main.any():
                points, name = tag_points(page, labels), labelled.id
                break
    with writing(arguments.output):
        note(f"wrote {write_tags(arguments.output, rows, name=dataset.name, page=name, points=points)}")


def run_datasets(arguments: argparse.Namespace) -> int:
    """List layouts, or check gold; return 1 if there are findings."""
    from blockml.datasets.validation import INVALID_FOR_EVALUATION, INVALID_FOR_TRAINING, FindingKind, check_pages

    if not arguments.check:
        refuse(arguments, "without a folder to check", jobs=1)
        print_rows([{"layout": name, "description": text} for name, text in LAYOUTS.items()], arguments.format)
        return 0
    uses = {"training": INVALID_FOR_TRAINING, "evaluation": INVALID_FOR_EVALUATION}
    rows: list[dict[str, Any]] = []
    for dataset in given_datasets(arguments, arguments.check):
        with TerminalProgress() as progress:
            findings, n_others = check_pages(dataset, jobs=arguments.jobs, progress=progress)
        for item in findings:
            invalid = ", ".join(use for use, kinds in uses.items() if item.kind in kinds) or None
            row = {"dataset": dataset.name, "page": item.page_id, "kind": item.kind}
            rows.append(row | {"invalid for": invalid, "detail": item.detail})
        counts = Counter(str(item.kind) for item in findings)
        found = [f"{counts[name]} {name}" for name in map(str, FindingKind) if counts[name]]
        found += [f"{counted(n_others, 'page')} without gold"] if n_others else []
        size = f"{counted(len(dataset), 'page')}, {counted(len({page.site for page in dataset.pages}), 'site')}"
        size += f", {len(dataset.failures):,} left out ({dataset.failures[0]})" if dataset.failures else ""
        note(f"{dataset.name}: {dataset.format}, {size}; {', '.join(found) or 'no findings'}")
    if rows or arguments.format == "json":
        print_rows(rows, arguments.format)
    return 1 if rows else 0


def _add_list(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.ArgumentParser], None]:
    """Return a function that adds the arguments of a command that only lists."""

    def add(parser: argparse.ArgumentParser) -> None:
        add_format(parser)
        parser.set_defaults(run=run)

    return add


COMMANDS = {
    "models": _add_list(run_models),
    "extractors": _add_list(run_extractors),
    "features": add_features,
    "datasets": add_list_datasets,
}
