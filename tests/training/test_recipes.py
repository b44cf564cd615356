"""The recipe that is trained unless one is named."""

from __future__ import annotations

import sys

import pytest

from blockml.training import recipes


def test_the_best_recipe_depends_on_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without LightGBM it is one that scikit-learn trains."""
    monkeypatch.setattr(recipes, "find_spec", lambda name: name == "lightgbm" or None)
    assert recipes.best_recipe().name == "default"
    monkeypatch.setattr(recipes, "find_spec", lambda _: None)
    chosen = recipes.best_recipe()
    assert (chosen.name, chosen.learner) == ("boosted", "boosted")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert chosen.checked() == chosen
