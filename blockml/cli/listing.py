"""``blockml model``, and the lists: ``models``, ``extractors``, ``datasets``, ``features``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from blockml.cli.arguments import add_format, positive
from blockml.cli.output import note, print_rows, progress_bar
from blockml.datasets import LAYOUTS, open_dataset
from blockml.datasets.gold_defects import INVALID_FOR_EVALUATION, INVALID_FOR_TRAINING
from blockml.datasets.tags import tag_distribution
from blockml.datasets.validation import Kind, validate
from blockml.extractors import EXTRACTORS, load, model_names
from blockml.features import COLUMNS, FEATURE_SETS, describe, feature_set
from blockml.model import Model

__all__ = ["add_commands"]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add all of them."""
    model = commands.add_parser("model", help="look into a model file")
    actions = model.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="print what a model is and how good it was")
    show.add_argument("model", metavar="NAME|FILE")
    show.add_argument("--format", choices=["card", "json"], default="card", help="(default: %(default)s)")
    show.set_defaults(run=run_show)
    check = actions.add_parser("check", help="read a model file with all checks; exit code 4 if it can't be used")
    check.add_argument("model", metavar="NAME|FILE")
    check.set_defaults(run=run_check)

    for name, what, run in (
        ("models", "list the released models", run_models),
        ("extractors", "list the untrained methods", run_extractors),
    ):
        parser = commands.add_parser(name, help=what, description=what.capitalize() + ".")
        add_format(parser)
        parser.set_defaults(run=run)

    features = commands.add_parser("features", help="list feature columns: unit, range, value for no block, source")
    features.add_argument("set", nargs="?", metavar="SET", help="only this feature set; all base columns if left out")
    features.add_argument(
        "--tags",
        metavar="[NAME=]DIR",
        help="instead: how often each tag stands inside and outside the main content of these pages",
    )
    add_format(features)
    features.set_defaults(run=run_features)

    datasets = commands.add_parser("datasets", help="list the layouts of labelled pages, or check labelled pages")
    datasets.add_argument("check", nargs="*", metavar="[NAME=]DIR", help="check the gold of these")
    datasets.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (default: %(default)s)")
    add_format(datasets)
    datasets.set_defaults(run=run_datasets)


def run_show(arguments: argparse.Namespace) -> int:
    """Print a model's card or header."""
    from blockml.training.card import render_card

    model = load(arguments.model).model
    if arguments.format == "json":
        sys.stdout.write(json.dumps(_header(model), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(render_card(model))
    return 0


def _header(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "version": model.version,
        "features": model.features,
        "features_hash": model.features_hash,
        "predictors": {name: item.kind for name, item in model.predictors.items()},
        "weights": model.weights,
        "trees": [
            {"trees": len(item.trees.roots), "nodes": len(item.trees.feature), "depth": item.trees.max_depth()}
            for item in model.ensembles
        ],
        "policy": asdict(model.policy),
        "labels": model.labels,
        "recipe": model.recipe,
        "training": model.training,
        "metrics": model.metrics,
        "command": model.command,
        "seed": model.seed,
    }


def run_check(arguments: argparse.Namespace) -> int:
    """Load a model; loading checks everything."""
    model = load(arguments.model).model
    kinds = ", ".join(f"{name} ({item.kind})" for name, item in model.predictors.items())
    print(f"{model.id}: good; {kinds}; features {model.features}")
    return 0


def run_models(arguments: argparse.Namespace) -> int:
    """List released models."""
    rows = []
    for name in model_names():
        model = load(name).model
        rows.append(
            {
                "name": name,
                "version": model.version,
                "default": name == "default",
                "features": model.features,
                "trained on": ", ".join(entry["name"] for entry in model.training),
            }
        )
    print_rows(rows, arguments.format)
    return 0


def run_extractors(arguments: argparse.Namespace) -> int:
    """List untrained methods."""
    rows = [
        {
            "name": name,
            "what": (kind.__doc__ or "").strip().splitlines()[0],
            "uses siblings": kind.traits.uses_siblings,
            "source": kind.traits.source,
        }
        for name, kind in EXTRACTORS.items()
    ]
    print_rows(rows, arguments.format)
    return 0


def run_features(arguments: argparse.Namespace) -> int:
    """List columns of a set, or all base columns and the sets, or count tags in labelled pages."""
    if arguments.tags:
        print_rows([asdict(row) for row in tag_distribution(open_dataset(arguments.tags))], arguments.format)
        return 0
    if arguments.set:
        print_rows(describe(feature_set(arguments.set).columns), arguments.format)
        return 0
    print_rows(describe(f"{name}_0" for name in COLUMNS), arguments.format)
    for item in FEATURE_SETS.values():
        note(f"set {item.name}, version {item.version}: {len(item.columns)} columns ({item.source})")
    return 0


def run_datasets(arguments: argparse.Namespace) -> int:
    """List layouts, or check gold; 1 if something was found."""
    if not arguments.check:
        print_rows([{"layout": name, "what": what} for name, what in LAYOUTS.items()], arguments.format)
        return 0
    rows = []
    for spec in arguments.check:
        dataset = open_dataset(spec)
        findings = validate(dataset, jobs=arguments.jobs, progress=progress_bar(len(dataset), "page", quiet=False))
        rows += [
            {
                "dataset": dataset.name,
                "page": item.page_id,
                "kind": item.kind,
                "unfit for": _unfit_for(item.kind),
                "detail": item.detail,
            }
            for item in findings
        ]
        kinds = [item.kind for item in findings]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in Kind if kind in kinds) or "nothing found"
        n_sites = len({page.site for page in dataset.pages})
        note(f"{dataset.name}: {len(dataset)} pages, {n_sites} sites; {counts}")
    if rows or arguments.format == "json":
        print_rows(rows, arguments.format)
    return 1 if rows else 0


def _unfit_for(kind: Kind) -> str | None:
    uses = {"training": INVALID_FOR_TRAINING, "judging": INVALID_FOR_EVALUATION}
    return ", ".join(use for use, kinds in uses.items() if kind in kinds) or None
