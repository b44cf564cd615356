"""Ablation of the rules of the decision: gain of each in page F1 of the model ``default``.

Each rule of :mod:`blockml.decision.rules` is left out, all others unchanged, by taking it out of its list or setting
its fields of the policy to values that disable it; page F1 (bag of words, as in ``blockml evaluate``) with and without
the rule is compared, paired by page. Blocks of WCXB, the training collection, are scored out of fold, with folds by
site; those of held-out collections by the released model. Rules that complete units are judged by what a reader loses
(``python -m research.benchmarks.whole``): for them F1 must only not be worse.

``python -m research.benchmarks.policy`` needs the folder of corpora in BLOCKML_CORPORA. Cross-validation on WCXB takes
about 25 minutes on two cores; ``--dataset`` chooses collections, ``--every`` pages.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.cli.output import note, print_rows
from blockml.datasets import LabelledPage, open_dataset
from blockml.decision import decide as decide_module
from blockml.decision import rules
from blockml.decision.decide import decide
from blockml.decision.policy import score_units
from blockml.document.text import render_text
from blockml.evaluation import paired_difference
from blockml.evaluation.metrics import bag_scores
from blockml.extractors import trained
from blockml.extractors.matrix import page_matrix
from blockml.model import Model, score_page
from blockml.parsing import parse
from blockml.training import recipe
from research.benchmarks.default_study import Study

#: Training collection, and held-out collections.
TRAINING = "wcxb"
TRANSFER = (
    "l3s-gn1", "cleaneval", "cleanportaleval", "ir-research-big9-chaos", "fundus", "magic-html", "mercury",
    "chinese-web-content", "dragnet-2012", "forums", "outline-annotated", "ftr-articles", "recipes",
)  # fmt: skip
#: The lists of rules, and the modules that read them.
LISTS, MODULES = ("SCORES", "DECLARED", "UNITS", "REMOVALS", "LAST"), (rules, decide_module)
#: The rules by the names of their functions or fields.
RULES: Mapping[str, rules.Rule[Any]] = {
    rule.apply.__name__.strip("_") if rule.apply else next(iter(rule.without)): rule
    for name in LISTS
    for rule in getattr(rules, name)
    if rule.apply is not score_units
}
#: Out-of-fold probabilities of a page's blocks, (n_blocks,), and P(article) of the page.
OutOfFold = tuple[NDArray[np.float32], float]


def main() -> int:
    """Print the gain of each field by collection."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    parser.add_argument("--dataset", action="append", help="name of a collection; may be repeated (default: all)")
    parser.add_argument("--every", type=int, default=1, help="measure one page of so many")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.corpora is None:
        parser.error("name the folder of corpora by --corpora or BLOCKML_CORPORA")
    gains: dict[str, dict[str, object]] = {name: {"rule": name} for name in RULES}
    total: list[NDArray[np.float64]] = []
    for name in arguments.dataset or (TRAINING, *TRANSFER):
        total.append(f1 := page_f1s(arguments.corpora / name, arguments.jobs, arguments.every))
        note(f"{name}: {len(f1)} pages, F1 {f1[:, 0].mean():.4f}")
        write_gains(gains, name, f1)
    write_gains(gains, "all", np.concatenate(total))
    print_rows(list(gains.values()), "table")
    return 0


def write_gains(gains: Mapping[str, dict[str, object]], name: str, f1: NDArray[np.float64]) -> None:
    """Write the gain of each rule on a collection, and the number of pages whose F1 it changes."""
    for column, row in enumerate(gains.values(), start=1):
        gain, n_changed = paired_difference(f1[:, 0], f1[:, column]), np.count_nonzero(f1[:, 0] != f1[:, column])
        row[name] = f"{gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}] ({n_changed})" if n_changed else ""


def page_f1s(folder: Path, jobs: int, every: int) -> NDArray[np.float64]:
    """Compute the F1 of the pages of a collection, (n_pages, 1 + n_rules): by all rules, and without each."""
    model = trained("default").model
    dataset = open_dataset(folder)
    known: Iterator[OutOfFold | None] = iter([None] * len(dataset.pages))
    if folder.name == TRAINING:
        chosen = recipe("default")
        known = out_of_fold(Study.opened(dataset, chosen, n_folds=chosen.n_folds, seed=0, jobs=jobs))
    with joblib.Parallel(n_jobs=jobs, batch_size=8) as parallel:
        pages = list(zip(dataset.pages, known, strict=True))[::every]
        rows = parallel(joblib.delayed(f1_of_page)(page, model, scores) for page, scores in pages)
    return np.array([row for row in rows if row])


def out_of_fold(study: Study) -> Iterator[OutOfFold]:
    """Yield the out-of-fold probabilities of each page."""
    predictions = study.predictions(study.seed, study.recipe.n_mlps)
    final = predictions.both(*predictions.all_mlps)
    p_article = study.whole(predictions, study.recipe, predictions.trees, final, study.seed).p_article
    for page in range(len(study.table.pages)):
        yield final[study.table.rows_of(page)], float(p_article[page])


def f1_of_page(labelled: LabelledPage, model: Model, out_of_fold: OutOfFold | None) -> list[float]:
    """Compute F1 by all rules and without each of them; nothing without a complete gold text."""
    html, gold = labelled.load()
    text = None if gold is None else gold.text()
    if text is None:
        return []
    page = parse(html, url=labelled.url, charset=labelled.charset, **model.parsing.options())
    if not len(page.blocks):
        return [bag_scores(text, "").f1] * (1 + len(RULES))
    prediction = score_page(model, page_matrix(page, model.features))
    if out_of_fold is not None:
        prediction = replace(prediction, scores=out_of_fold[0], p_article=out_of_fold[1])
    # Most rules change nothing on most pages, and scoring a text is more expensive than a decision.
    known: dict[bytes, float] = {}
    found = [f1_of_kept(page, text, decide(model.policy, page, prediction).kept, known)]
    for rule in RULES.values():
        policy = replace(model.policy, **dict[str, Any](rule.without))
        with left_out(rule):
            found.append(f1_of_kept(page, text, decide(policy, page, prediction).kept, known))
    return found


@contextmanager
def left_out(rule: rules.Rule[Any]) -> Iterator[None]:
    """Decide without a rule."""
    with ExitStack() as stack:
        for module in MODULES:
            for name in LISTS:
                if hasattr(module, name):
                    others = tuple(one for one in getattr(module, name) if one is not rule)
                    stack.enter_context(patch.object(module, name, others))
        yield


def f1_of_kept(page: blockml.Page, gold: str, kept: NDArray[np.bool_], known: dict[bytes, float]) -> float:
    """Compute F1 of the text of kept blocks, once for equal sets."""
    key = kept.tobytes()
    if key not in known:
        known[key] = bag_scores(gold, render_text(page, kept)).f1
    return known[key]


if __name__ == "__main__":
    sys.exit(main())
