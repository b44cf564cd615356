"""``blockml templates distance``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blockml.cli.arguments import PAGE_HELP, add_format, add_options, parsing_options, read_page
from blockml.cli.output import note, print_rows, writing
from blockml.errors import UsageError
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.distances import distance, sketch
from blockml.templates.mapping import EQUALITIES, Tree, map_trees, tree_of

if TYPE_CHECKING:
    from blockml.reports.pairview import MappedTrees

__all__ = ["add_distance"]

#: Meaning of each distance, in the order of Gottron 2008.
_MEANINGS: Mapping[str, str] = {
    "rtdm": "edits of the restricted top-down mapping, divided by the elements of both pages",
    "tv": "Euclidean distance of the tag counts; unbounded",
    "cp": "1 minus the share of common paths to leaves",
    "cps": "1 minus the share of common shingles of three elements of a path",
    "lcts": "1 minus the share of the longest common subsequence of tags",
    "ctss": "1 minus the share of common shingles of eight tags",
}

#: Maximum characters of a text in an outline.
_MOST_TEXT = 60


def add_distance(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml templates distance``."""
    add = parser.add_argument
    add("pages", metavar="PAGE", nargs=2, help=PAGE_HELP)
    add("--equality", choices=sorted(EQUALITIES), default="hybex", help="equality of nodes of the mapping ETDM")
    add("-o", "--output", metavar="FILE.html", help="write a view of both trees with the nodes mapped to each other")
    add_options(parser, "backend")
    add_format(parser)
    parser.set_defaults(run=run_distance)


def run_distance(arguments: argparse.Namespace) -> int:
    """Print the six distances of two pages and the number of nodes mapped, and write the view."""
    options = parsing_options(arguments)
    one, two = (parse(read_page(name, Limits().bytes + 1), **options) for name in arguments.pages)
    rows: list[dict[str, object]] = []
    for name, meaning in _MEANINGS.items():
        try:
            value = f"{distance(one, two, name):.4f}"
        except UsageError as error:  # a page too large for a distance of quadratic cost
            value = "-"
            note(str(error))
        rows.append({"distance": name, "value": value, "meaning": meaning})
    trees = tree_of(one), tree_of(two)
    partner = map_trees(*trees, arguments.equality)
    n_mapped = int((partner >= 0).sum())
    meaning = f"nodes of the first page mapped by ETDM ({arguments.equality}), texts included"
    rows.append({"distance": "etdm", "value": f"{n_mapped} of {len(partner)}", "meaning": meaning})
    print_rows(rows, arguments.format)
    if arguments.output:
        _write_view(arguments, (one, two), trees, rows)
    return 0


def _write_view(
    arguments: argparse.Namespace, pages: tuple[Page, Page], trees: tuple[Tree, Tree], rows: list[dict[str, object]]
) -> None:
    from blockml.reports.pairview import write_pair_view  # needs an optional package
    from blockml.templates.distances.pairs import mapped_elements

    elements = [np.flatnonzero(page.nodes.tag != 0) for page in pages]
    by_edits = mapped_elements(sketch(pages[0]), sketch(pages[1]))
    by_equality = map_trees(*trees, arguments.equality)
    title = f"ETDM: equal nodes ({arguments.equality}), with texts"
    mappings = [
        _mapped("RTDM: elements, in order", pages, elements, by_edits),
        _mapped(title, pages, [tree.nodes for tree in trees], by_equality),
    ]
    with writing(arguments.output):
        named = arguments.pages[0], arguments.pages[1]
        note(f"wrote {write_pair_view(arguments.output, names=named, distances=rows, mappings=mappings)}")


def _mapped(
    title: str, pages: tuple[Page, Page], rows: Sequence[NDArray[np.integer]], partner: NDArray[np.int32]
) -> MappedTrees:
    """Describe the nodes of two trees, given by their ``rows`` in the pages, and the mapping between them."""
    from blockml.reports.pairview import MappedTrees

    left, right = ([_label(page, node) for node in nodes.tolist()] for page, nodes in zip(pages, rows, strict=True))
    depths = [page.nodes.depth[nodes].astype(np.int64) for page, nodes in zip(pages, rows, strict=True)]
    names = [[page.nodes.name(node) for node in nodes.tolist()] for page, nodes in zip(pages, rows, strict=True)]
    renamed = [at >= 0 and names[0][row] != names[1][at] for row, at in enumerate(partner.tolist())]
    return MappedTrees(title, left, right, depths[0], depths[1], partner, np.array(renamed, dtype=bool))


def _label(page: Page, node: int) -> str:
    """Describe a node: an element with id and class names, or the start of a text."""
    nodes = page.nodes
    if nodes.tag[node] == 0:
        text = " ".join(nodes.texts[node].split())
        return f"“{text[:_MOST_TEXT]}{'…' if len(text) > _MOST_TEXT else ''}”"
    values = nodes.attributes[node]
    own = f"#{values['id']}" if values.get("id") else ""
    classes = "".join(f".{name}" for name in values.get("class", "").split())
    return f"{nodes.name(node)}{own}{classes}"
