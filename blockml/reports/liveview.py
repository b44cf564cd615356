"""Data for the script of a page view: decisions at any threshold, and contributions."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from blockml.datasets import BlockLabels
from blockml.decision.decide import decide
from blockml.extractors import Extractor, TrainedExtractor
from blockml.extractors.matrix import page_matrix
from blockml.model.contributions import contributions
from blockml.options import Options
from blockml.page import Extraction, Flag


@dataclass(frozen=True, slots=True)
class LiveView:
    """Script of a page view and its data."""

    data: str  #: JSON without characters that could close its element.
    script: str  #: The script.


#: Steps of the threshold in the view.
_STEPS = 100


def live_view(
    result: Extraction,
    threshold: float | None,
    labels: BlockLabels | None,
    extractor: Extractor | None,
    options: Options,
) -> LiveView:
    """Collect the data of a page view.

    Parameters
    ----------
    result
        The extraction.
    threshold
        The decision threshold; without it, or without ``extractor``, decisions can't be changed in the view.
    labels
        Gold of the blocks, if known.
    extractor
        The extractor of ``result``.
    options
        The options of ``result``.
    """
    page, blocks = result.page, result.page.blocks
    data: dict[str, Any] = {
        "kept": result.kept.astype(int).tolist(),
        "truth": None,
        "threshold": threshold,
        "scores": None,
        "asked_for": None,
        "by_rule": None,
        "families": {},
    }
    if result.rules is not None:  # a rule decides at any threshold
        pairs = zip(result.rules.by_block, result.kept.tolist(), strict=True)
        data["by_rule"] = [kept if name else None for name, kept in pairs]
    if labels is not None:
        data["truth"] = [bool(m) if k else None for m, k in zip(labels.main, labels.known, strict=True)]
    if extractor is not None and threshold is not None:
        # At threshold 0 all blocks are kept except those that another rule removes at any threshold.
        policy = replace(extractor.policy, threshold=0.0)
        included, excluded = options.labels(extractor)
        prediction = extractor.predict(page)
        found = decide(policy, page, prediction, include=included, exclude=excluded)
        # Units are kept or removed as a whole, so a block has the largest threshold that keeps it.
        reached = np.where(found.kept | found.overruled, np.float32(0), np.float32(-1))
        for value in sorted({*(step / _STEPS for step in range(1, _STEPS + 1)), threshold}):
            kept = decide(replace(policy, threshold=value), page, prediction, include=included, exclude=excluded).kept
            reached[kept] = value
        data["scores"] = [float(score) for score in reached]
        data["overruled"] = found.overruled.astype(int).tolist()
        data["texts"] = _texts(result)
        data["separators"] = blocks.separators.tolist()
        data["code"] = ((blocks.flags & int(Flag.PREFORMATTED)) != 0).astype(int).tolist()
        data["cells"] = np.cumsum(page.nodes.named({"td", "th"}))[blocks.node].tolist() if len(blocks) else []
        if included:
            data["asked_for"] = [label in included for label in found.labels or ()]
    if isinstance(extractor, TrainedExtractor):
        matrix = page_matrix(page, extractor.model.features)
        found_families = contributions(extractor.model, matrix)
        data["families"] = {name: np.round(values, 2).tolist() for name, values in found_families.items()}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return LiveView(text, script())


def _texts(result: Extraction) -> list[str]:
    """Return the text of each block, with the white space of the source in preformatted elements."""
    page, blocks = result.page, result.page.blocks
    texts = list(blocks.texts)
    nodes = page.nodes.texts
    for row in np.flatnonzero((blocks.flags & int(Flag.PREFORMATTED)) != 0).tolist():
        texts[row] = "".join(nodes[int(blocks.node[row]) : int(blocks.last_node[row]) + 1])
    return texts


def script() -> str:
    """Return the script of page views."""
    return (files("blockml.reports") / "templates" / "view.js").read_text(encoding="utf-8")


def script_policy() -> str:
    """Return the source expression of the content security policy that allows only this script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()}'"
