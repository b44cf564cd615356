"""Checks of the addresses to fetch: only public ones, looked up once and checked before connecting.

A page chooses its links. Unchecked, it could make this machine query the router, the cloud's metadata service, or
other services that trust the local network.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from urllib.parse import urlsplit

from blockml.templates.linked.links import DEFAULT_PORTS, normalise
from blockml.text.addresses import read_address

#: Returns the addresses of a host, best first; raises OSError if it has none.
Resolver = Callable[[str, int], Sequence[str]]

#: Networks that aren't public, by kind (IANA, IPv4 and IPv6 Special-Purpose Address Registries, IPv6 Global Unicast
#: Address Assignments). Listed here because the answers of ``ipaddress`` differ between versions of Python. Tunnels
#: (Teredo, 6to4) lead to IPv4 addresses of any kind.
_NOT_PUBLIC = tuple(
    (ipaddress.ip_network(network), kind)
    for kind, networks in (
        ("an address of this host", "0.0.0.0/8 ::/128"),
        ("a private address", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"),
        ("a shared address of a provider", "100.64.0.0/10"),
        ("a loopback address", "127.0.0.0/8 ::1/128"),
        ("a service address inside a cloud", "168.63.129.16/32"),  # Azure; not in a registry
        ("a link-local address", "169.254.0.0/16 fe80::/10"),
        ("an address for documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
        ("an address for benchmarks", "198.18.0.0/15"),
        ("a multicast address", "224.0.0.0/4 ff00::/8"),
        ("a reserved address", "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4 2001::/23"),
        ("an IPv4-mapped address", "::ffff:0:0/96"),
        ("a local NAT64 address", "64:ff9b:1::/48"),
        ("a 6to4 address", "2002::/16"),
    )
    for network in networks.split()
)

#: Public IPv6 addresses, apart from those listed above.
_GLOBAL = ipaddress.IPv6Network("2000::/3")

#: Addresses by which IPv6-only networks reach IPv4 (RFC 6052): classified by the embedded IPv4 address.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

#: Last label of a host that old system calls read as an address: ``2130706433``, ``0x7f.1``, ``127.1`` (URL standard,
#: "ends in a number").
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z", re.IGNORECASE)

#: User name or password before the host, in an absolute or scheme-relative URL.
_CREDENTIALS = re.compile(r"(?:[a-z][a-z0-9+.-]*:[\\/]*|[\\/]{2,})[^\\/?#]*@", re.IGNORECASE)

#: Length of URLs that servers have to support (RFC 9110, section 4.1).
_MAX_URL = 8000
_SHOWN = 200  # maximum characters of a URL in a message


class FetchError(Exception):
    """A page that can't be loaded, and why; caught within this package."""


class RefusedError(FetchError):
    """A server that must not be contacted."""


def checked_url(url: str) -> str:
    """Normalise a URL to be fetched.

    Raises FetchError if it is not a web URL, contains a user name or password, or its host is an obfuscated IP address.

    Examples
    --------
    >>> checked_url("HTTP://Example.org:80/a#b")
    'http://example.org/a'
    """
    whole = normalise(url)
    if whole is None:
        raise FetchError(f"not an http or https URL: {url[:_SHOWN]!r}")
    if len(whole) > _MAX_URL:
        raise FetchError(f"a URL of more than {_MAX_URL} characters")
    if has_credentials(url):
        raise FetchError("a URL with a user name or password")
    host, _ = host_and_port(whole)
    if ":" not in host and _NUMBER.search(host.rpartition(".")[2]):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            raise FetchError(f"the host {host} is an obfuscated IP address") from None
    return whole


def has_credentials(href: str) -> bool:
    """Return whether an absolute or scheme-relative URL contains a user name or password.

    Examples
    --------
    >>> has_credentials("http://me@a.example/"), has_credentials("//me:x@a.example"), has_credentials("/page?mail=a@b")
    (True, True, False)
    """
    return _CREDENTIALS.match(read_address(href)) is not None


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host, without brackets, and the port of a normalised URL.

    Examples
    --------
    >>> host_and_port("http://[::1]:8080/a"), host_and_port("https://example.org/")
    (('::1', 8080), ('example.org', 443))
    """
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]


def refusal(address: str) -> str | None:
    """Return why an address must not be contacted; None if it is public.

    Examples
    --------
    >>> refusal("169.254.169.254"), refusal("64:ff9b::7f00:1"), refusal("93.184.215.14")
    ('a link-local address', 'a loopback address', None)
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "not an IP address"
    if isinstance(parsed, ipaddress.IPv6Address) and parsed in _NAT64:
        parsed = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    kind = next((kind for network, kind in _NOT_PUBLIC if parsed in network), None)
    return kind if kind is not None or parsed.version == 4 or parsed in _GLOBAL else "not a public address"


def look_up(host: str, port: int, resolver: Resolver, *, seconds: float, allow_private: bool) -> list[str]:
    """Return the addresses of a host that may be contacted.

    A lookup can't be cancelled, so it runs in a daemon thread, which is abandoned after ``seconds``. Raises
    RefusedError if none of its addresses is public, and FetchError if it has none or the lookup takes too long.
    """
    try:
        addresses: Sequence[str] = [str(ipaddress.ip_address(host))]
    except ValueError:
        addresses = _ask(resolver, host, port, seconds)
    reasons = {address: None if allow_private else refusal(address) for address in addresses}
    allowed = [address for address, reason in reasons.items() if reason is None]
    if not reasons:
        raise FetchError(f"{host} has no address")
    if not allowed:
        reported = ", ".join(f"{address} is {reason}" for address, reason in reasons.items())
        raise RefusedError(reported if host in reasons else f"{host} has no public address: {reported}")
    return allowed


def _ask(resolver: Resolver, host: str, port: int, seconds: float) -> Sequence[str]:
    answer: Future[Sequence[str]] = Future()

    def ask() -> None:
        try:
            answer.set_result(list(resolver(host, port)))
        except Exception as error:  # noqa: BLE001 (passed to the waiting thread)
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True, name=f"look-up of {host}").start()
    try:
        return answer.result(timeout=seconds)
    except TimeoutError:
        raise FetchError(f"looking up {host} took too long") from None
    except (OSError, UnicodeError) as error:
        raise FetchError(f"{host} has no address ({error})") from error


def system_resolver(host: str, port: int) -> Sequence[str]:
    """Return the operating system's addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
