"""Survey of a run over many pages: results by site and template, repeated lines, and pages to label.

A survey reads an output of ``blockml predict`` or of an engine, and makes tables, an HTML report, and a choice of
pages. Only commands and :func:`blockml.survey` import this package.
"""

from blockml.surveying.choice import choose_pages, chosen_pages
from blockml.surveying.page_kinds import SURVEYED_KINDS
from blockml.surveying.report import TABLES, Survey, survey
from blockml.surveying.run_output import RunOutput

__all__ = [
    "SURVEYED_KINDS", "TABLES", "RunOutput", "Survey", "choose_pages", "chosen_pages", "survey",
]  # fmt: skip
