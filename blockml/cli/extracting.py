"""``blockml extract`` and ``blockml predict``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from blockml import _kernel
from blockml.batch import Summary, find_inputs, learn_sites, predict, predict_to_file, read_items
from blockml.cli.arguments import add_parameters, names, parameters, positive, read_page, share
from blockml.cli.linked import key_url, opened
from blockml.cli.output import note, progress_bar, write_output
from blockml.errors import UsageError
from blockml.extract import check_labels, extract
from blockml.extractors import Extractor, resolve
from blockml.extractors.site.at_site import at_site, from_links
from blockml.page import Label, Status
from blockml.parsing import Limits, parse
from blockml.rendering import FORMATS, render

__all__ = ["add_choice", "add_commands", "chosen_extractor"]


#: Pages of a run from which on the slow fallback is worth a warning.
_MANY_PAGES = 50


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both commands."""
    one = commands.add_parser("extract", help="main content of one page", description="Main content of one page.")
    one.add_argument("page", metavar="PAGE", help="a file (.gz is unzipped), or - for standard input")
    one.add_argument("--format", choices=sorted(FORMATS), default="text", help="what to write (default: %(default)s)")
    one.add_argument("--url", help="where the page came from; kept, not fetched")
    one.add_argument("--charset", help="encoding that the transport named (HTTP's Content-Type)")
    one.add_argument("-o", "--output", metavar="FILE", help="write there instead of standard output")
    one.add_argument(
        "--source",
        metavar="FOLDER|ARCHIVE|web",
        help="learn the site from the pages that this one links to: where they come from; web fetches them",
    )
    add_choice(one)
    _add_labels(one)
    one.set_defaults(run=run_extract)

    many = commands.add_parser(
        "predict",
        help="main content of many pages, as JSON lines",
        description="Main content of many pages: one JSON object a line, in the order of the input.",
    )
    many.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="+",
        help="a page file, a folder (all page files below it), a glob, or a .jsonl file of {id, html, url}",
    )
    many.add_argument("-o", "--output", metavar="OUT", help="JSON lines file; standard output if left out")
    many.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (default: %(default)s)")
    many.add_argument("--resume", action="store_true", help="keep what OUT or OUT.part hold, and do the rest")
    many.add_argument(
        "--by-site",
        action="store_true",
        help="read all pages twice: learn what the pages of each site share, then leave it out; a site is a record's "
        "site or the host of its URL, or a folder in INPUT",
    )
    many.add_argument("--quiet", action="store_true", help="no progress bar and no summary")
    add_choice(many)
    _add_labels(many)
    many.set_defaults(run=run_predict)


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose an extractor and set it."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--model", metavar="NAME|FILE", default="default", help="a released model or a model file")
    group.add_argument("--extractor", metavar="NAME", help="an untrained method, or a released model")
    add_parameters(parser, "extractor")
    parser.add_argument(
        "--template",
        metavar="FILE",
        help="what was learnt of the site (blockml templates detect): its parts are left out",
    )
    parser.add_argument(
        "--threshold", type=share, metavar="X", help="keep blocks that score at least X, from 0 (all) to 1"
    )
    parser.add_argument(
        "--max-bytes", type=positive, metavar="N", default=Limits().bytes, help="look at no more of a page"
    )


def _add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose areas of a page by their labels."""
    legal = ", ".join(sorted(Label))
    parser.add_argument(
        "--include", type=names, default=(), metavar="LABEL,…", help=f"keep these areas too; labels are {legal}"
    )
    parser.add_argument("--exclude", type=names, default=(), metavar="LABEL,…", help="leave these areas out")


def chosen_extractor(arguments: argparse.Namespace) -> Extractor:
    """Make the extractor that the options of :func:`add_choice` ask for."""
    extractor = resolve(arguments.extractor or arguments.model, parameters(arguments.parameters))
    return extractor if arguments.template is None else at_site(extractor, arguments.template)


def run_extract(arguments: argparse.Namespace) -> int:
    """Extract one page; 1 if it gave no text."""
    extractor = chosen_extractor(arguments)
    include, exclude = check_labels(extractor, arguments.include, arguments.exclude)
    html = read_page(arguments.page, arguments.max_bytes + 1)  # one more shows that there is more
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
    write_output(render(result, arguments.format), arguments.output)
    for warning in result.warnings:
        note(f"{arguments.page}: {warning}")
    if result.status is not Status.OK:
        note(f"{arguments.page}: {result.status}")
    return 0 if result.text else 1


def _at_linked_site(arguments: argparse.Namespace, extractor: Extractor, html: bytes) -> Extractor:
    """Let the extractor learn the site from the pages that the page links to."""
    if arguments.template:
        raise UsageError("--template is what was learnt before, --source learns anew: give one of them")
    parsing = extractor.parsing.options()
    with opened(arguments.source, parsing=parsing) as source:
        url = key_url(arguments.page, arguments.url, source)
        page = parse(html, url=url, charset=arguments.charset, **parsing)
        knowing, found = from_links(extractor, page, source)
    note(f"{arguments.page}: {found.n_links} links, {found.n_loaded} pages loaded, {len(found.pages)} of one template")
    return knowing


def run_predict(arguments: argparse.Namespace) -> int:
    """Extract many pages; 1 if any could not be read or worked on, 3 if none could be."""
    if arguments.resume and arguments.output is None:
        raise UsageError("--resume needs -o: it continues a file")
    extractor = chosen_extractor(arguments)
    include, exclude = check_labels(extractor, arguments.include, arguments.exclude)
    files = find_inputs(arguments.inputs)
    limits = Limits(bytes=arguments.max_bytes)
    options: dict[str, Any] = {
        "jobs": arguments.jobs,
        "limits": limits,
        "threshold": arguments.threshold,
        "include": include,
        "exclude": exclude,
    }
    if arguments.by_site:
        if arguments.template is not None:
            raise UsageError("--template is for pages of one site, --by-site learns every site anew: give one of them")
        options["sites"] = learn_sites(lambda: read_items(files), extractor.parsing, limits=limits, jobs=arguments.jobs)
        note(f"{len(options['sites'])} sites have enough pages to learn from")
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
    return _exit_code(summary.statuses["error"], summary.n_pages)


def _exit_code(n_errors: int, n_pages: int) -> int:
    if not n_errors:
        return 0
    return 3 if n_errors == n_pages else 1
