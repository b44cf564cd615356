"""Actions of ``blockml templates`` on one page and what it links to: ``extract`` and ``menu``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from blockml.cli.arguments import add_format, positive, read_page
from blockml.cli.output import note, print_rows, write_output
from blockml.errors import UsageError
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.rendering.text import render_text
from blockml.templates.linked import ORDERS, PageSource, find_menu, find_subdigraph, menu_candidates
from blockml.templates.mapping import PRESETS, PageTemplate, page_template, template_html, template_share, tree_of
from blockml.templates.site import EQUALITY, MIN_VOTES, N_MAPPED, SiteTemplate

__all__ = ["add_actions", "key_url", "opened"]

#: Stands in for an unknown URL: relative links then lead to the page's own site.
_SOMEWHERE = "http://page.invalid/some/page.html"


def add_actions(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both actions."""
    _add_extract(actions)
    _add_menu(actions)


def _add_extract(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "the template of a page, from the pages it links to, as a clean HTML page"
    extract = actions.add_parser("extract", help=what, description=what[0].upper() + what[1:] + ".")
    extract.add_argument("page", metavar="PAGE", help="a file (.gz is unzipped), or - for standard input")
    extract.add_argument(
        "--source",
        required=True,
        metavar="FOLDER|ARCHIVE|web|FILE.template",
        help="where linked pages come from; web fetches them. Or what templates detect has learnt: then no "
        "page is loaded, and the options on links, equality and votes have no part",
    )
    extract.add_argument("--site", help="of a folder with several sites: which one")
    extract.add_argument("--url", help="URL of the page, if the source doesn't tell")
    extract.add_argument("--content", action="store_true", help="write what is left of the page instead, as text")
    extract.add_argument("-o", "--output", metavar="FILE", help="write there instead of standard output")
    extract.add_argument("--view", metavar="FILE.html", help="write page and template side by side, too")
    extract.add_argument("--n", type=positive, default=N_MAPPED, help="mutually linked pages (default: %(default)s)")
    extract.add_argument("--order", choices=sorted(ORDERS), default="document", help="of links (default: %(default)s)")
    extract.add_argument("--max-loads", type=positive, default=50, metavar="N", help="(default: %(default)s)")
    extract.add_argument("--equality", choices=sorted(PRESETS), default=EQUALITY, help="(default: %(default)s)")
    extract.add_argument(
        "--min-votes",
        type=positive,
        default=MIN_VOTES,
        metavar="N",
        help="pages a node must be on (default: %(default)s)",
    )
    extract.add_argument("--allow-private", action="store_true", help="fetch from private addresses, too")
    extract.set_defaults(run=run_extract)


def _add_menu(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "the menu of a page, by how dense its links are"
    menu = actions.add_parser("menu", help=what, description=what.capitalize() + ".")
    menu.add_argument("page", metavar="PAGE", help="a file (.gz is unzipped), or - for standard input")
    menu.add_argument("--method", choices=["weighted", "ratio"], default="weighted", help="(default: %(default)s)")
    menu.add_argument("--url", help="where the page came from; kept, not fetched")
    menu.add_argument(
        "--candidates", action="store_true", help="list what else may be a menu, with the terms of its score"
    )
    add_format(menu)
    menu.set_defaults(run=run_menu)


@contextlib.contextmanager
def opened(
    spec: str,
    *,
    site: str | None = None,
    allow_private: bool = False,
    pages: int = 50,
    parsing: Mapping[str, Any] | None = None,
) -> Iterator[PageSource]:
    """Open a source of pages by what the command line calls it: a folder, an archive, or ``web``.

    Raises
    ------
    InputError
        There is nothing there, or nothing that holds pages.
    UsageError
        An option doesn't fit.
    """
    if spec.startswith(("http://", "https://")):
        raise UsageError("pages of the web are fetched with --source web, and --url for the page's own address")
    if spec != "web":
        from blockml.templates.linked.folder import open_source

        if allow_private:
            raise UsageError("--allow-private is for --source web")
        yield open_source(spec, parsing=parsing, **({"site": site} if site else {}))
        return
    from blockml.templates.linked.web import WebSource

    with WebSource(max_pages=pages, allow_private=allow_private, parsing=parsing) as source:
        yield source
        for url, reason in source.failures.items():
            note(f"{url}: {reason}")


def run_extract(arguments: argparse.Namespace) -> int:
    """Write a page's template, or what is left without it; 1 if there is none."""
    if (template := _stored(arguments)) is None:
        template = _linked(arguments)
    if template is None:
        return 1
    page = template.page
    if arguments.view:
        _view(arguments, template)
    share = template_share(page, template.nodes)
    text = render_text(page, share < 0.5) if arguments.content else template_html(template)
    write_output(text, arguments.output)
    words = page.blocks.n_words
    note(f"{arguments.page}: {words @ share:.0f} of {words.sum()} words are in the template")
    return 0 if text.strip() else 1


def _stored(arguments: argparse.Namespace) -> PageTemplate | None:
    """The template by what was learnt before; None if the source is something else."""
    if not Path(arguments.source).is_file() or read_page(arguments.source, 2) != b"PK":
        return None
    site = SiteTemplate.load(arguments.source)
    if arguments.site or arguments.allow_private:
        raise UsageError("--site and --allow-private are for sources of pages", source=arguments.source)
    page = parse(read_page(arguments.page, Limits().bytes + 1), url=arguments.url)
    inside, layout = site.in_tree(page), site.layout_of(page)
    if inside is None or layout is None:
        raise UsageError("it knows no tree of a layout: learn it from more pages", source=arguments.source)
    tree = tree_of(page)
    mask = inside[tree.nodes]
    return PageTemplate(page, tree, mask.astype(np.int32), layout.n_pages, mask)


def _linked(arguments: argparse.Namespace) -> PageTemplate | None:
    """The template by pages that the page links to and that link to each other; None, said why, if there are none."""
    with opened(
        arguments.source, site=arguments.site, allow_private=arguments.allow_private, pages=arguments.max_loads
    ) as source:
        page = _key_page(arguments, source)
        graph = find_subdigraph(page, source, n=arguments.n, order=arguments.order, max_loads=arguments.max_loads)
    found = f"{len(graph.pages)} of {arguments.n} mutually linked pages" + ("" if graph.complete else ", no more")
    note(f"{arguments.page}: {graph.n_links} links, {graph.n_loaded} pages loaded, {found}")
    template = page_template(page, graph.pages, equality=arguments.equality, min_votes=arguments.min_votes)
    if template is None:
        reason = "no_links" if not graph.n_links else "nothing_loaded" if graph.n_loaded == 1 else "too_few_pages"
        note(f"{arguments.page}: no template ({reason})")
    return template


def _key_page(arguments: argparse.Namespace, source: PageSource) -> Page:
    """The page, with the URL its links start from."""
    html = read_page(arguments.page, Limits().bytes + 1)
    return parse(html, url=key_url(arguments.page, arguments.url, source))


def key_url(page: str, url: str | None, source: PageSource) -> str:
    """URL of the page whose links are followed: the one that was given, or what the source calls its file.

    Raises
    ------
    UsageError
        Neither, or no URL of the web.
    """
    if url is None and hasattr(source, "url_of"):
        with contextlib.suppress(UsageError):  # the page needn't be one of the source's
            url = source.url_of(page)
    if url is None:
        raise UsageError("the page's URL is needed to follow its links: give --url", source=page)
    if urlsplit(url).scheme not in ("http", "https"):
        raise UsageError(f"--url is an http or https URL, not {url!r}")
    return url


def _view(arguments: argparse.Namespace, template: PageTemplate) -> None:
    from blockml.reports.templateview import write_template_view

    page = template.page
    try:
        path = write_template_view(
            arguments.view,
            page_title=page.title,
            page_html_label=arguments.page,
            template_html=template_html(template),
            page=page,
            in_template=template.nodes,
            shares=template_share(page, template.nodes),
            info={"compared with": f"{template.n_pages} pages", "equality": arguments.equality},
        )
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=arguments.view) from error
    note(f"wrote {path}")


def run_menu(arguments: argparse.Namespace) -> int:
    """Print a page's menu, or what may be one; 1 if there is none."""
    page = parse(read_page(arguments.page, Limits().bytes + 1), url=arguments.url or _SOMEWHERE)
    if arguments.candidates:
        rows: list[dict[str, Any]] = [
            {
                "xpath": item.xpath,
                "n": item.n_links,
                "score": round(item.score, 3),
                **{name: round(value, 3) for name, value in item.terms.items()},
            }
            for item in menu_candidates(page, method=arguments.method)
        ]
        print_rows(rows, arguments.format)
        return 0 if rows else 1
    menu = find_menu(page, method=arguments.method)
    if menu is None:
        print_rows([], arguments.format)
        note(f"{arguments.page}: no menu")
        return 1
    nodes = page.nodes
    rows = [
        {
            "text": " ".join("".join(nodes.texts[link.node : int(nodes.end[link.node])]).split()),
            "href": nodes.attributes[link.node].get("href", link.url),
        }
        for link in menu.links
    ]
    if arguments.format == "json":
        shown = {"xpath": nodes.xpath(menu.node), "score": round(menu.score, 4), "links": rows}
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2) + "\n")
        return 0
    note(f"{arguments.page}: menu at {nodes.xpath(menu.node)}, score {menu.score:.3f}, {len(rows)} links")
    print_rows(rows, "table")
    return 0
