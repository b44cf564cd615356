"""Addresses as browsers read them, original addresses of archived pages, and registrable domains.

The list is part of the package, so that sites and folds do not change from one machine to another.
``python -m tools.public_suffixes`` writes it.
"""

from __future__ import annotations

import functools
import gzip
import re
from pathlib import Path
from urllib.parse import urlsplit

from blockml.text.words import lazy_pattern

__all__ = [
    "FILE",
    "MAX_BASE",
    "MAX_BASE_SLASHES",
    "ascii_host",
    "is_long_base",
    "is_safe",
    "original_url",
    "read_address",
    "registrable_domain",
    "split_host",
]


#: Maximum characters and slashes of a base address: thousands of links are resolved against it, and each may repeat it.
MAX_BASE, MAX_BASE_SLASHES = 2_048, 64

#: Links with these schemes, or relative; others might run scripts.
_SAFE = lazy_pattern(r"(?:https?:|mailto:|tel:|[^:]*(?:[/?#]|$))", re.IGNORECASE)
#: Maximum characters of an address in which the address of an archived page is looked for.
_MAX_ARCHIVED = 4_096
#: Address in a web archive, such as the Wayback Machine or others with its software: a date with time, perhaps with a
#: mark of how the page is shown (``id_``), and the original address, whose slashes a server may have merged.
_ARCHIVED = lazy_pattern(
    r"https?://[^/?#]+/(?:[^?#]*?/)?\d{14}(?:[a-z]{2}_|\*)?/(https?):/{1,2}(?=[^/])", re.IGNORECASE
)
#: Archives that take shorter dates, and original addresses without a scheme.
_WAYBACK = lazy_pattern(
    r"https?://(?:web|wayback|www|replay)\.archive\.org/(?:web|wayback)/(?:\d{1,14}|\*)(?:[a-z]{2}_|\*)?/"
    r"(?:(https?):/{1,2})?(?=[^/?#]+\.[^/?#]+)",
    re.IGNORECASE,
)

_AROUND = "".join(map(chr, range(0x21)))
_WITHIN = lazy_pattern(r"[\t\n\r]+")


def read_address(value: str) -> str:
    """Return the address in an attribute without what the URL standard drops.

    That is every control character and space around it, and the tabs and line breaks in it.

    Examples
    --------
    >>> read_address("\\n\\x01 https://a.example/b c\\n/d "), read_address("java\\nscript:x()")
    ('https://a.example/b c/d', 'javascript:x()')
    """
    address = value.strip(_AROUND)
    return address if address.isprintable() else _WITHIN.sub("", address)


def is_long_base(base: str) -> bool:
    """Return whether a base address is too long to resolve links against it.

    Examples
    --------
    >>> is_long_base("https://a.example/b/"), is_long_base("https://a.example/" + "b/" * 70)
    (False, True)
    """
    return len(base) > MAX_BASE or base.count("/") > MAX_BASE_SLASHES


def original_url(url: str) -> str:
    """Return the original address of a page in a web archive; other addresses are returned unchanged.

    Archives are recognised by an address with the date of the copy: ``HOST/…/20200131120000/https://…``.

    Examples
    --------
    >>> original_url("https://web.archive.org/web/20200131120000id_/http://news.example/a?b=c")
    'http://news.example/a?b=c'
    >>> original_url("https://arquivo.pt/wayback/19961013145650/http:/news.example/")
    'http://news.example/'
    >>> original_url("http://web.archive.org/web/2020/news.example"), original_url("https://news.example/2020/01/a")
    ('http://news.example', 'https://news.example/2020/01/a')
    """
    found = _ARCHIVED.match(url, 0, _MAX_ARCHIVED) or _WAYBACK.match(url, 0, _MAX_ARCHIVED)
    if found is None:
        return url
    return f"{(found[1] or 'http').lower()}://{url[found.end() :]}"


def is_safe(address: str) -> bool:
    """Tell whether a link runs no script, even if a reader decodes its character references a second time.

    ``address`` must be what will be written, from :func:`read_address`.

    Examples
    --------
    >>> is_safe("tel:1"), is_safe("a?b:c"), is_safe("JavaScript:x()"), is_safe("javascript&colon;x()")
    (True, True, False, False)
    """
    if _SAFE.match(address) is None:
        return False
    if "&" not in address:
        return True
    from html import unescape  # few pages need it

    return _SAFE.match(read_address(unescape(address))) is not None


#: The rules, one per line (Public Suffix List, Mozilla Public License 2.0).
FILE = Path(__file__).with_name("public_suffixes.txt.gz")
#: Maximum characters of a host (RFC 1035). Pages may contain longer ones; only their last characters are read.
_MAX_HOST = 253


@functools.cache
def _rules() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return suffixes, suffixes that form another suffix with any preceding label, and exceptions to these."""
    rules = gzip.decompress(FILE.read_bytes()).decode("ascii").split("\n")
    wildcards, exceptions = ({rule[len(sign) :] for rule in rules if rule.startswith(sign)} for sign in ("*.", "!"))
    return frozenset(rules), frozenset(wildcards), frozenset(exceptions)


def ascii_host(host: str) -> str:
    """Return a host in lower case and ASCII; labels that IDNA does not allow are left unchanged.

    Examples
    --------
    >>> ascii_host("Www.Bücher.example")
    'www.xn--bcher-kva.example'
    """
    if host.isascii():
        return host.lower()
    labels = []
    for label in host.lower().split("."):
        try:
            labels.append(label.encode("idna").decode("ascii"))
        except UnicodeError:
            labels.append(label)
    return ".".join(labels)


def registrable_domain(host: str) -> str:
    """Return the public suffix of a host and the label before it: the part that one owner registers.

    Rules of the list: the longest matching rule counts, ``*`` stands for one label, ``!`` makes an exception, and a
    host without a rule has its last label as suffix. A host that is itself a suffix is returned unchanged.

    Examples
    --------
    >>> [registrable_domain(host) for host in ("news.bbc.co.uk", "ann.github.io", "example.org", "github.io")]
    ['bbc.co.uk', 'ann.github.io', 'example.org', 'github.io']
    """
    suffixes, wildcards, exceptions = _rules()
    whole = longer = suffix = ascii_host(host[-_MAX_HOST:]).rstrip(".")
    while suffix:  # the longest candidate first
        shorter = suffix.partition(".")[2]
        if suffix in exceptions:
            return suffix
        if suffix in suffixes or shorter in wildcards:
            return longer
        longer, suffix = suffix, shorter
    return ".".join(whole.split(".")[-2:])


def split_host(url: str | None) -> tuple[str, str]:
    """Return the registrable domain and the host of a URL, empty if it has none.

    A page in a web archive belongs to the site that it was copied from. An IP address is a site.

    Examples
    --------
    >>> split_host("https://news.bbc.co.uk/a"), split_host("http://10.0.0.1/a"), split_host("a.html")
    (('bbc.co.uk', 'news.bbc.co.uk'), ('10.0.0.1', '10.0.0.1'), ('', ''))
    >>> split_host("https://web.archive.org/web/2020/https://news.bbc.co.uk/a")
    ('bbc.co.uk', 'news.bbc.co.uk')
    """
    try:
        host = ascii_host(urlsplit(original_url(url)).hostname or "") if url else ""
    except ValueError:  # not a URL
        host = ""
    if not host or ":" in host or host.rpartition(".")[2].isdigit():
        return host, host
    return registrable_domain(host), host
