"""Features of blocks: columns, explicit feature sets, and the step from a page to a matrix."""

from blockml.features.feature_sets import COLUMNS, FEATURE_SETS, FeatureSet, describe_columns, feature_set
from blockml.features.page_matrix import PageMatrix, matrix

__all__ = ["COLUMNS", "FEATURE_SETS", "FeatureSet", "PageMatrix", "describe_columns", "feature_set", "matrix"]
