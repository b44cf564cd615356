"""Accuracy and cost of clustering pages by template, and of finding linked pages with the same template.

Needs the folder of labelled corpora; missing collections are skipped. Every section prints Markdown and writes its
numbers as JSON. Times are CPU time of one process; those of ``times`` are the minimum of two rounds.

``clustering``  the six distances and the clusterings of Gottron 2008 against known sites (his tables 1 to 4)
``times``       cost of a distance matrix (his figure 1)
``layouts``     subclusters of a site against its layouts
``linked``      pages to load for mutually linked ones (Alarte et al. 2014: 7), and training sets by size
``scale``       single linkage of ten thousand pages
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from blockml.cli.output import note, write_output
from research.benchmarks.templates.clustering import TRUTHS, clustering_section
from research.benchmarks.templates.common import Row
from research.benchmarks.templates.layouts import layouts_section
from research.benchmarks.templates.linked import linked_section
from research.benchmarks.templates.scale import scale_section
from research.benchmarks.templates.times import times_section

SECTIONS: Mapping[str, Callable[[Path, argparse.Namespace], Row]] = {
    "clustering": clustering_section,
    "times": times_section,
    "layouts": layouts_section,
    "linked": linked_section,
    "scale": scale_section,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one section or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="?", default="all", choices=[*SECTIONS, "all"])
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA"), help="folder of the labelled corpora")
    parser.add_argument("--out", default="out/templates", help="folder for JSON and pictures (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=100, help="runs of k-median (default: %(default)s)")
    parser.add_argument("--collections", nargs="+", default=list(TRUTHS), choices=TRUTHS, help="for clustering")
    parser.add_argument(
        "--sample",
        type=int,
        default=210,
        help="pages of a large collection, equally many per group, for slow distances",
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[25, 50, 100, 200, 400], help="pages of the time curves"
    )
    parser.add_argument("--limit", type=float, default=60, help="skip matrices expected to take more seconds")
    parser.add_argument("--keys", type=int, default=5, help="key pages per site besides its home page")
    parser.add_argument("--copies", type=int, default=10_000, help="pages of the large collection")
    parser.add_argument("--exact", type=int, default=2_000, help="sample of these, clustered exactly too")
    options = parser.parse_args(argv)
    if not options.corpora:
        note("BLOCKML_CORPORA is not set to a folder of corpora")
        return 3
    for name in SECTIONS if options.section == "all" else [options.section]:
        result = SECTIONS[name](Path(options.corpora), options)
        write_output(json.dumps(result, indent=2), f"{options.out}/{name}.json")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
