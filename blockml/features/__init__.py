"""Features of blocks: columns, explicit feature sets, and the step from a page to a matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.feature_sets import COLUMNS, FEATURE_SETS, FeatureSet, describe, feature_set
from blockml.features.page_context import PageContext
from blockml.features.page_matrix import PageMatrix, matrix
from blockml.page import Page

__all__ = ["COLUMNS", "FEATURE_SETS", "FeatureSet", "PageMatrix", "build", "describe", "feature_set", "matrix"]


def build(
    page: Page,
    features: str | FeatureSet = "kim2013",
    given: Mapping[str, NDArray[np.float32]] = {},
    view: PageContext | None = None,
) -> NDArray[np.float32]:
    """Compute the values of :func:`matrix` alone: (n_blocks, n_columns)."""
    return matrix(page, features, given, view).values
