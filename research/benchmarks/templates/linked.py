"""Number of pages to load for mutually linked pages and for training sets."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import joblib

from blockml.datasets import LabelledPage, open_dataset
from blockml.page import Page
from blockml.templates.linked import ORDERS, PageSource, find_links, find_menu, find_subdigraph, ordered, training_set
from blockml.templates.linked.folder import FolderSource, open_source
from research.benchmarks.templates.common import Row, average, layout_of, stratified, table

TRAINING_SIZES = (4, 8, 16, 32, 64)
SAME_LAYOUT = 4  # pages of one layout to learn a template from


class CachedSource(PageSource):
    """Source that caches parsed pages."""

    def __init__(self, source: FolderSource) -> None:
        self._source = source
        self._pages: dict[str, Page | None] = {}

    def get(self, url: str) -> Page | None:
        """Return a page, parsed once."""
        if url not in self._pages:
            self._pages[url] = self._source.get(url)
        return self._pages[url]

    def resolve(self, page: Page, href: str) -> str | None:
        """Resolve a link as the wrapped source."""
        return self._source.resolve(page, href)


def linked_site(folder: Path, site: str, layouts: Mapping[str, str], n_keys: int, seed: int) -> Row:
    """Find subdigraphs and training sets of the home page and other pages of a site; ``layouts`` by page id."""
    files = open_source(folder, site=site)
    assert isinstance(files, FolderSource)  # noqa: S101 - a folder of pages
    source, layout = CachedSource(files), {files.url_of(page): name for page, name in layouts.items()}
    urls, names = list(layout), list(layout.values())
    # The first page is the home page; the others have different layouts as far as possible.
    keys = [0, *(place for place in stratified(names, seed) if place and names[place] != names[0])]
    keys = list(dict.fromkeys([*keys, *stratified(names, seed)]))[: 1 + n_keys]
    found: Row = {"digraphs": [], "training": []}
    for place in keys:
        key = source.get(urls[place])
        if key is None:
            continue
        of = {"site": site, "key": urls[place], "home": place == 0, "layout": names[place]}
        for order in ORDERS:
            digraph = find_subdigraph(key, source, order=order)
            same = [layout.get(page.url or "") == names[place] for page in digraph.pages]
            row = {**of, "order": order, "size": len(digraph.pages), "loaded": digraph.n_loaded}
            row |= {"complete": digraph.complete, "links": digraph.n_links, "same_layout": mean(same) if same else None}
            row |= {"menu": find_menu(key, source=source) is not None}
            reach = ordered(key, find_links(key, source), order, source)
            places = [i for i, link in enumerate(reach) if layout.get(link.url) == names[place]]
            # The key page counts as loaded.
            row["until"] = places[SAME_LAYOUT - 1] + 2 if len(places) >= SAME_LAYOUT else None
            found["digraphs"].append(row)
        for size in TRAINING_SIZES:
            start = time.process_time()
            training = training_set(key, files, max_pages=size)
            seconds = time.process_time() - start
            right = [layout.get(page.url or "") == names[place] for page in training.loaded[1:]]
            kept = [hit for hit, label in zip(right, training.labels[1:].tolist(), strict=True) if label == 0]
            row = {**of, "max_pages": size, "loaded": len(right), "kept": len(kept), "right": sum(kept)}
            row |= {"of_layout": sum(right), "how": training.how, "enough": training.reason is None}
            found["training"].append({**row, "seconds": seconds})
    return found


def linked_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Count the pages to load by link order, and evaluate training sets by size."""
    folder = corpora / "sites"
    layouts: dict[str, dict[str, str]] = {}
    for page in sorted(open_dataset(folder).pages, key=lambda page: (not is_home(page), page.id)):
        layouts.setdefault(page.site, {})[page.id] = layout_of(page)
    results = joblib.Parallel(n_jobs=options.jobs)(
        joblib.delayed(linked_site)(folder, site, pages, options.keys, options.seed) for site, pages in layouts.items()
    )
    digraphs = [row for result in results for row in result["digraphs"]]
    training = [row for result in results for row in result["training"]]
    print(f"\n### Four mutually linked pages: {len(digraphs) // len(ORDERS)} key pages of {len(layouts)} sites\n")
    groups = {"all": digraphs, "home pages": [row for row in digraphs if row["home"]]}
    groups["other pages"] = [row for row in digraphs if not row["home"]]
    print(table([digraph_row(name, order, rows) for name, rows in groups.items() for order in ORDERS]))
    print("By site: pages loaded, mean size\n")
    shown = []
    for site in layouts:
        row: Row = {"site": site}
        for order in ORDERS:
            rows = [item for item in digraphs if item["site"] == site and item["order"] == order]
            row[order] = f"{mean(r['loaded'] for r in rows):.1f}, {mean(r['size'] for r in rows):.1f}"
        shown.append(row)
    print(table(shown))
    print("### Training sets by number of links followed\n")
    print(table([training_row(size, [row for row in training if row["max_pages"] == size]) for size in TRAINING_SIZES]))
    return {"digraphs": digraphs, "training": training}


def is_home(page: LabelledPage) -> bool:
    """Return whether a page is the home page of its site, by the name of its layout."""
    return layout_of(page).rpartition("/")[2].startswith("home") or page.id.endswith("--000")


def digraph_row(name: str, order: str, rows: Sequence[Row]) -> Row:
    """Average over key pages, for one link order."""
    rows = [row for row in rows if row["order"] == order]
    reached = [row["until"] for row in rows if row["until"] is not None]
    same = [row["same_layout"] for row in rows if row["same_layout"] is not None]
    return {
        "key pages": f"{name} ({len(rows)})",
        "order": order,
        "complete": f"{mean(row['complete'] for row in rows):.0%}",
        "mean size": f"{mean(row['size'] for row in rows):.2f}",
        "pages loaded": f"{mean(row['loaded'] for row in rows):.1f}",
        "loaded where complete": average([row["loaded"] for row in rows if row["complete"]], ".1f"),
        "of the key's layout": average(same, ".0%"),
        "menu found": f"{mean(row['menu'] for row in rows):.0%}",
        f"pages until {SAME_LAYOUT} of the key's layout": f"{average(reached, '.1f')} ({len(reached)} keys)",
    }


def training_row(size: int, rows: Sequence[Row]) -> Row:
    """Average over key pages, for one number of links."""
    some = [row for row in rows if row["kept"]]
    share = [row["of_layout"] / row["loaded"] for row in rows if row["loaded"]]
    kept = [row["right"] / row["of_layout"] for row in rows if row["of_layout"]]
    return {
        "links at most": size,
        "pages loaded": f"{mean(row['loaded'] for row in rows):.1f}",
        "share of the key's layout": average(share, ".3f"),
        "pages kept": f"{mean(row['kept'] for row in rows):.1f}",
        "precision": f"{average([row['right'] / row['kept'] for row in some], '.3f')} ({len(some)} keys)",
        "recall": average(kept, ".3f"),
        "enough pages": f"{mean(row['enough'] for row in rows):.0%}",
        "threshold from": ", ".join(f"{how} {n}" for how, n in Counter(row["how"] for row in rows).most_common()),
        "seconds": f"{mean(row['seconds'] for row in rows):.3f}",
    }
