"""Out-of-fold texts by site, for `blockml compare --outputs`.

A comparison of a released model on its training pages is optimistic. Here each page is extracted by a model that was
trained on the other folds.
"""

from __future__ import annotations

import json
from pathlib import Path

from blockml.decision.decide import decide
from blockml.decision.policy import DecisionPolicy
from blockml.decision.prediction import Prediction
from blockml.document.text import render_text
from blockml.parsing import parse
from blockml.storage.atomic import atomic_write
from blockml.training import recipe
from research.benchmarks.default_study import Study, Table


def texts(study: Study, folder: Path) -> dict[str, Table]:
    """Write ``default.jsonl`` and ``boosted.jsonl``, a line ``{"id", "text"}`` for each page."""
    folder.mkdir(parents=True, exist_ok=True)
    predictions = study.predictions(study.seed, study.recipe.n_mlps)
    both = predictions.both(*predictions.all_mlps)
    scores = {
        "default": study.whole(predictions, study.recipe, predictions.trees, both, study.seed).scores,
        "boosted": study.whole(predictions, recipe("boosted"), predictions.trees, predictions.trees, study.seed).scores,
    }
    lines: dict[str, list[str]] = {name: [] for name in scores}
    for number, labelled in enumerate(study.dataset.pages):
        html, _ = labelled.load()
        page = parse(html, url=labelled.url, charset=labelled.charset, **study.recipe.parsing.options())
        for name, values in scores.items():
            kept = decide(DecisionPolicy(), page, Prediction(values[study.table.rows_of(number)])).kept
            row = {"id": labelled.id, "text": render_text(page, kept)}
            lines[name].append(json.dumps(row, ensure_ascii=False))
    for name, rows in lines.items():
        with atomic_write(folder / f"{name}.jsonl") as stream:
            stream.write("".join(f"{row}\n" for row in rows).encode())
    return {"Out-of-fold texts": [{"file": f"{folder}/{name}.jsonl", "pages": len(lines[name])} for name in lines]}
