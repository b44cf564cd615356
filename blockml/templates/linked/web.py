"""The handful of pages that one page links to, from the web, politely and without being led astray."""

from __future__ import annotations

import math
import re
import ssl
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from blockml.errors import MissingExtraError, UsageError
from blockml.page import Page
from blockml.parsing import parse
from blockml.templates.linked.addresses import (
    FetchError,
    RefusedError,
    Resolver,
    checked_url,
    has_credentials,
    system_resolver,
)
from blockml.templates.linked.archive import HTML_TYPES, REDIRECTS
from blockml.templates.linked.connections import Budget, Connections, Response
from blockml.templates.linked.source import PageSource
from blockml.templates.linked.urls import join, normalise

if TYPE_CHECKING:
    from protego import Protego

__all__ = ["WebSource"]

#: Ports of web servers that are meant for everyone.
_PORTS = frozenset({80, 443})

#: A parser of robots.txt reads at least 500 KiB and follows at least five redirects (RFC 9309, sections 2.5, 2.3.1.2).
_ROBOTS_BYTES = 500 * 2**10
_ROBOTS_REDIRECTS = 5

#: What a header may hold (RFC 9110, section 5.5), and the name in it that robots.txt goes by (RFC 9309, section 2.2.1).
_HEADER_TEXT = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_TOKEN = re.compile(r"[A-Za-z_-]+")

_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)


class WebSource(PageSource):
    """Pages from the web, for the few that one page links to; no crawler.

    A page is had if it is HTML, has status 200, and keeps all limits; else :meth:`get` gives None, and ``failures``
    says why. A page that failed isn't asked for again. The page's ``url`` is the one at the end of all redirects.

    * Addresses that are not public are refused: private, loopback, link-local, multicast, reserved ones and the like,
      of IPv4 and IPv6, however they are written. A name is looked up once per connection, and the connection goes to
      the address that was checked. Each redirect is checked again.
    * robots.txt is obeyed (RFC 9309): fetched once per server, no rules if the answer is 4xx, all forbidden if it is
      5xx or there is none. Crawl delays are kept.
    * URLs with a user name or password are refused. Cookies are not kept; proxies of the environment are not used.
    * Requests go out one after another, whatever the number of threads.

    Parameters
    ----------
    max_pages
        How many pages are asked for in all; robots.txt and redirects don't count.
    max_bytes
        Length of a page, unzipped. Longer ones fail.
    timeout
        Seconds for one page with its redirects, and as many for each robots.txt; waiting for its turn doesn't count.
    max_redirects
        How many redirects in a row are followed.
    delay
        Seconds between two requests to one server, unless its robots.txt asks for more.
    max_delay
        The longest wait before a page, in seconds. A page that would have to wait longer fails.
    allow_private
        Connect to all addresses, and to all ports unless ``ports`` says which: for pages of the own network.
    ports
        Ports that may be used; 80 and 443 if not given.
    user_agent
        What it calls itself. robots.txt is asked about the name it starts with.
    resolver
        ``(host, port) -> addresses``; the operating system's if not given. Its answers are checked like any other.
    tls
        Settings for https, such as certificates of the own network; certifi's if not given.
    parsing
        Options for :func:`blockml.parse`.

    Raises
    ------
    MissingExtraError
        httpx or protego is not installed.
    UsageError
        A limit is no number or out of its range, or the user agent holds no name.

    Examples
    --------
    >>> with WebSource() as source:
    ...     source.get("http://169.254.169.254/latest/meta-data/")
    >>> list(source.failures.values())
    ['169.254.169.254 is a link-local address']
    """

    def __init__(
        self,
        *,
        max_pages: int = 50,
        max_bytes: int = 8 * 2**20,
        timeout: float = 20.0,
        max_redirects: int = 5,
        delay: float = 1.0,
        max_delay: float = 10.0,
        allow_private: bool = False,
        ports: Collection[int] | None = None,
        user_agent: str | None = None,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        parsing: Mapping[str, Any] | None = None,
    ) -> None:
        for name, value, least in (
            ("max_pages", max_pages, 0),
            ("max_bytes", max_bytes, 1),
            ("max_redirects", max_redirects, 0),
            ("delay", delay, 0),
            ("max_delay", max_delay, 0),
        ):
            if not least <= value < math.inf:
                raise UsageError(f"{name} is a number from {least} on, not {value!r}")
        if not 0 < timeout < math.inf:
            raise UsageError(f"timeout is a number of seconds above 0, not {timeout!r}")
        user_agent = _default_user_agent() if user_agent is None else user_agent
        token = _TOKEN.match(user_agent)
        if token is None or not _HEADER_TEXT.fullmatch(user_agent):
            raise UsageError(f"a user agent is plain text that starts with a name, not {user_agent!r}")
        self._max_pages = max_pages
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._max_redirects = max_redirects
        self._delay = delay
        self._max_delay = max_delay
        self._token = token[0]
        self._parsing = dict(parsing or {})
        parse("", url=None, charset=None, **self._parsing)  # a wrong option shows here, not at some page
        _need_protego()
        self._connections = Connections(
            user_agent=user_agent,
            allow_private=allow_private,
            ports=ports if ports is not None or allow_private else _PORTS,
            resolver=resolver or system_resolver,
            tls=tls,
        )
        self._lock = threading.Lock()
        self._closed = False
        self._n_pages = 0
        self._failures: dict[str, str] = {}
        self._robots: dict[str, _Robots] = {}
        self._turns: dict[str, float] = {}
        self.failures: Mapping[str, str] = MappingProxyType(self._failures)
        """Why each page that was asked for and not had is missing, by its URL."""

    def get(self, url: str) -> Page | None:
        """Fetch and parse a page; None if it can't be had, see ``failures``.

        Raises
        ------
        UsageError
            The source was closed.
        """
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
        """Close all connections; nothing can be fetched afterwards."""
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
        if self._n_pages >= self._max_pages:
            raise FetchError(f"the limit of {self._max_pages} pages was reached")
        self._n_pages += 1
        budget = Budget(self._timeout)
        seen: set[str] = set()
        while url not in seen and len(seen) <= self._max_redirects:
            seen.add(url)
            self._wait(url, self._ask_robots(url))
            with self._connections.request(url, budget) as response:
                if response.status not in REDIRECTS:
                    return self._page(url, response)
                target = _target(url, response)
            url = target
        raise FetchError("redirects in a circle" if url in seen else f"more than {self._max_redirects} redirects")

    def _page(self, url: str, response: Response) -> Page:
        if response.status != 200:
            raise FetchError(f"status {response.status}")
        content_type = response.header("Content-Type")
        media_type = content_type.partition(";")[0].strip().lower()
        if media_type not in HTML_TYPES:
            raise FetchError(f"the content type is {media_type!r}, not HTML")
        charset = _CHARSET.search(content_type)
        body = response.read(self._max_bytes)
        return parse(body, url=url, charset=charset[1] if charset else None, **self._parsing)

    def _ask_robots(self, url: str) -> float:
        """Seconds between requests that the server of a URL asks for; raises FetchError if it forbids the URL."""
        server = "/".join(url.split("/", 3)[:3])
        if server not in self._robots:
            try:
                self._robots[server] = _Robots(self._fetch_robots(f"{server}/robots.txt"))
            except RefusedError as error:
                self._robots[server] = _Robots(None, str(error))
            except FetchError as error:
                self._robots[server] = _Robots(None, f"robots.txt can't be had, so all is forbidden ({error})")
        robots = self._robots[server]
        robots.check(url, self._token)
        return robots.delay(self._token)

    def _fetch_robots(self, url: str) -> str:
        """Text of a robots.txt; empty if the server has none."""
        budget = Budget(self._timeout)
        for _ in range(_ROBOTS_REDIRECTS + 1):
            with self._connections.request(url, budget) as response:
                if 200 <= response.status < 300:
                    # Of a line that is cut off nobody knows what it forbids.
                    body = response.read(_ROBOTS_BYTES, cut=True)
                    whole = body if len(body) < _ROBOTS_BYTES else body[: body.rfind(b"\n") + 1]
                    return whole.decode("utf-8-sig", "replace")
                if 400 <= response.status < 500:
                    return ""
                if response.status not in REDIRECTS:
                    raise FetchError(f"status {response.status}")
                target = _target(url, response)
            url = target
        return ""  # after that many redirects there is none (RFC 9309, section 2.3.1.2)

    def _wait(self, url: str, delay: float) -> None:
        """Wait for the turn of a request to its server."""
        server = "/".join(url.split("/", 3)[:3])
        now = time.monotonic()
        wait = self._turns.get(server, now) - now
        if wait > self._max_delay:
            raise FetchError(
                f"would have to wait {wait:.0f} seconds for its turn, and the limit is {self._max_delay:g}"
            )
        if wait > 0:
            time.sleep(wait)
        self._turns[server] = time.monotonic() + max(delay, self._delay)


class _Robots:
    """What one server's robots.txt says."""

    def __init__(self, text: str | None, reason: str = "") -> None:
        self._rules: Protego | None = None
        self._reason = reason
        if text is not None:
            from protego import Protego

            self._rules = Protego.parse(text)

    def check(self, url: str, token: str) -> None:
        """Raise FetchError if a URL is forbidden."""
        if self._rules is None:
            raise FetchError(self._reason)
        if not self._rules.can_fetch(url, token):
            raise FetchError("robots.txt forbids it")

    def delay(self, token: str) -> float:
        """Seconds between requests that are asked for, 0 if it doesn't say."""
        if self._rules is None:
            return 0.0
        delay = float(self._rules.crawl_delay(token) or 0.0)
        rate = self._rules.request_rate(token)
        with suppress(ZeroDivisionError):
            delay = max(delay, rate.seconds / rate.requests) if rate is not None else delay
        return delay if delay >= 0 else 0.0  # neither negative nor no number


def _target(url: str, response: Response) -> str:
    """Where a redirect leads to."""
    location = response.header("Location")
    target = join(url, location) if location else None
    if target is None:
        raise FetchError(f"status {response.status} without a place to go to")
    if has_credentials(location):  # joining leaves them out
        raise FetchError("a redirect to a URL with a user name or password")
    return checked_url(target)


def _default_user_agent() -> str:
    from blockml import __version__  # the package imports this module's room

    return f"blockml/{__version__} (fetches the pages that one page links to; obeys robots.txt)"


def _need_protego() -> None:
    try:
        import protego  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Fetching pages", "http") from error
