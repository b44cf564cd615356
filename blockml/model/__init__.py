"""Trained models: feature set, predictors and policy, model files, and prediction for a page."""

from typing import TYPE_CHECKING

from blockml.model.model import Model, score_page
from blockml.model.model_file import load_model, model_digest, save_model
from blockml.model.training_hashes import TrainingHashes
from blockml.page.lazy import imported_later as _imported_later

if TYPE_CHECKING:
    from blockml.model.card import render_card

__all__ = ["Model", "TrainingHashes", "load_model", "model_digest", "render_card", "save_model", "score_page"]

if not TYPE_CHECKING:  # only training writes cards
    __getattr__ = _imported_later(__name__, {"render_card": "blockml.model.card"})
