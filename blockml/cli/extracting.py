"""``blockml extract``."""

from __future__ import annotations

import argparse

from blockml.cli.arguments import (
    add_backend,
    add_page,
    add_parameters,
    fraction,
    names,
    parameters,
    positive,
    read_page,
)
from blockml.cli.output import note, write_output
from blockml.errors import UsageError
from blockml.extract import check_labels, extract
from blockml.extractors import Extractor, resolve
from blockml.page import Label, Status
from blockml.parsing import Limits, parse
from blockml.rendering import FORMATS, check_options, render
from blockml.text.plurals import counted

__all__ = ["COMMANDS", "add_choice", "add_labels", "chosen_extractor"]


def add_extract(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml extract``."""
    add_page(parser)
    add = parser.add_argument
    add("--charset", help="encoding given by the transport (Content-Type header)")
    add("--format", choices=sorted(FORMATS), default="text", help="output format")
    text = "begin text or Markdown with the page's headline (default: Markdown only)"
    add("--with-title", action=argparse.BooleanOptionalAction, default=None, help=text)
    text = "put an empty line between paragraphs of text"
    add("--paragraphs", action="store_true", default=None, help=text)
    text = "add chunks of at most N characters to JSON, made of whole paragraphs where they fit"
    add("--chunk-size", type=positive, metavar="N", help=text)
    add("-o", "--output", metavar="FILE", help="output file, instead of standard output")
    text = "learn the site's template from the pages that this page links to, read from here; web fetches them"
    add("--source", metavar="FOLDER|ARCHIVE|web", help=text)
    add_choice(parser)
    add_labels(parser)
    parser.set_defaults(run=run_extract)


COMMANDS = {"extract": add_extract}


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose an extractor and set its parameters."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--model", metavar="NAME|FILE", default="default", help="released model or model file")
    text = "untrained extractor ('blockml extractors' lists them), or module:Class of one's own"
    group.add_argument("--extractor", metavar="NAME", help=text)
    add_parameters(parser, "extractor")
    add_backend(parser)
    add = parser.add_argument
    add("--template", metavar="FILE", help="site template of 'blockml templates detect' to remove")
    text = "minimum score of blocks to keep, from 0 (keep all) to 1, instead of the extractor's own"
    add("--threshold", type=fraction, metavar="X", help=text)
    add("--max-bytes", type=positive, metavar="N", default=Limits().bytes, help="read at most N bytes of a page")


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options that keep or remove blocks by their labels."""
    text = f"also keep blocks with these labels: {', '.join(sorted(Label))}"
    parser.add_argument("--include", type=names, default=(), metavar="LABEL,…", help=text)
    parser.add_argument("--exclude", type=names, default=(), metavar="LABEL,…", help="remove blocks with these labels")


def chosen_extractor(arguments: argparse.Namespace) -> Extractor:
    """Make the extractor chosen by the options of :func:`add_choice`."""
    extractor = resolve(arguments.extractor or arguments.model, parameters(arguments.parameters))
    if arguments.template is not None:
        from blockml.extractors.site.at_site import at_site

        extractor = at_site(extractor, arguments.template)
    if arguments.backend is not None:
        from blockml.extractors.parsed_by import ParsedBy

        extractor = ParsedBy(extractor, arguments.backend)
    return extractor


def run_extract(arguments: argparse.Namespace) -> int:
    """Extract one page; return 1 if there is no text."""
    options = {name: getattr(arguments, name) for name in ("with_title", "paragraphs", "chunk_size")}
    check_options(arguments.format, **options)
    if arguments.template and arguments.source:
        raise UsageError("--template and --source exclude each other")
    limits = Limits(bytes=arguments.max_bytes)
    extractor = chosen_extractor(arguments)
    include, exclude = check_labels(extractor, arguments.include, arguments.exclude)
    html = read_page(arguments.page, arguments.max_bytes + 1)  # one byte more shows that the page is longer
    if arguments.source:
        extractor = _at_linked_site(arguments, extractor, html)
    result = extract(
        html,
        url=arguments.url,
        charset=arguments.charset,
        model=extractor,
        threshold=arguments.threshold,
        include=include,
        exclude=exclude,
        limits=limits,
    )
    write_output(render(result, arguments.format, **options), arguments.output)
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
