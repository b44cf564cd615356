"""Mean bag-of-words precision, recall and F1 of pages by preset of ``--favour``.

``python -m research.benchmarks.presets --dataset DIR … [--every N] [--model NAME]``, with labelled pages that the model
was not trained on.
"""

from __future__ import annotations

import argparse

import numpy as np

from blockml.cli.output import print_rows
from blockml.datasets import open_dataset
from blockml.decision.decide import decide
from blockml.document.text import render_text
from blockml.evaluation.metrics import bag_scores
from blockml.extractors import load
from blockml.options import FAVOURED, Options
from blockml.parsing import parse


def main() -> None:
    """Print a table with a row for each data set and preset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", action="append", required=True, dest="datasets")
    parser.add_argument("--model", default="default")
    parser.add_argument("--every", type=int, default=1, help="read every N-th page only")
    arguments = parser.parse_args()
    extractor = load(arguments.model)
    policies = {name or "-": Options(favour=name).policy(extractor.policy) for name in (None, *FAVOURED)}
    rows = []
    for spec in arguments.datasets:
        dataset = open_dataset(spec)
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in policies}
        for labelled in dataset.pages[:: arguments.every]:
            html, gold = labelled.load()
            text = None if gold is None else gold.text()
            if text is None:
                continue
            page = parse(html, url=labelled.url, charset=labelled.charset, **extractor.parsing.options())
            prediction = extractor.predict(page)
            for name, policy in policies.items():
                scores = bag_scores(text, render_text(page, decide(policy, page, prediction).kept))
                found[name].append((scores.precision, scores.recall, scores.f1))
        for name, values in found.items():
            means = dict(zip(("precision", "recall", "f1"), np.mean(values, axis=0).round(3).tolist(), strict=True))
            rows.append({"dataset": dataset.name, "pages": len(values), "favour": name, **means})
    print_rows(rows, "table")


if __name__ == "__main__":
    main()
