"""The lists: ``models``, ``extractors``, ``datasets``, ``features``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from typing import Any

from blockml.cli.arguments import add_columns, add_format, add_jobs, given_datasets, refuse
from blockml.cli.output import TerminalProgress, note, print_rows
from blockml.datasets import LAYOUTS
from blockml.extractors import EXTRACTORS, model_names, trained
from blockml.features import COLUMNS, FEATURE_SETS, describe_columns, feature_set
from blockml.text.words import counted

__all__ = ["COMMANDS"]


def add_features(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml features``."""
    parser.description = "List feature columns with unit, range, value where there is no block, and source."
    parser.add_argument("set", nargs="?", metavar="SET", help="feature set, instead of all base columns")
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
    """List the columns of a set, or all base columns and the sets."""
    if arguments.set:
        print_rows(describe_columns(feature_set(arguments.set).columns), arguments.format)
    else:
        print_rows(describe_columns(f"{name}_0" for name in COLUMNS), arguments.format)
        for item in FEATURE_SETS.values():
            note(f"set {item.name}, version {item.version}: {len(item.columns)} columns ({item.source})")
    return 0


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
