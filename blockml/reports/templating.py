"""Rendering of templates to self-contained HTML files, and formatting of numbers."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from blockml.errors import needed
from blockml.reports.figures import brief
from blockml.storage.atomic import atomic_write

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: Placeholder for a missing number.
NONE = "–"


def write_html(template: str, path: str | os.PathLike[str], **data: object) -> Path:
    """Render a template of this package to a file; missing folders are created; return its path.

    Every value is escaped, so no text of a page or name of a system can become markup. Raises MissingExtraError without
    jinja2, and OSError if the file can't be written.
    """
    return write_text(path, _environment().get_template(template).generate(**data))  # a view takes megabytes


def write_text(path: str | os.PathLike[str], pieces: Iterable[str]) -> Path:
    """Write the pieces of a text to a file; missing folders are created; return its path.

    Raises OSError if the file can't be written.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as stream:
        # A str can contain lone surrogates, which UTF-8 can't encode.
        stream.writelines(piece.encode("utf-8", "replace") for piece in pieces)
    return target


def html_text(template: str, **data: object) -> str:
    """Render a template of this package, with every value escaped; raises MissingExtraError without jinja2."""
    return _environment().get_template(template).render(**data)


def draw(macro: str, **data: object) -> Markup:
    """Draw a figure by a macro of ``figures.html.jinja``; raises MissingExtraError without jinja2."""
    svg: Markup = getattr(_environment().get_template("figures.html.jinja").module, macro)(**data)
    return svg.strip()


def figure(svg: str) -> Markup:
    """Mark output of this package (an SVG with escaped texts, or a sanitised page) as markup for a template."""
    with needed("An HTML report", "report"):
        from markupsafe import Markup
    return Markup(svg)  # noqa: S704 - written by this package


@functools.cache
def _environment() -> Environment:
    with needed("An HTML report", "report"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    environment = Environment(
        loader=PackageLoader("blockml.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"score": score, "signed": signed, "percent": percent, "count": count}
    environment.filters |= {"short": shorten, "xy": brief}
    return environment


def score(value: float | None, digits: int = 3) -> str:
    """Format a score with 3 decimals.

    Examples
    --------
    >>> score(0.87654), score(None)
    ('0.877', '–')
    """
    return NONE if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    """Format a difference of scores with 3 decimals and its sign.

    Examples
    --------
    >>> signed(0.01234), signed(-0.2), signed(None)
    ('+0.012', '−0.200', '–')
    """
    return NONE if value is None else f"{value:+.3f}".replace("-", "−")


def percent(share: float | None) -> str:
    r"""Format a share in whole per cent.

    Examples
    --------
    >>> percent(0.876)
    '88\xa0%'
    """
    return NONE if share is None else f"{100 * share:.0f}\u00a0%"


def count(value: float | None) -> str:
    """Format a whole number with thousands separators.

    Examples
    --------
    >>> count(13570)
    '13,570'
    """
    return NONE if value is None else f"{value:,.0f}"


def shorten(text: str, length: int = 18) -> str:
    """Abbreviate a long name in the middle, because names of variants mostly differ at the end.

    Examples
    --------
    >>> shorten("ccb"), shorten("document-slope-curve(window=3)")
    ('ccb', 'document…window=3)')
    """
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head].rstrip()}…{text[len(text) - (length - 1 - head) :].lstrip()}"
