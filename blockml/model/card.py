"""Model cards: training data, contents, measured quality and limits of a model, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from blockml.decision.policy import DecisionPolicy
from blockml.features import feature_set
from blockml.model import Model
from blockml.model.training_hashes import TrainingHashes
from blockml.predictors import MeanTrees
from blockml.text.words import counted


def render_card(model: Model) -> str:
    """Write the card of a model as Markdown; the same model gives the same text."""
    parts = [
        f"# {model.name} {model.version}",
        _table(["", "at a glance"], [[key, value] for key, value in at_a_glance(model).items()]),
        *_drawn_by_type(model),
        "This card is generated from the model file; every number comes from the command under *Training*.",
        "## Training",
        _table(
            ["data set", "pages", "flagged", "sites", "blocks", "content", "licence"],
            [
                [
                    *(entry[name] for name in ("name", "pages", "flagged_pages", "sites", "blocks")),
                    f"{entry['content_blocks'] / max(1, entry['blocks']):.1%}",
                    entry["licence"] or "not stated",
                ]
                for entry in model.training
            ],
        ),
        *(f"{entry['name']}: {entry['attribution']}" for entry in model.training if entry["attribution"]),
        "Flagged pages have a known defect in their gold: they are evaluated, but not trained on.",
        *(f"The pages of {entry['name']} are unusual: the trees and the first MLP are not trained on them."
          for entry in model.training if entry.get("supplementary") is True),
        _hashes(model.training_hashes),
        f"Command: `{model.command or 'not recorded'}`, seed {model.seed}.",
        "## Model",
        _table(
            ["what", "value"],
            [
                ["feature set", f"{feature_set(model.features).name} ({model.features_hash})"],
                ["recipe", ", ".join(f"{key} {value}" for key, value in model.recipe.items())],
                ["predictors", ", ".join(f"{name} ({item.kind}, weight {model.weights[name]:g})"
                                         for name, item in model.predictors.items())],
                *(["trees", f"{len(item.trees.roots)}, {len(item.trees.feature)} nodes, depth {item.trees.max_depth()}"]
                  for item in model.ensembles),
                ["policy", _policy(model.policy)],
                *([["correction", f"{counted(len(model.correction.keys), 'weight')} of places and texts"]]
                  if model.correction is not None else []),
                ["content labels", ", ".join(model.labels)],
                ["parsing", f"back end {model.parsing.backend}, profile {model.parsing.profile}, "
                            f"wordless blocks {'kept' if model.parsing.keep_wordless else 'dropped'}, "
                            f"tokenizer {model.parsing.tokenizer}"],
            ],
        ),
        "## Measured",
        *_measured(model.metrics, _decision(model)),
        *_trust(model.metrics.get("site") or model.metrics.get("page") or {}),
        *_important(model.metrics),
        "## Limits",
        "The numbers hold for pages like those it was trained on. "
        + _SCORES[_decision(model)]
        + "Content that scripts load later is not seen.",
        *(model.notes or ()),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def at_a_glance(model: Model) -> dict[str, str]:
    """Summarise a model: its purpose, quality, best and worst page types, and the licences of its training data.

    Returns
    -------
    dict
        Texts under ``for``, ``page F1``, ``good at``, ``weak at`` and ``licences``; empty where nothing was measured.
    """
    adapted = model.metrics.get("adaptation")
    summary = _strictest(model)
    types = sorted(_by_type(summary), key=lambda item: -item[2])
    page = summary.get("page_bag_f1")
    score = (
        f"{page['mean']:.3f} [{page['low']:.3f}, {page['high']:.3f}], folds by {summary['protocol']}" if page else ""
    )
    if adapted:
        score = f"{adapted['after']:.3f} after adapting, {adapted['before']:.3f} before, each page held out"
    return {
        "for": "pages of the sites it was adapted to"
        if adapted
        else _PURPOSES.get(model.recipe.get("name", ""), _OTHER),
        "page F1": score,
        "good at": _named(item for item in types if item[2] >= _GOOD),
        "weak at": _named(item for item in reversed(types) if item[2] < _WEAK),
        "licences": ", ".join(dict.fromkeys(entry["licence"] or "not stated" for entry in model.training)),
    }


#: Purposes of the released recipes, by name.
_PURPOSES = {
    "default": "any page; predicts its own F1 and labels every block",
    "kim2013": "comparison with Kim et al. 2013: one decision tree",
    "stacking": "study of untrained extractors: a tree over the scores of ten",
}
_OTHER = "pages like those it was trained on"
#: Mean page F1 of a page type at which a card calls a model good at it, and below which weak.
_GOOD, _WEAK = 0.85, 0.75


def _strictest(model: Model) -> Mapping[str, Any]:
    """Return the measurement by site, else the one by page or block, else nothing."""
    return next((model.metrics[name] for name in ("site", "page", "block") if name in model.metrics), {})


def _by_type(summary: Mapping[str, Any]) -> list[tuple[str, int, float]]:
    """Return the page types of a measurement with their number of pages and mean page F1."""
    means = summary.get("page_bag_f1_by_type", {})
    return [(name, value["pages"], value["f1"]) for name, value in means.items()]


def _named(types: Iterable[tuple[str, int, float]]) -> str:
    return ", ".join(f"{name} {f1:.2f}" for name, _, f1 in types)


def _drawn_by_type(model: Model) -> list[str]:
    """Draw the mean page F1 of each page type as a bar of 25 characters."""
    types = sorted(_by_type(_strictest(model)), key=lambda item: -item[2])
    width = max((len(name) for name, _, _ in types), default=0)
    bars = [f"{name:{width}}  {'█' * round(25 * f1):░<25}  {f1:.3f}  {counted(n, 'page')}" for name, n, f1 in types]
    return ["Page F1 by page type:", "```text\n" + "\n".join(bars) + "\n```"] if bars else []


def _hashes(hashes: TrainingHashes | None) -> str:
    """Describe how evaluations recognise the training pages."""
    if hashes is None:
        return "The file has no hashes of its training pages: evaluations recognise only whole data sets."
    return (
        f"Evaluations recognise its training pages by {len(hashes.pages):,} hashes of their bytes and "
        f"{len(hashes.words):,} of their words, and {len(hashes.sites):,} sites, with 32 bits each: another page is "
        f"mistaken for one of them with probability {(len(hashes.pages) + len(hashes.words)) / 2**32:.1e}. Pages that "
        "were only used to train block types are not included."
    )


#: Meaning of a model's scores, and threshold at which its pages are measured, by kind of decision.
_SCORES = {
    "leaf": "Scores are shares of training blocks in a leaf of the tree, not calibrated probabilities. ",
    "page": "Scores are relative to each page's threshold, which is mapped to 0.5. ",
    "fixed": "Scores are probabilities, and the threshold is the same on all pages. ",
}
_THRESHOLDS = {"leaf": "a threshold tuned on the training folds", "page": "each page's own threshold", "fixed": "0.5"}


def _decision(model: Model) -> str:
    """Return a key of :data:`_SCORES`."""
    if model.policy.rule == "expected_f1":
        return "page"
    return "leaf" if all(isinstance(item, MeanTrees) for item in model.predictors.values()) else "fixed"


def _policy(policy: DecisionPolicy) -> str:
    """Name the rule and the fields that differ from their defaults."""
    changed = [field.name for field in fields(policy) if getattr(policy, field.name) != field.default]
    numbers = [f"{name} {getattr(policy, name):g}" for name in changed if name != "rule"]
    return ", ".join([f"rule {policy.rule}", *numbers])


def _measured(metrics: Any, decision: str) -> list[str]:  # noqa: ANN401 (a parsed JSON object)
    if found := metrics.get("adaptation"):
        return [
            f"Cross-validation over the {found['pages']} pages it was adapted to: page bag F1 {found['before']:.3f} "
            f"before and {found['after']:.3f} after, difference {found['difference']:+.3f} [{found['low']:+.3f}, "
            f"{found['high']:+.3f}]. For other pages, see the card of the model that it was adapted from."
        ]
    protocols = [metrics[name] for name in ("block", "page", "site") if name in metrics]
    if not protocols:
        return ["Nothing was measured."]
    rows = []
    for summary in protocols:
        block, page = summary["block"], summary.get("page_bag_f1")
        rows.append(
            [
                f"by {summary['protocol']}, {summary['folds']} folds",
                f"{block['precision']:.3f}",
                f"{block['recall']:.3f}",
                f"{block['f1']:.3f}",
                f"{block['f1_fold_mean']:.3f} ± {block['f1_fold_sd']:.3f}",
                f"{page['mean']:.3f} [{page['low']:.3f}, {page['high']:.3f}]" if page else "",
            ]
        )
    parts = [
        "Cross-validation. Block scores at 0.5, main-content class only; page scores are bag-of-words F1 at "
        f"{_THRESHOLDS[decision]}, averaged over pages, with a 95 % bootstrap interval.",
        _table(["protocol", "block P", "block R", "block F1", "F1 over folds", "page bag F1"], rows),
    ]
    if "block" in metrics:
        parts.append("Folds over blocks leak: blocks of one page are in both training and test folds.")
    if "gaps" in metrics:
        gaps = ", ".join(f"{name} {gap:+.3f}" for name, gap in metrics["gaps"].items())
        parts.append(f"Overestimates of block F1 by the laxer protocol: {gaps}.")
    means = protocols[-1].get("page_bag_f1_by_dataset", {})
    if len(means) > 1:
        head = ["data set", "pages", f"page bag F1, by {protocols[-1]['protocol']}"]
        parts.append(_table(head, [[name, value["pages"], f"{value['f1']:.3f}"] for name, value in means.items()]))
    return parts


def _trust(summary: Mapping[str, Any]) -> list[str]:
    """Describe how well probabilities and predicted F1 match the gold of held-out pages."""
    parts = []
    if usable := summary.get("page_bag_f1_usable"):
        parts.append(
            "Without the pages whose gold is flagged: page bag F1 "
            f"{usable['mean']:.3f} [{usable['low']:.3f}, {usable['high']:.3f}]."
        )
    if bins := summary.get("reliability"):
        parts += ["## Calibration", "Raw probabilities of blocks, by words:"]
        rows = [[f"{predicted:.3f}", f"{observed:.3f}", f"{share:.1%}"] for predicted, observed, share in bins]
        parts.append(_table(["mean probability", "share that is content", "words"], rows))
    if found := summary.get("confidence"):
        parts.append(
            f"Confidence: rank correlation of predicted and actual F1 of a page {found['correlation']:.2f}; the 10 % "
            f"of pages with the lowest prediction have F1 {found['worst']:.3f}, the others {found['others']:.3f}."
        )
    return parts


def _important(metrics: Mapping[str, Any]) -> list[str]:
    """Describe which families of columns and which columns the model needs on held-out pages."""
    summary = metrics.get("site") or metrics.get("page") or {}
    if found := metrics.get("importance"):
        pages = f"{found['pages']} pages that it has not seen, of {', '.join(found['datasets'])}"
        over = f"{found['repeats']} permutations"
    elif found := summary.get("importance"):
        pages, over = "the pages of the held-out folds", "folds"
    else:
        return []
    parts = [
        "## Important columns",
        f"On {pages}: gain is the share of the impurity that the tests of the trees remove; permutation is the loss of "
        "average precision of the whole model if the values of these columns are exchanged between blocks, with its "
        f"standard deviation over {over}. The ancestor words of a block are read by MLPs only. `blockml "
        "features` explains the columns.",
    ]
    for unit in ("family", "column"):
        rows = [
            [name, *([n_columns] if unit == "family" else []), f"{gain:.1%}", f"{drop:+.4f} ± {spread:.4f}"]
            for name, n_columns, gain, drop, spread in found[unit]
        ]
        parts.append(_table([unit, *(["columns"] if unit == "family" else []), "gain", "permutation"], rows))
    return parts


def _table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
