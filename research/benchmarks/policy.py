"""Ablation of the decision policy of the model ``default``: gain of each field in page F1.

Each field is set to the value that disables its rule, all other fields unchanged; page F1 (bag of words, as in
``blockml evaluate``) with and without the field is compared, paired by page. Blocks of WCXB, the training collection,
are scored out of fold, with folds by site; those of held-out collections by the released model. A field is kept if
its gain is at least .001 on any collection.

``python -m research.benchmarks.policy`` needs the folder of corpora in BLOCKML_CORPORA. Cross-validation on WCXB takes
about 25 minutes on two cores; ``--dataset`` chooses collections.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.cli.output import note, print_rows
from blockml.datasets import LabelledPage, open_dataset
from blockml.decision.decide import decide
from blockml.decision.policy import DecisionPolicy
from blockml.document.text import render_text
from blockml.evaluation import paired_difference
from blockml.evaluation.metrics import bag_scores
from blockml.extractors import trained
from blockml.extractors.matrix import page_matrix
from blockml.model import Model, score_page
from blockml.parsing import parse
from blockml.training.recipes import recipe
from research.benchmarks.default_study import Study

#: Training collection, and held-out collections.
TRAINING = "wcxb"
TRANSFER = (
    "l3s-gn1", "cleaneval", "cleanportaleval", "ir-research-big9-chaos", "fundus", "magic-html", "mercury",
    "chinese-web-content", "dragnet-2012", "forums", "outline-annotated", "ftr-articles", "recipes",
)  # fmt: skip
#: Values of fields that disable their rules.
NEUTRAL: Mapping[str, float] = {
    "min_content_words": 0,
    "min_best_probability": 1,
    "form_best_probability": 0,
    "base_penalty": 0,
    "article_penalty": 0,
    "link_penalty": 0,
    "min_certain_words": 0,
    "duplicate_penalty": 0,
    "same_context_factor": 1,
    "min_duplicate_words": 1,
    "negative_shrinkage": 0,
    "min_p_article": 1,
    "sidebar_probability": 0,
    "comment_probability": 1,
    "named_comment_probability": 1,
    "declared_probability": 1,
}
#: Minimum gain in page F1 for which a field is kept.
MIN_GAIN = 0.001
#: Out-of-fold probabilities of a page's blocks, (n_blocks,), and P(article) of the page.
OutOfFold = tuple[NDArray[np.float32], float]


def main() -> int:
    """Print the gain of each field by collection."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    parser.add_argument("--dataset", action="append", help="name of a collection; may be repeated (default: all)")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.corpora is None:
        parser.error("name the folder of corpora by --corpora or BLOCKML_CORPORA")
    gains: dict[str, dict[str, object]] = {name: {"field": name, "neutral": NEUTRAL[name]} for name in NEUTRAL}
    best = dict.fromkeys(NEUTRAL, -np.inf)
    for name in arguments.dataset or (TRAINING, *TRANSFER):
        f1 = page_f1s(arguments.corpora / name, arguments.jobs)
        note(f"{name}: {len(f1)} pages, F1 {f1[:, 0].mean():.4f}")
        for column, field in enumerate(NEUTRAL, start=1):
            gain = paired_difference(f1[:, 0], f1[:, column])
            gains[field][name] = f"{gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"
            best[field] = max(best[field], gain.mean)
    print_rows([{**row, "kept": "yes" if best[field] >= MIN_GAIN else "no"} for field, row in gains.items()], "table")
    return 0


def page_f1s(folder: Path, jobs: int) -> NDArray[np.float64]:
    """Compute the F1 of the pages of a collection, (n_pages, 1 + n_fields): by the policy, and without each field."""
    model = trained("default").model
    dataset = open_dataset(folder)
    known: Iterator[OutOfFold | None] = iter([None] * len(dataset.pages))
    if folder.name == TRAINING:
        chosen = recipe("default")
        known = out_of_fold(Study.opened(dataset, chosen, n_folds=chosen.n_folds, seed=0, jobs=jobs))
    with joblib.Parallel(n_jobs=jobs, batch_size=8) as parallel:
        rows = parallel(
            joblib.delayed(f1_of_page)(page, model, scores) for page, scores in zip(dataset.pages, known, strict=True)
        )
    return np.array([row for row in rows if row])


def out_of_fold(study: Study) -> Iterator[OutOfFold]:
    """Yield the out-of-fold probabilities of each page."""
    predictions = study.predictions(study.seed, study.recipe.n_mlps)
    final = predictions.both(*predictions.all_mlps)
    p_article = study.whole(predictions, study.recipe, predictions.trees, final, study.seed).p_article
    for page in range(len(study.table.pages)):
        yield final[study.table.rows_of(page)], float(p_article[page])


def f1_of_page(labelled: LabelledPage, model: Model, out_of_fold: OutOfFold | None) -> list[float]:
    """Compute F1 with the model's policy and without each field; nothing without a complete gold text."""
    html, gold = labelled.load()
    text = None if gold is None else gold.text()
    if text is None:
        return []
    page = parse(html, url=labelled.url, charset=labelled.charset, **model.parsing.options())
    if not len(page.blocks):
        return [bag_scores(text, "").f1] * (1 + len(NEUTRAL))
    prediction = score_page(model, page_matrix(page, model.features))
    if out_of_fold is not None:
        prediction = replace(prediction, scores=out_of_fold[0], p_article=out_of_fold[1])
    policies: Sequence[DecisionPolicy] = [
        model.policy,
        *(replace(model.policy, **{name: value}) for name, value in NEUTRAL.items()),  # type: ignore[arg-type]
    ]
    # Most fields change nothing on most pages, and scoring a text is more expensive than a decision.
    f1_of: dict[bytes, float] = {}
    return [f1_of_kept(page, text, decide(policy, page, prediction).kept, f1_of) for policy in policies]


def f1_of_kept(page: blockml.Page, gold: str, kept: NDArray[np.bool_], known: dict[bytes, float]) -> float:
    """Compute F1 of the text of kept blocks, once for equal sets."""
    key = kept.tobytes()
    if key not in known:
        known[key] = bag_scores(gold, render_text(page, kept)).f1
    return known[key]


if __name__ == "__main__":
    sys.exit(main())
