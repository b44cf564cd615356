"""Survey of a run over many pages: results by site and template, repeated lines, and pages to label.

A survey reads an output of ``blockml predict`` or of an engine, and makes tables, an HTML report, and a choice of
pages. Only commands and :func:`blockml.survey` import this package.
"""

from blockml.surveying.report import TABLES, Survey, survey

__all__ = ["TABLES", "Survey", "survey"]
