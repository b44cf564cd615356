"""Check the intervals of coverage, computed from 50 labelled pages of a collection, on its other pages.

Draws 50 pages 200 times, computes F1 above each confidence with its interval, and counts how often the interval
contains the mean F1 of the other pages above that confidence, also for a plain bootstrap over the pages. ``--write``
stores the F1 by confidence on all these pages, which reports of surveys show::

    BLOCKML_CORPORA=DIR python -m research.benchmarks.survey_coverage
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

import blockml
from blockml.cli.output import print_rows
from blockml.evaluation.bootstrap import MIN_DOCUMENTS, bootstrap_mean
from blockml.evaluation.calibration import coverage
from research.benchmarks.survey_pages import Predicted, predicted

DRAWN, DRAWS = 50, 200
LEAST = (0.0, 0.8, 0.9)
EDGES = (0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1)
FILE = Path(blockml.__file__).parent / "surveying" / "held_out.json"


def rows_of(name: str, pages: Sequence[Predicted]) -> list[dict[str, object]]:
    """Return a row for each minimum confidence."""
    sure, f1 = (np.array([getattr(item, field) for item in pages]) for field in ("confidence", "f1"))
    rng = np.random.default_rng(0)
    held = {least: [0, 0, 0.0] for least in LEAST}  # draws, draws whose interval holds, width
    plain = dict.fromkeys(LEAST, 0)
    for _ in range(DRAWS):
        drawn = np.isin(np.arange(len(pages)), rng.permutation(len(pages))[:DRAWN])
        for found in coverage(sure[drawn], f1[drawn], thresholds=LEAST):
            rest, sample = f1[~drawn & (sure >= found.threshold)], f1[drawn & (sure >= found.threshold)]
            if found.f1 is None or len(rest) < MIN_DOCUMENTS:
                continue
            counts, mean = held[found.threshold], rest.mean()
            counts[0] += 1
            counts[1] += found.f1.low <= mean <= found.f1.high
            counts[2] += found.f1.high - found.f1.low
            interval = bootstrap_mean(sample)
            plain[found.threshold] += interval.low <= mean <= interval.high
    return [
        {
            "collection": name,
            "pages": len(pages),
            "confidence": f">= {least:g}",
            "F1": f"{f1[sure >= least].mean():.3f}",
            "interval holds": f"{held[least][1] / held[least][0]:.1%}",
            "mean width": f"{held[least][2] / held[least][0]:.3f}",
            "plain bootstrap holds": f"{plain[least] / held[least][0]:.1%}",
        }
        for least in LEAST
        if held[least][0]
    ]


def held_out(pages: Sequence[Predicted]) -> list[dict[str, float]]:
    """Return the F1 of the pages by interval of confidence, between :data:`EDGES`."""
    rows = []
    for low, high in pairwise(EDGES):
        f1 = [item.f1 for item in pages if low <= item.confidence < high or (item.confidence == high == 1)]
        share = float(np.mean([value > 0.8 for value in f1]))
        rows.append({"low": low, "high": high, "pages": len(f1), "f1": round(float(np.mean(f1)), 3),
                     "share_above_80": round(share, 3)})  # fmt: skip
    return rows


def run(pages: Sequence[Predicted], *, write: bool = False) -> int:
    """Print the tables, and write the F1 by confidence on request."""
    names = dict.fromkeys(item.collection for item in pages)
    print_rows([row for name in names for row in rows_of(name, [item for item in pages if item.collection == name])],
               "table")  # fmt: skip
    known = held_out(pages)
    print()
    print_rows(known, "table")
    if write:
        bins = [{"low": row["low"], "high": row["high"]} for row in known]
        FILE.write_text(json.dumps({"bins": bins, blockml.load("default").id: known}, indent=1) + "\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the default model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    return run(predicted(), write=parser.parse_args(argv).write)


if __name__ == "__main__":
    sys.exit(main())
