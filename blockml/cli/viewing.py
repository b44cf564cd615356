"""``blockml view``."""

from __future__ import annotations

import argparse
from pathlib import Path

from blockml.cli.arguments import add_page, read_page
from blockml.cli.extracting import add_choice, chosen_extractor
from blockml.cli.output import note, writing
from blockml.datasets import Gold, TextGold
from blockml.datasets.folders import read_labels
from blockml.errors import InputError
from blockml.extract import extract
from blockml.parsing import Limits

__all__ = ["COMMANDS"]


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml view``."""
    add_page(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="HTML file to write")
    parser.add_argument("--gold", metavar="FILE", help="main content as text, or labels as .jsonl, to mark errors")
    parser.add_argument("--charset", help="encoding given by the transport (Content-Type header)")
    add_choice(parser)
    parser.set_defaults(run=run_view)


COMMANDS = {"view": add_view}


def _gold(name: str) -> Gold:
    """Read labels from a JSON lines file, and the main content from any other file."""
    if name.endswith(".jsonl"):
        try:
            return read_labels(Path(name))
        except OSError as error:
            raise InputError(error.strerror or str(error), source=name) from error
    return TextGold(read_page(name).decode("utf-8-sig", "replace"))


def run_view(arguments: argparse.Namespace) -> int:
    """Extract one page and write its view."""
    from blockml.reports import write_view

    extractor = chosen_extractor(arguments)
    threshold = extractor.effective_threshold if arguments.threshold is None else arguments.threshold
    gold = _gold(arguments.gold) if arguments.gold else None
    result = extract(
        read_page(arguments.page, arguments.max_bytes + 1),  # one byte more shows that the page is longer
        url=arguments.url,
        charset=arguments.charset,
        model=extractor,
        threshold=threshold,
        limits=Limits(bytes=arguments.max_bytes),
    )
    explanations = extractor.explain(result.page)
    with writing(arguments.output):
        path = write_view(result, arguments.output, gold=gold, explain=explanations, threshold=threshold)
    note(f"wrote {path}: {int(result.kept.sum())} of {len(result.kept)} blocks kept")
    return 0
