"""A labelled page, and a data set of them."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from blockml.datasets.gold import Gold
from blockml.errors import DatasetError

__all__ = ["Dataset", "LabelledPage", "read_bytes", "site_of"]

#: Second-level suffixes under which sites register a third label (our choice: the frequent ones).
_SECOND_LEVEL = frozenset(
    "ac.uk co.id co.il co.in co.jp co.kr co.nz co.th co.uk co.za com.ar com.au com.br com.cn com.hk com.mx com.my "
    "com.sg com.tr com.tw com.ua gov.au gov.uk ne.jp net.au or.jp org.au org.uk".split()
)


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """One page with its gold. The bytes are read when asked for, so a data set costs little memory."""

    id: str
    """Unique in its data set."""
    site: str
    """Pages of one site never stand on both sides of a split."""
    path: Path
    """File with the page, gzipped if it ends in ``.gz``."""
    gold: Gold | None = None
    """None where it is part of the page file (see ``reader``), or where there is none."""
    reader: Callable[[Path], tuple[bytes, Gold | None]] | None = None
    """Takes the page and its gold out of a file that holds both."""
    url: str | None = None
    charset: str | None = None
    """Encoding label, where the data set gives one."""
    page_type: str | None = None
    flags: tuple[str, ...] = ()
    """Known defects of the gold: pages with any are left out of training and kept in evaluation."""
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False, compare=False)
    """Whatever else the data set tells: template, links, language …"""

    def load(self) -> tuple[bytes, Gold | None]:
        """Read the page and its gold.

        Raises
        ------
        DatasetError
            The file is missing or damaged.
        """
        try:
            return self.reader(self.path) if self.reader else (read_bytes(self.path), self.gold)
        except OSError as error:
            raise DatasetError(f"the page can't be read ({error})", source=self.path) from error

    @property
    def template_group(self) -> str:
        """Pages of one group share a template: what the data set calls a cluster, else the site."""
        return str(self.extra.get("cluster") or self.site)

    @property
    def trusted(self) -> bool:
        """Whether its gold is fit for training."""
        return not self.flags


@dataclass(frozen=True, slots=True)
class Dataset:
    """Labelled pages from one place."""

    name: str
    path: Path
    format: str
    """Name of the reader: see :data:`blockml.datasets.FORMATS`."""
    pages: tuple[LabelledPage, ...]
    licence: str = ""
    attribution: str = ""

    def __len__(self) -> int:
        return len(self.pages)

    def checksum(self) -> str:
        """SHA-256 over ids and page files: tells whether a model was trained on the same pages."""
        digest = hashlib.sha256()
        for page in sorted(self.pages, key=lambda page: page.id):
            digest.update(page.id.encode() + b"\0" + hashlib.sha256(page.path.read_bytes()).digest())
        return digest.hexdigest()


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """Bytes of a file, unzipped if its name ends in ``.gz``.

    Parameters
    ----------
    path
        The file.
    limit
        Read, and unzip, no more bytes than these; -1 for all.

    Raises
    ------
    OSError
        The file is missing or damaged.
    """
    opener: Callable[..., BinaryIO] = gzip.open if path.suffix == ".gz" else open  # type: ignore[assignment]
    try:
        with opener(path, "rb") as stream:
            return stream.read(limit)
    except (EOFError, zlib.error) as error:
        raise OSError(f"damaged: {error}") from error


def site_of(url: str | None, page_id: str) -> str:
    """Registrable domain of a URL: its last two labels, three under suffixes such as ``co.uk``; else the page's id.

    Examples
    --------
    >>> site_of("https://news.bbc.co.uk/story", "p1"), site_of("http://blog.example.org", "p2"), site_of(None, "p3")
    ('bbc.co.uk', 'example.org', 'p3')
    """
    try:
        host = (urlsplit(url).hostname or "") if url else ""
    except ValueError:  # no URL at all
        host = ""
    if not host:
        return page_id
    labels = host.rstrip(".").split(".")
    if labels[-1].isdigit():
        return host  # an address, not a name
    return ".".join(labels[-3:] if ".".join(labels[-2:]) in _SECOND_LEVEL else labels[-2:])
