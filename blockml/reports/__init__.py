"""HTML reports on the blocks that a page keeps, on systems compared, and on pages that share a template.

Every file is self-contained: styles and figures are embedded, and nothing is loaded. Only the view of a page has a
script. Reports need the extra ``report`` (jinja2).
"""

from blockml.reports.clustering import write_clustering
from blockml.reports.comparison import write_comparison, write_comparison_views
from blockml.reports.curves import curve_svg, curves_svg
from blockml.reports.pageview import PagePredictions, view_name, write_page_views, write_view
from blockml.reports.templating import write_text

__all__ = [
    "PagePredictions", "curve_svg", "curves_svg", "view_name", "write_clustering", "write_comparison",
    "write_comparison_views", "write_page_views", "write_text", "write_view",
]  # fmt: skip
