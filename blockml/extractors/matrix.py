"""Every feature set of a page: what blocks tell, what extractors make of them, what the page's site says.

Scores of several extractors as the features of a trained classifier are stacking (Wolpert 1992, *Stacked
generalization*), here for the combination of heuristics that Gottron 2008 names as future work. What the site says is
the external knowledge that he names beside it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blockml import features
from blockml.extractors.methods import METHODS
from blockml.features import feature_set, site_pages
from blockml.features.feature_sets import split_name
from blockml.features.page_context import PageContext
from blockml.features.page_matrix import PageMatrix
from blockml.features.votes import VOTERS
from blockml.page import Page

if TYPE_CHECKING:
    from blockml.templates.site import SiteTemplate

__all__ = ["matrix", "page_matrix", "uses_siblings"]

_SIBLINGS = tuple([column.name for column in site_pages.COLUMNS])

#: More pages than these make no difference (our choice: shares are then known to 2 %).
_MOST_PAGES = 50


def matrix(
    page: Page, features_name: str, site: SiteTemplate | None = None, view: PageContext | None = None
) -> NDArray[np.float32]:
    """Compute any feature set.

    Extractors see the page as it is, whatever parsing they would choose for themselves.

    Parameters
    ----------
    page
        A parsed page.
    features_name
        Name of the set.
    site
        What is known of the page's site; None if nothing is. Where less than four pages are known, it is as if none
        were.
    view
        The page's view, where there is one already.

    Returns
    -------
    NDArray[np.float32]
        (n_blocks, n_columns).

    Raises
    ------
    UnknownNameError
        No such feature set.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(f"<p><a href=/>Home</a></p><p>{'word ' * 60}</p>")
    >>> matrix(page, "boilerpipe6").shape, matrix(page, "kim2013-site").shape
    ((2, 6), (2, 150))
    >>> matrix(page, "votes")[:, feature_set("votes").columns.index("votenumwords_0")].tolist()
    [0.0, 1.0]
    """
    given = {base: METHODS[VOTERS[base]]().score(page) for base in _voters(features_name)}
    if uses_siblings(features_name):
        given |= _from_site(page, site)
    return features.build(page, features_name, given, view)


def page_matrix(
    page: Page, features_name: str, site: SiteTemplate | None = None, context: PageContext | None = None
) -> PageMatrix:
    """Compute any feature set, with the page context that predictors need: see :func:`matrix`."""
    context = PageContext(page) if context is None else context
    return PageMatrix(matrix(page, features_name, site, context), feature_set(features_name).columns, context)


@functools.cache
def uses_siblings(features_name: str) -> bool:
    """Whether a feature set has columns about other pages of the site.

    Raises
    ------
    UnknownNameError
        No such feature set.
    """
    return bool(_bases(features_name) & set(_SIBLINGS))


@functools.cache
def _voters(features_name: str) -> tuple[str, ...]:
    """Columns of a feature set that are votes."""
    bases = _bases(features_name)
    return tuple([base for base in VOTERS if base in bases])


@functools.cache
def _bases(features_name: str) -> frozenset[str]:
    return frozenset(split_name(column)[0] for column in feature_set(features_name).columns)


def _from_site(page: Page, site: SiteTemplate | None) -> dict[str, NDArray[np.float32]]:
    """Base columns of :mod:`blockml.features.site_pages` by name."""
    from blockml.templates.frequency import measure, too_few
    from blockml.templates.mapping import template_share

    n_blocks = len(page.blocks)
    known = None if site is None else measure(page, site.counts)
    if site is None or known is None or known.ibdf is None or too_few(known):
        return {name: np.full(n_blocks, site_pages.UNKNOWN, dtype=np.float32) for name in _SIBLINGS}
    inside = site.in_tree(page)
    values = {
        "sitepages": np.full(n_blocks, min(known.n_pages, _MOST_PAGES)),
        "sitetext": known.text_share,
        "siteblock": known.block_share,
        "siteentropy": known.entropy,
        "sitetree": np.full(n_blocks, site_pages.UNKNOWN) if inside is None else template_share(page, inside),
        "siteibdf": known.ibdf,
        "sitepath": known.path_share,
        "sitenovel": known.path_novelty,
        "sitewords": known.path_words,
        "sitelinks": known.path_links,
    }
    return {name: values[name].astype(np.float32) for name in _SIBLINGS}
