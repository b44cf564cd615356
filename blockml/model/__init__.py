"""Trained models: feature set, predictors and policy, model files, and prediction for a page."""

from blockml.model.model import Model, score_page
from blockml.model.model_file import load_model, model_digest, save_model

__all__ = ["Model", "load_model", "model_digest", "save_model", "score_page"]
