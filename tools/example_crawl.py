"""A small crawl for the tutorial on surveys, and a script that labels its pages instead of a person.

``python -m tools.example_crawl pages CRAWL.warc.gz`` writes the pages of ``data/sites``, or with ``--corpora DIR``
those of 14 real sites in a folder of corpora. ``python -m tools.example_crawl labels INPUT OUTPUT LABELLED`` labels the
pages that a survey of OUTPUT chooses: text in ``article`` or ``main`` is content, except for links, forms and asides.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.batch import find_inputs
from blockml.labelling.store import LabelStore, labelled_pages
from blockml.page import Label, Page
from blockml.surveying import RunOutput, choose_pages, chosen_pages

SITES = Path(__file__).resolve().parents[1] / "data" / "sites"
_CONTENT, _ASIDE = ("article", "main"), ("nav", "aside", "footer", "header", "form")


def pages(corpora: Path | None) -> Iterator[tuple[str, bytes, str]]:
    """Yield address, bytes and encoding of each page."""
    if corpora is None:
        for meta in sorted(SITES.glob("*/*/meta.json")):
            yield json.loads(meta.read_text(encoding="utf-8"))["url"], (meta.parent / "page.html").read_bytes(), "utf-8"
        return
    with gzip.open(corpora / "sites" / "pages.jsonl.gz") as table:
        for row in map(json.loads, table):
            html = gzip.decompress((corpora / "sites" / "pages" / f"{row['id']}.html.gz").read_bytes())
            yield row["url"] or f"https://{row['site']}.example/{row['path']}", html, row["encoding"]


def write_crawl(path: Path, corpora: Path | None = None) -> int:
    """Write pages as a WARC file; return their number."""
    n_pages = 0
    with path.open("wb") as stream:
        for url, html, encoding in pages(corpora):
            n_pages += 1
            content = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset={encoding}\r\n\r\n".encode() + html
            fields = {
                "WARC-Type": "response",
                "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, url)}>",
                "WARC-Date": "2026-01-01T00:00:00Z",
                "WARC-Target-URI": url,
                "Content-Type": "application/http; msgtype=response",
                "Content-Length": str(len(content)),
            }
            head = "WARC/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            stream.write(gzip.compress(f"{head}\r\n".encode() + content + b"\r\n\r\n", mtime=0))
    return n_pages


def content_by_rule(page: Page) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether the script labels a block as content."""
    names = [
        {page.nodes.name(node) for node in (parent, *page.nodes.ancestors(parent))} if parent >= 0 else set()
        for parent in page.blocks.parent.tolist()
    ]
    linked = 2 * page.blocks.n_linked > page.blocks.n_words
    inside = np.array([not found.isdisjoint(_CONTENT) and found.isdisjoint(_ASIDE) for found in names], dtype=bool)
    return inside & ~linked


def label(inputs: Sequence[str], output: str, folder: Path, n_pages: int, per_site: int) -> int:
    """Label the pages that a survey chooses; return their number."""
    chosen = choose_pages(RunOutput(output), pages=n_pages, per_site=per_site, labelled=labelled_pages(folder))
    store = LabelStore(chosen_pages(chosen, find_inputs(inputs)), folder, blockml.load("default"))
    for page in store.pages.values():
        parsed = store.parse(page)
        labels = [Label.MAIN if main else Label.OTHER for main in content_by_rule(parsed).tolist()]
        store.save(page, parsed, labels, done=True)
    return len(store.pages)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the crawl, or label pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    crawl = actions.add_parser("pages")
    crawl.add_argument("output", type=Path)
    crawl.add_argument("--corpora", type=Path)
    labels = actions.add_parser("labels")
    labels.add_argument("input")
    labels.add_argument("output")
    labels.add_argument("folder", type=Path)
    labels.add_argument("--pages", type=int, default=50)
    labels.add_argument("--per-site", type=int, default=5)
    given = parser.parse_args(argv)
    if given.action == "pages":
        print(f"wrote {write_crawl(given.output, given.corpora)} pages to {given.output}")
    else:
        n_pages = label([given.input], given.output, given.folder, given.pages, given.per_site)
        print(f"labelled {n_pages} pages in {given.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
