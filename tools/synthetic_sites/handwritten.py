"""Reader of the hand-written pages: annotated HTML with metadata in ``meta`` elements of its head."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from blockml.errors import DatasetError
from tools.synthetic_sites.html import SourcePage

__all__ = ["parse_handwritten", "read_handwritten"]

_META = re.compile(r'[ \t]*<meta name="blockml:(\w+)" content="([^"]*)">\n?')
_FIELDS = ("language", "page_type", "template", "title", "url")


def read_handwritten(folder: Path) -> list[SourcePage]:
    """Return the hand-written pages of a folder, sorted by name; none if the folder is missing."""
    return [parse_handwritten(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.html"))]


def parse_handwritten(name: str, source: str) -> SourcePage:
    """Parse and remove the ``<meta name="blockml:...">`` elements of a page.

    Parameters
    ----------
    name
        Id of the page and of its site, because each hand-written page is a separate site.
    source
        Annotated HTML with the fields language, page_type, template, title and url.

    Raises
    ------
    DatasetError
        A field is missing, unknown or repeated.
    """
    fields = [(match[1], unescape(match[2])) for match in _META.finditer(source)]
    if sorted(field for field, _ in fields) != list(_FIELDS):
        raise DatasetError(f"needs exactly one blockml: meta element for each of {', '.join(_FIELDS)}", source=name)
    values = dict(fields)
    return SourcePage(
        id=name,
        url=values["url"],
        site=name,
        page_type=values["page_type"],
        template=values["template"],
        title=values["title"],
        html=_META.sub("", source),
        language=values["language"],
        origin="handwritten",
    )
