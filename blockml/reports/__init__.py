"""Results out, as HTML files for people: why a page's blocks were kept, and how systems compare.

Every file stands alone: styles and figures are inside, nothing is loaded from elsewhere, and no script is needed.
Needs the extra ``report`` (jinja2).
"""

from blockml.reports.comparison import write_comparison
from blockml.reports.pageview import Judged, view_name, write_page_views, write_view

__all__ = ["Judged", "view_name", "write_comparison", "write_page_views", "write_view"]
