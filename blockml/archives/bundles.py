"""Folders in one file: ZIP and tar archives.

Tar archives (POSIX.1-2001, and GNU's long names) are read as streams in bounded memory. The standard library's reader
keeps a list of all files, reads headers of any length into memory, and ends at a damaged one.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

__all__ = ["ZIP_STARTS", "ArchivedFile", "Files", "is_tar", "tar_members", "zip_members"]

#: First bytes of a ZIP archive; the second are those of an empty one.
ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
#: Compressions of ZIP archives that are undone, because their output is bounded at each step. The others are rare.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Errors of the standard library's reader of ZIP archives.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)

_BLOCK = 512
#: Bytes read at a time where they are left out.
_SKIPPED = 1 << 16
#: Maximum bytes of a header with a long name or of attributes (our choice; file systems allow 4,096 in a path).
_MAX_HEADER = 1 << 20
#: Where a header has the name, the size, the checksum, the type, its signature and the start of the name.
_NAME, _SIZE, _SUM, _TYPE, _MAGIC, _PREFIX = (
    slice(0, 100), slice(124, 136), slice(148, 156), slice(156, 157), slice(257, 262), slice(345, 500),
)  # fmt: skip
_REGULAR = (b"0", b"\0", b"7")
#: Headers of the next file: attributes, a long name, and the long name that a link leads to.
_SAID = (b"x", b"L", b"K")
_FOLDER = b"5"
#: Maximum digits of a number in attributes, and the space after them.
_DIGITS = 19
#: Of ZIP archives: the least bytes before a file, the flag of encrypted ones, and the file type of symbolic links.
_LEAST_HEADER, _ENCRYPTED, _LINK_TYPE = 30, 1, 0xA


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file of an archive, or damage."""

    name: str
    is_link: bool = False  #: Whether it has only the name of another file, or is a device.
    error: str | None = None  #: Damage, instead of a file.


Files = Iterator[tuple[ArchivedFile, Callable[[int], bytes]]]
"""The files of an archive, each with a function that reads up to a number of bytes of it."""


def is_tar(start: bytes) -> bool:
    """Tell whether a file that starts with these bytes is a tar archive."""
    return len(start) >= _BLOCK and start[_MAGIC] == b"ustar" and _is_header(start[:_BLOCK])


def tar_members(stream: BinaryIO) -> Files:
    """Yield the files and links of an archive, each with a function that reads up to a number of bytes of it.

    Read a file before asking for the next one. Damage is yielded as a member with an error.

    Raises
    ------
    OSError
        The stream can't be read. A file that is cut off raises EOFError when it is read.
    """
    archive = _Archive(stream)
    names: dict[str, str] = {}  # what a header says of the file after it
    while (block := archive.block()).strip(b"\0"):
        offset = archive.position - _BLOCK
        if not _is_header(block):
            yield from _damaged(archive, offset)
            names = {}
            continue
        archive.left = size = _number(block[_SIZE]) or 0
        kind = block[_TYPE]
        if kind in _SAID:
            if size <= _MAX_HEADER:
                names |= _extended(kind, archive.read(size))
            else:
                yield ArchivedFile("", error=f"the header at byte {offset:,} has {size:,} bytes"), archive.read
        elif kind != b"g":
            name = names.get("path") or _name(block)
            archive.left = int(names.get("size", size))
            if kind in _REGULAR and not name.endswith("/"):
                yield ArchivedFile(name), archive.read
            elif kind != _FOLDER:
                yield ArchivedFile(name, is_link=True), archive.read
            names = {}
        if not archive.finish():
            break
    if archive.is_cut:
        yield ArchivedFile("", error="the archive is cut off"), archive.read


def _damaged(archive: _Archive, offset: int) -> Files:
    """Skip damaged bytes up to the next header; they become one member with an error."""
    while (block := archive.block()) and not (block.strip(b"\0") and _is_header(block)):
        pass
    after = f"; reading went on at byte {archive.position - _BLOCK:,}" if block else ""
    archive.again = block
    error = f"the archive is damaged at byte {offset:,}{after}"
    yield ArchivedFile("", error=error), archive.read


class _Archive:
    """Blocks of an archive, and the bytes of one file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.position = 0
        self.left = 0  #: Bytes of the current file that are not read yet.
        self.again = b""  #: A block that was read already.
        self.is_cut = False  #: Whether the archive ends inside a file or header.

    def block(self) -> bytes:
        """Return the next block; empty at the end of the archive."""
        if block := self.again:
            self.again = b""
            return block
        block = self._stream.read(_BLOCK)
        self.position += len(block)
        if len(block) < _BLOCK:
            self.is_cut = bool(block.strip(b"\0"))
            return b""
        return block

    def read(self, limit: int) -> bytes:
        """Read at most ``limit`` bytes of the file; raises EOFError if it is cut off."""
        content = b"".join(self._parts(min(limit, self.left)))
        if self.is_cut:
            self.is_cut, self.left = False, 0  # said once
            raise EOFError("the archive is cut off")
        return content

    def finish(self) -> bool:
        """Leave out the rest of the file and what fills its last block; return False if the archive ends before."""
        for _ in self._parts(self.left):
            pass
        self.position += len(self._stream.read(-self.position % _BLOCK))
        return self.left == 0

    def _parts(self, wanted: int) -> Iterator[bytes]:
        while wanted > 0:
            part = self._stream.read(min(wanted, _SKIPPED))
            if not part:
                self.is_cut = True
                return
            wanted -= len(part)
            self.left -= len(part)
            self.position += len(part)
            yield part


def _is_header(block: bytes) -> bool:
    """Tell whether the checksum of a header is right."""
    declared = _number(block[_SUM])
    return declared == sum(block) - sum(block[_SUM]) + 8 * ord(" ") and _number(block[_SIZE]) is not None


def _number(field: bytes) -> int | None:
    """Return a number of a header: octal digits, or bytes if the first bit is set; None for anything else."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    return int(digits or b"0", 8) if all(digit in b"01234567" for digit in digits) else None


def _name(block: bytes) -> str:
    name, prefix = (_text(block[place]) for place in (_NAME, _PREFIX))
    return f"{prefix}/{name}" if prefix and block[_MAGIC] == b"ustar" and block[262:263] == b"\0" else name


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _extended(kind: bytes, content: bytes) -> dict[str, str]:
    """Return the fields of a header of extended attributes; only ``path`` and ``size`` are used."""
    if kind == b"L":
        return {"path": _text(content)}
    found: dict[str, str] = {}
    place = 0
    while kind == b"x" and (space := content.find(b" ", place, place + _DIGITS)) > 0:
        length = content[place:space]
        if not length.isdigit() or not (end := place + int(length)) > space or end > len(content):
            break
        key, _, value = content[space + 1 : end].removesuffix(b"\n").partition(b"=")
        if key == b"path" or (key == b"size" and value.isdigit() and len(value) < _DIGITS):
            found[key.decode()] = value.decode("utf-8", "backslashreplace")
        place = end
    return found


def zip_members(path: Path) -> Files:
    """Yield the files of a ZIP archive as :func:`tar_members` does, in the order of its directory.

    Files that overlap are refused: with them a small archive decompresses without bound.

    Raises
    ------
    OSError
        The archive can't be opened, or its directory is damaged.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _ZIP_ERRORS as error:
        raise OSError(f"damaged: {error}") from error
    with archive:
        infos = archive.infolist()
        placed = sorted(infos, key=lambda info: info.header_offset)
        overlapping = {
            id(info)
            for info, following in pairwise(placed)
            if info.header_offset + info.compress_size + _LEAST_HEADER > following.header_offset
        }
        for info in infos:
            if not info.is_dir():
                reason = "it overlaps the next file of the archive" if id(info) in overlapping else _unreadable(info)
                is_link = info.external_attr >> 28 == _LINK_TYPE
                yield ArchivedFile(info.filename, is_link=is_link, error=reason), partial(_read_zipped, archive, info)


def _unreadable(info: zipfile.ZipInfo) -> str | None:
    """Return why a file is not read, from its entry in the directory."""
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    if info.compress_type not in _METHODS:
        return f"its compression (method {info.compress_type}) is not supported"
    return None


def _read_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    try:
        with archive.open(info) as stream:
            return stream.read(limit)
    except _ZIP_ERRORS as error:
        raise OSError(f"damaged: {error}") from error
