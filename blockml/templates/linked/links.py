"""Links of a page to other pages, their normalised URLs, and the interface of sources of pages.

Follows RFC 3986 (section 6.2, syntax-based normalisation) with the leniency of the URL standard that browsers follow:
surrounding white space, line breaks, backslashes, a missing or a third slash. Anything else gives None, never an error.
"""

from __future__ import annotations

import ipaddress
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from blockml.page import Page
from blockml.text.addresses import is_long_base, read_address

#: Elements that link to another page, and the attribute with its URL.
LINKING: Mapping[str, str] = {"a": "href", "area": "href"}

#: Elements that embed another page, and the attribute with its URL.
FRAMING: Mapping[str, str] = {"frame": "src", "iframe": "src"}

#: Extensions of pages, and parts of the paths of other files (public successor of the implementation of Alarte et al.
#: 2014).
PAGE_EXTENSIONS = frozenset({"", "html", "htm", "php", "php3", "asp"})
_NO_PAGES = ("/file", "feeds", ".pdf", "/rss")


class PageSource(ABC):
    """Source of pages by URL; a page that can't be loaded gives None, never an error."""

    @abstractmethod
    def get(self, url: str) -> Page | None:
        """Load and parse a page, with the base URL of its links as its ``url``."""

    def resolve(self, page: Page, href: str) -> str | None:
        """Return the URL of a page's link in the form that :meth:`get` accepts; None if it doesn't lead to a page."""
        return resolve_link(page, href)


class Link(NamedTuple):
    """Link of a page."""

    url: str  #: Target, in the form that :meth:`~blockml.templates.linked.links.PageSource.get` accepts
    node: int  #: Index of the first element with this link


def find_links(
    page: Page,
    source: PageSource | None = None,
    *,
    same_site: bool = True,
    pages_only: bool = False,
    frames: bool = True,
    within: int | None = None,
) -> tuple[Link, ...]:
    """List the links of a page to other pages in document order, each URL once.

    Parameters
    ----------
    page
        The page. Without ``url``, only absolute links can be resolved, and its site is unknown unless a ``<base href>``
        gives it.
    source
        Resolves links; :func:`~blockml.templates.linked.links.resolve_link` if None.
    same_site
        Keep only links to the page's own site, because other sites rarely share its template (Alarte et al. 2014); see
        :func:`~blockml.templates.linked.links.same_site`. Gottron (2008) keeps all links and leaves the choice to
        clustering.
    pages_only
        Drop URLs whose path does not look like a page, such as images and feeds; see :func:`is_page`.
    frames
        Include the pages in ``frame`` and ``iframe``, the only links of a frameset.
    within
        Index of an element: keep only links below it.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<a href=b>b</a> <a href=#top>up</a> <a href=//x.net>x</a>", url="http://ex.org/a")
    >>> find_links(page)
    (Link(url='http://ex.org/b', node=3),)
    >>> [link.url for link in find_links(page, same_site=False)]
    ['http://ex.org/b', 'http://x.net/']
    """
    own = names_of(page, source)
    site = host_of(page.url or base_url(page) or "")
    found: dict[str, Link] = {}
    for url, node in _resolved(page, source, {**LINKING, **FRAMING} if frames else LINKING, within):
        if url not in found and url not in own:
            found[url] = Link(url, node)
    return tuple(
        link
        for link in found.values()
        if (not same_site or host_of(link.url) == site) and (not pages_only or is_page(link.url))
    )


def is_page(url: str) -> bool:
    """Return whether a URL looks like a page, by the extension and some parts of its path.

    Examples
    --------
    >>> [is_page(url) for url in ("http://a.org/", "http://a.org/b.htm?c=d.e", "http://a.org/b.jpg", "http://a.org/rss")]
    [True, True, False, False]
    """
    path = (url.partition("://")[2].partition("/")[2] if "://" in url else url).partition("?")[0]
    path = f"/{path}".lower()
    extension = path.rpartition("/")[2].partition(".")[2].rpartition(".")[2]
    return extension in PAGE_EXTENSIONS and not any(piece in path for piece in _NO_PAGES)


def names_of(page: Page, source: PageSource | None = None) -> set[str]:
    """Return all forms of a page's URL; empty if it has none.

    Examples
    --------
    >>> import blockml
    >>> sorted(names_of(blockml.parse("", url="http://Example.org")))
    ['http://Example.org', 'http://example.org/']
    """
    if not page.url:
        return set()
    resolved = source.resolve(page, page.url) if source is not None else None
    return {name for name in (page.url, normalise(page.url), resolved) if name is not None}


def _resolved(
    page: Page, source: PageSource | None, attributes: Mapping[str, str], within: int | None
) -> Iterable[tuple[str, int]]:
    """Yield URL and node of each link in document order, resolving each distinct ``href`` once."""
    nodes = page.nodes
    base = base_url(page) if source is None else None
    known: dict[str, str | None] = {}
    leading = nodes.named(attributes.keys())
    first, end = (0, len(nodes)) if within is None else (within, int(nodes.end[within]))
    for node in (leading[first:end].nonzero()[0] + first).tolist():
        href = nodes.attributes[node].get(attributes[nodes.name(node)])
        if href is None:
            continue
        if href not in known:
            known[href] = join(base, href) if source is None else source.resolve(page, href)
        url = known[href]
        if url is not None:
            yield url, node


#: Schemes of web pages and their default ports.
DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)

#: Labels of at most 63 letters, digits, hyphens (RFC 1035) and, as is common, underscores.
_HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
_MAX_HOST = 253  # characters (RFC 1035)

_PORT = re.compile(r"[0-9]{0,5}")
_PORT_AT_END = re.compile(r":[0-9]+\Z")
_MAX_PORT = 65_535

#: An escape, or a run of characters to escape in a path or query: neither unreserved nor reserved (RFC 3986).
_TO_QUOTE = re.compile(r"%([0-9A-Fa-f]{2})|[^%A-Za-z0-9._~!$&'()*+,;=:@/?-]+|%")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def normalise(url: str) -> str | None:
    """Normalise an absolute http or https URL; None for anything else, or without a host.

    Scheme and host become lower case, internationalised names ASCII (IDNA 2003, built into Python); default port,
    credentials, fragment, final dot of the host and empty query are removed. In path and query, escapes of unreserved
    characters are decoded, others get capital digits, and illegal characters are escaped as UTF-8; ``.`` and ``..`` are
    resolved. Idempotent.

    Examples
    --------
    >>> normalise(" HTTP://Ex.org:80/a/../b c?q=%7e#top"), normalise("https://bücher.example")
    ('http://ex.org/b%20c?q=~', 'https://xn--bcher-kva.example/')
    >>> normalise("mailto:q@example.org"), normalise("http://[::1"), normalise("page.html")
    (None, None, None)
    """
    return join(None, url)


def resolve_link(page: Page, href: str) -> str | None:
    """Return the normalised URL of a page's link (as written), resolved against its ``<base href>`` or ``url``.

    None if the link doesn't lead to a web page, or is relative without a base. A link to a fragment of the page is the
    page's own URL.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<base href=/docs/><a href=one.html>one</a>", url="http://example.org/a/b.html")
    >>> [resolve_link(page, href) for href in ("one.html", "//other.net", "javascript:void(0)")]
    ['http://example.org/docs/one.html', 'http://other.net/', None]
    """
    return join(base_url(page), href)


@lru_cache(maxsize=1)  # the links of a page are resolved one after another
def base_url(page: Page) -> str | None:
    """Return the base of a page's relative links: its first ``<base href>`` that is a web URL, else its URL.

    A base or URL of more than 2,048 characters or 64 slashes is ignored, because every link would repeat it.

    Examples
    --------
    >>> import blockml
    >>> base_url(blockml.parse("<p>no base", url="http://Example.org")), base_url(blockml.parse("<p>no URL"))
    ('http://example.org/', None)
    """
    nodes = page.nodes
    url = _bounded(normalise(page.url)) if page.url else None
    for node in nodes.indices("base").tolist():
        href = nodes.attributes[node].get("href")
        if href is not None:  # the first one with an address counts, even if broken (HTML standard)
            return _bounded(join(url, href)) or url
    return url


def _bounded(url: str | None) -> str | None:
    return None if url is None or is_long_base(url) else url


def same_site(one: str, other: str) -> bool:
    """Return whether two URLs have the same host, except for a leading ``www.``; scheme and port don't count.

    Stricter than the registrable domain, which would need the public suffix list: ``blog.example.org`` and
    ``example.org`` are two sites, which mostly have two templates. Names that are not web URLs, such as paths of a
    folder, form one site.

    Examples
    --------
    >>> same_site("http://www.example.org/a", "https://example.org:8080/b"), same_site("http://a.org/", "http://b.org/")
    (True, False)
    """
    return host_of(one) == host_of(other)


def host_of(url: str) -> str:
    """Return the host of a URL without port and ``www.``; empty if it is not a web URL.

    Examples
    --------
    >>> host_of("http://www.Example.org:8000/a"), host_of("a/b.html")
    ('example.org', '')
    """
    whole = normalise(url)
    return "" if whole is None else _PORT_AT_END.sub("", whole.split("/", 3)[2]).removeprefix("www.")


def join(base: str | None, href: str) -> str | None:
    """Resolve a link against a normalised URL (RFC 3986, section 5.2); see :func:`resolve_link`.

    Examples
    --------
    >>> join("http://example.org/a/b?c", "../d"), join("http://example.org/a/b?c", "?e"), join(None, "d")
    ('http://example.org/d', 'http://example.org/a/b?e', None)
    """
    whole = read_address(href).partition("#")[0]
    path, mark, query = whole.partition("?")
    path = path.replace("\\", "/")
    scheme = _SCHEME.match(path)
    if scheme is not None:
        name = scheme[1].lower()
        if name not in DEFAULT_PORTS:
            return None
        path = path[scheme.end() :]
        if base is None or path.startswith("//") or not base.startswith(f"{name}://"):
            return _compose(name, path.lstrip("/"), query)
    if base is None:
        return None
    own_scheme, _, rest = base.partition("://")
    authority, _, tail = rest.partition("/")
    own_path, _, own_query = tail.partition("?")
    if path.startswith("//"):
        return _compose(own_scheme, path.lstrip("/"), query)
    if path.startswith("/"):
        return _compose(own_scheme, authority + path, query)
    if path:
        folder = own_path[: own_path.rfind("/") + 1]
        return _compose(own_scheme, f"{authority}/{folder}{path}", query)
    return _compose(own_scheme, f"{authority}/{own_path}", query if mark else own_query)


def _compose(scheme: str, rest: str, query: str) -> str | None:
    """Return the normalised URL of a scheme, the part after the slashes, and a query."""
    authority, _, path = rest.partition("/")
    host = _authority(scheme, authority)
    if host is None:
        return None
    path = _without_dots(_quoted(path))
    return f"{scheme}://{host}/{path}" + (f"?{_quoted(query)}" if query else "")


def _authority(scheme: str, authority: str) -> str | None:
    """Return the host, with the port unless it is the default; None if either is invalid."""
    named = authority.rpartition("@")[2]  # credentials don't identify a page
    if named.startswith("["):
        address, bracket, port = named[1:].partition("]")
        if not bracket or "%" in address or (port and not port.startswith(":")):
            return None  # a zone ("%eth0") is local to one machine
        try:
            host = f"[{ipaddress.IPv6Address(address)}]"
        except ValueError:
            return None
        port = port[1:]
    else:
        name, _, port = named.partition(":")
        ascii_name = _ascii_host(name)
        if ascii_name is None:
            return None
        host = ascii_name
    if not _PORT.fullmatch(port) or int(port or 0) > _MAX_PORT:
        return None
    return host if not port or int(port) == DEFAULT_PORTS[scheme] else f"{host}:{int(port)}"


def _ascii_host(name: str) -> str | None:
    """Return the lower-case ASCII form of a host name without a final dot; None if it is invalid."""
    if "%" in name:
        name = unquote(name)
    if len(name) > 2 * _MAX_HOST:  # the codec takes quadratic time
        return None
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    name = name.lower().removesuffix(".")
    return name if len(name) <= _MAX_HOST and _HOST.fullmatch(name) else None


def _quoted(text: str) -> str:
    """Return a path or query with exactly the escapes it needs."""

    def escape(match: re.Match[str]) -> str:
        if match[1]:
            code = int(match[1], 16)
            return chr(code) if code in _UNRESERVED else match[0].upper()
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))

    return _TO_QUOTE.sub(escape, text)


def _without_dots(path: str) -> str:
    """Resolve ``.`` and ``..`` in a path without leading slash (RFC 3986, section 5.2.4)."""
    if "." not in path:
        return path
    steps = path.split("/")
    kept: list[str] = []
    for step in steps:
        if step == "..":
            del kept[-1:]
        elif step != ".":
            kept.append(step)
    if steps[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept)
