"""Scores of an extractor on labelled pages."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from blockml.datasets import open_dataset
from blockml.errors import DatasetError
from blockml.evaluation import evaluate_extractor, summarise
from blockml.evaluation.page_results import PAGE_METRICS
from blockml.extractors import Plain
from blockml.page import Page


def write(folder: Path, name: str, html: str, expected: str | None, meta: str = "{}") -> None:
    """Write a folder with a page."""
    (folder / name).mkdir()
    (folder / name / "page.html").write_text(html, encoding="utf-8")
    (folder / name / "meta.json").write_text(meta, encoding="utf-8")
    if expected is not None:
        (folder / name / "expected.txt").write_text(expected, encoding="utf-8")


def test_scores_of_plain_are_known(tmp_path: Path) -> None:
    """Keeping all text gives recall 1, and precision equal to the gold's share of the page's words."""
    write(
        tmp_path, "a", "<p>menu</p><p>the text itself</p>", "the text itself", '{"with": ["text"], "without": ["menu"]}'
    )
    write(tmp_path, "b", "<p>all of it</p>", "all of it", '{"page_type": "forum", "flags": ["odd"], "site": "s"}')
    write(tmp_path, "c", "<p>no gold</p>", None)
    results = evaluate_extractor(Plain(), open_dataset(tmp_path))
    assert [result.id for result in results] == ["a", "b"]
    a, b = results
    assert a.bag is not None
    assert a.bag.precision == pytest.approx(0.75)
    assert a.bag.recall == 1
    assert (a.with_rate, a.without_rate) == (1, 1)
    assert a.block.f1 == pytest.approx(2 / 3)
    assert b.metric("lcs_f1") == 1
    summary = summarise(results)
    assert summary["pages"] == 2
    assert summary["statuses"] == {"ok": 2}
    assert summary["metrics"]["bag_precision"]["mean"] == pytest.approx(0.875)
    assert summary["metrics"]["bag_precision"]["clean_mean"] == pytest.approx(0.75)
    assert summary["metrics"]["with_rate"]["pages"] == 1
    assert summary["metrics"]["with_rate"]["low"] is summary["metrics"]["with_rate"]["high"] is None
    assert summary["by_page_type"]["forum"]["bag_f1"] == 1
    assert set(summary["metrics"]) == set(PAGE_METRICS)


def test_imports_of_the_first_extraction_are_not_measured(tmp_path: Path) -> None:
    """The time that an extractor needs once before its first page isn't part of its measured time."""

    class Slow(Plain):
        """Needs half a second before its first page."""

        n_calls = 0

        def score(self, page: Page) -> NDArray[np.float32]:
            Slow.n_calls += 1
            start = time.process_time()
            while Slow.n_calls == 1 and time.process_time() < start + 0.5:
                pass
            return super().score(page)

    write(tmp_path, "a", "<p>all of it</p>", "all of it")
    (result,) = evaluate_extractor(Slow(), open_dataset(tmp_path))
    assert result.seconds < 0.5


def test_folder_without_gold_is_refused(tmp_path: Path) -> None:
    """A folder without gold is an error."""
    write(tmp_path, "c", "<p>no gold</p>", None)
    with pytest.raises(DatasetError, match="no page has gold"):
        evaluate_extractor(Plain(), open_dataset(tmp_path))
