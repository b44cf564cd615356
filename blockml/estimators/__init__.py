"""scikit-learn interface: pages as samples, block features, a block classifier, and folds of pages.

>>> from sklearn.model_selection import cross_val_score
>>> from blockml.datasets import open_dataset
>>> from blockml.estimators import BlockClassifier, GroupFolds, page_groups, prepare_pages
>>> pages = prepare_pages(open_dataset("data/pages").pages, "kim2013")
>>> cross_val_score(BlockClassifier("kim2013"), pages, groups=page_groups(pages), cv=GroupFolds(2)).shape
(2,)
"""

from blockml.estimators.classifier import BlockClassifier, BlockFeatures, block_scorer
from blockml.estimators.pages import AnyPage, GroupFolds, block_rows, page_groups, prepare_pages

__all__ = [
    "AnyPage", "BlockClassifier", "BlockFeatures", "GroupFolds", "block_rows", "block_scorer", "page_groups",
    "prepare_pages",
]  # fmt: skip
