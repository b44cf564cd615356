"""Kinds of pages that features tell: forums."""

from __future__ import annotations

from blockml.features.page_matrix import PageMatrix
from blockml.features.structure import FAR

__all__ = ["is_forum"]

_FORUM_COLUMNS = ("urlforum_0", "isarticle_0", "urlnews_0", "clsthread_0")


def is_forum(page: PageMatrix) -> bool:
    """Tell whether a page is a forum, where what readers write is the content.

    Its address says so; or most of its words stand in elements whose class names a thread or message, on a page that is
    not declared an article. On WCXB's page types: precision .80, recall .84 (docs/studies/block-types.md). False
    without the columns.
    """
    if not len(page.values) or not set(_FORUM_COLUMNS).issubset(page.columns):
        return False
    address, article, news, thread = (page.values[:, page.columns.index(name)] for name in _FORUM_COLUMNS)
    if address[0] > 0 or article[0] or news[0]:
        return bool(address[0] > 0)
    return float(page.words[thread < FAR].sum()) / max(1.0, float(page.words.sum())) > 0.5
