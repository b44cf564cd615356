"""The study of parameters tunes them on other sites than those it scores."""

from __future__ import annotations

import numpy as np
from lxml import etree

from blockml.extractors import resolve
from research.benchmarks.parameters import GRIDS, folds_of, picture, settings_of, study


def test_defaults_are_among_the_settings() -> None:
    """The default is one of the settings of every curve."""
    for name, grid in GRIDS.items():
        own = resolve(name).get_params()
        assert tuple((key, own[key]) for key in grid) in settings_of(name)


def test_pages_of_a_site_share_a_fold() -> None:
    """All pages of a site are in one fold, and every fold has sites."""
    sites = [f"site{number % 7}" for number in range(30)]
    fold = folds_of(sites, 3, 0)
    assert all(len({fold[i] for i in range(30) if sites[i] == site}) == 1 for site in sites)
    assert set(fold.tolist()) == {0, 1, 2}


def test_tuning_sees_only_other_sites() -> None:
    """A setting that is perfect on only one fold is not chosen for that fold."""
    settings = settings_of("lqf")
    sites = [f"site{number}" for number in range(10)]
    fold = folds_of(sites, 2, 0)
    f1 = np.full((10, len(settings)), 0.5)
    f1[fold == 0, 0] = 1.0
    f1[fold == 1, 0] = 0.0
    result = study("lqf", f1, fold, sites)
    assert result["chosen"][1] == dict(settings[0])  # chosen on fold 0, scored on fold 1
    assert result["tuned"] == 0.25
    assert result["oracle"] == 0.5
    assert result["default"] == 0.5


def test_the_figure_marks_the_default() -> None:
    """The figure is well-formed SVG with a point for every value, and the default is highlighted."""
    settings = settings_of("crunch")
    sites = [f"site{number}" for number in range(10)]
    f1 = np.random.default_rng(0).random((10, len(settings)))
    drawing = etree.fromstring(picture([study("crunch", f1, folds_of(sites, 2, 0), sites)]).encode())
    points = drawing.findall("{*}circle")
    assert len(points) == len(GRIDS["crunch"]["ratio"])
    assert [point.get("fill") for point in points].count("#1f5fa8") == 1
