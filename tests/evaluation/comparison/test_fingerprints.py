"""Fingerprints cover the code and the models that results depend on."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import blockml
from blockml.errors import UsageError
from blockml.evaluation.comparison.systems import (
    class_fingerprint,
    extraction_fingerprint,
    model_fingerprint,
    runs_in_extraction,
    runs_in_scoring,
    scoring_fingerprint,
    source_fingerprint,
)
from blockml.extractors import TrainedExtractor, resolve

PACKAGE = Path(blockml.__file__).parent
SOURCES = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.suffix in {".py", ".c", ".h"}]


def test_every_package_is_classified() -> None:
    """Every package is in one of the two lists, so that a new one has to be classified."""
    extracting = {path.parts[0] for path in SOURCES if runs_in_extraction(path)}
    assert extracting == {
        "__init__.py", "__main__.py", "_kernel", "decision", "document", "errors.py", "extract.py", "extractors",
        "features", "formats.py", "metadata", "model", "options.py", "outline.py", "page", "parsing", "predictors",
        "posts.py", "records.py", "rules", "sites", "storage", "templates", "text", "writers",
    }  # fmt: skip
    assert {path.parts[0] for path in SOURCES} - extracting == {
        "archives", "batch", "cli", "comparing.py", "datasets", "estimators", "evaluation",
        "labelling", "progress.py",
        "reports", "surveying", "training",
    }  # fmt: skip


def test_scoring_covers_parsing_gold_and_metrics() -> None:
    """All modules that compute the scores of a page exist and are part of the fingerprint of scoring."""
    scoring = {path.as_posix() for path in SOURCES if runs_in_scoring(path)}
    assert {
        "datasets/gold.py", "evaluation/metrics.py", "evaluation/comparison/reference.py", "page/blocks.py",
        "parsing/segmentation.py", "text/lcs.py", "text/words.py",
    } <= scoring  # fmt: skip
    assert not any(name.startswith(("model/", "extractors/", "reports/")) for name in scoring)


def test_fingerprints_depend_on_the_selection() -> None:
    """Equal code has equal fingerprints, and another selection of modules changes them."""
    assert extraction_fingerprint() == extraction_fingerprint() != scoring_fingerprint()
    assert source_fingerprint(lambda module: module.name == "words.py") != source_fingerprint(lambda _: False)


def test_different_models_have_different_fingerprints() -> None:
    """Every field of a model changes its fingerprint, not only its trees."""
    extractor = resolve("kim2013")
    assert isinstance(extractor, TrainedExtractor)
    model = extractor.model
    others = [
        replace(model, version="0"),
        replace(model, notes=("other",)),
        replace(model, policy=replace(model.policy, threshold=0.75)),
    ]
    assert model_fingerprint(model) == model_fingerprint(extractor.model)
    assert len({model_fingerprint(other) for other in (model, *others)}) == 4


def test_code_outside_of_files_has_no_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that was typed into a notebook is refused, because its changes could not be noticed."""
    typed = type("Typed", (), {"__module__": "notebook"})
    notebook = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", notebook)
    for file in (None, "<stdin>"):
        notebook.__file__ = file
        with pytest.raises(UsageError, match="class Typed must be defined in a file"):
            class_fingerprint(typed)
