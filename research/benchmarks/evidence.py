"""Whether a change is a gain: page scores of several seeds, beside a control that was trained in the same way.

The same data with another seed move a collection by up to .004 of F1, so that a change is not judged by one model, nor
against the released file. An arm has one model for each of at least three seeds; its control is trained again with as
many. ``score`` writes the F1 of each page by one model, ``judge`` compares the files of two arms:

    python -m research.benchmarks.evidence score MODEL -o scores/control-0.jsonl --collections l3s-gn1 cleaneval
    python -m research.benchmarks.evidence judge --control scores/control-*.jsonl --arm scores/arm-*.jsonl

Pages are paired. The bootstrap draws seeds of both arms, and pages, or whole sites where they repeat. A change of a
rule has no models of its own: with ``--same-models`` the nth file of the arm comes from the model of the nth file of
the control, and seeds are drawn in pairs. An arm is accepted if the mean over collections, each counting once, and
the mean over pages both gain, the lower bounds of their 95 % intervals are above -.0003, and no collection is
significantly worse at 99 %. A ``--structural`` change, such as one that keeps tables whole, needs only the last.
Texts that the gold ignores are not counted. A model must not have seen the pages that it is scored on: leave out
training collections, or score a model of each fold on its own pages.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import LabelledPage, open_dataset
from blockml.datasets.gold import ignored_text
from blockml.evaluation.metrics import bag_scores
from research.benchmarks.default import markdown

#: Lower bound that an interval of a mean must be above, and levels of the intervals of means and of collections.
LEAST, LEVEL, COLLECTION_LEVEL = -0.0003, 0.95, 0.99
#: Minimum number of seeds of an arm.
MIN_SEEDS = 3
_RESAMPLES = 4000
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """F1 of the pages of one collection by several seeds of two arms."""

    control: _Floats  #: (n_control_seeds, n_pages)
    arm: _Floats  #: (n_arm_seeds, n_pages)
    site: NDArray[np.int64]  #: (n_pages,) number of the site of each page
    same_models: bool = False  #: Whether scores of both arms with the same number come from the same model.

    def differences(self, random: np.random.Generator, resamples: int) -> tuple[_Floats, _Floats]:
        """Draw seeds and sites; return (resamples,) sums of the differences, and numbers of pages."""
        n_sites = int(self.site.max()) + 1
        sizes = np.bincount(self.site, minlength=n_sites)
        sums = [
            np.array([np.bincount(self.site, row, n_sites) for row in scores]) for scores in (self.arm, self.control)
        ]
        total, n_pages = np.zeros(resamples), np.zeros(resamples)
        for resample in range(resamples):
            drawn = random.integers(0, n_sites, n_sites)
            seeds = [random.integers(0, len(own), len(own)) for own in sums]
            arm, control = (
                own[seeds[0 if self.same_models else number]].mean(axis=0) for number, own in enumerate(sums)
            )
            total[resample] = (arm - control)[drawn].sum()
            n_pages[resample] = sizes[drawn].sum()
        return total, n_pages

    @property
    def mean(self) -> float:
        """Mean difference over pages and seeds."""
        return float(self.arm.mean() - self.control.mean())

    @property
    def spread(self) -> float:
        """Largest difference between the means of two seeds of an arm."""
        return float(max(np.ptp(scores.mean(axis=1)) for scores in (self.control, self.arm)))


class Row(NamedTuple):
    """Difference of a collection, or of a mean, with its interval."""

    name: str
    pages: int
    difference: float
    low: float
    high: float
    spread: float | None  #: largest difference of the means of two seeds; None for means of collections


class Judgement(NamedTuple):
    """Rows of a comparison, and the reasons against the change."""

    rows: tuple[Row, ...]
    objections: tuple[str, ...]


def judge(
    collections: Mapping[str, Scores], *, structural: bool = False, resamples: int = _RESAMPLES, seed: int = 0
) -> Judgement:
    """Compare an arm with its control.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> control = random.uniform(0.5, 1, 200) + random.normal(0, 0.001, (3, 200))
    >>> judge({"a": Scores(control, control + 0.01, np.arange(200))}, resamples=200).objections
    ()
    >>> [text[:24] for text in judge({"a": Scores(control, control - 0.01, np.arange(200))}, resamples=200).objections]
    ['the mean over collection', 'the mean over pages is -', 'a is significantly worse']
    """
    random = np.random.default_rng(seed)
    rows, objections, means, totals, counts = [], [], [], [], []
    for name, scores in collections.items():
        total, n_pages = scores.differences(random, resamples)
        low, high = np.quantile(total / n_pages, _tails(COLLECTION_LEVEL))
        rows.append(Row(name, len(scores.site), scores.mean, float(low), float(high), scores.spread))
        if high < 0:
            objections.append(f"{name} is significantly worse: {scores.mean:+.4f} [{low:+.4f}, {high:+.4f}]")
        means.append(total / n_pages)
        totals.append(total)
        counts.append(n_pages)
    n_all = sum(row.pages for row in rows)
    over_pages = sum(row.pages * row.difference for row in rows) / n_all
    over_collections = float(np.mean([row.difference for row in rows]))
    ways = (
        ("mean over collections", over_collections, np.mean(means, axis=0)),
        ("mean over pages", over_pages, np.sum(totals, axis=0) / np.sum(counts, axis=0)),
    )
    against = []
    for name, mean, drawn in ways:
        low, high = np.quantile(drawn, _tails(LEVEL))
        rows.append(Row(name, n_all, mean, float(low), float(high), None))
        if not structural and (mean <= 0 or low <= LEAST):
            against.append(f"the {name} is {mean:+.4f} [{low:+.4f}, {high:+.4f}]")
    return Judgement(tuple(rows), (*against, *objections))


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def page_score(labelled: LabelledPage, model: str) -> float | None:
    """Return the bag-of-words F1 of a page by a model; None without a gold text."""
    html, gold = labelled.load()
    text = None if gold is None else gold.text()
    if gold is None or not text:
        return None
    found = blockml.extract(html, url=labelled.url, charset=labelled.charset, model=model).text
    return bag_scores(text, found, ignored=ignored_text(gold)).f1


def read(paths: Sequence[Path]) -> dict[tuple[str, str], tuple[str, list[float]]]:
    """Return the site and the scores of each page, by collection and id; a page has a score in each file."""
    found: dict[tuple[str, str], tuple[str, list[float]]] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            collection, page, site, score = json.loads(line)
            found.setdefault((collection, page), (site, []))[1].append(score)
    return {key: item for key, item in found.items() if len(item[1]) == len(paths)}


def paired(control: Sequence[Path], arm: Sequence[Path], *, same_models: bool = False) -> dict[str, Scores]:
    """Return the scores of the pages that all files of both arms have, by collection."""
    one, other = read(control), read(arm)
    collections: dict[str, Scores] = {}
    for name in dict.fromkeys(collection for collection, _ in one):
        keys = [key for key in one if key[0] == name and key in other]
        if keys:
            site = np.unique([one[key][0] for key in keys], return_inverse=True)[1].astype(np.int64)
            control_scores, arm_scores = (np.array([table[key][1] for key in keys]).T for table in (one, other))
            collections[name] = Scores(control_scores, arm_scores, site, same_models)
    return collections


def main() -> int:
    """Score a model, or judge an arm."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    scoring = commands.add_parser("score", help="write the F1 of each page by a model")
    scoring.add_argument("model")
    scoring.add_argument("-o", "--output", type=Path, required=True)
    scoring.add_argument(
        "--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"), help="folder of collections"
    )
    scoring.add_argument("--collections", nargs="+", required=True)
    scoring.add_argument("--every", type=int, default=1, help="take only every n-th page of a collection")
    scoring.add_argument("--jobs", type=int, default=1)
    judging = commands.add_parser("judge", help="compare an arm with its control")
    judging.add_argument("--control", nargs="+", type=Path, required=True, help="a file for each seed")
    judging.add_argument("--arm", nargs="+", type=Path, required=True, help="a file for each seed")
    judging.add_argument("--structural", action="store_true", help="the change only must not be significantly worse")
    judging.add_argument("--same-models", action="store_true", help="files are paired: only a rule has changed")
    arguments = parser.parse_args()
    if arguments.command == "score":
        if arguments.corpora is None:
            parser.error("--corpora or BLOCKML_CORPORA must name the folder of collections")
        lines = []
        for name in arguments.collections:
            pages = open_dataset(f"{name}={Path(arguments.corpora) / name}").pages[:: arguments.every]
            tasks = (joblib.delayed(page_score)(page, arguments.model) for page in pages)
            scores = joblib.Parallel(n_jobs=arguments.jobs)(tasks)
            told = [(page, score) for page, score in zip(pages, scores, strict=True) if score is not None]
            lines += [json.dumps([name, page.id, page.site, score]) + "\n" for page, score in told]
        arguments.output.write_text("".join(lines), encoding="utf-8")
        return 0
    if min(len(arguments.control), len(arguments.arm)) < MIN_SEEDS:
        parser.error(f"control and arm need at least {MIN_SEEDS} seeds each")
    if arguments.same_models and len(arguments.control) != len(arguments.arm):
        parser.error("--same-models needs as many files of the arm as of the control")
    collections = paired(arguments.control, arguments.arm, same_models=arguments.same_models)
    found = judge(collections, structural=arguments.structural)
    print(markdown([row._asdict() for row in found.rows]))
    print("accepted" if not found.objections else "not accepted:\n- " + "\n- ".join(found.objections))
    return int(bool(found.objections))


if __name__ == "__main__":
    sys.exit(main())
