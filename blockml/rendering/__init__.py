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
from blockml.text.tokens import metric_tokens

__all__ = ["FORMATS", "block_records", "page_record", "render", "render_html", "render_markdown", "render_text"]


def _json(extraction: Extraction) -> str:
    record = {"schema_version": SCHEMA_VERSION, **page_record(extraction), "blocks": block_records(extraction)}
    return json.dumps(record, ensure_ascii=False, indent=2)


def _text(extraction: Extraction, *, with_title: bool) -> str:
    title = extraction.title if with_title else None
    return f"{title}\n\n{extraction.text}" if title and not starts_with(extraction.text, title) else extraction.text


def _markdown(extraction: Extraction, *, with_title: bool) -> str:
    title = extraction.title if with_title else None
    text = render_markdown(extraction.page, extraction.kept)
    return f"# {title}\n\n{text}".rstrip() if title and not starts_with(extraction.text, title) else text


def starts_with(text: str, title: str) -> bool:
    """Tell whether a text begins with a title: one of its first three lines has the same words.

    Examples
    --------
    >>> starts_with("News\\nCats rule!\\nThey do.", "Cats rule"), starts_with("They do.", "Cats rule")
    (True, False)
    """
    words = metric_tokens(title)
    return any(metric_tokens(line) == words for line in text.splitlines()[:3])


#: Output formats by name.
FORMATS: Mapping[str, Callable[..., str]] = {
    "text": _text,
    "markdown": _markdown,
    "html": lambda extraction, **_: render_html(extraction.page, extraction.kept),
    "json": lambda extraction, **_: _json(extraction),
}
#: Formats that begin with the title unless asked otherwise.
_WITH_TITLE = frozenset({"markdown"})


def render(extraction: Extraction, output_format: str = "text", *, with_title: bool | None = None) -> str:
    """Render an extraction in an output format, a key of :data:`FORMATS`.

    Text and Markdown begin with the page's title if ``with_title`` is true, or None for Markdown, unless the main
    content begins with it. HTML is the main content alone, and JSON has a field for the title.

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
    wanted = output_format in _WITH_TITLE if with_title is None else with_title
    return FORMATS[output_format](extraction, with_title=wanted)
