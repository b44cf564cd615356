"""Claims of the five papers, measured on pages with gold; research/papers.md compares them with the printed tables.

Every section prints Markdown. With BLOCKML_CORPORA or --corpora, the folder of labelled corpora, the numbers are those
of research/papers.md; without it the sections run on the synthetic pages in data/, as a check that they work.

``classes``     Kim et al. 2013, tables 2 and 3, L3S-GN1: which classes of the annotation are main content
``readings``    other points that the paper leaves open; protocols and learners
``varied``      table 3, right half: 25 attributes against six on pages of many kinds
``types``       the paper's future work: block types other than main content, other classifiers
``content``     Gottron 2008, Bridging the gap, table 3: clustering, then content by document frequency or entropy
``thresholds``  Gottron 2008, Clustering: thresholds chosen on other sites than those evaluated
``nodes``       Alarte et al. 2014: template nodes found, definition and algorithm, and the main container
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from blockml.cli.output import note
from research.benchmarks.papers.block_types import types_section
from research.benchmarks.papers.blocks import classes_section, readings_section, varied_section
from research.benchmarks.papers.content import content_section
from research.benchmarks.papers.nodes import nodes_section
from research.benchmarks.papers.thresholds import thresholds_section

SECTIONS: Mapping[str, Callable[[Path | None, int], None]] = {
    "classes": classes_section,
    "readings": readings_section,
    "varied": varied_section,
    "types": types_section,
    "content": content_section,
    "thresholds": thresholds_section,
    "nodes": nodes_section,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the sections named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA"), help="folder of the labelled corpora")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(argv)
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}")
    if not options.corpora:
        note("BLOCKML_CORPORA names no folder of corpora: on data/, as a check only")
    for name in options.sections or SECTIONS:
        SECTIONS[name](Path(options.corpora) if options.corpora else None, options.jobs)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
