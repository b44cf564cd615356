"""``blockml model`` and ``blockml rules``."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blockml.cli.arguments import HelpFormatter, add_columns, given_datasets, number, positive, refuse
from blockml.cli.output import TerminalProgress, note, print_json, print_rows, show, write_output, writing
from blockml.errors import UsageError
from blockml.extractors import trained
from blockml.features import feature_set
from blockml.model import Model
from blockml.predictors.tree_ensemble import MeanTrees
from blockml.rules.exporting import FORMS, export_rules
from blockml.rules.site_rules import EXAMPLE, read_rules
from blockml.storage.atomic import atomic_write
from blockml.text.words import counted

__all__ = ["COMMANDS"]


#: Number of tree levels to draw.
_DRAWN_DEPTH = 4
#: Number of permutations of each unit.
_REPEATS = 5


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml model``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text, run in (
        ("show", "print the card of a model", run_show),
        ("check", "check a model file; exits with 4 if it is invalid", run_check),
    ):
        action = actions.add_parser(name, help=text, description=f"{text.capitalize()}.", formatter_class=HelpFormatter)
        action.add_argument("model", metavar="NAME|FILE", help="released model or model file")
        if run is run_show:
            _add_show(action)
        action.set_defaults(run=run)


def _add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``blockml model show``."""
    add = parser.add_argument
    add("--format", choices=["card", "json"], default="card", help="output format")
    what = parser.add_mutually_exclusive_group()
    text = "print tree N of the model's first ensemble, one line per node"
    what.add_argument("--tree", type=_place, nargs="?", const=0, metavar="N", help=text)
    text = (
        "print gain and permutation importance of the columns that its trees read: on the held-out folds of its "
        "training, or on the pages of --dataset"
    )
    what.add_argument("--importances", "--importance", action="store_true", dest="importance", help=text)
    add("--paths", action="store_true", help="with --tree: print one line per leaf, with its whole path")
    add("--depth", type=positive, metavar="N", help="with --tree: levels to print, and to draw (4 if not given)")
    add("-o", "--output", metavar="FILE.html", help="with --tree: draw the tree")
    add("--dataset", metavar="[NAME=]PATH", help="with --importances: folder or table of labelled pages")
    add_columns(parser)
    add("--by", choices=["column", "family"], help="with --importances: unit (default: family for boosted trees)")
    add("--repeats", type=positive, metavar="N", help="with --importances: permutations of each unit (5 if not given)")


def _place(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be the number of a tree, starting at 0, got {text!r}")
    return int(text)


def run_show(arguments: argparse.Namespace) -> int:
    """Print a model's card or header, one of its trees, or the importance of its columns."""
    from blockml.model import render_card

    for option, needs, is_met in (
        ("paths", "--tree", arguments.tree is not None),
        ("depth", "--tree", arguments.tree is not None),
        ("output", "--tree", arguments.tree is not None),
        ("dataset", "--importances", arguments.importance),
        ("by", "--importances", arguments.importance),
        ("repeats", "--importances", arguments.importance),
    ):
        if getattr(arguments, option) and not is_met:
            raise UsageError(f"{'-o' if option == 'output' else f'--{option}'} needs {needs}")
    model = trained(arguments.model).model
    if arguments.tree is not None:
        refuse(arguments, "with --tree", format="card")
        return _show_tree(arguments, model)
    if arguments.importance:
        return _show_importance(arguments, model)
    if arguments.format == "json":
        print_json(_header(model))
    else:
        show(render_card(model))
    return 0


def _show_tree(arguments: argparse.Namespace, model: Model) -> int:
    """Print one tree, and draw it."""
    from blockml.reports.treeview import tree_rows, tree_text, write_tree

    if not model.ensembles:
        raise UsageError(f"model {model.name} has no trees")
    trees, columns, number = model.ensembles[0].trees, feature_set(model.features).columns, arguments.tree
    if number >= len(trees.roots):
        raise UsageError(f"--tree must be from 0 to {len(trees.roots) - 1}, got {number}")
    show(tree_text(tree_rows(trees, columns, number, arguments.depth), paths=arguments.paths))
    if arguments.output:
        unit = "probability of content" if isinstance(model.ensembles[0], MeanTrees) else "log odds, summed over trees"
        about = f"tree {number} of {len(trees.roots)}; values: {unit}"
        drawn = tree_rows(trees, columns, number, arguments.depth or _DRAWN_DEPTH)
        with writing(arguments.output):
            path = write_tree(arguments.output, drawn, tree_rows(trees, columns, number), name=model.id, about=about)
        note(f"wrote {path}")
    return 0


def _show_importance(arguments: argparse.Namespace, model: Model) -> int:
    """Print gain and permutation importance, or how often the trees test each column if neither was measured."""
    from blockml.evaluation.importance import (
        MOST_COLUMNS,
        Importance,
        by_column,
        by_family,
        labelled_blocks,
        split_shares,
    )

    if not model.ensembles:
        raise UsageError(f"model {model.name} has no trees")
    is_single = len(model.predictors) == 1 and isinstance(model.ensembles[0], MeanTrees)
    by = arguments.by or ("column" if is_single else "family")
    output_format = "json" if arguments.format == "json" else "table"
    summary = model.metrics.get("site") or model.metrics.get("page") or {}
    if arguments.dataset:
        blocks = labelled_blocks(model, *given_datasets(arguments, [arguments.dataset]))
        repeats = arguments.repeats or _REPEATS
        if by == "column":
            found = by_column(model, blocks, repeats=repeats, most=None if is_single else MOST_COLUMNS)
        else:
            found = by_family(model, blocks, repeats=repeats)
        labelled = blocks.main[blocks.known]
        pages = f"{counted(len(labelled), 'block')}, {int(labelled.sum())} of them content"
        spread = f"mean of {repeats}"
    else:
        refuse(arguments, "without --dataset", repeats=None, columns=None)
        if recorded := model.metrics.get("importance"):
            pages = f"{recorded['pages']} pages that it has not seen, of {', '.join(recorded['datasets'])}"
            spread = f"mean of {recorded['repeats']}"
        elif recorded := summary.get("importance"):
            pages, spread = f"held-out pages of {summary['folds']} folds by {summary['protocol']}", "mean over folds"
        else:
            shares = split_shares(model, by)
            print_rows([{by: name, "columns": n, "tests": f"{share:.1%}"} for name, n, share in shares], output_format)
            note(
                f"tests: share of the splits of {model.name}'s trees. Gain and permutation were not measured, because "
                "it was trained without folds or by an earlier version; --dataset measures them on labelled pages"
            )
            return 0
        found = [Importance(*row) for row in recorded[by]]
    shown = [
        {by: item.name, "columns": item.n_columns, "gain": f"{item.impurity:.1%}"}
        | {"permutation": f"{item.drop:+.4f}", "sd": f"{item.spread:.4f}"}
        for item in found
    ]
    print_rows(shown, output_format)
    kind = "entropy of the labels" if isinstance(model.ensembles[0], MeanTrees) else "variance of the trees' output"
    note(
        f"{pages}; gain: share of the {kind} that the tests of the trees remove; permutation: loss of average "
        f"precision of the whole model, {spread}"
    )
    if not is_single and len(model.predictors) > 1:
        weights = ", ".join(f"{name} {weight:g}" for name, weight in model.weights.items())
        note(f"only trees have a gain; weights in the model: {weights}")
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
    """Load a model, which checks everything."""
    model = trained(arguments.model).model
    kinds = ", ".join(f"{name} ({item.kind})" for name, item in model.predictors.items())
    show(f"{model.id}: valid; {kinds}; features {model.features}")
    return 0


_SMALLEST = f"the smallest file of rules:\n{EXAMPLE}\nfields: within, keep, drop, title, authors, published"


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``blockml rules``."""
    parser.epilog, parser.formatter_class = _SMALLEST, argparse.RawDescriptionHelpFormatter
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text, add in (
        ("learn", "learn rules of each site from five or more of its pages", _add_learn),
        ("export", "write rules in the form of another program", _add_export),
    ):
        add(actions.add_parser(name, help=text, description=f"{text.capitalize()}.", formatter_class=HelpFormatter))


def _add_learn(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("inputs", metavar="PAGES", nargs="*", help="page file, folder, glob, or file of many pages with addresses")
    text = "labelled pages, whose labels count instead of a model's decision; may be repeated"
    add("--dataset", action="append", default=[], metavar="[NAME=]PATH", dest="datasets", help=text)
    add_columns(parser)
    add("-o", "--output", metavar="FILE.toml", help="file of rules, instead of standard output")
    add("--model", metavar="NAME|FILE", default="default", help="model that decides about pages without labels")
    add("--site", metavar="HOST", help="site of all pages, or * for any (default: that of each page's address)")
    text = "minimum word F1 in cross-validation; rules below it are refused"
    add("--least-f1", type=_share, default=0.9, metavar="X", help=text)
    add("--quiet", action="store_true", help="print no progress bar and no results")
    parser.set_defaults(run=run_learn)


def _share(text: str) -> float:
    return number(text, lambda value: 0 <= value <= 1, "a number from 0 to 1")


def _add_export(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("rules", metavar="FILE.toml", help="file of rules")
    add("--to", choices=sorted(FORMS), required=True, help="program that reads them")
    text = "folder for a file of each site, or with one site a file; without it, standard output"
    add("-o", "--output", metavar="FOLDER|FILE", help=text)
    parser.set_defaults(run=run_export)


def run_learn(arguments: argparse.Namespace) -> int:
    """Learn rules; return 1 if all sites were refused."""
    from blockml.batch import find_inputs, read_items
    from blockml.training.rule_learning import learn_rules

    if bool(arguments.inputs) == bool(arguments.datasets):
        raise UsageError("give either PAGES or --dataset")
    pages = [page for dataset in given_datasets(arguments, arguments.datasets) for page in dataset.pages]
    with TerminalProgress(quiet=arguments.quiet) as progress:
        found = learn_rules(
            pages or read_items(find_inputs(arguments.inputs)), model=arguments.model, site=arguments.site,
            least_f1=arguments.least_f1, progress=progress,
        )  # fmt: skip
    for text in found.unread:
        note(text)
    if not arguments.quiet:
        for result in found.results:
            note(str(result))
    if not found.rules.by_site:
        return 1
    write_output(found.rules.to_toml().rstrip("\n"), arguments.output)
    note(f"{found!r}{f': wrote {arguments.output}' if arguments.output else ''}")
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Export rules."""
    made = export_rules(read_rules(arguments.rules), arguments.to)
    for item in made:
        for text in item.notes:
            note(f"{item.site}: {text}")
    output = None if arguments.output is None else Path(arguments.output)
    if output is None or (len(made) == 1 and not output.is_dir() and not arguments.output.endswith("/")):
        if len(made) != 1:
            raise UsageError(f"the rules of {counted(len(made), 'site')} need -o FOLDER")
        write_output(made[0].text, arguments.output)
        return 0
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
        for item in made:
            with atomic_write(output / item.file) as stream:
                stream.write(item.text.encode())
    note(f"wrote {counted(len(made), 'file')} to {output}")
    return 0


COMMANDS = {"model": add_model, "rules": add_rules}
