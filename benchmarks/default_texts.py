"""Texts that models extract from pages of sites they have not seen, for `blockml compare --outputs`.

A released model has seen the pages it was trained on, so a comparison on them flatters it. Here each page is extracted
by what was learnt from the other folds.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.default_study import Study, Table
from blockml.decision.decide import Prediction, decide
from blockml.decision.policy import DecisionPolicy
from blockml.parsing import parse
from blockml.rendering.text import render_text
from blockml.storage.atomic import atomic_write
from blockml.training.recipes import recipe


def texts(study: Study, folder: Path) -> dict[str, Table]:
    """Write ``default.jsonl`` and ``boosted.jsonl``, a line ``{"id", "text"}`` for each page."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = study.judged(study.seed, study.recipe.n_mlps)
    both = judged.both(*judged.all_nets)
    scores = {
        "default": study.whole(judged, study.recipe, judged.trees, both, study.seed).scores,
        "boosted": study.whole(judged, recipe("boosted"), judged.trees, judged.trees, study.seed).scores,
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
    return {"Texts of unseen pages": [{"file": f"{folder}/{name}.jsonl", "pages": len(lines[name])} for name in lines]}
