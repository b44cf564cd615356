"""Labelled pages in, a measured model out: recipes, tables, splits, trees, tuning, cards."""

import importlib.util

from blockml.errors import MissingExtraError

if any(importlib.util.find_spec(name) is None for name in ("joblib", "scipy", "sklearn", "threadpoolctl")):
    raise MissingExtraError("training", "train")
