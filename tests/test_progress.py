"""Progress of the verbs: one argument with one form, which is called for each stage."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import blockml
from blockml.batch import learn_sites
from blockml.datasets import check_pages, gold_defects
from blockml.evaluation import evaluate_extractor
from blockml.evaluation.comparison import ComparisonRun
from blockml.progress import ignore_progress
from blockml.surveying import survey
from blockml.templates import SiteTemplate, cluster_pages
from blockml.templates.distances import distance_matrix

RECORDS = [{"id": str(number), "text": "Cats.", "status": "ok", "confidence": 0.5} for number in range(3)]
PAGES = [blockml.parse(f"<p>Home</p><p>Page {number}</p>") for number in range(4)]

#: Calls by the stages that they must report.
CALLS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "evaluate": (
        lambda progress: blockml.evaluate("kim2013", "data/pages", progress=progress),
        ["pages of pages", "hashes of pages"],
    ),
    "compare": (
        lambda progress: blockml.compare(["plain", "bte"], "data/pages", limit=2, progress=progress),
        ["plain on pages", "bte on pages", "scores on pages"],
    ),
    "train": (
        lambda progress: blockml.train("data/pages", recipe="kim2013", protocols="page", n_folds=2, progress=progress),
        ["features", "folds by page", f"pages by default {blockml.__version__}"],
    ),
    "predict": (
        lambda progress: list(blockml.predict([b"<p>One", b"<p>Two"], model="plain", progress=progress)),
        ["pages"],
    ),
    "survey": (lambda progress: survey(RECORDS, progress=progress), ["records", "repeated lines"]),
    "clusters": (
        lambda progress: cluster_pages(PAGES, list("abcd"), progress=progress),
        ["distances", "clusters", "map"],
    ),
    "site template": (
        lambda progress: SiteTemplate.learn(PAGES, progress=progress),
        ["repeated text", "layouts"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_each_stage_is_told(name: str) -> None:
    """Stages come in order, each counts up to its total, and the result does not depend on the callback."""
    call, stages = CALLS[name]
    told: dict[str, list[tuple[int, int | None]]] = {}

    def progress(stage: str, done: int, total: int | None) -> None:
        told.setdefault(stage, []).append((done, total))

    call(progress)
    assert list(told) == stages
    for counts in told.values():
        done = [count for count, _ in counts]
        assert done == sorted(done)
        total = counts[-1][1]
        assert total is None or done[-1] == total


@pytest.mark.parametrize(
    "call",
    [
        blockml.train, blockml.predict, blockml.evaluate, blockml.compare, blockml.survey, evaluate_extractor,
        ComparisonRun, check_pages, gold_defects, distance_matrix, cluster_pages,
        SiteTemplate.learn, learn_sites,
    ],
)  # fmt: skip
def test_one_form(call: Callable[..., Any]) -> None:
    """Every long call has the same argument."""
    parameter = inspect.signature(call).parameters["progress"]
    assert parameter.annotation == "ProgressCallback"
    assert parameter.default is ignore_progress
