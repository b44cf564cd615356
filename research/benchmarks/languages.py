"""Quality on held-out pages by language, script and collection, and reliability of the confidence.

The recipe ``default`` is cross-validated by site over all collections that the release is trained on, so that each page
is extracted by a model that was trained on other sites. Because some scripts have no spaces, each letter of Chinese,
Japanese, Thai, Lao, Khmer and Burmese counts as a word.

    BLOCKML_CORPORA=DIR python -m research.benchmarks.languages --kept FILE --systems trafilatura resiliparse

The file has the kept blocks of each page; it is written if it doesn't exist, so that a later run needs no training.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

import train
from blockml.cli.output import note, write_output
from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.validation import filtered
from blockml.document.text import render_text
from blockml.evaluation.bootstrap import bootstrap_mean
from blockml.evaluation.calibration import routing
from blockml.evaluation.comparison.systems import System, choose
from blockml.evaluation.metrics import scores_from_counts
from blockml.parsing import parse
from blockml.text.languages import main_script
from blockml.training import HeldOut, Recipe, build_table, fit_page_policy, folds, recipe
from research.benchmarks.default import markdown
from research.benchmarks.default_study import Table, cross_predictions

#: Letters of scripts that are written without spaces between words.
_SINGLE = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_SINGLE}]|[^\W{_SINGLE}]+")
N_FOLDS = 5
#: Minimum number of pages for a language or script to have a row.
LEAST = 5


def f1(gold: str, text: str) -> float:
    """Return the bag-of-words F1 of a text.

    Examples
    --------
    >>> round(f1("猫が好き", "猫が 嫌い"), 2), f1("Cats rule", "cats RULE")
    (0.5, 1.0)
    """
    relevant, found = (Counter(_WORD.findall(part.lower())) for part in (gold, text))
    return scores_from_counts((relevant & found).total(), found.total(), relevant.total()).f1


def gold_text(page: LabelledPage) -> str | None:
    """Return the gold text of a page; None without one."""
    gold = page.load()[1]
    return None if gold is None else gold.text()


def text_by(system: System, source: str, url: str | None) -> str:
    """Return the text of a page by a system, empty if it fails."""
    try:
        return system.make()(source, url).text
    except Exception as error:  # noqa: BLE001 (other tools raise anything)
        note(f"{system.name}: {type(error).__name__}: {error}")
        return ""


def scored(
    page: LabelledPage, kept: NDArray[np.bool_], systems: Sequence[System]
) -> tuple[str | None, list[float], bool] | None:
    """Return the gold's script, the scores of our text and of other systems' texts, and whether our text is empty."""
    html, _ = page.load()
    gold = gold_text(page)
    if not gold:
        return None
    options = recipe("default").parsing.options()
    parsed = parse(html, url=page.url, charset=page.charset, **options)
    source = str(parsed.source or "")
    texts = [render_text(parsed, kept), *(text_by(system, source, page.url) for system in systems)]
    return main_script(gold), [f1(gold, text) for text in texts], not texts[0].strip()


def by(keys: Iterable[str], scores: NDArray[np.float64], names: Sequence[str], title: str) -> Table:
    """Return the mean scores of each group of pages, largest groups first."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        groups[key].append(number)
    rows: Table = []
    for key, pages in sorted(groups.items(), key=lambda item: -len(item[1])):
        if len(pages) >= LEAST:
            means = dict(zip(names, scores[pages].mean(axis=0).tolist(), strict=True))
            rows.append({title: key, "pages": len(pages), "interval": bootstrap_mean(scores[pages, 0]), **means})
    return rows


class Kept(NamedTuple):
    """Kept blocks of each page, by models that were trained on other sites."""

    masks: list[NDArray[np.bool_]]  #: (n_blocks,) for each page.
    predicted_f1: NDArray[np.float64]  #: (n_pages,).


def cross_validated(datasets: Sequence[Dataset], of_recipe: Recipe, jobs: int) -> Kept:
    """Train the recipe for each fold on the sites of the others, and apply it."""
    table = build_table([filtered(dataset, jobs=jobs) for dataset in datasets], of_recipe, jobs=jobs)
    fold = np.zeros(len(table.pages), dtype=np.int64)
    fold[table.page_of_row] = folds(table, "site", N_FOLDS, 0)
    note(f"{len(table.pages)} pages, {len(table.main)} blocks")
    found = cross_predictions(table, of_recipe, fold, seed=0, jobs=jobs)
    policy = fit_page_policy(table, of_recipe, HeldOut(found.trees, found.both(*found.all_mlps), fold), 0)
    kept = policy.scores >= np.float32(0.5)
    return Kept([kept[table.rows_of(page)] for page in range(len(table.pages))], policy.predicted_f1)


def main() -> int:
    """Cross-validate, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"), required=False)
    parser.add_argument("--systems", nargs="*", default=[])
    parser.add_argument("--kept", type=Path, help="file of what is kept of each page")
    parser.add_argument("--mlps", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = choose(options.systems)
    for name, install in chosen.missing.items():
        note(f"{name} is not installed: {install}")
    release = next(item for item in train.RELEASES if item.name == "default")
    datasets = [train.opened(name, str(Path(options.corpora) / name)) for name in release.main_corpora]
    pages = [page for dataset in datasets for page in dataset.pages]
    names = [dataset.name for dataset in datasets for _ in dataset.pages]
    if options.kept is not None and options.kept.exists():
        kept = Kept(*joblib.load(options.kept))
    else:
        kept = cross_validated(datasets, replace(recipe(release.name), n_mlps=options.mlps), options.jobs)
        if options.kept is not None:
            joblib.dump(tuple(kept), options.kept)
    results = joblib.Parallel(n_jobs=options.jobs)(
        joblib.delayed(scored)(page, mask, chosen.systems) for page, mask in zip(pages, kept.masks, strict=True)
    )
    some = [number for number, result in enumerate(results) if result is not None]
    scores = np.array([results[number][1] for number in some])
    columns = ["default", *(system.name for system in chosen.systems)]
    languages = [str(pages[number].extra.get("lang") or "unknown") for number in some]
    scripts = [results[number][0] or "none" for number in some]
    write_output(f"### By language\n\n{markdown(by(languages, scores, columns, 'language'))}\n\n", None)
    write_output(f"### By script\n\n{markdown(by(scripts, scores, columns, 'script'))}\n\n", None)
    trust: Table = []
    for name in dict.fromkeys(names):
        here = [place for place, number in enumerate(some) if names[number] == name]
        predicted = kept.predicted_f1[[some[place] for place in here]]
        routed = routing(predicted, scores[here, 0])
        trust.append({
            "collection": name, "pages": len(here), "F1": float(scores[here, 0].mean()),
            "predicted F1": float(predicted.mean()),
            "rank correlation": routed.correlation, "F1 of the least sure tenth": routed.worst,
            "F1 of the others": routed.others, "without text": sum(results[some[place]][2] for place in here),
        })  # fmt: skip
    write_output(f"### Confidence by collection\n\n{markdown(trust)}\n\n", None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
