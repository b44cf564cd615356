"""Texts that a recipe's models extract from pages of sites they had not seen, for `blockml compare --outputs`.

A released model has seen the pages it was trained on, so a comparison on them flatters it. This cross-validates the
recipe by site and writes what the model of the other folds gives for each page.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from blockml.cli.output import note
from blockml.datasets import open_dataset
from blockml.datasets.defects import screened
from blockml.decision import decide
from blockml.files import atomic_write
from blockml.learning.crossval import cross_validate
from blockml.learning.recipes import recipe
from blockml.learning.table import build_table
from blockml.parsing import parse
from blockml.rendering.text import render_text


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("--dataset", required=True, metavar="NAME=DIR")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.jsonl")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen, dataset = recipe(options.recipe), open_dataset(options.dataset)
    table = build_table([screened(dataset, jobs=options.jobs)], chosen, jobs=options.jobs)
    result = cross_validate(table, chosen, "site", n_folds=options.folds, seed=options.seed, jobs=options.jobs)
    with atomic_write(options.output) as stream:
        for number, labelled in enumerate(dataset.pages):
            html, _ = labelled.load()
            page = parse(html, url=labelled.url, charset=labelled.charset, **asdict(chosen.parsing))
            fold = int(result.fold[table.starts[number]]) if len(page.blocks) else 0
            decision = decide(result.scores[table.rows_of(number)], result.tunings[fold].threshold, page)
            row = {"id": labelled.id, "text": render_text(page, decision.kept)}
            stream.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
    summary = result.summary(table)
    note(f"{options.recipe}: {summary['page_bag_f1']} by site; wrote {options.output}")


if __name__ == "__main__":
    main()
