"""Statistics of the other pages of a site as columns.

Only their names are here, because :mod:`blockml.templates` depends on features:
:func:`blockml.extractors.matrix.page_matrix` computes them. They are :data:`UNKNOWN` if too few pages of the site are
given; a model that was trained on such pages, too, then decides without them.
"""

from __future__ import annotations

import numpy as np

from blockml.features.column import Column

#: Value of every column without pages of the site.
UNKNOWN = -1.0

_DF, _ETDM = "Gottron 2008 (document frequency)", "Alarte et al. 2014 (equal top-down mapping)"
_PATH = "our choice: slots of a template"

COLUMNS = tuple(
    Column(name, unit, UNKNOWN, high, UNKNOWN, source, None)
    for name, unit, high, source in (
        ("sitepages", "pages of the site that are known, the page itself included, at most 50", 50, "our choice"),
        ("sitetext", "share of these pages with the block's texts, mean over its words", 1, _DF),
        ("siteblock", "share of these pages with the whole block", 1, _DF),
        ("siteentropy", "mean entropy of its words over these pages", 1, "Lin & Ho 2002"),
        ("sitetree", "share of the block's words in the tree that its layout's pages have in common", 1, _ETDM),
        ("siteibdf", "inverse number of pages with a similar block", 1, "Debnath et al. 2005"),
        ("sitepath", "share of other pages with a block at the same path", 1, _PATH),
        ("sitenovel", "share of the texts at this path of other pages that occur on only one page", 1, _PATH),
        ("sitewords", "mean words of blocks at this path of other pages", np.inf, _PATH),
        ("sitelinks", "share of these words that is linked", 1, _PATH),
    )
)
