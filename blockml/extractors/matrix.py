"""Matrices of any feature set, including scores of heuristics and statistics of the page's site if the set has them.

Scores of several extractors as the features of a trained classifier are stacking (Wolpert 1992, *Stacked
generalization*), here for the combination of heuristics that Gottron 2008 names as future work. He also names external
knowledge, which here is the statistics of the site.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blockml import features
from blockml.extractors.methods import METHODS
from blockml.features import PageMatrix, feature_set, site_pages
from blockml.features.feature_sets import split_name
from blockml.features.page_context import PageContext
from blockml.features.votes import VOTERS
from blockml.page import Page

if TYPE_CHECKING:
    from blockml.templates.site import SiteTemplate

_SITE_COLUMNS = tuple([column.name for column in site_pages.COLUMNS])

#: Further known pages make no difference (our choice: shares are then known to 2 %).
_MOST_PAGES = 50


def page_matrix(
    page: Page, features_name: str, site: SiteTemplate | None = None, context: PageContext | None = None
) -> PageMatrix:
    """Compute any feature set.

    Extractors score the page as parsed, regardless of their own parsing options.

    Parameters
    ----------
    page
        A parsed page.
    features_name
        Name of the set.
    site
        Template of the page's site. Without one, or with one of fewer than four pages, columns about the site have the
        value :data:`blockml.features.site_pages.UNKNOWN`.
    context
        The page's context, if already computed.

    Raises
    ------
    UnknownNameError
        No such feature set.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(f"<p><a href=/>Home</a></p><p>{'word ' * 60}</p>")
    >>> page_matrix(page, "kim2013-site").values.shape
    (2, 150)
    >>> votes = page_matrix(page, "votes")
    >>> votes.values[:, votes.columns.index("votenumwords_0")].tolist()
    [0.0, 1.0]
    """
    given = {base: METHODS[VOTERS[base]]().score(page) for base in _voters(features_name)}
    if uses_site(features_name):
        given |= _from_site(page, site)
    return features.matrix(page, features_name, given, context)


@functools.cache
def uses_site(features_name: str) -> bool:
    """Return whether a feature set has columns about other pages of the site.

    Raises
    ------
    UnknownNameError
        No such feature set.
    """
    return bool(_bases(features_name) & set(_SITE_COLUMNS))


@functools.cache
def _voters(features_name: str) -> tuple[str, ...]:
    """Name the columns of a feature set that are scores of heuristics."""
    bases = _bases(features_name)
    return tuple([base for base in VOTERS if base in bases])


@functools.cache
def _bases(features_name: str) -> frozenset[str]:
    return frozenset(split_name(column)[0] for column in feature_set(features_name).columns)


def _from_site(page: Page, site: SiteTemplate | None) -> dict[str, NDArray[np.float32]]:
    """Compute base columns of :mod:`blockml.features.site_pages` by name."""
    from blockml.templates.frequency import measure, too_few  # most sets have no column about the site
    from blockml.templates.mapping import template_share

    n_blocks = len(page.blocks)
    known = None if site is None else measure(page, site.counts)
    if site is None or known is None or known.ibdf is None or too_few(known):
        return {name: np.full(n_blocks, site_pages.UNKNOWN, dtype=np.float32) for name in _SITE_COLUMNS}
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
    return {name: values[name].astype(np.float32) for name in _SITE_COLUMNS}
