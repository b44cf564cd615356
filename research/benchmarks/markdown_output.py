"""Markdown of 100 pages compared with trafilatura, html-to-markdown and markdownify: structure, links, escapes, cost.

Needs BLOCKML_CORPORA, the extra ``compare``, and the group ``markdown`` (``pip install --group markdown``).
html-to-markdown and markdownify convert the HTML of the same kept blocks, whose elements are the reference;
elements without text are not counted, and each picture once. trafilatura chooses its own content, and so does defuddle,
which is measured (except for its time) if ``npm install defuddle jsdom`` was run in the folder ``--defuddle``.

``kept`` is the share of the reference's elements that the Markdown has when it is read by markdown-it-py, ``more`` the
share of its elements beyond the reference; both are sums over pages. ``reads back`` are the pages whose words, read
from the Markdown, are those of the plain text, in order. Times are CPU times, the lowest of several consecutive runs;
a parse is lxml's of the same page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from lxml import etree, html

import blockml
from blockml.datasets import LabelledPage, open_dataset
from blockml.page import Extraction
from blockml.parsing.decoding import decode
from research.benchmarks.default import markdown
from tests.rendered import render_html, render_markdown

#: Collections whose pages have addresses; ten kinds of pages are among them.
COLLECTIONS = ("wcxb", "magic-html", "fundus", "mercury", "recipes", "ftr-articles", "forums", "dragnet-2012")
#: Paths of the elements that are counted.
KINDS: Mapping[str, str] = {
    "headings": "//h1|//h2|//h3|//h4|//h5|//h6",
    "list items": "//li",
    "tables": "//table",
    "code blocks": "//pre",
    "links": "//a[@href]",
    "pictures": "//img[@src]",
}
_WORD = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]")
_ABSOLUTE = re.compile(r"(?:https?://|mailto:|tel:)", re.IGNORECASE)
_REPETITIONS = 5
#: Writers that choose their own content.
_OWN_CONTENT = frozenset({"trafilatura", "defuddle"})

Writer = Callable[[bytes, str | None, Extraction], str]


class Defuddle:
    """Markdown by defuddle in a process of Node.js.

    Parameters
    ----------
    folder
        Folder with the packages defuddle and jsdom.
    """

    def __init__(self, folder: Path) -> None:
        program = str(Path(__file__).with_name("defuddle.mjs").resolve())
        self.process = subprocess.Popen(  # noqa: S603 (the program is ours)
            ["node", program],  # noqa: S607 (the one on the path)
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, page: bytes, url: str | None, _: Extraction) -> str:
        """Return the Markdown of a page."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("no pipes")
        self.process.stdin.write(json.dumps({"html": decode(page).text, "url": url}) + "\n")
        self.process.stdin.flush()
        markdown: str = json.loads(self.process.stdout.readline())
        return markdown


def writers() -> dict[str, Writer]:
    """Return the compared writers of Markdown by name."""
    import html_to_markdown
    import markdownify
    import trafilatura

    def by_trafilatura(page: bytes, url: str | None, _: Extraction) -> str:
        options = {"include_links": True, "include_images": True, "include_formatting": True, "include_tables": True}
        return trafilatura.extract(page, url=url, output_format="markdown", **options) or ""

    def by_html_to_markdown(_: bytes, __: str | None, result: Extraction) -> str:
        return html_to_markdown.convert(render_html(result.page, result.kept)).content or ""

    def by_markdownify(_: bytes, __: str | None, result: Extraction) -> str:
        fragment = f"<div>{render_html(result.page, result.kept)}</div>"
        text: str = markdownify.markdownify(fragment, heading_style="ATX", bullets="-")
        return text

    return {
        "blockml": lambda _, __, result: render_markdown(result.page, result.kept),
        "html-to-markdown": by_html_to_markdown,
        "markdownify": by_markdownify,
        "trafilatura": by_trafilatura,
    }


def parsed(text: str) -> Any:  # noqa: ANN401 (lxml's elements)
    """Return the tree of a Markdown text."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return html.fromstring(f"<div>{reader.render(text).replace('<br', ' <br')}</div>")


def element_counts(tree: Any) -> Counter[str]:  # noqa: ANN401 (lxml's elements)
    """Count the elements of each kind that have text, and the addresses of pictures."""
    counts = {kind: sum(1 for item in tree.xpath(path) if item.text_content().strip()) for kind, path in KINDS.items()}
    return Counter({**counts, "pictures": len(set(tree.xpath("//img/@src")))})


def measure(
    labelled: LabelledPage,
    totals: dict[str, Counter[str]],
    ratios: dict[str, list[float]],
    untimed: Mapping[str, Writer],
) -> bool:
    """Add the counts of one page to those of each writer, and its time as a multiple of a parse; False without text."""
    page, _ = labelled.load()
    model = blockml.load("default")
    result = blockml.extract(page, url=labelled.url, model=model)
    fragment = render_html(result.page, result.kept)
    if not fragment:
        return False
    own = element_counts(html.fromstring(f"<div>{fragment}</div>"))
    words = _WORD.findall(result.text)
    runs: dict[str, Callable[[], object]] = {
        "": lambda: blockml.extract(page, url=labelled.url, model=model),
        "parse": lambda: etree.fromstring(page, etree.HTMLParser(huge_tree=True)),
        **{name: lambda write=write: write(page, labelled.url, result) for name, write in writers().items()},  # type: ignore[misc]
    }
    times = dict.fromkeys(runs, 1e9)
    for name, run in runs.items():
        for _ in range(_REPETITIONS):
            start = time.process_time()
            run()
            times[name] = min(times[name], time.process_time() - start)
    for name, write in {**writers(), **untimed}.items():
        text = write(page, labelled.url, result)
        tree = parsed(text)
        found, total = element_counts(tree), totals.setdefault(name, Counter())
        for kind in KINDS:
            total[f"own {kind}"] += own[kind]
            total[f"found {kind}"] += found[kind]
            total[f"both {kind}"] += min(own[kind], found[kind])
        links = [*tree.xpath("//a/@href"), *tree.xpath("//img/@src")]
        total["links"] += len(links)
        total["absolute"] += sum(1 for link in links if _ABSOLUTE.match(link))
        total["words"] += len(words)
        total["escapes"] += len(_ESCAPE.findall(text))
        total["reads back"] += _WORD.findall(tree.text_content()) == words
        total["pages"] += 1
        if name in untimed:
            continue
        ratios.setdefault(name, []).append(times[name] / times["parse"])
        for what, key in (("extraction", ""), ("parse", "parse"), ("time", name)):
            total[f"us of {what}"] += round(times[key] * 1e6)
    return True


def rows(totals: Mapping[str, Counter[str]], ratios: Mapping[str, Sequence[float]]) -> Iterator[dict[str, object]]:
    """Iterate over the rows of the table, one for each writer."""
    for name, total in totals.items():
        row: dict[str, object] = {"writer": name}
        for kind in KINDS:
            own, found, both = (total[f"{what} {kind}"] for what in ("own", "found", "both"))
            kept, more = both / max(1, own), (found - both) / max(1, found)
            row[f"{kind}: kept / more"] = f"{kept:.3f} / {more:.3f} ({own:,})"
        row["absolute addresses"] = f"{total['absolute'] / max(1, total['links']):.3f}"
        row["escapes per 1,000 words"] = f"{1000 * total['escapes'] / max(1, total['words']):.2f}"
        row["reads back"] = f"{total['reads back']} of {total['pages']}" if name not in _OWN_CONTENT else ""
        if name not in ratios:
            yield row | dict.fromkeys(("time / extraction", "time / parse", "time / parse, median page"), "")
            continue
        row["time / extraction"] = f"{total['us of time'] / max(1, total['us of extraction']):.2f}"
        row["time / parse"] = f"{total['us of time'] / max(1, total['us of parse']):.2f}"
        row["time / parse, median page"] = f"{median(ratios[name]):.2f}"
        yield row


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    parser.add_argument("--collections", nargs="+", default=list(COLLECTIONS))
    parser.add_argument("--pages", type=int, default=100, help="number of pages")
    parser.add_argument("--defuddle", type=Path, help="folder with the packages defuddle and jsdom of npm")
    arguments = parser.parse_args(argv)
    untimed: dict[str, Writer] = {"defuddle": Defuddle(arguments.defuddle)} if arguments.defuddle else {}
    totals: dict[str, Counter[str]] = {}
    ratios: dict[str, list[float]] = {}
    n_each = -(-arguments.pages // len(arguments.collections))
    n_pages = 0
    for name in arguments.collections:
        pages = [page for page in open_dataset(arguments.corpora / name).pages if page.url]
        for page in pages[:: max(1, len(pages) // n_each)][:n_each]:
            if n_pages < arguments.pages:
                n_pages += measure(page, totals, ratios, untimed)
    table = list(rows(totals, ratios))
    names = list(table[0])
    turned = [{"": name, **{str(row["writer"]): row[name] for row in table}} for name in names[1:]]
    print(markdown(turned))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
