"""Kinds of pages and patterns of their addresses, so that sitemaps and tag pages are told from pages with content."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from blockml.surveying.run_output import Record
from blockml.surveying.sites import PageCounts
from blockml.text.addresses import original_url

#: Kinds of pages; the first five are worth labels.
SURVEYED_KINDS = ("article", "product", "forum", "home", "other", "list", "search", "sitemap", "account")
WORTH_LABELS = SURVEYED_KINDS[:5]
#: Kinds by a step of the path, in some languages of many sites.
_STEPS = {
    "list": "tag tags label labels category categories kategorie kategorien categorie categoria etiqueta topic topics "
    "thema themen author authors autor auteur archive archives archiv page",
    "search": "search suche recherche buscar find",
    "sitemap": "sitemap sitemaps site-map feed feeds rss atom",
    "account": "login signin sign-in logout register signup sign-up account my-account cart basket checkout wp-login "
    "warenkorb anmelden",
}
_KIND_OF_STEP = {step: kind for kind, steps in _STEPS.items() for step in steps.split()}
#: Parameters of a query that make a page one of search results.
_SEARCHED = frozenset({"q", "query", "search", "s"})
#: A step that is part of a pattern: a word without digits, not a title with several words.
_WORD = re.compile(r"[^\W\d_]{1,20}(?:[-_][^\W\d_]{1,12})?")
#: Suffixes of names of pages.
_SUFFIX = re.compile(r"\.[a-z]{2,5}\Z", re.IGNORECASE)
#: Maximum steps and parameters of a pattern, and maximum number of patterns counted; further ones are ``other``.
_MOST_STEPS, _MOST_PARAMETERS, _MOST_PATTERNS = 6, 3, 20_000
#: Minimum probability of being an article, if a page declares no type.
_LIKELY = 0.5


def url_pattern(url: str | None) -> str:
    """Return the pattern of an address: its path with ``N`` for numbers and ``*`` for names, and its parameters.

    Examples
    --------
    >>> paths = "/", "/tag/tabby", "/2024/05/how-cats-rule-the-world.html"
    >>> [url_pattern(f"https://cats.example{path}") for path in paths]
    ['/', '/tag/*', '/N/N/*.html']
    >>> url_pattern("https://cats.example/forum/viewtopic.php?t=17&page=2"), url_pattern(None)
    ('/forum/*.php?page&t', '(no address)')
    """
    if (parts := _parts(url)) is None:
        return "(no address)"
    _, steps, query_pairs = parts
    names = sorted({name for name, _ in query_pairs})
    shown = [_step(step, is_last=place == len(steps) - 1) for place, step in enumerate(steps[:_MOST_STEPS])]
    more = ["…"] if len(steps) > _MOST_STEPS else []
    query = [name if _WORD.fullmatch(name) else "*" for name in names[:_MOST_PARAMETERS]]
    return "/" + "/".join([*shown, *more]) + ("?" + "&".join(dict.fromkeys(query)) if query else "")


def _parts(url: str | None) -> tuple[str | None, list[str], list[tuple[str, str]]] | None:
    """Return the host of an address, the steps of its path, and the names and values of its query; None if invalid."""
    if url is None:
        return None
    try:
        parts = urlsplit(original_url(url))
        pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=50)
        return parts.hostname, [step for step in parts.path.split("/") if step], pairs
    except ValueError:
        return None


def _step(step: str, *, is_last: bool) -> str:
    if step.isdecimal():
        return "N"
    if not is_last:
        return step.lower() if _WORD.fullmatch(step) else "*"
    if _KIND_OF_STEP.get(_SUFFIX.sub("", step).lower()):
        return step.lower()
    suffix = _SUFFIX.search(step)
    return "*" + (suffix[0].lower() if suffix else "")


def page_kind(record: Record) -> str:
    """Return the kind of a page, one of :data:`SURVEYED_KINDS`, from its address, declared type and predicted type.

    Examples
    --------
    >>> from blockml.surveying.run_output import record_of
    >>> def kind(url, **more):
    ...     return page_kind(record_of({"id": "1", "url": f"https://cats.example{url}", **more}, 1))
    >>> kind("/tag/tabby"), kind("/sitemap.xml"), kind("/?q=cats"), kind("/"), kind("/a", article_probability=0.9)
    ('list', 'sitemap', 'search', 'home', 'article')
    >>> kind("/a", metadata={"page_type": "product"}), kind("/a")
    ('product', 'other')
    """
    by_address = _kind_of_address(record.url)
    if by_address is not None and by_address != "home":
        return by_address
    if record.page_type in ("article", "product", "forum", "list"):
        return record.page_type
    if by_address is not None:
        return by_address
    return "article" if record.p_article is not None and record.p_article >= _LIKELY else "other"


def _kind_of_address(url: str | None) -> str | None:
    if (parts := _parts(url)) is None:
        return None
    host, steps, query_pairs = parts
    steps = [_SUFFIX.sub("", step).lower() for step in steps]
    if not steps or steps in (["index"], ["default"], ["home"]):
        names = {name for name, value in query_pairs if value}
        return "search" if names & _SEARCHED else "home" if host else None
    for place, step in enumerate(steps):
        kind = _KIND_OF_STEP.get(step)
        # A step "page" names a list only before a number.
        if kind and (step != "page" or (place + 1 < len(steps) and steps[place + 1].isdecimal())):
            return kind
        if step.startswith(("sitemap-", "sitemap_", "post-sitemap")):
            return "sitemap"
    return None


@dataclass(slots=True)
class KindCounts:
    """Counts of the pages of a run by kind, and by site and pattern of the address."""

    kinds: dict[str, PageCounts] = field(default_factory=dict)
    patterns: dict[tuple[str, str], tuple[PageCounts, str]] = field(default_factory=dict)

    def add(self, record: Record, site: str, n_words: int) -> None:
        """Count a page."""
        kind = page_kind(record)
        self.kinds.setdefault(kind, PageCounts()).add(record, n_words)
        key = site, url_pattern(record.url)
        if key not in self.patterns and len(self.patterns) >= _MOST_PATTERNS:
            key, kind = ("(other sites)", "other"), "other"
        self.patterns.setdefault(key, (PageCounts(), kind))[0].add(record, n_words)

    def kind_rows(self) -> list[dict[str, Any]]:
        """Return a row for each kind, the one with most pages × (1 − confidence) first."""
        rows = [
            {"kind": kind, **counts.row(), "worth_labels": kind in WORTH_LABELS} for kind, counts in self.kinds.items()
        ]
        return sorted(rows, key=lambda row: (-row["expected_loss"], -row["pages"], row["kind"]))

    def pattern_rows(self) -> list[dict[str, Any]]:
        """Return a row for each site and pattern, in the same order, with the kind of its first page."""
        rows = [
            {"site": site, "pattern": pattern, "kind": kind, **counts.row()}
            for (site, pattern), (counts, kind) in self.patterns.items()
        ]
        return sorted(rows, key=lambda row: (-row["expected_loss"], -row["pages"], row["site"], row["pattern"]))
