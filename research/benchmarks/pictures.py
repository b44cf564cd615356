"""Pictures in Markdown and HTML against hand-made gold in ``data/pictures``, compared with trafilatura if installed.

Needs BLOCKML_CORPORA. Recall is the share of a page's content pictures that an output has, by any of their addresses;
precision is the share of the addresses in an output that belong to a content picture, without those of pictures that
may or may not be content. Both are sums over pages, with 95 % intervals by resampling pages. Rules were tuned on the
pages of the half ``tuned``; ``other`` is the other half.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import LabelledPage, open_dataset
from blockml.datasets.labelled import read_page_file
from research.benchmarks.default import markdown

GOLD = Path("data/pictures/pictures.jsonl.gz")
IN_MARKDOWN = re.compile(r"!\[(?:\\.|[^\]\\])*\]\(<?((?:[^\s()<>]|\([^\s()<>]*\))+)")
_IN_HTML = re.compile(r"<img\b[^>]*?\bsrc=\"([^\"]*)\"")
_RESAMPLES = 1000

Reader = Callable[[LabelledPage, bytes], Sequence[str]]


class Counts(NamedTuple):
    """Counts of one page: content pictures, those that an output has, and right and wrong addresses in it."""

    n_content: int
    n_found: int
    n_right: int
    n_wrong: int


def by_blockml(output_format: str, pattern: re.Pattern[str]) -> Reader:
    """Return a reader of the addresses of pictures in an output of blockml."""

    def read(labelled: LabelledPage, page: bytes) -> Sequence[str]:
        result = blockml.extract(page, url=labelled.url, charset=labelled.charset)
        return pattern.findall(blockml.render(result, output_format))

    return read


def by_trafilatura(labelled: LabelledPage, page: bytes) -> Sequence[str]:
    """Return the addresses of the pictures in trafilatura's Markdown."""
    import trafilatura

    text = trafilatura.extract(page, url=labelled.url, output_format="markdown", include_images=True) or ""
    return IN_MARKDOWN.findall(text)


def readers() -> dict[str, Reader]:
    """Return the compared outputs by name."""
    found = {"Markdown": by_blockml("markdown", IN_MARKDOWN), "HTML": by_blockml("html", _IN_HTML)}
    return found | ({"trafilatura": by_trafilatura} if find_spec("trafilatura") else {})


def compared(address: str, base: str) -> str:
    """Return an address in the form for comparisons: absolute, without scheme and character references.

    Examples
    --------
    >>> compared("/a%20b.png?x=1&amp;y=2", "https://a.example/c")
    '//a.example/a b.png?x=1&y=2'
    """
    try:
        address = urljoin(base, unescape(address.strip()))
    except ValueError:
        return address
    return unquote(re.sub("^https?:", "", address))


def counts_of(gold: Mapping[str, Any], addresses: Sequence[str], base: str) -> Counts:
    """Compare the addresses in an output with the gold of its page.

    Examples
    --------
    >>> gold = {"content": [["a.png", "b.png"], ["c.png"]], "unsure": [["d.png"]]}
    >>> counts_of(gold, ["https://a.example/b.png", "d.png", "e.png"], "https://a.example/")
    Counts(n_content=2, n_found=1, n_right=1, n_wrong=1)
    """
    written = {compared(address, base) for address in addresses}
    content, unsure = (
        [{compared(address, base) for address in picture} for picture in gold[kind]] for kind in ("content", "unsure")
    )
    is_content, is_unsure = set().union(*content), set().union(*unsure)
    n_found = sum(1 for picture in content if not written.isdisjoint(picture))
    return Counts(len(content), n_found, len(written & is_content), len(written - is_content - is_unsure))


def is_tuned(page: str) -> bool:
    """Return whether the rules were tuned on a page."""
    return hashlib.sha256(page.encode()).digest()[0] % 2 == 0


def labelled_pages(corpora: Path, gold: Path = GOLD) -> Iterator[tuple[dict[str, Any], LabelledPage, bytes]]:
    """Iterate over the pages of the gold that are in the folder with the same bytes."""
    datasets: dict[str, dict[str, LabelledPage]] = {}
    with gzip.open(gold, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry: dict[str, Any] = json.loads(line)
            collection, _, name = entry["page"].partition("/")
            if collection not in datasets:
                datasets[collection] = {page.id: page for page in open_dataset(corpora / collection).pages}
            labelled = datasets[collection].get(name)
            if labelled is None or hashlib.sha256(read_page_file(labelled.path)).hexdigest() != entry["sha256"]:
                print(f"{entry['page']}: not among the pages")
                continue
            yield entry, labelled, labelled.load()[0]


def with_interval(values: NDArray[np.int64]) -> str:
    """Format the ratio of the sums of two columns, (n_pages, 2), with its interval."""
    drawn = np.random.default_rng(0).integers(0, len(values), (_RESAMPLES, len(values)))
    sums = values[drawn].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / np.maximum(sums[:, 1], 1), (0.025, 0.975))
    return f"{values[:, 0].sum() / max(values[:, 1].sum(), 1):.3f} [{low:.3f}, {high:.3f}]"


def rows(counts: Mapping[str, Mapping[str, Counts]]) -> Iterator[dict[str, object]]:
    """Iterate over the rows of the table, given the counts by output and page."""
    for name, by_page in counts.items():
        for half, pages in (
            ("all", list(by_page)),
            ("tuned", [page for page in by_page if is_tuned(page)]),
            ("other", [page for page in by_page if not is_tuned(page)]),
        ):
            table = np.array([by_page[page] for page in pages])
            if not len(table):
                continue
            yield {
                "output": name,
                "pages": f"{half} ({len(table)})",
                "content pictures": int(table[:, 0].sum()),
                "recall": with_interval(table[:, [1, 0]]),
                "precision": with_interval(np.stack([table[:, 2], table[:, 2] + table[:, 3]], axis=1)),
            }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    parser.add_argument("--gold", type=Path, default=GOLD)
    arguments = parser.parse_args(argv)
    if not arguments.corpora:
        parser.error("--corpora or BLOCKML_CORPORA has to name the folder of the collections")
    counts: dict[str, dict[str, Counts]] = {}
    for gold, labelled, page in labelled_pages(arguments.corpora, arguments.gold):
        base = blockml.parse(page, url=labelled.url, charset=labelled.charset).base_url
        for name, read in readers().items():
            counts.setdefault(name, {})[gold["page"]] = counts_of(gold, read(labelled, page), base)
    print(markdown(list(rows(counts))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
