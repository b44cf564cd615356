"""Single trees trained on rows of blocks."""

from __future__ import annotations

import numpy as np

from blockml.features import feature_set
from blockml.features.site_pages import UNKNOWN
from blockml.training import fit_tree, recipe, to_trees


def test_rows_without_site_pages_get_a_separate_tree() -> None:
    """With features of other pages of the site, rows without them go to a separate tree."""
    chosen = recipe("kim2013-site")
    columns = feature_set(chosen.features).columns
    about = np.array([name.startswith("site") for name in columns])
    rng = np.random.default_rng(0)
    matrix = rng.random((400, len(columns)), dtype=np.float32)
    main = matrix[:, columns.index("sitetext_0")] < 0.5
    main[:100] = matrix[:100, 0] > 0.5
    blind = np.where(about, np.float32(UNKNOWN), matrix)
    both = fit_tree(chosen, matrix, main)
    for shrinkage in (0.0, 100.0):
        tree, alone = to_trees(both, shrinkage), to_trees(fit_tree(chosen, blind, main), shrinkage)
        tree.check(len(columns))
        assert np.array_equal(tree.predict(blind), alone.predict(blind))
        assert ((tree.predict(matrix) > 0.5) == main).mean() > 0.8
