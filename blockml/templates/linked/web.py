"""Fetch the few pages that one page links to from the web, politely and safely."""

from __future__ import annotations

import math
import re
import ssl
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from blockml.archives.http import HTML_TYPES, REDIRECTS, charset_of, media_type
from blockml.errors import UsageError, needed
from blockml.page import Page
from blockml.parsing import parse
from blockml.templates.linked.links import PageSource, join, normalise
from blockml.templates.linked.public_addresses import (
    FetchError,
    RefusedError,
    Resolver,
    checked_url,
    has_credentials,
    system_resolver,
)

if TYPE_CHECKING:
    from protego import Protego

    from blockml.templates.linked.connections import FetchedResponse

#: Ports of public web servers.
_PORTS = frozenset({80, 443})

#: Minimum size of a robots.txt and number of redirects to support (RFC 9309, sections 2.5 and 2.3.1.2).
_ROBOTS_BYTES = 500 * 2**10
_ROBOTS_REDIRECTS = 5

#: Legal text of a header (RFC 9110, section 5.5), and the product token for robots.txt (RFC 9309, section 2.2.1).
_HEADER_TEXT = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_TOKEN = re.compile(r"[A-Za-z_-]+")


@dataclass(eq=False, repr=False, kw_only=True)
class WebSource(PageSource):
    """Pages from the web: the few that one page links to; not a crawler.

    A page must be HTML, have status 200 and be within all limits; else :meth:`get` returns None, ``failures`` has the
    reason, and the page isn't requested again. The page's ``url`` is the one after all redirects.

    * Addresses that aren't public are refused: private, loopback, link-local, multicast, reserved and so on, IPv4 and
      IPv6, in any notation. A name is looked up once per connection, which goes to the checked address. Each redirect
      is checked again.
    * robots.txt is obeyed (RFC 9309): fetched once per server; no rules if the answer is 4xx, everything disallowed for
      5xx or no answer. Crawl delays are kept.
    * URLs with a user name or password are refused. Cookies and proxies of the environment are not used.
    * Requests are sequential, also with several threads.

    Raises MissingExtraError without httpcore or protego, and UsageError if a limit is out of range or the user agent
    contains no name.

    Parameters
    ----------
    max_pages
        Maximum number of pages requested in all; robots.txt and redirects don't count.
    max_bytes
        Maximum length of a page, decompressed. Longer ones fail.
    timeout
        Seconds for one page with its redirects, and for each robots.txt, without waiting for delays.
    max_redirects
        Maximum number of consecutive redirects.
    delay
        Seconds between two requests to one server, unless its robots.txt asks for more.
    max_delay
        Longest wait before a page, in seconds. Pages that would have to wait longer fail.
    allow_private
        Connect to all addresses, and to all ports unless ``ports`` is given: for pages of the local network.
    ports
        Permitted ports; by default 80 and 443.
    user_agent
        User agent. Its first word is the name looked up in robots.txt.
    resolver
        ``(host, port) -> addresses``; by default the operating system's. Its answers are checked as well.
    tls
        TLS settings, such as certificates of the local network; by default certifi's.
    parsing
        Options for :func:`blockml.parse`.

    Examples
    --------
    >>> with WebSource() as source:
    ...     source.get("http://169.254.169.254/latest/meta-data/")
    >>> list(source.failures.values())
    ['169.254.169.254 is a link-local address']
    """

    max_pages: int = 50
    max_bytes: int = 8 * 2**20
    timeout: float = 20.0
    max_redirects: int = 5
    delay: float = 1.0
    max_delay: float = 10.0
    allow_private: bool = False
    ports: Collection[int] | None = None
    user_agent: str | None = None
    resolver: Resolver | None = None
    tls: ssl.SSLContext | None = None
    parsing: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in ("max_pages", "max_redirects", "delay", "max_delay"):
            if not 0 <= (value := getattr(self, name)) < math.inf:
                raise UsageError(f"{name} must be a non-negative number, got {value!r}")
        for name in ("max_bytes", "timeout"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise UsageError(f"{name} must be a positive number, got {value!r}")
        user_agent = self.user_agent
        if user_agent is None:
            from blockml import __version__  # blockml imports this package

            user_agent = f"blockml/{__version__} (fetches the pages that one page links to; obeys robots.txt)"
        token = _TOKEN.match(user_agent)
        if token is None or not _HEADER_TEXT.fullmatch(user_agent):
            raise UsageError(f"a user agent must be plain text that starts with a name, got {user_agent!r}")
        self._token = token[0]
        self._parsing = dict(self.parsing or {})
        parse("", url=None, charset=None, **self._parsing)  # report invalid options now
        with needed("Fetching pages", "http"):
            import httpcore  # noqa: F401
            import protego  # noqa: F401

            from blockml.templates.linked.connections import Connections, TimeBudget
        self._budget = partial(TimeBudget, self.timeout)
        self._connections = Connections(
            user_agent=user_agent,
            allow_private=self.allow_private,
            ports=self.ports if self.ports is not None or self.allow_private else _PORTS,
            resolver=self.resolver or system_resolver,
            tls=self.tls,
        )
        self._lock = threading.Lock()
        self._closed = False
        self._n_pages = 0
        self._failures: dict[str, str] = {}
        self._robots: dict[str, Protego | str] = {}  # rules of each server, or why everything is disallowed
        self._turns: dict[str, float] = {}
        self.failures: Mapping[str, str] = MappingProxyType(self._failures)
        """Reason of each failure, by URL."""

    def get(self, url: str) -> Page | None:
        """Fetch and parse a page; None if that fails, see ``failures``. Raise UsageError if the source was closed."""
        with self._lock:
            if self._closed:
                raise UsageError("this source was closed")
            key = normalise(url) or url
            if key in self._failures:
                return None
            try:
                return self._fetch(checked_url(url))
            except FetchError as error:
                self._failures[key] = str(error)
                return None

    def close(self) -> None:
        """Close all connections and stop fetching."""
        with self._lock:
            self._closed = True
            self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fetch(self, url: str) -> Page:
        if self._n_pages >= self.max_pages:
            raise FetchError(f"the limit of {self.max_pages} pages was reached")
        self._n_pages += 1
        budget = self._budget()
        seen: set[str] = set()
        while url not in seen and len(seen) <= self.max_redirects:
            seen.add(url)
            self._wait(url, self._ask_robots(url))
            with self._connections.request(url, budget) as response:
                if response.status not in REDIRECTS:
                    return self._page(url, response)
                target = _target(url, response)
            url = target
        raise FetchError("redirects in a circle" if url in seen else f"more than {self.max_redirects} redirects")

    def _page(self, url: str, response: FetchedResponse) -> Page:
        if response.status != 200:
            raise FetchError(f"status {response.status}")
        content_type = response.header("Content-Type")
        if (media := media_type(content_type)) not in HTML_TYPES:
            raise FetchError(f"the content type is {media!r}, not HTML")
        return parse(response.read(self.max_bytes), url=url, charset=charset_of(content_type), **self._parsing)

    def _ask_robots(self, url: str) -> float:
        """Return the crawl delay of a URL's server in seconds; raise FetchError if it disallows the URL."""
        from protego import Protego

        server = "/".join(url.split("/", 3)[:3])
        if server not in self._robots:
            try:
                self._robots[server] = Protego.parse(self._fetch_robots(f"{server}/robots.txt"))
            except RefusedError as error:
                self._robots[server] = str(error)
            except FetchError as error:
                self._robots[server] = f"robots.txt can't be loaded, so everything is disallowed ({error})"
        rules = self._robots[server]
        if isinstance(rules, str):
            raise FetchError(rules)
        if not rules.can_fetch(url, self._token):
            raise FetchError("disallowed by robots.txt")
        delay = float(rules.crawl_delay(self._token) or 0.0)
        rate = rules.request_rate(self._token)
        with suppress(ZeroDivisionError):
            delay = max(delay, rate.seconds / rate.requests) if rate is not None else delay
        return delay if delay >= 0 else 0.0  # neither negative nor NaN

    def _fetch_robots(self, url: str) -> str:
        """Return the text of a robots.txt; empty if the server has none."""
        budget = self._budget()
        for _ in range(_ROBOTS_REDIRECTS + 1):
            with self._connections.request(url, budget) as response:
                if 200 <= response.status < 300:
                    # A truncated last line may mean anything.
                    body = response.read(_ROBOTS_BYTES, cut=True)
                    whole = body if len(body) < _ROBOTS_BYTES else body[: body.rfind(b"\n") + 1]
                    return whole.decode("utf-8-sig", "replace")
                if 400 <= response.status < 500:
                    return ""
                if response.status not in REDIRECTS:
                    raise FetchError(f"status {response.status}")
                target = _target(url, response)
            url = target
        return ""  # no rules after too many redirects (RFC 9309, section 2.3.1.2)

    def _wait(self, url: str, delay: float) -> None:
        """Wait until the next request to this server is due."""
        server = "/".join(url.split("/", 3)[:3])
        now = time.monotonic()
        wait = self._turns.get(server, now) - now
        if wait > self.max_delay:
            raise FetchError(f"would have to wait {wait:.0f} seconds, and the limit is {self.max_delay:g}")
        if wait > 0:
            time.sleep(wait)
        self._turns[server] = time.monotonic() + max(delay, self.delay)


def _target(url: str, response: FetchedResponse) -> str:
    """Return the target of a redirect."""
    location = response.header("Location")
    target = join(url, location) if location else None
    if target is None:
        raise FetchError(f"status {response.status} without a target")
    if has_credentials(location):  # join drops them
        raise FetchError("a redirect to a URL with a user name or password")
    return checked_url(target)
