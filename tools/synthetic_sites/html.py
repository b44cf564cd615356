"""Helpers to write annotated HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from random import Random

from tools.synthetic_sites.prose import plain

__all__ = ["Site", "SourcePage", "esc", "inline", "items", "json_script", "links", "noise", "slug", "stylesheet"]

_SPAN = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True)
class SourcePage:
    """Annotated HTML of a page, and the fields of its meta.json."""

    id: str
    url: str
    site: str
    page_type: str
    template: str
    title: str
    html: str = field(repr=False)
    language: str = "en"
    origin: str = "synthetic"


@dataclass(frozen=True)
class Site:
    """Properties shared by the pages of a templated site.

    Parameters
    ----------
    name
        Name of the site in meta.json and of its folder.
    host
        Scheme and host name, in front of every path.
    prefix
        First part of the ids of its pages.
    kinds
        The page type of each kind of page, i.e. of each template.
    """

    name: str
    host: str
    prefix: str
    kinds: Mapping[str, str]

    def page(self, name: str, path: str, kind: str, *, title: str, html: str) -> SourcePage:
        """Return the page ``name`` of this site."""
        return SourcePage(
            id=f"{self.prefix}-{name}",
            url=self.host + path,
            site=self.name,
            page_type=self.kinds[kind],
            template=f"{self.name}/{kind}",
            title=title,
            html=html,
        )


def esc(text: str) -> str:
    """Escape a text for HTML; span marks of the grammar are dropped."""
    return escape(plain(text), quote=True)


def inline(text: str, rng: Random, hrefs: Sequence[str] = (), *, density: float = 0.5) -> str:
    """Escape a text and turn some of its marked spans into links, emphasis or plain spans.

    Parameters
    ----------
    text
        Text with ``[marked]`` spans.
    rng
        Source of the choices.
    hrefs
        Link targets to choose from; without them no span becomes a link.
    density
        Share of the spans that become an element, in [0, 1].
    """

    def element(match: re.Match[str]) -> str:
        words = match[1]
        if rng.random() >= density:
            return words
        kind = rng.choice(("a", "a", "em", "strong", "span"))
        if kind == "a" and hrefs:
            return f'<a href="{escape(rng.choice(hrefs))}">{words}</a>'
        if kind in ("a", "span"):
            return f'<span class="hl">{words}</span>'
        return f"<{kind}>{words}</{kind}>"

    return _SPAN.sub(element, escape(text, quote=False))


def items(parts: Iterable[str], attributes: str = "", tag: str = "ul") -> str:
    """Return a list whose items are HTML."""
    rows = "\n".join(f"<li>{part}</li>" for part in parts)
    return f"<{tag}{' ' + attributes if attributes else ''}>\n{rows}\n</{tag}>"


def links(targets: Iterable[tuple[str, str]], attributes: str = "") -> list[str]:
    """Return one anchor for each pair of link target and text."""
    extra = f" {attributes}" if attributes else ""
    return [f'<a href="{escape(href)}"{extra}>{esc(text)}</a>' for href, text in targets]


def json_script(value: object, kind: str = "application/ld+json") -> str:
    """Return a script element holding a value as JSON."""
    return f'<script type="{kind}">{json.dumps(value, ensure_ascii=False)}</script>'


def noise(rng: Random, length: int = 8) -> str:
    """Return a hexadecimal name like the ones build tools leave in classes and attributes."""
    return "".join(rng.choice("0123456789abcdef") for _ in range(length))


def slug(text: str) -> str:
    """Return the part of a URL made from a title.

    Examples
    --------
    >>> slug("The wall: “not before” May")
    'the-wall-not-before-may'
    """
    return re.sub(r"[^a-z0-9]+", "-", plain(text).lower()).strip("-")


def stylesheet(name: str) -> str:
    """Return the style sheet of a site."""
    return (resources.files("tools.synthetic_sites") / "style" / f"{name}.css").read_text(encoding="utf-8")
