"""``blockml rules``: ``learn`` and ``export``."""

from __future__ import annotations

import argparse
from pathlib import Path

from blockml.cli.arguments import HelpFormatter, add_columns, given_datasets, number
from blockml.cli.output import TerminalProgress, note, write_output, writing
from blockml.errors import UsageError
from blockml.rules.exporting import FORMS, export_rules
from blockml.rules.rules import EXAMPLE, read_rules
from blockml.storage.atomic import atomic_write
from blockml.text.plurals import counted

__all__ = ["COMMANDS"]

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


COMMANDS = {"rules": add_rules}


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
    from blockml.training.rules import learn_rules

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
