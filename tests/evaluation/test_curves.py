"""Precision and recall at every threshold, F-beta, and the figure of curves."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, fbeta_score, precision_score, recall_score

from blockml.errors import UsageError
from blockml.evaluation import WordScores, block_scores
from blockml.evaluation.calibration import precision_recall
from blockml.evaluation.metrics import f_beta
from blockml.reports import curves_svg, write_text

blocks = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])), min_size=1).filter(
    lambda pairs: any(main for main, _ in pairs)
)


@pytest.mark.exhaustive
@given(blocks)
def test_every_point_belongs_to_a_threshold(pairs: list[tuple[bool, float]]) -> None:
    """Precision, recall and average precision equal scikit-learn's at every threshold."""
    truth, scores = [main for main, _ in pairs], [score for _, score in pairs]
    curve = precision_recall(truth, scores)
    assert curve.thresholds.tolist() == sorted(set(scores), reverse=True)
    for threshold, precision, recall in zip(curve.thresholds, curve.precision, curve.recall, strict=True):
        kept = np.array(scores) >= threshold
        assert precision == pytest.approx(precision_score(truth, kept))
        assert recall == pytest.approx(recall_score(truth, kept))
    assert curve.average_precision == pytest.approx(average_precision_score(truth, scores))
    assert curve.recall[-1] == 1
    best, f = curve.best_f(2.0)
    assert f == pytest.approx(max(fbeta_score(truth, np.array(scores) >= t, beta=2) for t in curve.thresholds))
    assert f == pytest.approx(fbeta_score(truth, np.array(scores) >= best, beta=2))


def test_weights_count_as_blocks() -> None:
    """A block with weight three counts like three blocks, and one with weight zero doesn't count."""
    weighted = precision_recall([True, False, True], [0.9, 0.8, 0.7], [3, 1, 0])
    repeated = precision_recall([True, True, True, False], [0.9, 0.9, 0.9, 0.8])
    assert weighted.average_precision == repeated.average_precision == 1
    assert weighted.precision[:2].tolist() == repeated.precision.tolist()


@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [
        ([True], [0.5, 0.5], "must have equal shapes"),
        ([True], [np.nan], "finite"),
        ([False], [0.5], "no block is main content"),
        ([], [], "no block is main content"),
    ],
)
def test_undefined_curves_are_refused(truth: list[bool], scores: list[float], message: str) -> None:
    """The error says why there is no curve."""
    with pytest.raises(UsageError, match=message):
        precision_recall(truth, scores)


@pytest.mark.parametrize("beta", [0, -1, float("nan")])
def test_beta_is_positive(beta: float) -> None:
    """A beta that isn't positive is refused by F-beta and by the search for the best threshold."""
    curve = precision_recall([True, False], [0.9, 0.1])
    with pytest.raises(UsageError, match="beta"):
        f_beta(0.5, 0.5, beta)
    with pytest.raises(UsageError, match="beta"):
        curve.best_f(beta)


def test_f_beta_lies_between_precision_and_recall() -> None:
    """F-beta approaches precision for a small beta and recall for a large one, and F1 is that of blocks."""
    scores = WordScores(0.9, 0.6, 0.72)
    assert scores.recall < scores.f2 < scores.f1 < scores.f05 < scores.precision
    assert f_beta(0.9, 0.6, 1) == pytest.approx(0.72)
    assert f_beta(0, 0, 2) == 0
    found = block_scores([True, True, True, False], [True, False, True, True])
    assert f_beta(found.precision, found.recall, 1) == pytest.approx(found.f1)


def test_the_figure_has_a_line_for_each_system(tmp_path: Path) -> None:
    """The figure has escaped names, a dot for the decision, and lines of steps that end at full recall."""
    curve = precision_recall([True, False, True, False], [0.9, 0.8, 0.7, 0.1])
    svg = curves_svg("Blocks of <sites>", {"a<b": (curve, (0.5, 1.0)), "none": (curve, None)})
    assert svg.count("<circle") == 1
    assert "a&lt;b, AP 0.833" in svg
    assert "&lt;sites&gt;" in svg
    lines = re.findall(r'd="(M54 [^"]*)" fill="none" stroke="#0072b2"', svg)
    assert len(lines) == 1
    assert lines[0].endswith("H454")
    assert "L" not in lines[0]
    path = write_text(tmp_path / "new" / "curves.svg", [curves_svg("t", {"a": (curve, None)})])
    assert path.read_text().endswith("</svg>\n")
