"""Headings, list items, table cells, code and paragraphs that systems keep, with recall and precision.

Needs BLOCKML_CORPORA and the extra ``compare``. A piece is an innermost element of its kind with words; cells of layout
tables are not counted. Gold and outputs are aligned with the page's words in the same way (``TextGold.label``), and a
piece belongs to one of them if at least half of its words are in its blocks. Recall is the share of the gold's pieces
that are kept, precision the share of the kept pieces that are in the gold, over all pages of a collection.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import LabelledPage, TextGold, open_dataset
from blockml.evaluation.comparison.systems import PEERS, Adapter
from blockml.formats import render
from blockml.page import MAIN_LABELS, Page
from blockml.parsing.decoding import decode
from blockml.text.words import metric_tokens
from research.benchmarks.default import markdown

#: Elements by kind of piece.
KINDS: Mapping[str, frozenset[str]] = {
    "headings": frozenset({"h1", "h2", "h3", "h4", "h5", "h6"}),
    "list items": frozenset({"li", "dt", "dd"}),
    "table cells": frozenset({"td", "th"}),
    "code": frozenset({"pre", "code"}),
    "paragraphs": frozenset({"p"}),
}
#: Parts of tables, in the order in which :func:`in_data_tables` counts them.
_PARTS = {"tables": frozenset({"table"}), "rows": frozenset({"tr"}), "cells": frozenset({"td", "th"})}
#: Collections that the released models were not trained on (research/studies/default.md).
COLLECTIONS = (
    "cleaneval",
    "l3s-gn1",
    "cleanportaleval",
    "ir-research-big9-chaos",
    "dragnet-2012",
    "recipes",
    "ftr-articles",
)

Counts = Counter[tuple[str, str, str]]


def systems() -> dict[str, Adapter]:
    """Return the compared systems by name."""
    return {
        "blockml": lambda html, url: blockml.extract(html, url=url).text,
        "blockml --with-title": lambda html, url: render(blockml.extract(html, url=url), with_title=True),
        "trafilatura": PEERS["trafilatura"].adapter,
        "resiliparse": PEERS["resiliparse"].adapter,
    }


def pieces(page: Page) -> dict[str, list[tuple[int, int]]]:
    """Return the blocks (first, end) of each innermost element with words, by kind."""
    nodes, blocks = page.nodes, page.blocks
    found = {}
    for kind, names in KINDS.items():
        elements = np.flatnonzero(nodes.named(names))
        ends = nodes.end[elements]
        innermost = np.append(elements[1:] >= ends[:-1], True) if len(elements) else np.zeros(0, dtype=bool)
        if kind == "table cells":
            innermost &= in_data_tables(page)[elements]
        spans = zip(
            np.searchsorted(blocks.node, elements[innermost]).tolist(),
            np.searchsorted(blocks.node, ends[innermost]).tolist(),
            strict=True,
        )
        found[kind] = [(first, end) for first, end in spans if blocks.n_words[first:end].any()]
    return found


def in_data_tables(page: Page) -> NDArray[np.bool_]:
    """Return (n_nodes,) the nodes in data tables: without nested tables, and with at least two rows and four cells."""
    nodes = page.nodes
    found = np.zeros(len(nodes), dtype=bool)
    before = {name: np.concatenate([[0], np.cumsum(nodes.named(names))]) for name, names in _PARTS.items()}
    for table in nodes.indices("table").tolist():
        end = int(nodes.end[table])
        n_tables, n_rows, n_cells = (int(column[end] - column[table]) for column in before.values())
        found[table:end] = n_tables == 1 and n_rows >= 2 and n_cells >= 4
    return found


def held(page: Page, spans: Sequence[tuple[int, int]], blocks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_pieces,) the pieces with at least half of their words in the given blocks."""
    total = np.concatenate([[0], np.cumsum(page.blocks.n_words)])
    inside = np.concatenate([[0], np.cumsum(page.blocks.n_words * blocks)])
    first, end = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return np.asarray(2 * (inside[end] - inside[first]) >= total[end] - total[first])


def count_page(labelled: LabelledPage) -> Counts:
    """Count the pieces of one page that are in the gold, kept by each system, or both."""
    html, gold = labelled.load()
    text = None if gold is None else gold.text(MAIN_LABELS)
    counts: Counts = Counter()
    if text is None or not metric_tokens(text):
        return counts
    source = decode(html, labelled.charset).text
    page = blockml.parse(source, url=labelled.url)
    spans = pieces(page)
    in_gold = TextGold(text).label(page).main
    wanted = {kind: held(page, spans[kind], in_gold) for kind in KINDS}
    for kind in KINDS:
        counts["gold", kind, ""] += int(wanted[kind].sum())
    for name, extract in systems().items():
        try:
            output = extract(source, labelled.url)
        except Exception:  # noqa: BLE001 (a page on which a system fails has no text)
            counts["failed", name, ""] += 1
            output = ""
        in_output = TextGold(output).label(page).main
        for kind in KINDS:
            kept = held(page, spans[kind], in_output)
            counts["kept", kind, name] += int(kept.sum())
            counts["both", kind, name] += int((kept & wanted[kind]).sum())
    return counts


def rows(collection: str, counts: Counts, n_pages: int) -> Iterator[dict[str, object]]:
    """Iterate over the rows of one collection."""
    for name in systems():
        row: dict[str, object] = {"collection": f"{collection} ({n_pages})", "system": name}
        for kind in KINDS:
            n_gold, n_kept, n_both = (counts[what, kind, own] for what, own in
                                      (("gold", ""), ("kept", name), ("both", name)))  # fmt: skip
            recall, precision = n_both / max(1, n_gold), n_both / max(1, n_kept)
            row[f"{kind} R / P"] = f"{recall:.3f} / {precision:.3f} ({n_gold:,})" if n_gold else ""
        yield row


def main(argv: Sequence[str] | None = None) -> int:
    """Print one table over all collections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    parser.add_argument("--collections", nargs="+", default=list(COLLECTIONS))
    parser.add_argument("--limit", type=int, default=100_000, help="number of pages of each collection, evenly spread")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args(argv)
    table: list[dict[str, object]] = []
    total: Counts = Counter()
    n_pages = 0
    for name in arguments.collections:
        pages = open_dataset(arguments.corpora / name).pages
        pages = pages[:: max(1, len(pages) // arguments.limit)][: arguments.limit]
        found = joblib.Parallel(n_jobs=arguments.jobs, batch_size=8)(map(joblib.delayed(count_page), pages))
        counts: Counts = sum(found, Counter())
        table += rows(name, counts, len(pages))
        total += counts
        n_pages += len(pages)
    table += rows("all", total, n_pages)
    print(markdown(table))
    failed = {name: total["failed", name, ""] for name in systems()}
    print(f"\nPages on which a system failed: {failed}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
