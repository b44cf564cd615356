"""Experiment of Kim et al. 2013 on L3S-GN1, for every interpretation of what the paper leaves open.

Needs BLOCKML_CORPORA. The paper: 84,198 blocks, 13,209 of them main content (15.69 %), 10 folds over blocks,
F .849 with 25 attributes and .816 with boilerpipe's 6 (tables 2 and 3).
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from blockml.cli.output import note, print_rows
from blockml.datasets import Dataset, open_dataset
from blockml.page import MAIN_LABELS, Label
from blockml.parsing.options import ParsingOptions
from blockml.training.cross_validation import cross_validate
from blockml.training.recipes import Recipe, recipe
from blockml.training.table import build_table


@dataclass(frozen=True)
class Reading:
    """One interpretation of the paper."""

    name: str
    features: str = "kim2013-onehot"
    main: frozenset[Label] = MAIN_LABELS
    parsing: ParsingOptions = field(default_factory=ParsingOptions)


READINGS = (
    Reading("headline, full text, supplement; wordless kept; boilerpipe's density"),
    Reading("the same, wordless blocks dropped", parsing=ParsingOptions(keep_wordless=False)),
    Reading("the same, literal density: 80 words", features="kim2013-80w-onehot"),
    Reading("the same, density per sentence", features="kim2013-sentence-onehot"),
    Reading("the same, boilerpipe's inline tags", parsing=ParsingOptions(profile="boilerpipe")),
    Reading("full text only", main=frozenset({Label.MAIN})),
    Reading("headline and full text", main=frozenset({Label.MAIN, Label.HEADING})),
    Reading("the three and comments", main=MAIN_LABELS | {Label.COMMENT}),
)


def measure(dataset: Dataset, chosen: Recipe, protocol: str, jobs: int) -> dict[str, object]:
    """Cross-validate one recipe; the threshold is the paper's majority vote in a leaf."""
    table = build_table([dataset], chosen, jobs=jobs)
    result = cross_validate(table, chosen.but(threshold=0.5, shrinkage=0.0), protocol, jobs=jobs)
    scores = result.block_scores(table)
    return {
        "blocks": len(table.main),
        "main": int(table.main.sum()),
        "share": f"{table.main.mean():.2%}",
        "P": f"{scores.precision:.3f}",
        "R": f"{scores.recall:.3f}",
        "F": f"{scores.f1:.3f}",
        "weighted F": f"{scores.weighted_f1:.3f}",
    }


def main() -> int:
    """Print the table of interpretations, then the table of learners and protocols."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    corpora = os.environ.get("BLOCKML_CORPORA")
    if not corpora:
        note("BLOCKML_CORPORA names no folder of corpora")
        return 3
    dataset = open_dataset(f"l3s-gn1={Path(corpora) / 'l3s-gn1' / 'pages_annotated'}")
    rows = []
    for reading in READINGS:
        chosen = replace(recipe("kim2013"), features=reading.features, main=reading.main, parsing=reading.parsing)
        rows.append({"reading": reading.name, **measure(dataset, chosen, "block", arguments.jobs)})
        note(str(rows[-1]))
    print("\n25 attributes, scikit-learn's entropy tree, 10 folds over blocks\n")
    print_rows(rows, "table")
    rows = []
    for name in ("kim2013", "boilerpipe6", "kim2013-c45", "boilerpipe6-c45"):
        for protocol in ("block", "page", "site"):
            numbers = measure(dataset, recipe(name), protocol, arguments.jobs)
            rows.append({"recipe": name, "folds over": protocol + "s", **{key: numbers[key] for key in "PRF"}})
            note(str(rows[-1]))
    print("\nThe first reading, both learners\n")
    print_rows(rows, "table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
