"""``blockml view``."""

from __future__ import annotations

import argparse

from blockml.cli.arguments import read_page
from blockml.cli.extracting import add_choice, chosen_extractor
from blockml.cli.output import note
from blockml.datasets import TextGold
from blockml.errors import UsageError
from blockml.extract import extract
from blockml.parsing import Limits

__all__ = ["add_commands"]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    view = commands.add_parser(
        "view",
        help="why each block of a page was kept or dropped, as an HTML file",
        description="Write an HTML file that shows every block of a page, its score, and why it was kept or dropped.",
    )
    view.add_argument("page", metavar="PAGE", help="a file (.gz is unzipped)")
    view.add_argument("-o", "--output", required=True, metavar="FILE", help="HTML file to write")
    view.add_argument(
        "--gold", metavar="FILE", help="text of the main content: blocks are then marked as right or wrong"
    )
    view.add_argument("--url", help="where the page came from; kept, not fetched")
    view.add_argument("--charset", help="encoding that the transport named (HTTP's Content-Type)")
    add_choice(view)
    view.set_defaults(run=run_view)


def run_view(arguments: argparse.Namespace) -> int:
    """Extract one page and write the view of it."""
    from blockml.reports import write_view

    extractor = chosen_extractor(arguments)
    threshold = extractor.effective_threshold
    if arguments.threshold is not None:
        threshold = arguments.threshold
    gold = TextGold(read_page(arguments.gold).decode("utf-8-sig", "replace")) if arguments.gold else None
    result = extract(
        read_page(arguments.page, arguments.max_bytes + 1),  # one more shows that there is more
        url=arguments.url,
        charset=arguments.charset,
        model=extractor,
        threshold=threshold,
        limits=Limits(bytes=arguments.max_bytes),
    )
    notes = extractor.explain(result.page)
    try:
        path = write_view(result, arguments.output, gold=gold, explain=notes, threshold=threshold)
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=arguments.output) from error
    note(f"wrote {path}: {int(result.kept.sum())} of {len(result.kept)} blocks kept")
    return 0
