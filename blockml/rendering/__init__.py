"""Output formats of an extraction: text, Markdown, HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from blockml.errors import UnknownNameError
from blockml.page import Extraction
from blockml.rendering.html import render_html
from blockml.rendering.markdown import render_markdown
from blockml.rendering.record import SCHEMA_VERSION, block_records, page_record
from blockml.rendering.text import render_text

__all__ = ["FORMATS", "block_records", "page_record", "render", "render_html", "render_markdown", "render_text"]


def _json(extraction: Extraction) -> str:
    record = {"schema_version": SCHEMA_VERSION, **page_record(extraction), "blocks": block_records(extraction)}
    return json.dumps(record, ensure_ascii=False, indent=2)


#: Output formats by name.
FORMATS: Mapping[str, Callable[[Extraction], str]] = {
    "text": lambda extraction: extraction.text,
    "markdown": lambda extraction: render_markdown(extraction.page, extraction.kept),
    "html": lambda extraction: render_html(extraction.page, extraction.kept),
    "json": _json,
}


def render(extraction: Extraction, output_format: str = "text") -> str:
    """Render an extraction in an output format, a key of :data:`FORMATS`.

    Raises
    ------
    UnknownNameError
        The format is unknown.
    MissingExtraError
        The format needs an optional package.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import Plain
    >>> render(blockml.extract("<p>One <b>two</b></p>", model=Plain()), "html")
    '<p>One <b>two</b></p>'
    """
    if output_format not in FORMATS:
        raise UnknownNameError("format", output_format, FORMATS)
    return FORMATS[output_format](extraction)
