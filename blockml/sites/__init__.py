"""What pages of one site share, used by extractors.

``predict --by-site`` and ``--template`` use :func:`at_site`, which adds a template of the site
(:class:`blockml.templates.SiteTemplate`) to the scores of any extractor; :func:`from_links` uses the pages that a page
links to. :mod:`~blockml.sites.template_methods` has the published extractors that learn from other pages of a site, for
comparisons. :mod:`~blockml.sites.fitting` groups labelled pages by site, and fits extractors to the other pages of a
group.
"""

from typing import TYPE_CHECKING

from blockml.page.lazy import imported_later as _imported_later

if TYPE_CHECKING:
    from blockml.sites.knowledge import at_site, from_links

__all__ = ["at_site", "from_links"]

if not TYPE_CHECKING:  # imported on first use, because most callers only group pages by site
    __getattr__ = _imported_later(__name__, dict.fromkeys(__all__, "blockml.sites.knowledge"))
