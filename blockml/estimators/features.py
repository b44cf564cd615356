"""Block features as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from blockml.errors import UsageError
from blockml.estimators.pages import AnyPage, as_pages, parsed
from blockml.extractors.matrix import page_matrix
from blockml.features import feature_set
from blockml.parsing.options import ParsingOptions
from blockml.training.table import PageRows


class BlockFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no type information
    """Computes the features of all blocks of pages: one row per block, page after page.

    It is stateless, so calling ``fit`` is optional. ``set_output(transform="pandas")`` or ``"polars"`` gives data
    frames.

    Parameters
    ----------
    features
        Name of a feature set; ``blockml features`` lists them.
    parsing
        Options of parsing; the defaults if None.

    Examples
    --------
    >>> found = BlockFeatures("boilerpipe6")
    >>> found.transform(["<h1>Cats</h1><p>Cats rule the world.</p>", "<p>Dogs</p>"]).shape
    (3, 6)
    >>> found.get_feature_names_out()[:3].tolist()
    ['wd_m1', 'ld_m1', 'wd_0']
    """

    def __init__(self, features: str = "kim2013-onehot", parsing: ParsingOptions | None = None) -> None:
        self.features = features
        self.parsing = parsing

    def fit(self, X: object = None, y: object = None) -> Self:  # noqa: ARG002, N803 (scikit-learn's signature)
        """Check the name of the feature set.

        Raises
        ------
        UnknownNameError
            No such feature set.
        """
        feature_set(self.features)
        return self

    def transform(self, X: Sequence[AnyPage]) -> NDArray[np.float32]:  # noqa: N803 (scikit-learn's signature)
        """Compute the features of all pages, (n_blocks, n_features); :meth:`page_index` tells the page of each row.

        Raises
        ------
        UnknownNameError
            No such feature set.
        UsageError
            A page was prepared for another feature set.
        """
        width = len(feature_set(self.features).columns)
        found = [np.empty((0, width), dtype=np.float32), *map(self._matrix, as_pages(X))]
        return np.concatenate(found)

    def page_index(self, X: Sequence[AnyPage]) -> NDArray[np.int64]:  # noqa: N803 (scikit-learn's signature)
        """Return the index of the page of each row of :meth:`transform`, (n_blocks,): ``groups`` for splitters."""
        lengths = [len(self._matrix(page)) for page in as_pages(X)]
        return np.repeat(np.arange(len(lengths)), lengths)

    def _matrix(self, page: AnyPage) -> NDArray[np.float32]:
        if isinstance(page, PageRows):
            if page.inputs is None or page.inputs.features != self.features:
                raise UsageError(f"a page was prepared for a feature set other than {self.features}")
            return page.matrix
        return page_matrix(parsed(page, self.parsing or ParsingOptions()), self.features).values

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns, (n_features,)."""
        return np.array(feature_set(self.features).columns, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn's)
        """Return tags: samples are pages, and no fitting is needed."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        return tags
