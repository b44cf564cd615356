"""Quality and cost of metadata, compared with trafilatura's.

Titles, authors and dates of two collections are compared with their gold, on the original pages and with their
declarations removed (JSON-LD, ``meta`` elements, microdata). ``h1`` counts the pages with exactly one ``h1`` whose
text is the title.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lxml import etree

import blockml
from blockml.datasets import open_dataset
from blockml.datasets.folders import find_table, read_rows
from blockml.metadata.headline import element_text
from blockml.metadata.metadata import page_metadata
from blockml.text.words import metric_tokens
from research.benchmarks.default import markdown

Found = dict[str, Any]
_DECLARATIONS = re.compile(
    rb"<script\b[^>]*ld\+json.*?</script\s*>|<meta\b[^>]*>|\s(?:itemprop|datetime)=(?:\"[^\"]*\"|'[^']*')",
    re.IGNORECASE | re.DOTALL,
)


def by_blockml(html: bytes, url: str | None) -> Found:
    """Return title, authors and date by blockml."""
    found = page_metadata(blockml.parse(html, url=url))
    return {"title": found.title, "authors": list(found.authors), "date": (found.published or "")[:10] or None}


def by_trafilatura(html: bytes, url: str | None) -> Found:
    """Return title, authors and date by trafilatura."""
    from trafilatura.metadata import extract_metadata

    found = extract_metadata(html, default_url=url)
    authors = [name.strip() for name in (found.author or "").split(";") if name.strip()] if found else []
    return {"title": found and found.title, "authors": authors, "date": found and found.date}


def same_title(found: Found, gold: Found) -> bool:
    """Return whether the words of two titles are equal."""
    return metric_tokens(found["title"] or "") == metric_tokens(gold["title"])


def author_f1(found: Found, gold: Found) -> float:
    """Compute the F1 of authors' names, compared by their words."""
    names = [{" ".join(sorted(metric_tokens(name))) for name in item["authors"]} for item in (found, gold)]
    return 2 * len(names[0] & names[1]) / (len(names[0]) + len(names[1]))


def rows(corpora: Path, names: Sequence[str], limit: int) -> Iterator[tuple[str, Found, bytes, str | None]]:
    """Iterate over pages with the gold of their metadata."""
    for name in names:
        table = find_table(corpora / name)
        gold = {row["id"]: row for row in read_rows(table)} if table else {}
        for labelled in open_dataset(corpora / name).pages[:limit]:
            row = gold[labelled.id]
            html, _ = labelled.load()
            if row.get("encoding"):
                html = html.decode(row["encoding"], "replace").encode()
            headline = (row.get("headline") or "").strip().partition("\n")[0]
            yield name, {**row, "title": row.get("title") or headline}, html, labelled.url


def quality(corpora: Path, names: Sequence[str], limit: int) -> Iterator[dict[str, object]]:
    """Compare systems on each collection, with and without the pages' declarations."""
    systems: dict[str, Callable[[bytes, str | None], Found]] = {"blockml": by_blockml, "trafilatura": by_trafilatura}
    sums: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for name, gold, html, url in rows(corpora, names, limit):
        for kind, page in (("all", html), ("without declarations", _DECLARATIONS.sub(b" ", html))):
            for system, read in systems.items():
                found, scores = read(page, url), sums.setdefault((name, kind, system), {})
                if gold.get("title"):
                    scores.setdefault("title", []).append(same_title(found, gold))
                if gold.get("authors"):
                    scores.setdefault("authors F1", []).append(author_f1(found, gold))
                if gold.get("date"):
                    scores.setdefault("date", []).append(found["date"] == gold["date"][:10])
    for (name, kind, system), scores in sums.items():
        means = {key: f"{sum(values) / len(values):.3f} ({len(values)})" for key, values in scores.items()}
        yield {"collection": name, "page": kind, "system": system,
               **{key: means.get(key, "") for key in ("title", "authors F1", "date")}}  # fmt: skip


def h1_share(corpora: Path, names: Sequence[str], limit: int) -> Iterator[dict[str, object]]:
    """Count the pages with one ``h1`` whose text is the title, and of these the ones without a word of ``<title>``."""
    for name in names:
        n_pages = n_same = n_alone = 0
        for labelled in open_dataset(corpora / name).pages[:limit]:
            page = blockml.parse(labelled.load()[0], url=labelled.url, charset=labelled.charset)
            texts = [text for node in page.nodes.indices("h1").tolist() if (text := element_text(page, node))]
            if len(texts) == 1:
                n_pages += 1
                is_same = page_metadata(page).title == texts[0]
                n_same += is_same
                words, own = (set(metric_tokens(text)) for text in (page.title, texts[0]))
                n_alone += is_same and bool(words) and words.isdisjoint(own)
        yield {
            "collection": name,
            "pages with one h1": n_pages,
            "title is the h1": f"{n_same / max(1, n_pages):.1%}",
            "h1 without a word of <title>": n_alone,
        }


def cost(corpora: Path, names: Sequence[str], limit: int) -> Iterator[dict[str, object]]:
    """Measure the time of metadata as a share of the time of lxml's parser.

    Pages keep what was decoded for the first reading; ``again`` is the time of a second one.
    """
    for name in names:
        parsing = first = again = 0.0
        for _, _, html, url in rows(corpora, [name], limit):
            pages = [blockml.parse(html, url=url) for _ in range(5)]
            parsing += least(partial(etree.fromstring, html, etree.HTMLParser(huge_tree=True)) for _ in pages)
            first += least(partial(page_metadata, page) for page in pages)
            again += least(partial(page_metadata, page) for page in pages)
        yield {"collection": name, "metadata / parse": f"{first / parsing:.3f}", "again": f"{again / parsing:.3f}"}


def least(works: Iterable[Callable[[], object]]) -> float:
    """Return the lowest time of several calls in seconds."""
    times = []
    for work in works:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the selected tables."""
    parts = {"quality": quality, "h1": h1_share, "cost": cost}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=sorted(parts), nargs="+")
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--collections", nargs="+", default=["fundus", "mercury"])
    parser.add_argument("--limit", type=int, default=1000, help="maximum number of pages of each collection")
    arguments = parser.parse_args(argv)
    for part in arguments.part:
        print(f"{part}\n\n{markdown(list(parts[part](arguments.corpora, arguments.collections, arguments.limit)))}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
