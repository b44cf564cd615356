"""Content of archives as a stream of bytes in which records are found, read and, after damage, searched for.

Every way to store the same bytes gives the same records: uncompressed, each record in a gzip member, or all of them
compressed together. Work is linear in the content: a record with a wrong length is read no further than the limit of
:data:`LOOKAHEAD`, and what was read is kept for the records inside it.
"""

from __future__ import annotations

import io
import os
import re
from bisect import bisect_right
from typing import BinaryIO, NamedTuple, cast

from blockml.archives.compression import DAMAGED, Decompressed, Gzip, decompressed
from blockml.archives.http import MAX_HEADER

__all__ = ["RECORD_START", "WARC", "Content", "DamageError", "Syntax"]

#: Start of a record with its first field. It need not follow a line end, because the previous record may be cut off.
#: Some writers end lines with only line feeds.
RECORD_START = re.compile(rb"WARC/1\.\d\r?\n[\w-]{1,100}:")
#: Maximum length in bytes of a record that is read before its length is confirmed by what follows (our choice): more
#: than that of the largest page. A longer compressed record is taken as damaged if it contains the start of a record.
LOOKAHEAD = 100 << 20

_PIECE = 1 << 16  # bytes read or decompressed at a time
#: The end of a header, or the start of another record, after a header that is cut off.
_HEADER_END = re.compile(rb"\n\r*\n|" + RECORD_START.pattern)
#: Fields that a record has once. A second one belongs to the next record, after a header that is cut off.
_SINGLE = {"warc-type", "warc-record-id", "content-length"}


class Syntax(NamedTuple):
    """Syntax of the starts of records in a kind of archive."""

    start: re.Pattern[bytes]  #: what is searched for after damage
    first_line: re.Pattern[bytes]
    prefix: re.Pattern[bytes]  #: start of the content of a gzip member that has a record, within 16 bytes
    max_line: int  #: maximum bytes of the first line
    n_ends: int  #: number of line ends after a record
    overlap: int  #: maximum bytes that ``start`` matches, less one: what a search keeps of a piece for the next one


WARC = Syntax(RECORD_START, re.compile(rb"WARC/\d\.\d+\s*"), re.compile(rb"WARC/1\."), 100, 2, 112)


class DamageError(Exception):
    """A place where the content is not what a WARC file has there.

    Parameters
    ----------
    reason
        What is wrong.
    in_record
        Whether it concerns the record that was found last, instead of what follows it.
    """

    def __init__(self, reason: object, *, in_record: bool = True) -> None:
        super().__init__(str(reason))
        self.in_record = in_record


class _Pieces:
    """Pieces of a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = cast("io.BufferedReader", stream)
        self._frames = raw if isinstance(raw := getattr(stream, "raw", None), Decompressed) else None

    def read(self) -> bytes:
        """Return the next piece; empty at the end."""
        return self._stream.read1(_PIECE)

    @property
    def damaged_from(self) -> int:
        """Position of the content of the last damaged frame."""
        return self._frames.damaged_position if self._frames else 0


class _Members:
    """Content of consecutive gzip members; no piece belongs to two members.

    Parameters
    ----------
    stream
        The file, at the start of a member.
    prefix
        Start of a record.
    """

    def __init__(self, stream: BinaryIO, prefix: re.Pattern[bytes]) -> None:
        self._prefix = prefix
        #: Position of the content of each member, and its offset in the file.
        self.positions: list[int] = []
        self.offsets: list[int] = []
        self.last_record = -1  #: Position of the latest member whose content starts like a record.
        self._unzip = Gzip(stream)

    @property
    def damaged(self) -> int:
        """Offset of the last damaged member."""
        return self._unzip.damaged_offset

    @property
    def damaged_from(self) -> int:
        """Position of the content of the last damaged member."""
        return self._unzip.damaged_position

    def read(self) -> bytes:
        """Return the next piece; empty at the end.

        Raises
        ------
        OSError
            A member is damaged.
        """
        piece = self._unzip.piece()
        if piece and (not self.positions or self.positions[-1] != self._unzip.position):
            self.positions.append(self._unzip.position)
            self.offsets.append(self._unzip.offset)
            if self._prefix.match(piece):
                self.last_record = self._unzip.position
        return piece

    def place(self, position: int) -> tuple[int, int]:
        """Return position and offset of the member that has the content at a position."""
        number = max(0, bisect_right(self.positions, position) - 1)
        return (self.positions[number], self.offsets[number]) if self.positions else (0, self._unzip.offset)

    def forget(self, position: int) -> None:
        """Forget the members before that of a position; they are removed many at a time."""
        number = bisect_right(self.positions, position) - 1
        if number > len(self.positions) // 2:
            del self.positions[:number], self.offsets[:number]


class Content:
    """Content of an archive, read record by record.

    Parameters
    ----------
    stream
        A file, possibly compressed, or a pipe.
    start
        Offset of the first record, which is the stream's position; None for a pipe.
    compression
        Compression of a file, as its suffix.
    syntax
        Kind of archive.
    """

    def __init__(self, stream: BinaryIO, start: int | None, compression: str = "", syntax: Syntax = WARC) -> None:
        self._syntax = syntax
        self._members = _Members(stream, syntax.prefix) if compression == ".gz" else None
        self._pieces = self._members or _Pieces(decompressed(stream, compression))
        #: The file, if it is uncompressed, so that what follows a record can be read first.
        self._file = stream if start is not None and not compression else None
        self._size = os.fstat(stream.fileno()).st_size if self._file else 0
        self._buffer = bytearray()
        self._base = start or 0 if self._file else 0  # position of the buffer in the content
        self._cursor = 0  # place in the buffer
        self._damage: Exception | None = None  # error of the compressed data that follows the buffer
        self._ended = False
        self._next = -1  # position after damage, at which the search for a record begins
        self._in_record = False
        self.first_line = b""  #: of the current record
        self.lost = ""  #: Damage of compressed data that the last search for a record passed.
        self.position = self._base  #: Position of the current record in the content.
        #: Offset of the current record, or of its gzip member; after an error, offset of the damage.
        self.offset = start or 0

    @property
    def has_offsets(self) -> bool:
        """Whether records have offsets in the file."""
        return self._file is not None or self._members is not None

    def find(self) -> bool:
        """Go to the next record; return False at the end.

        Raises
        ------
        DamageError
            There is no record here, maybe because the length of the previous record is wrong.
        """
        n_ends = 0
        while piece := self._peek():
            n_bytes = len(piece) - len(piece.lstrip(b"\r\n"))
            n_ends += piece.count(b"\n", 0, n_bytes)
            self._cursor += n_bytes
            if n_bytes < len(piece):
                break
        here, line = self._base + self._cursor, self._peek()
        if self._damage and len(line) < self._syntax.max_line and not self._syntax.first_line.match(line):
            raise self._lost(self._damage, here)
        if not line:
            return False
        if not self._is_first(line):
            in_record = self._in_record and n_ends < self._syntax.n_ends
            if not in_record:
                self._begin(here)
            self._next = self.position + 1
            raise DamageError("the next bytes are not a record", in_record=in_record)
        self._begin(here)
        self._in_record, self._next = True, here + 1
        self.first_line = line[: line.find(b"\n") + 1 or len(line)]
        self._cursor += len(self.first_line)
        return True

    def fields(self) -> dict[str, str]:
        """Read the header of a record, as values by lower-case name.

        Raises
        ------
        DamageError
            It is damaged.
        """
        n_bytes = 0
        found = None
        while found is None and n_bytes < MAX_HEADER:
            more = min(self._available(n_bytes + self._syntax.overlap), MAX_HEADER)
            # from the end of the line before the header
            found = _HEADER_END.search(self._buffer, self._cursor - 1, self._cursor + more)
            if found is None and self._ended and more < MAX_HEADER:
                raise self._end()
            n_bytes = more
        if found is None or not found[0].endswith(b"\n"):
            raise DamageError("the header of the record is damaged")
        header = bytes(self._buffer[self._cursor : max(found.start(), self._cursor)])
        self._cursor = found.end()
        fields: dict[str, str] = {}
        name = ""
        for text in header.decode("utf-8", "backslashreplace").split("\n") if header else ():
            if name and text[:1] in {" ", "\t"}:  # a value over several lines
                fields[name] += f" {text.strip()}"
                continue
            name, colon, value = text.partition(":")
            name = name.strip().lower()
            if not colon or (name in fields and name in _SINGLE):
                raise DamageError("the header of the record is damaged")
            fields.setdefault(name, value.strip())
        return fields

    def read(self, length: int, limit: int) -> bytes:
        """Read the content of a record; return at most ``limit`` bytes of it.

        Raises
        ------
        DamageError
            It is damaged, or its length extends past the file or into the next record.
        """
        if self._file and length > len(self._buffer) - self._cursor:
            return self._read_file(self._file, length, limit)
        if length > LOOKAHEAD and not self._members:
            return self._read_long(length, limit)
        end = self._base + self._cursor + length
        while (n_bytes := len(self._buffer) - self._cursor) < length:
            if n_bytes > LOOKAHEAD:
                return self._read_long(length, limit)
            if not self._extend():
                raise self._end()
            if self._members and self.position < self._members.last_record < end:
                raise DamageError("the record's length extends past its gzip member")
        if length > _PIECE:  # look before it is copied
            self._available(length + self._syntax.max_line)
            after = self._cursor + length
            if not self._is_end(bytes(self._buffer[after : after + self._syntax.max_line])):
                raise DamageError("the next bytes are not a record")
        block = bytes(self._buffer[self._cursor : self._cursor + min(length, limit)])
        self._cursor += length
        return block

    def resume(self) -> bool:
        """Go to the first record after damage; return False if there is none in this content."""
        self._in_record, self.lost = False, ""
        self._cursor = max(0, self._next - self._base)
        if self._damage and self._members and self._members.place(self.position)[0] == self.position:
            self._cursor = len(self._buffer)  # each record is in its own member, so the next member has the next record
        while (found := self._syntax.start.search(self._buffer, self._cursor)) is None:
            self._drop(max(self._cursor, len(self._buffer) - self._syntax.overlap))
            if not self._extend() and not self._goes_on():
                return False
        self._cursor = found.start()
        return True

    def _goes_on(self) -> bool:
        """Tell whether there may be content after damaged compressed data, which is not joined to what is before it."""
        if self._damage is None:
            return False
        self.lost = str(self._damage)
        self._damage, self._ended = None, False
        self._drop(len(self._buffer))
        return True

    def _read_long(self, length: int, limit: int) -> bytes:
        """Read a record too long to be kept until its end is found."""
        kept = bytearray()
        first, end = self._base + self._cursor, self._base + self._cursor + length
        while (here := self._base + self._cursor) < end:
            n_bytes = min(self._available(1), end - here)
            if n_bytes == 0:
                raise self._end()
            searched = max(self._cursor - self._syntax.overlap, first - self._base)
            if found := self._syntax.start.search(self._buffer, searched, self._cursor + n_bytes):
                self._next = self._base + found.start()
                raise DamageError("the record's length extends past the next record")
            kept += self._buffer[self._cursor : self._cursor + min(n_bytes, limit - len(kept))]
            self._cursor += n_bytes
            self._drop(max(0, self._cursor - self._syntax.overlap))
        return bytes(kept)

    def _read_file(self, file: BinaryIO, length: int, limit: int) -> bytes:
        """Read a record of an uncompressed file, after a look at what follows it."""
        here = self._base + self._cursor
        end = here + length
        if end > self._size:
            raise DamageError("the file ends inside this record")
        file.seek(end)
        if not self._is_end(file.read(self._syntax.max_line)):
            file.seek(self._base + len(self._buffer))
            raise DamageError("the next bytes are not a record")
        block = bytes(self._buffer[self._cursor : self._cursor + min(length, limit)])
        file.seek(here + len(block))
        block += file.read(min(length, limit) - len(block))
        file.seek(end)
        self._drop(len(self._buffer))
        self._base, self._cursor = end, 0
        return block

    def _begin(self, position: int) -> None:
        """Set the current record, and forget what is before it."""
        self.position = position
        if self._members:
            self._members.forget(position)
            self.offset = self._members.place(position)[1]
        elif self._file:
            self.offset = position
        self._drop(position - self._base)

    def _drop(self, n_bytes: int) -> None:
        """Remove bytes from the start of the buffer, with the cursor if it is in them."""
        del self._buffer[:n_bytes]
        self._base += n_bytes
        self._cursor = max(0, self._cursor - n_bytes)

    def _peek(self) -> bytes:
        """Return as many bytes as the first line of a record may have, or fewer at the end."""
        self._available(self._syntax.max_line)
        return bytes(self._buffer[self._cursor : self._cursor + self._syntax.max_line])

    def _available(self, n_bytes: int) -> int:
        """Read until the buffer has some bytes after the cursor, or the content ends; return how many it has."""
        while len(self._buffer) - self._cursor < n_bytes and self._extend():
            pass
        return len(self._buffer) - self._cursor

    def _extend(self) -> bool:
        """Read a piece; return False at the end."""
        if self._ended:
            return False
        piece = b""
        try:
            piece = self._pieces.read()
        except DAMAGED as error:
            self._damage = error
        self._buffer += piece
        self._ended = not piece
        return not self._ended

    def _end(self) -> DamageError:
        """Return the reason why a record has no more bytes."""
        if self._damage and self._members:
            self.offset = self._members.damaged
        return DamageError(self._damage or "the file ends inside this record")

    def _lost(self, error: Exception, here: int) -> DamageError:
        """Return the damage of compressed data after a record; it belongs to it if it is in the same gzip member."""
        in_record = self._in_record and self._pieces.damaged_from < here
        if self._members:
            if not in_record:
                self._begin(here)
            self.offset = self._members.damaged
        self._next = here
        return DamageError(error, in_record=in_record)

    def _is_first(self, start: bytes) -> bool:
        """Tell whether some bytes start with the first line of a record."""
        return self._syntax.first_line.fullmatch(start, 0, start.find(b"\n") + 1 or len(start)) is not None

    def _is_end(self, after: bytes) -> bool:
        """Tell whether a record may end before some bytes: :meth:`find` finds no damage of this record in them."""
        line = after.lstrip(b"\r\n")
        return not line or after.count(b"\n", 0, len(after) - len(line)) >= self._syntax.n_ends or self._is_first(line)
