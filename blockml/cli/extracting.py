"""``blockml extract`` and ``blockml predict``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from blockml import _kernel
from blockml.cli.arguments import add_jobs, add_page, add_parameters, fraction, names, parameters, positive, read_page
from blockml.cli.output import note, progress_bar, write_output
from blockml.errors import UsageError
from blockml.extract import check_labels, extract
from blockml.extractors import Extractor, resolve
from blockml.page import Label, Status
from blockml.parsing import Limits, parse
from blockml.rendering import FORMATS, check_options, render

__all__ = ["COMMANDS", "add_choice", "chosen_extractor"]

#: Minimum number of pages of a run with the fallback to print a warning.
_MANY_PAGES = 50


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
    _add_labels(parser)
    parser.set_defaults(run=run_extract)


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml predict``."""
    add = parser.add_argument
    text = "page file, folder (with all page files below it), glob, or .jsonl file of {id, html, url}"
    add("inputs", metavar="INPUT", nargs="+", help=text)
    add("-o", "--output", metavar="OUT", help="JSON lines file, instead of standard output")
    add_jobs(parser)
    add("--resume", action="store_true", help="keep the pages done in OUT or OUT.part")
    text = (
        "learn the template of each site and remove it, which reads all pages twice; the site of a page is the site of "
        "its record, the host of its URL, or a subfolder of INPUT"
    )
    add("--by-site", action="store_true", help=text)
    add("--quiet", action="store_true", help="print no progress bar and no summary")
    add_choice(parser)
    _add_labels(parser)
    parser.set_defaults(run=run_predict)


COMMANDS = {"extract": add_extract, "predict": add_predict}


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose an extractor and set its parameters."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--model", metavar="NAME|FILE", default="default", help="released model or model file")
    group.add_argument("--extractor", metavar="NAME", help="untrained extractor ('blockml extractors' lists them)")
    add_parameters(parser, "extractor")
    add = parser.add_argument
    add("--template", metavar="FILE", help="site template of 'blockml templates detect' to remove")
    text = "minimum score of blocks to keep, from 0 (keep all) to 1, instead of the extractor's own"
    add("--threshold", type=fraction, metavar="X", help=text)
    add("--max-bytes", type=positive, metavar="N", default=Limits().bytes, help="read at most N bytes of a page")


def _add_labels(parser: argparse.ArgumentParser) -> None:
    text = f"also keep blocks with these labels: {', '.join(sorted(Label))}"
    parser.add_argument("--include", type=names, default=(), metavar="LABEL,…", help=text)
    parser.add_argument("--exclude", type=names, default=(), metavar="LABEL,…", help="remove blocks with these labels")


def chosen_extractor(arguments: argparse.Namespace) -> Extractor:
    """Make the extractor chosen by the options of :func:`add_choice`."""
    extractor = resolve(arguments.extractor or arguments.model, parameters(arguments.parameters))
    if arguments.template is None:
        return extractor
    from blockml.extractors.site.at_site import at_site

    return at_site(extractor, arguments.template)


def run_extract(arguments: argparse.Namespace) -> int:
    """Extract one page; return 1 if there is no text."""
    options = {name: getattr(arguments, name) for name in ("with_title", "paragraphs", "chunk_size")}
    check_options(arguments.format, **options)
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
        limits=Limits(bytes=arguments.max_bytes),
    )
    write_output(render(result, arguments.format, **options), arguments.output)
    for warning in result.warnings:
        note(f"{arguments.page}: {warning}")
    if result.status is not Status.OK:
        note(f"{arguments.page}: {result.status}")
    return 0 if result.text else 1


def _at_linked_site(arguments: argparse.Namespace, extractor: Extractor, html: bytes) -> Extractor:
    """Adapt the extractor to the site's template, learnt from the pages that the page links to."""
    from blockml.cli.linked import key_url, opened  # the modules of templates are slow to import
    from blockml.extractors.site.at_site import from_links

    if arguments.template:
        raise UsageError("--template and --source exclude each other")
    parsing = extractor.parsing.options()
    with opened(arguments.source, parsing=parsing) as source:
        url = key_url(arguments.page, arguments.url, source)
        page = parse(html, url=url, charset=arguments.charset, **parsing)
        adapted, found = from_links(extractor, page, source)
    counts = f"{found.n_links} links, {found.n_loaded} pages loaded, {len(found.pages)} with the same template"
    note(f"{arguments.page}: {counts}")
    return adapted


def run_predict(arguments: argparse.Namespace) -> int:
    """Extract many pages; return 1 if some could not be read or failed, 3 if all did."""
    from blockml.batch import Summary, find_inputs, learn_sites, predict, predict_to_file, read_items

    if arguments.resume and arguments.output is None:
        raise UsageError("--resume needs -o")
    if arguments.by_site and arguments.template is not None:
        raise UsageError("--template and --by-site exclude each other")
    extractor = chosen_extractor(arguments)
    include, exclude = check_labels(extractor, arguments.include, arguments.exclude)
    files = find_inputs(arguments.inputs)
    options: dict[str, Any] = {
        "jobs": arguments.jobs,
        "limits": Limits(bytes=arguments.max_bytes),
        "threshold": arguments.threshold,
        "include": include,
        "exclude": exclude,
    }
    if arguments.by_site:
        options["sites"] = learn_sites(
            lambda: read_items(files), extractor.parsing, limits=options["limits"], jobs=arguments.jobs
        )
        note(f"site templates learnt: {len(options['sites'])}")
    items = read_items(files)
    if arguments.output is None:
        summary = Summary()
        for record in predict(items, extractor, **options):
            summary.statuses[record["status"]] += 1
            print(json.dumps(record, ensure_ascii=False))
    else:
        bar = progress_bar(None, "page", quiet=arguments.quiet)
        summary = predict_to_file(
            items, extractor, Path(arguments.output), resume=arguments.resume, progress=bar, **options
        )
    if not arguments.quiet:
        note(f"{summary} (kernel: {_kernel.describe()})")
    if _kernel.compiled is None and summary.n_pages > _MANY_PAGES:
        note("the pure Python fallback ran, about 13 times slower: install with a C compiler for the compiled kernel")
    n_errors = summary.statuses["error"]
    return 0 if not n_errors else 3 if n_errors == summary.n_pages else 1
