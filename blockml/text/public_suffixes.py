"""Registrable domains by the Public Suffix List, which says, for example, that ``github.io`` is many sites.

The list is part of the package, so that sites and folds do not change from one machine to another.
``python -m tools.public_suffixes`` writes it.
"""

from __future__ import annotations

import functools
import gzip
from pathlib import Path
from urllib.parse import urlsplit

from blockml.text.addresses import original_url

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
