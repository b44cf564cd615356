"""Settings of the documentation: ``make docs`` builds it with warnings as errors."""

from __future__ import annotations

from sphinx.application import Sphinx

import blockml

project = "blockml"
author = "The blockml authors"
release = blockml.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
html_theme = "furo"
html_title = "blockml"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_mock_imports = ["pyspark", "ray", "datatrove"]  # engines, which need not be installed
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_numpy_docstring = True
napoleon_use_rtype = False
suppress_warnings = ["myst.xref_missing"]  # links to files outside of docs/, which tests/test_project.py checks


def setup(app: Sphinx) -> None:
    """Show docstrings of attributes as they are; napoleon takes the words before their first colon for a type."""
    written: dict[str, list[str]] = {}

    def remember(_: Sphinx, _what: str, name: str, _value: object, _options: object, lines: list[str]) -> None:
        written[name] = lines.copy()

    def restore(_: Sphinx, what: str, name: str, _value: object, _options: object, lines: list[str]) -> None:
        if what in {"attribute", "property"}:
            lines[:] = written[name]

    app.connect("autodoc-process-docstring", remember, priority=100)
    app.connect("autodoc-process-docstring", restore, priority=900)
