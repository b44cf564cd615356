"""Writes rules in the forms of other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from blockml.errors import UsageError, check_name
from blockml.rules.selectors import Named, Selector
from blockml.rules.site_rules import DESCRIBING, AnyRules, SiteRules, read_rules
from blockml.storage.atomic import safe_file_name

__all__ = ["FORMS", "Exported", "export_rules"]


@dataclass(frozen=True, slots=True)
class Exported:
    """The rules of a site in the form of another program."""

    site: str
    file: str  #: Name of a file for them.
    text: str
    notes: tuple[str, ...] = ()  #: What the form can't express.


def export_rules(rules: AnyRules, to: str) -> list[Exported]:
    """Write the rules of each site in the form of another program.

    Parameters
    ----------
    rules
        Rules, see :func:`blockml.rules.read_rules`.
    to
        ``ftr`` (site configs of Full-Text RSS and graby), ``miniflux`` (scraper and rewrite rules), ``freshrss`` (CSS
        selectors of a feed), ``scrapy`` (an item class) or ``trafilatura`` (values of ``prune_xpath``).

    Raises
    ------
    UnknownNameError
        The form is unknown.
    UsageError
        The form can't express a selector.

    Examples
    --------
    >>> print(export_rules({"cats.example": {"within": "article", "drop": ".ad", "title": "h1"}}, "ftr")[0].text)
    body: //article
    strip: //*[contains(concat(' ', normalize-space(@class), ' '), ' ad ')]
    title: //h1
    prune: no
    tidy: no
    <BLANKLINE>
    """
    check_name("form", to, FORMS)
    suffix, write = FORMS[to]
    made = []
    for site, layouts in read_rules(rules).by_site.items():
        text = write(site, layouts)
        made.append(Exported(site, f"{safe_file_name(site)}{suffix}", text, tuple(_notes(to, layouts))))
    return made


def _notes(to: str, layouts: Sequence[SiteRules]) -> Iterator[str]:
    kinds = {kind for layout in layouts for kind in layout.selectors}
    if "keep" in kinds:
        yield f"{to} has no keep: its selectors were added to those of within, and do not except anything from drop"
    if len(layouts) > 1 and to != "ftr":
        yield f"{to} has one layout for each site: the selectors of {len(layouts)} layouts were joined"
    if len(_selectors(layouts, "within", "keep")) > 1 and to in {"miniflux", "freshrss"}:
        yield f"{to} repeats what is in two containers, such as a headline in an article"
    if not kinds.isdisjoint(DESCRIBING) and to in {"miniflux", "freshrss", "trafilatura"}:
        yield f"{to} has no selectors of metadata, which were left out"


def _selectors(layouts: Sequence[SiteRules], *kinds: str) -> list[Selector]:
    """Return the distinct selectors of the fields ``kinds``."""
    found = [selector for layout in layouts for kind in kinds for selector in layout.selectors.get(kind, ())]
    return list({selector.text: selector for selector in found}.values())


def _union(selectors: Sequence[Selector]) -> str:
    """Return one XPath for several selectors."""
    return " | ".join(selector.xpath for selector in selectors)


def _value(selector: Selector) -> str:
    """Return the XPath of a value of metadata; that of ``meta`` is its ``content``."""
    tests = selector.paths[0][-1].tests
    return f"{selector.xpath}/@content" if Named("meta") in tests and not selector.attribute else selector.xpath


def _feed_css(layouts: Sequence[SiteRules]) -> tuple[str, str]:
    """Return the CSS selectors of content and of what is dropped; raises UsageError for XPath."""
    chosen = _selectors(layouts, "within", "keep"), _selectors(layouts, "drop")
    if xpath := next((selector.text for selectors in chosen for selector in selectors if not selector.is_css), None):
        raise UsageError(f"only rules in CSS can be exported to programs that read CSS, and this is XPath: {xpath}")
    within, drop = (", ".join(selector.text for selector in selectors) for selectors in chosen)
    return within, drop


def _ftr(_site: str, layouts: Sequence[SiteRules]) -> str:
    """Return a site config: the first ``body`` that matches counts, so that each layout has one."""
    contents = [_selectors([layout], "within", "keep") for layout in layouts]
    lines = [f"body: {_outermost(content)}" for content in contents if content]
    lines += [f"strip: {selector.xpath}" for selector in _selectors(layouts, "drop")]
    for kind, name in zip(DESCRIBING, ("title", "author", "date"), strict=True):
        lines += [f"{name}: {_value(selector)}" for selector in _selectors(layouts, kind)]
    return "\n".join([*(" ".join(line.split()) for line in lines), "prune: no", "tidy: no", ""])


def _outermost(content: Sequence[Selector]) -> str:
    """Return the XPath of containers that are in no other one, whose text would be repeated."""
    text = _union(content)
    is_apart = f"count(ancestor::* | {text}) = count(ancestor::*) + count({text})"
    return text if len(content) == 1 else f"({text})[{is_apart}]"


def _miniflux(_site: str, layouts: Sequence[SiteRules]) -> str:
    within, drop = _feed_css(layouts)
    lines = [f"scraper rules: {within}"] if within else []
    if drop:  # a string of Go
        lines.append(f"content rewrite rules: remove({json.dumps(drop, ensure_ascii=False)})")
    return "\n".join([*lines, ""])


def _freshrss(_site: str, layouts: Sequence[SiteRules]) -> str:
    within, drop = _feed_css(layouts)
    lines = [f"article CSS selector on original website: {within or 'body'}"]
    return "\n".join([*lines, *([f"CSS selector of the elements to remove: {drop}"] if drop else []), ""])


def _trafilatura(_site: str, layouts: Sequence[SiteRules]) -> str:
    """Return XPaths to prune: what is dropped, and what is neither in a container nor contains one."""
    within = _union(_selectors(layouts, "within", "keep"))
    stay = f"({within})/ancestor-or-self::* | ({within})//*"
    outside = [f"//body//*[count(. | {stay}) > count({stay})]"] if within else []
    drop = [selector.xpath for selector in _selectors(layouts, "drop")]
    return json.dumps([*outside, *drop], ensure_ascii=False, indent=1) + "\n"


def _scrapy(site: str, layouts: Sequence[SiteRules]) -> str:
    name = "".join(part.capitalize() for part in "".join(c if c.isalnum() else " " for c in site).split()) or "Any"
    name = f"{'Site' if name[0].isdigit() else ''}{name}Item"
    within = _union(_selectors(layouts, "within", "keep")) or "//body"
    drop = _union(_selectors(layouts, "drop"))
    chosen = {kind: _selectors(layouts, kind) for kind in DESCRIBING}
    values = {kind: " | ".join(map(_value, found)) for kind, found in chosen.items() if found}
    fields = "\n".join(f"    {kind} = scrapy.Field()" for kind in ("text", *values))
    lines = "\n".join(f"        {kind!r}: {xpath!r}," for kind, xpath in values.items())
    shown = "".join(c for c in site if c.isprintable() and c not in '"\\')  # in a docstring
    return f'''"""Item of the pages of {shown}."""

import scrapy
from parsel import Selector


class {name}(scrapy.Item):
{fields}

    within = {within!r}
    drop = {drop!r}
    values = {{
{lines}
    }}

    @classmethod
    def from_response(cls, response):
        page = Selector(text=response.text)
        item = cls()
        for name, xpath in cls.values.items():
            values = page.xpath(xpath)
            texts = [one.get() if isinstance(one.root, str) else one.xpath("string()").get() for one in values]
            found = list(filter(None, (" ".join(text.split()) for text in texts)))
            item[name] = found if name == "authors" else next(iter(found), None)
        if cls.drop:
            page.xpath(cls.drop).drop()
        lines = (" ".join(text.split()) for text in page.xpath(f"({{cls.within}})//text()").getall())
        item["text"] = "\\n".join(filter(None, lines))
        return item
'''


#: Suffix of a file of each form, and the function that writes it.
FORMS: Mapping[str, tuple[str, Callable[[str, Sequence[SiteRules]], str]]] = {
    "freshrss": (".txt", _freshrss),
    "ftr": (".txt", _ftr),
    "miniflux": (".txt", _miniflux),
    "scrapy": (".py", _scrapy),
    "trafilatura": (".json", _trafilatura),
}
