"""Labelled pages and data sets."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import webencodings

from blockml.archives.compression import read_file
from blockml.archives.kinds import is_page_file
from blockml.datasets.gold import Gold, SnippetGold, TextGold
from blockml.errors import DatasetError, UsageError, check_type
from blockml.parsing.limits import Limits
from blockml.text.addresses import split_host
from blockml.text.words import counted

#: Flag of partly labelled pages; their gold is not defective, but must not be used for training either.
UNFINISHED_FLAG = "unfinished"

#: Number of bytes searched for the URL that a page declares, the elements that declare it, and the URL in them.
_HEAD = 100_000
_DECLARING = re.compile(
    rb"""<link\b[^<>]{0,2000}\brel\s*=\s*["']?canonical\b[^<>]{0,2000}>"""
    rb"""|<meta\b[^<>]{0,2000}\b(?:property|name)\s*=\s*["']?og:url\b[^<>]{0,2000}>""",
    re.IGNORECASE,
)
_ADDRESS = re.compile(rb"""\b(?:href|content)\s*=\s*["']?(https?://[^\s"'<>]+)""", re.IGNORECASE)

#: Element that CleanEval wraps around each page, and which is not part of the page.
_WRAPPER = re.compile(rb"\A\s*<text\b[^>]*>(.*?)(?:</text>\s*)?\Z", re.DOTALL | re.IGNORECASE)

#: Fields of a JSON record that become attributes or gold of a labelled page; the others go to ``extra``.
_OWN_FIELDS = frozenset("id url site page_type encoding main_content with without blocks flags".split())


def html_files(paths: Iterable[Path]) -> list[Path]:
    """Return the page files among paths, sorted. Folders are skipped: site mirrors have some that end in ``.html``."""
    return sorted(path for path in paths if is_page_file(path.name) and path.is_file())


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """One page with its gold. Bytes are read on demand, so a data set needs little memory."""

    id: str  #: Id, unique in the data set.
    site: str  #: Site of the page; splits are grouped by it.
    path: Path  #: File with the page; its suffix tells whether it is compressed.
    gold: Gold | None = None  #: None for a page without gold, or if ``reader`` extracts the gold from the page file.
    #: Reads page and gold from a file that holds both.
    reader: Callable[[Path], tuple[bytes, Gold | None]] | None = None
    url: str | None = None
    charset: str | None = None  #: Encoding label, if the data set declares one.
    page_type: str | None = None
    #: Known defects of the gold. Flagged pages are left out of training and kept in evaluation.
    flags: tuple[str, ...] = ()
    inline: bool = False  #: Whether ``path`` is a table that holds the page rather than the page's file.
    site_known: bool = True  #: Whether ``site`` was given or found; otherwise the page counts as its own site.
    #: Further fields of the data set: template, links, language …
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False, compare=False)

    def load(self) -> tuple[bytes, Gold | None]:
        """Read the page and its gold.

        Raises
        ------
        DatasetError
            The file is missing or damaged.
        """
        try:
            return self.reader(self.path) if self.reader else (read_page_file(self.path), self.gold)
        except OSError as error:
            raise DatasetError(f"cannot read the page ({error})", source=self.path) from error

    @property
    def template_group(self) -> str:
        """Group of pages that share a template: the record's ``cluster`` if given, else the site."""
        return str(self.extra.get("cluster") or self.site)

    @property
    def trusted(self) -> bool:
        """Whether the gold is valid for training."""
        return not self.flags


@dataclass(frozen=True, slots=True)
class Dataset:
    """Labelled pages of one folder or table."""

    name: str
    path: Path  #: Folder or table; for data in memory, its type, such as ``<DataFrame>``.
    format: str  #: Layout: a key of :data:`blockml.datasets.LAYOUTS`.
    pages: tuple[LabelledPage, ...]
    licence: str = ""
    attribution: str = ""
    failures: tuple[str, ...] = ()  #: Messages about rows without a page and pages without a row, with the reason.
    #: Whether its pages are unusual, such as those on which extractors agree least, so that only some members of an
    #: ensemble are trained on them.
    supplementary: bool = False

    def __repr__(self) -> str:
        left_out = f" ({len(self.failures):,} left out)" if self.failures else ""
        size = counted(len(self), "page") + left_out
        return f"Dataset({self.name!r}, {size}, path={str(self.path)!r}, format={self.format!r})"

    def __len__(self) -> int:
        return len(self.pages)

    def checksum(self) -> str:
        """Compute the SHA-256 over ids and page files; equal checksums mean equal pages."""
        digest = hashlib.sha256()
        for page in sorted(self.pages, key=lambda page: page.id):
            data = page.load()[0] if page.inline else page.path.read_bytes()
            digest.update(page.id.encode("utf-8", "surrogatepass") + b"\0" + hashlib.sha256(data).digest())
        return digest.hexdigest()


def check_names(datasets: Sequence[Dataset]) -> list[str]:
    """Return the names of data sets, which identify results; raise UsageError if two are equal."""
    check_type("datasets", datasets, list, tuple, legal="a list of data sets from blockml.datasets.open_dataset")
    for dataset in datasets:
        check_type("each of datasets", dataset, Dataset, legal="a data set from blockml.datasets.open_dataset")
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise UsageError(f"data sets need different names, got {', '.join(names)}; name them with NAME=DIR")
    return names


def page_from_row(row: Mapping[str, Any], page_id: str, path: Path, gold: Gold | None = None) -> LabelledPage:
    """Make a labelled page from a JSON record of a data set.

    Parameters
    ----------
    row
        The record. The fields ``url``, ``site``, ``page_type``, ``flags``, ``encoding``, ``has_text_wrapper`` and
        unknown ones are used. The site defaults to the registrable domain of the URL.
    page_id, path
        Id and file of the page.
    gold
        Gold of the page.

    Raises
    ------
    DatasetError
        The encoding is unknown.
    """
    url = row.get("url")
    site = row.get("site") or site_of(url, "")
    charset, codec = known_charset(row["encoding"], path) if row.get("encoding") else (None, None)
    is_wrapped = bool(row.get("has_text_wrapper"))
    has_reader = is_wrapped or codec is not None
    return LabelledPage(
        page_id,
        site or page_id,
        path,
        gold=None if has_reader else gold,
        reader=_Reader(gold, codec, is_wrapped) if has_reader else None,
        charset=charset,
        site_known=bool(site),
        url=url,
        page_type=row.get("page_type"),
        flags=tuple(row.get("flags") or ()),
        extra={key: value for key, value in row.items() if key not in _OWN_FIELDS},
    )


def known_charset(label: str, path: Path) -> tuple[str, str | None]:
    """Return the web encoding label of a page, and the codec to decode it with first if only Python supports it."""
    try:
        if webencodings.lookup(label):
            return label, None
        b"a".decode(label, "replace")  # fails for codecs that are not text encodings, such as zip
        codec = codecs.lookup(label).name
    except (LookupError, ValueError):  # raised when the data set is opened, not when the page is reached
        raise DatasetError(f"unknown encoding {label!r}", source=path) from None
    name = codec.replace("_", "-")
    return (name, None) if webencodings.lookup(name) else ("utf-8", codec)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reader of pages in CleanEval's wrapper, or in an encoding that is not a web encoding (recoded to UTF-8)."""

    gold: Gold | None
    codec: str | None
    is_wrapped: bool

    def __call__(self, path: Path) -> tuple[bytes, Gold | None]:
        data = read_page_file(path)
        if self.is_wrapped and (match := _WRAPPER.match(data)):
            data = match[1]
        return data.decode(self.codec, "replace").encode() if self.codec else data, self.gold


def declared_url(page: Path | bytes | str) -> str | None:
    """Return the URL that a page, or the page in a file, declares with ``link`` or ``og:url``; None without one.

    Examples
    --------
    >>> declared_url("<link rel='canonical' href='https://cat.example/a'>")
    'https://cat.example/a'
    """
    if isinstance(page, Path):
        try:
            head = read_file(page, _HEAD)
        except OSError:  # reported where the page is read
            return None
    else:
        head = page[:_HEAD].encode("utf-8", "replace") if isinstance(page, str) else page[:_HEAD]
    for tag in _DECLARING.finditer(head):
        if match := _ADDRESS.search(tag[0]):
            return match[1].decode("utf-8", "replace")
    return None


def text_gold(content: str | None, row: Mapping[str, Any]) -> Gold | None:
    """Make gold from a text and fields of a JSON record; None if it has neither text nor snippets.

    The fields are lists: the snippets ``with`` and ``without``, and the lines ``ignore``, which may be content or not.
    """
    required, forbidden = tuple(row.get("with") or ()), tuple(row.get("without") or ())
    if content is not None:
        return TextGold(content, required, forbidden, tuple(row.get("ignore") or ()))
    return SnippetGold(required, forbidden) if required or forbidden else None


def read_page_file(path: Path) -> bytes:
    """Read a page file up to one byte over the parser's limit, so that parsing notices when it is exceeded."""
    return read_file(path, Limits().bytes + 1)


def site_of(url: str | None, page_id: str) -> str:
    """Return the registrable domain of a URL, or the page's id if the URL has no host.

    The domain is that of the Public Suffix List: blogs on ``blogspot.com`` are different sites. A page in a web archive
    belongs to the site that it was copied from.

    Examples
    --------
    >>> site_of("https://news.bbc.co.uk/story", "p1"), site_of("http://blog.example.org", "p2"), site_of(None, "p3")
    ('bbc.co.uk', 'example.org', 'p3')
    >>> site_of("https://ann.blogspot.com/2024/cats.html", "p4")
    'ann.blogspot.com'
    >>> site_of("https://web.archive.org/web/20200131120000/https://news.bbc.co.uk/story", "p5")
    'bbc.co.uk'
    """
    return split_host(url)[0] or page_id
