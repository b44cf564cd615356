"""The tables of the papers: every section runs on the pages in data/, and its helpers are correct."""

from __future__ import annotations

import numpy as np
import pytest

from blockml.evaluation import block_scores
from blockml.page import Label
from blockml.templates.mapping import tree_of
from research.benchmarks.papers import thresholds
from research.benchmarks.papers.__main__ import SECTIONS, main
from research.benchmarks.papers.blocks import CLASSES, NEAREST, PRINTED
from research.benchmarks.papers.common import pooled_counts, pooled_f1
from research.benchmarks.papers.content import precision_at
from research.benchmarks.papers.nodes import frames
from research.benchmarks.papers.published import published_tables
from research.benchmarks.papers.thresholds import held_out_folds

pytestmark = pytest.mark.exhaustive

Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize("section", ["classes", "varied", "content", "thresholds", "nodes"])
def test_sections_run_without_corpora(
    section: str, capsys: Output, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Without corpora a section says that it is only a check; its tables' rows have as many cells as their heads."""
    monkeypatch.delenv("BLOCKML_CORPORA", raising=False)
    if not request.config.option.exhaustive:
        for name, less in {"LINEAR_PAGES": 4, "QUADRATIC_PAGES": 2, "N_THRESHOLDS": 11}.items():
            monkeypatch.setattr(thresholds, name, less)
    assert main([section]) == 0
    printed = capsys.readouterr()
    assert "as a check only" in printed.err
    lines = [line for line in printed.out.splitlines() if line.startswith("|")]
    assert len(lines) > 4
    widths = [line.count("|") for line in lines]
    heads = [place for place, line in enumerate(lines) if line.startswith("|---")]
    for place in heads:
        assert widths[place - 1] == widths[place] == widths[place + 1]


def test_unknown_sections_are_refused(capsys: Output) -> None:
    """An unknown section is refused with the legal names."""
    with pytest.raises(SystemExit):
        main(["nothing"])
    told = capsys.readouterr().err
    assert all(name in told for name in SECTIONS)


def test_printed_numbers_are_those_of_the_published_tables() -> None:
    """The printed numbers equal the published tables, and the nearest reading is a set of the annotation's classes."""
    tables = {table.name: table for table in published_tables()}
    share = tables["context-blocks"].column("L3S-GN1")["main content, %"] / 100
    left = tables["context-l3s-gn1"]
    assert (share, *left.column("Proposed").values(), *left.column("Boilerpipe").values()) == pytest.approx(PRINTED)
    assert set(CLASSES) - {Label.SUPPLEMENT} == NEAREST


def test_pooled_scores_are_those_of_all_blocks() -> None:
    """Scores of sums over owners equal the F1 of all blocks together."""
    random = np.random.default_rng(0)
    truth, kept, owner = random.random(200) < 0.4, random.random(200) < 0.5, random.integers(0, 9, 200)
    counts = pooled_counts(truth, kept, owner, 9)
    assert counts.shape == (9, 3)
    result = pooled_f1([counts, counts])
    assert result.estimates[0] == pytest.approx(block_scores(truth, kept).f1)
    assert result.differences()[0, 1].mean == 0


def test_precision_is_interpolated_between_settings() -> None:
    """Precision is interpolated between settings or that of one with higher recall, and None beyond the highest."""
    curve = [(0.8, 0.9), (0.9, 0.5), (1.0, 0.7)]
    assert precision_at(curve, 0.85) == 0.7
    assert precision_at(curve, 0.9) == 0.7
    assert precision_at(curve, 0.7) == 0.9
    assert precision_at([], 0.5) is None


def test_sites_stay_in_one_fold() -> None:
    """All pages of a site are in one fold, and all folds have sites."""
    sites = [f"site {number % 7}" for number in range(40)]
    fold = held_out_folds(sites, 3)
    assert all(len({fold[place] for place in range(40) if sites[place] == site}) == 1 for site in sites)
    assert set(fold.tolist()) == {0, 1, 2}


def test_frames_contain_menus_and_not_articles() -> None:
    """Menus are inside frames and articles are not, on sites from data/."""
    made = frames()
    assert len(made) == 87
    for item in made[::10]:
        tree = tree_of(item.page)
        texts = {
            " ".join(item.page.nodes.texts[tree.nodes[row]].split()): bool(item.in_frame[row])
            for row in np.flatnonzero((tree.tag == 0) & item.judged).tolist()
        }
        assert 0 < item.in_frame[item.judged].mean() < 1
        if item.site == "harbour-courier":
            assert texts["Skip to content"]
            longest = max(texts, key=len)
            assert not texts[longest] or "Harbour Courier Publishing" in longest
