"""Memory of documents: how much the tree of a page takes, and the most while it is built, by ``tracemalloc``.

BLOCKML_CORPORA=DIR python -m research.benchmarks.document_memory --every 20
"""

from __future__ import annotations

import argparse
import os
import tracemalloc
from pathlib import Path

import numpy as np

import blockml
from blockml.datasets import open_dataset
from blockml.document.build import build_document
from blockml.extractors.registry import AnyModel
from research.benchmarks.hostile.shapes import OUTPUT_SHAPES

#: Bytes of a hostile page.
_HOSTILE = 100_000


def measured(html: bytes, model: AnyModel) -> tuple[int, int, int, int]:
    """Return bytes of a page, characters of its text, bytes of its tree, and the most while it is built."""
    result = blockml.extract(html, model=model)
    _ = result.document  # what is cached with the page isn't part of the tree
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tree = build_document(result.page, result.kept)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del tree
    return len(html), len(result.text), after - before, peak - before


def main() -> None:
    """Print medians and maxima of the pages of WCXB, and the largest hostile pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=20, metavar="N", help="measure every Nth page")
    arguments = parser.parse_args()
    model = blockml.load("default")
    pages = open_dataset(Path(os.environ["BLOCKML_CORPORA"]) / "wcxb").pages[:: arguments.every]
    found = np.array([row for page in pages if (row := measured(page.load()[0], model))[1]], dtype=float)
    size, text, tree, peak = found.T
    print(f"{len(found)} pages: tree {np.median(tree) / 1e3:.0f} kB, peak {np.median(peak) / 1e3:.0f} kB (medians)")
    for name, of in (("byte of the page", size), ("character of text", text)):
        columns = (np.median(tree / of), (tree / of).max(), np.median(peak / of), (peak / of).max())
        print("bytes for each {}: tree {:.2f}, most {:.1f}; peak {:.2f}, most {:.1f}".format(name, *columns))
    rows = [(measured(shape(_HOSTILE), "plain"), name) for name, shape in OUTPUT_SHAPES.items()]
    for (size_, _, tree_, peak_), name in sorted(rows, key=lambda row: -row[0][3] / row[0][0])[:3]:
        print(f"{name}: tree {tree_ / size_:.1f}, peak {peak_ / size_:.1f} bytes for each byte of the page")


if __name__ == "__main__":
    main()
