"""``blockml extract`` and ``blockml view``."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from blockml.cli.arguments import (
    add_columns,
    add_options,
    add_page,
    add_parameters,
    chosen_options,
    given_datasets,
    parameters,
    positive,
    read_page,
    refuse,
)
from blockml.cli.output import note, write_output, writing
from blockml.datasets import Gold, LabelledPage, TextGold
from blockml.datasets.folders import read_labels
from blockml.errors import DatasetError, InputError, UsageError
from blockml.extract import extract_with
from blockml.extractors import Extractor, resolve
from blockml.formats import FORMATS, check_options, render
from blockml.page import Status
from blockml.parsing import parse
from blockml.storage.atomic import refuse_special
from blockml.text.words import counted

__all__ = ["COMMANDS", "add_choice", "chosen_extractor"]


def add_extract(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml extract``."""
    add_page(parser)
    add = parser.add_argument
    add("--charset", help="encoding given by the transport (Content-Type header)")
    add("--format", choices=sorted(FORMATS), default="text", help="output format")
    text = "start text or Markdown with the page's headline (default: Markdown only)"
    add("--with-title", action=argparse.BooleanOptionalAction, default=None, help=text)
    text = "put an empty line between paragraphs of text"
    add("--paragraphs", action="store_true", default=None, help=text)
    text = "add chunks of at most N characters to JSON, made of whole paragraphs where they fit"
    add("--chunk-size", type=positive, metavar="N", help=text)
    text = "add the language to JSON: as declared, else as detected (extra 'language')"
    add("--detect-language", action="store_true", default=None, dest="language", help=text)
    add_options(parser, "links", "images", "tables", "formatting", "front_matter")
    add("-o", "--output", metavar="FILE", help="output file, instead of standard output")
    text = "source of the pages that this page links to, to learn and remove the site's template; web fetches them"
    add("--source", metavar="FOLDER|ARCHIVE|web", help=text)
    add_choice(parser)
    parser.set_defaults(run=run_extract)


def add_choice(parser: argparse.ArgumentParser, *, of_records: bool = False) -> None:
    """Add arguments that choose an extractor and the options of extraction; ``of_records`` adds those of records."""
    text = "released model, model file, untrained extractor ('blockml extractors' lists them) or custom module:Class"
    parser.add_argument("--model", metavar="NAME|FILE", default="default", help=text)
    add_parameters(parser, "extractor")
    text = "site template to remove, as written by 'blockml templates detect'"
    parser.add_argument("--template", metavar="FILE", help=text)
    add_options(parser, of_records=of_records)


def chosen_extractor(arguments: argparse.Namespace) -> Extractor:
    """Make the extractor chosen by the options of :func:`add_choice`."""
    extractor = resolve(arguments.model, parameters(arguments.parameters))
    if arguments.template is not None:
        from blockml.sites import at_site

        extractor = at_site(extractor, arguments.template)
    return extractor


def run_extract(arguments: argparse.Namespace) -> int:
    """Extract one page; return 1 if there is no text."""
    options = {name: getattr(arguments, name) for name in ("with_title", "paragraphs", "chunk_size", "language")}
    chosen = chosen_options(arguments, left_out=("format",))  # a page can be JSON, a record's text can't
    options |= chosen.switches
    check_options(arguments.format, **options)
    if arguments.template and arguments.source:
        raise UsageError("--template and --source can't be combined")
    extractor = chosen.adapted(chosen_extractor(arguments))
    html = read_page(arguments.page, chosen.read_limit)
    if arguments.source:
        extractor = _at_linked_site(arguments, extractor, html)
    result = extract_with(chosen, extractor, html, url=arguments.url, charset=arguments.charset)
    write_output(render(result, arguments.format, **options), arguments.output)
    for name, count in result.rules.counts.items() if result.rules else ():
        if not count:
            note(f"{arguments.page}: the rule {name} matches nothing")
    for warning in result.warnings:
        note(f"{arguments.page}: {warning}")
    if result.status is not Status.OK:
        note(f"{arguments.page}: {result.status}")
    return 0 if result.text else 1


def _at_linked_site(arguments: argparse.Namespace, extractor: Extractor, html: bytes) -> Extractor:
    """Adapt the extractor to the site's template, learnt from the pages that the page links to."""
    from blockml.cli.linked import key_url, note_unlinked, opened  # the modules of templates are slow to import
    from blockml.sites import from_links

    parsing = extractor.parsing.options()
    with opened(arguments.source, arguments.page, arguments.url, parsing=parsing) as source:
        url = key_url(arguments.page, arguments.url, source)
        page = parse(html, url=url, charset=arguments.charset, **parsing)
        adapted, found = from_links(extractor, page, source)
    counts = f"{counted(found.n_links, 'link')}, {counted(found.n_loaded, 'page')} loaded"
    note(f"{arguments.page}: {counts}, {len(found.pages)} with the same template")
    note_unlinked(arguments.page, arguments.url, found.n_links)
    return adapted


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
    from blockml.reports import curve_svg, write_text, write_view

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
            note(f"wrote {write_text(arguments.curve, [curve_svg(curve, result.kept, title)])}")
    with writing(arguments.output):
        path = write_view(
            result, arguments.output, gold=gold, explain=explanations, threshold=threshold, curve=curve,
            extractor=extractor, options=options,
        )  # fmt: skip
    note(f"wrote {path}: {int(result.kept.sum())} of {counted(len(result.kept), 'block')} kept")
    return 0


COMMANDS = {"extract": add_extract, "view": add_view}
