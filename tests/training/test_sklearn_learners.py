"""Classifiers of scikit-learn in model files."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from blockml.errors import ModelFormatError, UsageError
from blockml.features import PageMatrix
from blockml.predictors import PREDICTORS, LinearModel
from blockml.training.sklearn_learners import check_learner, to_predictor

LEARNERS = [
    DecisionTreeClassifier(max_depth=5, random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=9, class_weight="balanced", random_state=0),
    RandomForestClassifier(7, random_state=0),
    ExtraTreesClassifier(7, random_state=0),
    GradientBoostingClassifier(n_estimators=9, random_state=0),
    GradientBoostingClassifier(n_estimators=3, init="zero", random_state=0),
    HistGradientBoostingClassifier(max_iter=9, early_stopping=False),
    LogisticRegression(max_iter=500),
    make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
    LinearDiscriminantAnalysis(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), RobustScaler(), MaxAbsScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(with_mean=False), StandardScaler(with_std=False), LogisticRegression()),
    make_pipeline("passthrough", StandardScaler(), HistGradientBoostingClassifier(max_iter=5)),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: repr(learner)[:50])
def test_predictions_are_those_of_scikit_learn(learner: Any) -> None:
    """Probabilities after a round trip equal scikit-learn's within float32 precision."""
    random = np.random.default_rng(0)
    rows = np.round(random.normal(3, 2, (400, 6)), 1).astype(np.float32)
    main = rows[:, 1] + random.normal(0, 1, 400) > 3
    check_learner(learner)
    fitted = learner.fit(rows, main)
    predictor = to_predictor(fitted, 6)
    again = PREDICTORS[predictor.kind].from_arrays(predictor.to_arrays(), 6)
    page = cast("PageMatrix", type("Rows", (), {"values": np.asfortranarray(rows)})())
    assert np.abs(again.probabilities(page) - fitted.predict_proba(rows)[:, 1]).max() < 2e-6


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (GaussianNB(), "GaussianNB can't be written into a model file; the classes that can are: DecisionTree"),
        (make_pipeline(SelectKBest(), LogisticRegression()), "SelectKBest can't be written"),
        (GradientBoostingClassifier(loss="exponential"), "with loss='exponential' can't.*one of: 'log_loss'"),
        (GradientBoostingClassifier(init=GaussianNB()), r"init must be one of: None, 'zero'"),
        (SGDClassifier(), "loss='hinge'"),
        (object(), "object can't be written"),
    ],
)
def test_other_learners_are_refused(learner: Any, words: str) -> None:
    """Other learners are refused with the classes or values that can be written."""
    with pytest.raises(UsageError, match=words):
        check_learner(learner)


@pytest.mark.parametrize(
    "arrays",
    [
        {"weights": np.ones(2)},
        {"weights": np.ones(3), "intercept": np.zeros(1)},
        {"weights": np.ones(2, dtype=np.float32), "intercept": np.zeros(1)},
        {"weights": np.array([0, np.nan]), "intercept": np.zeros(1)},
        {"weights": np.ones(2), "intercept": np.array([1e300])},
        {"weights": np.ones(2), "intercept": np.zeros(2)},
    ],
    ids=range(6),
)
def test_arrays_of_linear_models_are_checked(arrays: dict[str, Any]) -> None:
    """Damaged arrays of a linear model are refused when they are loaded."""
    with pytest.raises(ModelFormatError, match="linear model's"):
        LinearModel.from_arrays(arrays, 2)
