"""``blockml extract``."""

from __future__ import annotations

import argparse

from blockml.cli.arguments import add_options, add_page, add_parameters, chosen_options, parameters, positive, read_page
from blockml.cli.output import note, write_output
from blockml.errors import UsageError
from blockml.extract import extract_with
from blockml.extractors import Extractor, resolve
from blockml.formats import FORMATS, check_options, render
from blockml.page import Status
from blockml.parsing import parse
from blockml.text.plurals import counted

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


COMMANDS = {"extract": add_extract}


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
        from blockml.extractors.site.at_site import at_site

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
    from blockml.extractors.site.at_site import from_links

    parsing = extractor.parsing.options()
    with opened(arguments.source, arguments.page, arguments.url, parsing=parsing) as source:
        url = key_url(arguments.page, arguments.url, source)
        page = parse(html, url=url, charset=arguments.charset, **parsing)
        adapted, found = from_links(extractor, page, source)
    counts = f"{counted(found.n_links, 'link')}, {counted(found.n_loaded, 'page')} loaded"
    note(f"{arguments.page}: {counts}, {len(found.pages)} with the same template")
    note_unlinked(arguments.page, arguments.url, found.n_links)
    return adapted
