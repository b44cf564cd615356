"""Share of the kept lines repeated on a site that are boilerplate by the gold, by count and share of pages.

A line counts as boilerplate on a page if its words are not, in their order, part of the gold text::

    BLOCKML_CORPORA=DIR python -m research.benchmarks.survey_lines
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from blockml.cli.output import print_rows
from blockml.evaluation.bootstrap import bootstrap_mean
from research.benchmarks.survey_pages import WITH_SITES, Predicted, by_group, predicted

LEAST = 7
#: Minimum number of pages of a line, and minimum share of the pages of its site.
KINDS = ((1, 0.0), (2, 0.1), (3, 0.1), (3, 0.25), (3, 0.5), (5, 0.5))


def _words(text: str) -> str:
    return " ".join(["", *re.findall(r"\w+", text.casefold()), ""])


def lines_of(pages: Sequence[Predicted]) -> list[tuple[int, float, float]]:
    """Return the pages of each kept line of a site, their share, and the share of these on which it is boilerplate."""
    found: dict[str, list[bool]] = defaultdict(list)
    for item in pages:
        gold = _words(item.gold)
        for line in {_words(line) for line in item.text.split("\n")}:
            if line.strip():
                found[line].append(line not in gold)
    return [(len(misses), len(misses) / len(pages), float(np.mean(misses))) for misses in found.values()]


def run(pages: Sequence[Predicted]) -> int:
    """Print precision by kind of line and collection."""
    sites = [(items[0].collection, name, lines_of(items)) for name, items in by_group(pages, LEAST).items()]
    rows = []
    for collection in [*WITH_SITES, "all"]:
        for least, share in KINDS:
            chosen = [
                (name, boilerplate)
                for its, name, lines in sites
                if collection in (its, "all")
                for count, part, boilerplate in lines
                if count >= least and part >= share
            ]
            if chosen:
                found = bootstrap_mean([value for _, value in chosen], groups=[name for name, _ in chosen])
                rows.append(
                    {
                        "collection": collection,
                        "pages of the line": f">= {least}",
                        "share": f">= {share:.0%}",
                        "lines": len(chosen),
                        "boilerplate": f"{found.mean:.0%} [{found.low:.0%}, {found.high:.0%}]",
                    }
                )
    print_rows(rows, "table")
    return 0


if __name__ == "__main__":
    sys.exit(run(predicted(WITH_SITES)))
