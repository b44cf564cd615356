"""The HTML report of a survey of a run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from blockml.reports.ranking import Row
from blockml.reports.templating import html_text, write_html

#: Maximum rows of the tables of sites, templates and changes; the Parquet files have all rows.
_MOST_ROWS = 200
#: Maximum number of patterns of addresses.
_MOST_PATTERNS = 40
#: Maximum number of sites whose repeated lines are listed.
_LISTED_SITES = 40


class Surveyed(Protocol):
    """Parts of a survey that the report shows: see :class:`blockml.surveying.Survey`."""

    @property
    def name(self) -> str:
        """Path of the output."""

    @property
    def glance(self) -> Mapping[str, Any]:
        """Counts of the whole run."""

    @property
    def tables(self) -> Mapping[str, Sequence[Row]]:
        """Rows of each table."""

    @property
    def views(self) -> Mapping[str, Any]:
        """Runs of blocks of each page to show."""


def survey_html(found: Surveyed) -> str:
    """Return the report of a survey as HTML."""
    return html_text("survey.html.jinja", **_data(found))


def write_survey(found: Surveyed, path: str | os.PathLike[str]) -> Path:
    """Write the report of a survey as a self-contained HTML file; return its path.

    Raises the errors of :func:`blockml.reports.templating.write_html`.
    """
    return write_html("survey.html.jinja", path, **_data(found))


def _data(found: Surveyed) -> dict[str, Any]:
    tables = found.tables
    lines: dict[str, list[Row]] = {}
    for row in tables["lines"]:
        lines.setdefault(row["site"], []).append(row)
    order = [row["site"] for row in tables["sites"] if row["site"] in lines]
    pages: dict[str, dict[str, list[Row]]] = {}
    for row in tables["pages"]:
        pages.setdefault(row["site"], {}).setdefault(row["kind"], []).append(row)
    rated = sum(row["pages"] for row in tables["confidence"])
    return {
        "name": found.name,
        "glance": found.glance,
        "sites": tables["sites"][:_MOST_ROWS],
        "n_sites": len(tables["sites"]),
        "kinds": tables["kinds"],
        "patterns": tables["patterns"][:_MOST_PATTERNS],
        "n_patterns": len(tables["patterns"]),
        "templates": [row for row in tables["templates"] if row["sampled_pages"] > 1][:_MOST_ROWS],
        "n_single": sum(row["sampled_pages"] == 1 for row in tables["templates"]),
        "lines": [(site, lines[site]) for site in order[:_LISTED_SITES]],
        "n_sites_with_lines": len(order),
        "pages": pages,
        "confidence": [{**row, "share": row["pages"] / rated if rated else 0.0} for row in tables["confidence"]],
        "changes": [row for row in tables["changes"] if row["changed"]][:_MOST_ROWS],
        "changed_pages": tables["changed_pages"],
        "rules": tables["rules"][:_MOST_ROWS],
        "views": found.views,
        "output": shlex.quote(found.name),
    }
