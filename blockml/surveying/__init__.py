"""Survey of a run over many pages: what came out, by site and template, what repeats, and which pages to label.

An output of ``blockml predict`` or of an engine goes in; tables, a report in HTML, and a choice of pages come out.
Only commands and :func:`blockml.survey` import this package.
"""

from blockml.surveying.report import TABLES, Survey, survey

__all__ = ["TABLES", "Survey", "survey"]
