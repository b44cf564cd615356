"""Page files, in folders and in ZIP and tar archives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from blockml.archives.bundles import Files, tar_members, zip_members
from blockml.archives.compression import DAMAGED, compression_of, open_decompressed
from blockml.archives.kinds import is_page_of_folder, name_text, page_stem, split_compression
from blockml.batch.readers.work_units import Item, Items, Reading, RecordFields, in_units, printable
from blockml.errors import InputError

if TYPE_CHECKING:
    from blockml.datasets.labelled import LabelledPage

__all__ = [
    "file_item",
    "file_size",
    "file_units",
    "labelled_item",
    "piped_tar",
    "site_folder",
    "tar_units",
    "zip_units",
]


def labelled_item(page: LabelledPage) -> Item:
    """Return a page of a data set, with its id, URL and site."""
    own = page if page.reader else None
    return Item(printable(page.id), page.path, None, page.url, page.charset, page.site, labelled=own)


def file_item(path: Path, top: Path, base: Path) -> Item:
    """Return the page of a file.

    The id is the path below ``base`` without suffix, so it does not depend on other files. The site is the subfolder of
    ``top`` that contains the file, or ``top`` if every page is in its own folder; if ``top`` is the empty path, it is
    the file's folder.
    """
    name = name_text((path.relative_to(base) if path.is_relative_to(base) else path).as_posix())
    return Item(page_stem(name) or name, path, site=name_text(site_folder(path, top)))


def file_size(path: Path | None) -> int:
    """Return the bytes of a file; 0 for standard input, and for a missing file, which is reported when it is read."""
    try:
        return path.stat().st_size if path else 0
    except OSError:
        return 0


def file_units(items: Iterator[Item]) -> Iterator[Items]:
    """Group page files into units by their size."""
    return in_units(items, lambda item: file_size(item.path))


def site_folder(path: Path, top: Path) -> Path:
    """Return the folder of the site of a page file; see :func:`file_item`."""
    below = path.relative_to(top).parts if top.parts and path.is_relative_to(top) else ()
    if len(below) == 2 and is_page_of_folder(path.name):
        return top
    return top / below[0] if len(below) > 1 else path.parent


#: Content codings that undo the compressions of page files.
_CODINGS = {".gz": ("gzip",), ".zst": ("zstd",), ".br": ("br",), "": ()}


def zip_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Items]:  # noqa: ARG001 (of all readers)
    """Read a ZIP archive in the parent process: pages have the ids ``FILE/PATH``, without suffix.

    Files that are not pages are counted, archives in the archive among them. Nothing is written to disk.
    """
    if compression_of(path):
        raise InputError("a ZIP archive that is compressed once more can't be read")
    return in_units(_bundled_items(name_text(path.name), zip_members(path), reading))


def tar_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Items]:
    """Read a tar archive, compressed or not, as :func:`zip_units` reads a ZIP archive."""
    with open_decompressed(path) as stream:
        yield from piped_tar(name_text(path.name), stream, fields, reading)


def piped_tar(name: str, stream: BinaryIO, fields: RecordFields, reading: Reading) -> Iterator[Items]:  # noqa: ARG001
    """Read a tar archive that comes through a pipe."""
    return in_units(_bundled_items(name, tar_members(stream), reading))


def _bundled_items(name: str, members: Files, reading: Reading) -> Iterator[Item]:
    """Yield the pages of an archive; damage, and an archive without pages, yield items with an error."""
    has_items = False
    try:
        for member, read in members:
            inner = printable(member.name).removeprefix("./")
            stem = page_stem(inner)
            if member.error is not None and not inner:
                item = Item(name, error=member.error)
            elif stem is None or member.is_link:
                suffix = PurePosixPath(split_compression(inner)[0]).suffix or "files without a suffix"
                reading.skipped["links" if member.is_link else suffix] += 1
                continue
            elif member.error is not None:
                item = Item(f"{name}/{stem or inner}", error=f"cannot read the page ({member.error})")
            else:
                item = _bundled_item(f"{name}/{stem or inner}", name, inner, read, reading)
            has_items = True
            yield item
    except DAMAGED as error:
        has_items = True
        yield Item(name, error=f"cannot read the rest of the archive ({error})")
    if not has_items:
        yield Item(name, error="there are no page files in this archive")


def _bundled_item(page_id: str, archive: str, inner: str, read: Callable[[int], bytes], reading: Reading) -> Item:
    site = name_text(site_folder(Path(archive, inner), Path(archive)))
    try:
        html = read(reading.limit)
    except DAMAGED as error:
        return Item(page_id, site=site, error=f"cannot read the page ({error})")
    return Item(page_id, html=html, site=site, codings=_CODINGS[split_compression(inner)[1]])
