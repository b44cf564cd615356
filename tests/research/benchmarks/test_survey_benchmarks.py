"""Benchmarks of surveys count correctly on made-up pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blockml.datasets import LabelledPage
from research.benchmarks import survey_coverage, survey_labels, survey_lines, survey_templates
from research.benchmarks.survey_labels import Measured
from research.benchmarks.survey_pages import Predicted, by_group


def page(number: int, site: str = "cats.example", *, text: str = "", gold: str = "", sure: float = 0.9) -> Predicted:
    """Return a page of a site with an extraction."""
    return Predicted("news", LabelledPage(f"{number}", site, Path("none")), gold, text, sure, 0.9)


def test_groups_have_enough_pages() -> None:
    """Groups with too few pages, and pages of unknown sites, are left out."""
    pages = [page(n) for n in range(5)] + [page(9, "dogs.example")]
    assert {name: len(items) for name, items in by_group(pages, 5).items()} == {"news/cats.example": 5}


def test_lines_outside_of_the_gold_are_boilerplate() -> None:
    """A line counts by the share of its pages whose gold lacks it."""
    pages = [page(n, text=f"Follow us\nCat {n} rules", gold=f"cat {n}, rules!") for n in range(4)]
    assert sorted(survey_lines.lines_of(pages)) == [(1, 0.25, 0.0)] * 4 + [(4, 1.0, 1.0)]
    assert survey_templates.repeated_share(pages) == pytest.approx(8 / 20)


def test_curves_end_at_the_same_point() -> None:
    """With labels for all sites every order of choice is equal; with few, the oracle is best."""
    sites = [
        Measured(f"s{n}", "news", 10, 0.5 + n / 10, accepted=True, before=[0.5] * 5, after=[0.5 + n / 10] * 5)
        for n in range(4)
    ]
    rows = survey_labels.curves(sites, "news")
    assert [row["labelled"] for row in rows] == [0, 10, 20, 20, 20]
    assert float(str(rows[1]["oracle"])) == pytest.approx(0.5 + 0.5 / 4)
    assert float(str(rows[1]["by survey"])) == pytest.approx(0.5 + 0.1 / 4)
    assert rows[4]["by survey"] == rows[4]["oracle"] == "0.6500"
    (news, everything) = survey_labels.by_site(sites)
    assert (news["sites"], news["better"], news["worse"], everything["gain"][:7]) == (4, 3, 0, "+0.1500")  # type: ignore[index]


def test_held_out_confidences_are_counted_once() -> None:
    """Each page is in one interval, and those of confidence 1 are in the last."""
    rng = np.random.default_rng(0)
    rows = survey_coverage.held_out([page(n, sure=float(sure)) for n, sure in enumerate([*rng.random(500), 1.0])])
    assert sum(row["pages"] for row in rows) == 501
    assert rows[-1]["share_above_80"] == 1.0
