"""Block features as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from blockml.errors import UsageError, check_name
from blockml.estimators.pages import AnyPage, as_pages, parsed
from blockml.extractors.matrix import page_matrix
from blockml.features import FEATURE_SETS, feature_set
from blockml.parsing.options import ParsingOptions
from blockml.training.recipes import RECIPES, Recipe
from blockml.training.table import PageRows


class BlockFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no type information
    """Computes the features of all blocks of pages: one row per block, page after page.

    The columns of a recipe are those of :func:`block_rows` and of pages from :func:`prepare_pages`.

    It is stateless, so calling ``fit`` is optional. ``set_output(transform="pandas")`` or ``"polars"`` gives data
    frames.

    Parameters
    ----------
    features
        A recipe or its name, for the features and parsing of pages that are prepared for it; or the name of a feature
        set, which ``blockml features`` lists. ``kim2013`` is the recipe, with one-hot columns.
    parsing
        Options of parsing; if None, those of the recipe, or the defaults.

    Examples
    --------
    >>> found = BlockFeatures("boilerpipe6")
    >>> found.transform(["<h1>Cats</h1><p>Cats rule the world.</p>", "<p>Dogs</p>"]).shape
    (3, 6)
    >>> found.get_feature_names_out()[:3].tolist()
    ['wd_m1', 'ld_m1', 'wd_0']
    """

    def __init__(self, features: str | Recipe = "kim2013", parsing: ParsingOptions | None = None) -> None:
        self.features = features
        self.parsing = parsing

    def fit(self, X: object = None, y: object = None) -> Self:  # noqa: ARG002, N803 (scikit-learn's signature)
        """Check the name of the recipe or feature set.

        Raises
        ------
        UnknownNameError
            No such recipe or feature set.
        """
        self._columns()
        return self

    def transform(self, X: Sequence[AnyPage]) -> NDArray[np.float32]:  # noqa: N803 (scikit-learn's signature)
        """Compute the features of all pages, (n_blocks, n_features); :meth:`page_index` tells the page of each row.

        Raises
        ------
        UnknownNameError
            No such recipe or feature set.
        UsageError
            A page was prepared for another feature set.
        """
        width = len(self._columns())
        found = [np.empty((0, width), dtype=np.float32), *map(self._matrix, as_pages(X))]
        return np.concatenate(found)

    def page_index(self, X: Sequence[AnyPage]) -> NDArray[np.int64]:  # noqa: N803 (scikit-learn's signature)
        """Return the index of the page of each row of :meth:`transform`, (n_blocks,): ``groups`` for splitters."""
        lengths = [len(self._matrix(page)) for page in as_pages(X)]
        return np.repeat(np.arange(len(lengths)), lengths)

    def _matrix(self, page: AnyPage) -> NDArray[np.float32]:
        if isinstance(page, PageRows):
            if page.inputs is None or page.inputs.features != self._features():
                found = "an unknown feature set" if page.inputs is None else f"the feature set {page.inputs.features}"
                raise UsageError(f"a page was prepared for {found}, not for {self._features()}")
            return page.matrix
        recipe = self._recipe()
        parsing = self.parsing or (ParsingOptions() if recipe is None else recipe.parsing)
        return page_matrix(parsed(page, parsing), self._features()).values

    def _recipe(self) -> Recipe | None:
        """Return the recipe; None if the features are those of a feature set."""
        if isinstance(self.features, str):
            return RECIPES.get(self.features)
        return self.features

    def _features(self) -> str:
        """Return the name of the feature set."""
        recipe = self._recipe()
        return str(self.features) if recipe is None else recipe.features

    def _columns(self) -> tuple[str, ...]:
        known = isinstance(self.features, str) and "_" not in self.features  # else names of columns
        if known and self.features not in RECIPES:
            check_name("recipe or feature set", self.features, [*RECIPES, *FEATURE_SETS])
        return feature_set(self._features()).columns

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns, (n_features,)."""
        return np.array(self._columns(), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn's)
        """Return tags: samples are pages, and no fitting is needed."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        return tags
