"""Training and evaluation of models on labelled pages: recipes, tables, splits, trees, tuning, adaptation."""

import importlib.util

from blockml.errors import MissingExtraError

if any(importlib.util.find_spec(name) is None for name in ("joblib", "scipy", "sklearn", "threadpoolctl")):
    raise MissingExtraError("training", "train")
