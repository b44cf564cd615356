"""Actions of ``blockml templates`` on one page and the pages it links to: ``extract`` and ``menu``."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blockml.cli.arguments import add_format, add_options, add_page, parsing_options, positive, read_page, refuse
from blockml.cli.output import note, print_json, print_rows, write_output, writing
from blockml.document.text import render_text
from blockml.errors import UsageError
from blockml.parsing import Limits, parse
from blockml.templates.linked import ORDERS, PageSource, find_menu, find_subdigraph, menu_candidates, normalise
from blockml.templates.mapping import (
    EQUALITIES,
    PageTemplate,
    content_blocks,
    page_template,
    template_html,
    template_share,
    tree_of,
)
from blockml.templates.site import EQUALITY, MIN_VOTES, N_MAPPED, SiteTemplate
from blockml.text.words import counted

__all__ = ["add_linked_extract", "add_menu", "key_url", "note_unlinked", "opened"]

#: Replaces an unknown URL: relative links then lead to the site of the page.
_UNKNOWN_URL = "http://page.invalid/some/page.html"


def add_linked_extract(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml templates extract``."""
    add_page(parser, url="URL of the page, instead of the one in the source")
    add = parser.add_argument
    text = (
        "where to read linked pages; web fetches them. A template of 'templates detect' is applied directly: no page "
        "is loaded, and options on links, equality and votes are rejected"
    )
    add("--source", required=True, metavar="FOLDER|ARCHIVE|web|FILE.template", help=text)
    add("--site", help="site to read, for a folder with several sites")
    add("--content", action="store_true", help="write the text outside the template instead")
    text = "with --content: only text in the smallest element that holds most of the remaining text"
    add("--container", action="store_true", help=text)
    add("-o", "--output", metavar="FILE", help="output file, instead of standard output")
    add("--view", metavar="FILE.html", help="also write a view of page and template side by side")
    add("--n", type=positive, default=N_MAPPED, help="number of mutually linked pages")
    add("--order", choices=sorted(ORDERS), default="document", help="order in which links are followed")
    add("--max-loads", type=positive, default=50, metavar="N", help="maximum number of pages to load")
    add("--equality", choices=sorted(EQUALITIES), default=EQUALITY, help="equality of nodes")
    text = f"minimum number of pages that contain a node of the template (default: {MIN_VOTES})"
    add("--min-votes", type=positive, metavar="N", help=text)
    text = "map pages one after the other and keep the nodes that are on all of them (Alarte et al., algorithm 2)"
    add("--successive", action="store_true", help=text)
    add("--allow-private", action="store_true", help="also fetch from private addresses")
    add_options(parser, "backend")
    parser.set_defaults(run=run_linked_extract)


def add_menu(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml templates menu``."""
    add_page(parser)
    add = parser.add_argument
    add("--method", choices=["weighted", "ratio"], default="weighted", help="scoring method")
    add("--candidates", action="store_true", help="list all candidates with the terms of their scores")
    add_options(parser, "backend")
    add_format(parser)
    parser.set_defaults(run=run_menu)


@contextlib.contextmanager
def opened(
    spec: str,
    page: str,
    url: str | None,
    *,
    site: str | None = None,
    allow_private: bool = False,
    pages: int = 50,
    parsing: Mapping[str, Any] | None = None,
) -> Iterator[PageSource]:
    """Open a source of pages: a folder (and a ``site`` in it), an archive, or ``web``.

    If ``page`` is in a copy of a site, its ``url`` determines the URL of the copy's folder, so that absolute links
    resolve. At most ``pages`` pages are fetched from the web, from private addresses only with ``allow_private``.
    Raises InputError if the source holds no pages, and UsageError if an option does not apply to it.
    """
    if spec.startswith(("http://", "https://")):
        raise UsageError("to fetch pages, give --source web, and the URL of the page with --url")
    if spec != "web":
        from blockml.templates.linked.folder import base_of, open_source

        if allow_private:
            raise UsageError("--allow-private needs --source web")
        found = open_source(spec, parsing=parsing, **({"site": site} if site else {}))
        if getattr(found, "layout", None) == "site" and (base := base_of(spec, page, url or "")):
            found = open_source(spec, parsing=parsing, base=base)
        yield found
        return
    from blockml.templates.linked.web import WebSource

    with WebSource(max_pages=pages, allow_private=allow_private, parsing=parsing) as source:
        yield source
        for failed, reason in source.failures.items():
            note(f"{failed}: {reason}")


def run_linked_extract(arguments: argparse.Namespace) -> int:
    """Write the template of a page, or the text outside it; return 1 if no template is found."""
    if arguments.container and not arguments.content:
        raise UsageError("--container needs --content")
    is_stored = Path(arguments.source).is_file() and read_page(arguments.source, 2) == b"PK"
    template = _stored(arguments) if is_stored else _linked(arguments)
    if template is None:
        return 1
    page = template.page
    share = template_share(page, template.nodes)
    if arguments.view:
        _write_view(arguments, template)
    if arguments.content:
        text = render_text(page, content_blocks(page, template.nodes, second_stage=arguments.container))
    else:
        text = template_html(template)
    write_output(text, arguments.output)
    words = page.blocks.n_words
    note(f"{arguments.page}: {words @ share:.0f} of {words.sum()} words are in the template")
    return 0 if text.strip() else 1


def _stored(arguments: argparse.Namespace) -> PageTemplate:
    """Apply a site template learnt by ``templates detect`` to the page."""
    if arguments.site or arguments.allow_private:
        raise UsageError("--site and --allow-private do not apply to a template", source=arguments.source)
    refuse(
        arguments,
        "with a template of 'templates detect', which loads no pages",
        n=N_MAPPED,
        order="document",
        max_loads=50,
        equality=EQUALITY,
        min_votes=None,
        successive=False,
    )
    site = SiteTemplate.load(arguments.source)
    page = parse(read_page(arguments.page, Limits().bytes + 1), url=arguments.url, **parsing_options(arguments))
    site.check(page)
    inside, layout = site.in_tree(page), site.layout_of(page)
    if inside is None or layout is None:
        raise UsageError("the template has no layout tree: learn it from more pages", source=arguments.source)
    tree = tree_of(page)
    mask = inside[tree.nodes]
    return PageTemplate(page, tree, mask.astype(np.int32), layout.n_pages, mask)


def _linked(arguments: argparse.Namespace) -> PageTemplate | None:
    """Learn the template from pages that link to each other; without one, print the reason and return None."""
    parsing = parsing_options(arguments)
    with opened(
        arguments.source,
        arguments.page,
        arguments.url,
        site=arguments.site,
        allow_private=arguments.allow_private,
        pages=arguments.max_loads,
        parsing=parsing,
    ) as source:
        html = read_page(arguments.page, Limits().bytes + 1)
        page = parse(html, url=key_url(arguments.page, arguments.url, source), **parsing)
        graph = find_subdigraph(page, source, n=arguments.n, order=arguments.order, max_loads=arguments.max_loads)
    found = f"{len(graph.pages)} of {arguments.n} mutually linked pages" + ("" if graph.complete else ", no more found")
    note(f"{arguments.page}: {counted(graph.n_links, 'link')}, {counted(graph.n_loaded, 'page')} loaded, {found}")
    note_unlinked(arguments.page, arguments.url, graph.n_links)
    votes = arguments.min_votes if arguments.min_votes or arguments.successive else MIN_VOTES
    template = page_template(
        page, graph.pages, equality=arguments.equality, min_votes=votes, successive=arguments.successive
    )
    if template is None:
        reason = "no_links" if not graph.n_links else "nothing_loaded" if graph.n_loaded == 1 else "too_few_pages"
        note(f"{arguments.page}: no template ({reason})")
    return template


def key_url(page: str, url: str | None, source: PageSource) -> str:
    """Return the URL of the page whose links are followed: the given ``url``, else that of the file in the source.

    Raises UsageError if neither is known, or if ``url`` is not an HTTP URL.
    """
    if url is None and hasattr(source, "url_of"):
        with contextlib.suppress(UsageError):  # the page is not part of the source
            url = source.url_of(page)
    if url is None:
        raise UsageError("following links needs the URL of the page: give --url", source=page)
    if normalise(url) is None:
        raise UsageError(f"--url must be an http or https URL, got {url!r}")
    return url


def note_unlinked(page: str, url: str | None, n_links: int) -> None:
    """Print a hint if no link of a page in a copy of a site leads to another page."""
    if not n_links and url is None:
        note(
            f"{page}: no link leads to a page of the source; if its links are absolute, give the page's URL with --url"
        )


def _write_view(arguments: argparse.Namespace, template: PageTemplate) -> None:
    from blockml.reports.siteviews import write_template_view  # needs an optional package

    page = template.page
    with writing(arguments.view):
        path = write_template_view(
            arguments.view,
            page_title=page.title,
            page_html_label=arguments.page,
            template_html=template_html(template),
            page=page,
            in_template=template.nodes,
            info={"compared with": counted(template.n_pages, "page"), "equality": arguments.equality},
        )
    note(f"wrote {path}")


def run_menu(arguments: argparse.Namespace) -> int:
    """Print the menu of a page, or all candidates; return 1 if nothing is found."""
    html = read_page(arguments.page, Limits().bytes + 1)
    page = parse(html, url=arguments.url or _UNKNOWN_URL, **parsing_options(arguments))
    if arguments.candidates:
        candidates = menu_candidates(page, method=arguments.method)
        rows = [
            {"xpath": item.xpath, "n": item.n_links}
            | {name: round(value, 3) for name, value in {"score": item.score, **item.terms}.items()}
            for item in candidates
        ]
        print_rows(rows, arguments.format)
        return 0 if rows else 1
    menu = find_menu(page, method=arguments.method)
    if menu is None:
        if arguments.format == "json":
            print_json(None)
        note(f"{arguments.page}: no menu")
        return 1
    nodes = page.nodes
    links = [
        {
            "text": " ".join("".join(nodes.texts[link.node : int(nodes.end[link.node])]).split()),
            "href": nodes.attributes[link.node].get("href", link.url),
        }
        for link in menu.links
    ]
    xpath = nodes.xpath(menu.node)
    if arguments.format == "json":
        print_json({"xpath": xpath, "score": round(menu.score, 4), "links": links})
    else:
        note(f"{arguments.page}: menu at {xpath}, score {menu.score:.3f}, {counted(len(links), 'link')}")
        print_rows(links, "table")
    return 0
