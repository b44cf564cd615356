"""ZIP and tar archives of page files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from blockml.archives.bundles import Files, tar_members, zip_members
from blockml.archives.compression import DAMAGED, compression_of, open_decompressed
from blockml.archives.suffixes import name_text, page_stem, split_compression
from blockml.batch.items import Item
from blockml.batch.readers.base import Items, Reading, RecordFields, in_units, printable
from blockml.batch.readers.pages import site_folder
from blockml.errors import InputError

__all__ = ["piped_tar", "tar_units", "zip_units"]

#: Content codings that undo the compressions of page files.
_CODINGS = {".gz": ("gzip",), ".zst": ("zstd",), ".br": ("br",), "": ()}


def zip_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Items]:  # noqa: ARG001 (of all readers)
    """Read a ZIP archive in the parent process: pages have the ids ``FILE/PATH``, without suffix.

    Files that are not pages are counted, archives in the archive among them. Nothing is written to disk.
    """
    if compression_of(path):
        raise InputError("a ZIP archive that is compressed once more can't be read")
    return in_units(path.name, _items(name_text(path.name), zip_members(path), reading))


def tar_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Items]:
    """Read a tar archive, compressed or not, as :func:`zip_units` reads a ZIP archive."""
    with open_decompressed(path) as stream:
        yield from piped_tar(name_text(path.name), stream, fields, reading)


def piped_tar(name: str, stream: BinaryIO, fields: RecordFields, reading: Reading) -> Iterator[Items]:  # noqa: ARG001
    """Read a tar archive that comes through a pipe."""
    return in_units(name, _items(name, tar_members(stream), reading))


def _items(name: str, members: Files, reading: Reading) -> Iterator[Item]:
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
                item = _item(f"{name}/{stem or inner}", name, inner, read, reading)
            has_items = True
            yield item
    except DAMAGED as error:
        has_items = True
        yield Item(name, error=f"cannot read the rest of the archive ({error})")
    if not has_items:
        yield Item(name, error="there are no page files in this archive")


def _item(page_id: str, archive: str, inner: str, read: Callable[[int], bytes], reading: Reading) -> Item:
    site = name_text(site_folder(Path(archive, inner), Path(archive)))
    try:
        html = read(reading.limit)
    except DAMAGED as error:
        return Item(page_id, site=site, error=f"cannot read the page ({error})")
    return Item(page_id, html=html, site=site, codings=_CODINGS[split_compression(inner)[1]])
