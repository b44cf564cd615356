"""``blockml view``."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from blockml.cli.arguments import add_columns, add_page, chosen_options, given_datasets, read_page, refuse
from blockml.cli.extracting import add_choice, chosen_extractor
from blockml.cli.output import note, writing
from blockml.datasets import Gold, LabelledPage, TextGold
from blockml.datasets.folders import read_labels
from blockml.errors import DatasetError, InputError, UsageError
from blockml.extract import extract_with
from blockml.parsing import parse
from blockml.storage.names import refuse_special
from blockml.text.plurals import counted

__all__ = ["COMMANDS"]

#: Extractors with a curve.
_CURVES = ("ccb", "accb", "tccb", "wccb", "dccb", "dsc")
#: Number of ids in a message.
_LISTED_IDS = 5


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml view``."""
    add_page(parser, optional=True)
    text = "instead of PAGE, a folder or table of pages, with or without gold, which marks errors if there is some"
    parser.add_argument("--dataset", metavar="[NAME=]PATH", help=text)
    add_columns(parser)
    parser.add_argument("--id", help="with --dataset: id of the page to show; a table without ids has row numbers")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="HTML file to write")
    parser.add_argument("--gold", metavar="FILE", help="main content as text, or labels as .jsonl, to mark errors")
    text = "also draw the curve along the page that the extractor decides by (blurring, dsc)"
    parser.add_argument("--curve", metavar="FILE.svg", help=text)
    parser.add_argument("--charset", help="encoding given by the transport (Content-Type header)")
    add_choice(parser)
    parser.set_defaults(run=run_view)


COMMANDS = {"view": add_view}


def _gold(name: str) -> Gold:
    """Read labels from a JSON lines file, and the main content from any other file."""
    try:
        refuse_special(name)
        if name.endswith(".jsonl"):
            return read_labels(Path(name))
    except OSError as error:
        raise InputError(error.strerror or str(error), source=name) from error
    try:
        return TextGold(read_page(name).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DatasetError(f"not UTF-8 ({error})", source=name) from None


def _labelled_page(arguments: argparse.Namespace) -> LabelledPage:
    """Return the page of a data set that ``--dataset`` and ``--id`` choose; a table may have no gold."""
    [dataset] = given_datasets(arguments, [arguments.dataset], needs_gold=False)
    pages = {page.id: page for page in dataset.pages}
    if arguments.id in pages:
        return pages[arguments.id]
    shown = ", ".join(list(pages)[:_LISTED_IDS]) + (", …" if len(pages) > _LISTED_IDS else "")
    near = get_close_matches(arguments.id or "", pages, n=1, cutoff=0.75)
    guess = f"did you mean {near[0]!r}? " if near else ""
    problem = "--dataset needs --id" if arguments.id is None else f"no page {arguments.id!r}"
    raise UsageError(f"{problem}; {guess}the ids are: {shown}", source=dataset.path)


def _page(arguments: argparse.Namespace, limit: int) -> tuple[bytes, Gold | None, str | None, str | None]:
    """Return the page to show, its gold, URL and encoding."""
    if (arguments.page is None) == (arguments.dataset is None):
        raise UsageError("give either PAGE or --dataset and --id")
    if arguments.dataset is None:
        refuse(arguments, "without --dataset", id=None, columns=None)
        gold = _gold(arguments.gold) if arguments.gold else None
        return read_page(arguments.page, limit), gold, arguments.url, arguments.charset
    refuse(arguments, "with --dataset, which has the gold", gold=None)
    labelled = _labelled_page(arguments)
    html, known = labelled.load()
    return html[:limit], known, arguments.url or labelled.url, arguments.charset or labelled.charset


def run_view(arguments: argparse.Namespace) -> int:
    """Extract one page and write its view."""
    from blockml.reports import write_view
    from blockml.reports.curve_figure import write_curve

    options = chosen_options(arguments)
    extractor = options.adapted(chosen_extractor(arguments))
    if arguments.curve and extractor.curve(parse("<p>A page", **extractor.parsing.options())) is None:
        raise UsageError(f"{extractor.id} has no curve along the page; choose one of: {', '.join(_CURVES)}")
    threshold = options.policy(extractor.policy).threshold
    html, gold, url, charset = _page(arguments, options.read_limit)
    result = extract_with(options, extractor, html, url=url, charset=charset)
    explanations = extractor.explain(result.page)
    curve = extractor.curve(result.page)
    if arguments.curve and curve is not None:
        with writing(arguments.curve):
            title = f"{extractor.id}: {result.page.title or arguments.page or arguments.id}"
            note(f"wrote {write_curve(arguments.curve, curve, result.kept, title)}")
    with writing(arguments.output):
        path = write_view(
            result, arguments.output, gold=gold, explain=explanations, threshold=threshold, curve=curve,
            extractor=extractor, options=options,
        )  # fmt: skip
    note(f"wrote {path}: {int(result.kept.sum())} of {counted(len(result.kept), 'block')} kept")
    return 0
