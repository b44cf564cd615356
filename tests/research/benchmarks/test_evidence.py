"""A change is accepted if it gains over collections and pages, and no collection is significantly worse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from research.benchmarks.evidence import Scores, judge, paired

pytestmark = pytest.mark.exhaustive

PAGES, SEEDS = 150, 3


def scores(gain: float, seed: int, *, noise: float = 0.02, pages_of_site: int = 1) -> Scores:
    """Return scores of an arm whose pages differ from those of the control by a mean gain."""
    random = np.random.default_rng(seed)
    base = random.uniform(0.4, 0.9, PAGES)
    control, arm = (base + random.normal(0, noise, (SEEDS, PAGES)) for _ in range(2))
    return Scores(control, arm + gain, np.arange(PAGES) // pages_of_site)


def test_a_gain_everywhere_is_accepted_and_a_loss_is_not() -> None:
    """A gain of .01 on three collections is accepted; the opposite is rejected for both means and each collection."""
    assert judge({name: scores(0.01, number) for number, name in enumerate("abc")}).objections == ()
    against = judge({name: scores(-0.01, number) for number, name in enumerate("abc")}).objections
    assert len(against) == 5


def test_a_gain_that_one_collection_pays_for_is_rejected() -> None:
    """One significantly worse collection is enough, also for a structural change."""
    mixed = {name: scores(0.02, number) for number, name in enumerate("abc")} | {"d": scores(-0.02, 9)}
    for structural in (False, True):
        (objection,) = judge(mixed, structural=structural).objections
        assert objection.startswith("d is significantly worse")


def test_noise_is_accepted_only_if_the_change_is_structural() -> None:
    """Without a gain a change is not accepted, but a structural one only must not be worse."""
    nothing = {name: scores(0.0, number) for number, name in enumerate("abcdef")}
    assert judge(nothing).objections
    assert judge(nothing, structural=True).objections == ()


def test_seeds_of_a_rule_are_drawn_in_pairs() -> None:
    """Models that differ from each other by much don't hide a small gain by a rule that each of them has."""
    random = np.random.default_rng(0)
    control = random.uniform(0.4, 0.9, PAGES) + np.array([[-0.03], [0.0], [0.03]])
    arm = control + random.normal(0.004, 0.005, PAGES)
    for same_models in (False, True):
        found = judge({"a": Scores(control, arm, np.arange(PAGES), same_models)}, resamples=500)
        assert bool(found.objections) is not same_models


def test_pages_of_one_site_are_drawn_together() -> None:
    """The interval is wider if differences repeat within sites."""
    random = np.random.default_rng(0)
    site = np.arange(PAGES) // 10
    control = np.full((SEEDS, PAGES), 0.5)
    arm = control + random.normal(0, 0.05, PAGES // 10)[site]
    apart, together = (judge({"a": Scores(control, arm, group)}).rows[0] for group in (np.arange(PAGES), site))
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_files_are_paired_by_page(tmp_path: Path) -> None:
    """Only pages that every file has are compared."""
    for name, pages in (("c0", "ab"), ("c1", "abc"), ("a0", "bac"), ("a1", "ab")):
        lines = [json.dumps(["news", page, "site", 0.5 if name[0] == "c" else 0.75]) for page in pages]
        (tmp_path / name).write_text("\n".join(lines))
    found = paired([tmp_path / "c0", tmp_path / "c1"], [tmp_path / "a0", tmp_path / "a1"])
    assert found["news"].control.shape == found["news"].arm.shape == (2, 2)
    assert found["news"].mean == pytest.approx(0.25)
