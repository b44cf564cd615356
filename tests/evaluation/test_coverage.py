"""Coverage: F1 and share of the pages above a confidence, and a report of both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blockml.cli import main
from blockml.errors import UsageError
from blockml.evaluation.calibration import coverage

DATA = Path(__file__).parents[2] / "data" / "sites" / "quillbase-docs"


def test_means_and_shares_of_pages_above_a_confidence() -> None:
    """Pages at the threshold are included, and fewer than five pages have no mean."""
    confidence = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    f1 = [0.1, 0.4, 0.6, 0.9, 1.0, 1.0]
    rows = coverage(confidence, f1, thresholds=(0.0, 0.6, 0.9))
    assert [row.pages for row in rows] == [6, 5, 2]
    assert [row.share.mean for row in rows] == [1.0, pytest.approx(5 / 6), pytest.approx(1 / 3)]
    assert rows[0].f1 is not None
    assert rows[1].f1 is not None
    assert [rows[0].f1.mean, rows[1].f1.mean] == pytest.approx([4 / 6, 3.9 / 5])
    assert rows[2].f1 is None
    assert rows[2].record()["f1"] is None


def test_an_interval_allows_for_bad_pages_that_are_not_in_the_sample() -> None:
    """Fifty perfect pages still have an interval below 1, unlike with a plain bootstrap."""
    (row,) = coverage([1.0] * 50, [1.0] * 50, thresholds=(0.5,))
    assert row.f1 is not None
    assert 0.9 < row.f1.low < 0.99
    assert row.f1.high == row.f1.mean == 1.0


def test_intervals_cover_the_mean_of_all_pages() -> None:
    """If one page in twenty is bad, the interval of 50 pages contains the mean in most draws."""
    rng = np.random.default_rng(0)
    f1 = np.where(rng.random(2000) < 0.05, rng.random(2000) * 0.4, 0.9 + rng.random(2000) / 10)
    held = 0
    for _ in range(100):
        (row,) = coverage(np.ones(50), rng.choice(f1, 50, replace=False), thresholds=(0.0,))
        assert row.f1 is not None
        held += row.f1.low <= f1.mean() <= row.f1.high
    assert held >= 93


def test_wrong_calls() -> None:
    """Arrays of different lengths, shapes or without pages are refused."""
    for confidence, f1 in (([], []), ([0.5], [0.5, 0.6]), ([[0.5]], [[0.5]])):
        with pytest.raises(UsageError, match=r"must be arrays \(n_pages,\)"):
            coverage(confidence, f1)


def test_the_command_prints_and_writes_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints coverage as a table or as JSON, and writes a report with a curve."""
    pytest.importorskip("jinja2")
    call = ["evaluate", "kim2013", "--dataset", str(DATA), "--metric", "bag_f1"]
    assert main([*call, "--coverage"]) == 0
    assert "confidence  pages  share" in capsys.readouterr().out
    assert main([*call, "--format", "json", "--coverage", str(tmp_path / "c.html")]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    whole = report["coverage"][0]
    assert (whole["confidence"], whole["pages"], whole["share"]["mean"]) == (0.0, report["pages"], 1.0)
    assert whole["f1"]["mean"] == pytest.approx(report["metrics"]["bag_f1"]["mean"], abs=1e-4)
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert page.count('class="dot"') == sum(row["f1"] is not None for row in report["coverage"])
    assert "kim2013 on quillbase-docs" in page
