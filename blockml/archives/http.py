"""HTTP responses as stored in archives: status, media type, charset, and the body, decoded separately.

Decoding takes the time that the response asks for, so it belongs where the time of a page is limited.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from blockml.archives.compression import GZIP, decompressed

__all__ = [
    "HTML_TYPES", "MAX_HEADER", "REDIRECTS", "Response", "charset_of", "decoded_body", "inflated", "media_type",
    "read_response",
]  # fmt: skip

#: Media types of web pages (HTML standard, section 1.1; RFC 3236). Responses without a media type are also read.
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
#: Status codes of redirects (RFC 9110, section 15.4).
REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Maximum bytes of a response's header (our choice; servers refuse requests with a quarter of that).
MAX_HEADER = 1 << 16
#: Maximum content codings of a body, as in curl; each may need a buffer of the limit of a page.
_MAX_CODINGS = 5
#: First bytes of a body that show whether it is text, which crawlers have already decoded.
_SNIFFED = 1 << 12
#: Maximum further members of a gzipped body (our choice): empty ones would take quadratic time.
_MAX_MEMBERS = 16

#: Content codings that are undone, and the suffixes of files compressed in the same way.
_CODINGS: Mapping[str, str] = {"gzip": "gz", "x-gzip": "gz", "deflate": "", "br": "br", "zstd": "zst"}
_STATUS = re.compile(rb"HTTP/[0-9.]+\s+(\d{3})")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\"';,\s]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Response:
    """A server's response."""

    body: bytes = b""  #: As sent.
    codings: tuple[str, ...] = ()  #: Codings of the body, in the order in which :func:`decoded_body` undoes them.
    charset: str | None = None
    skipped: str | None = None  #: Reason why the response is not a page.
    truncated: str | None = None  #: Reason why the body is incomplete.
    error: str | None = None  #: Reason why the record or its body can't be read.
    location: str | None = None  #: Target of a redirect, as sent.


def read_response(block: bytes) -> Response:
    """Read the header of a response, and split off the body without decoding it.

    Parameters
    ----------
    block
        Header and body as sent.
    """
    status = _STATUS.match(block)
    if status is None:
        return Response(skipped="responses without a status line")
    header, body = _split(block)
    fields = _fields(header)
    declared = fields.get("content-type", "")
    if status[1] != b"200":
        location = fields.get("location") if int(status[1]) in REDIRECTS else None
        return Response(skipped="responses with a status other than 200", location=location)
    if media_type(declared) not in {*HTML_TYPES, ""}:
        return Response(skipped="other media types")
    if body is None:
        return Response(error=f"the HTTP header has more than {MAX_HEADER:,} bytes")
    codings = fields.get("content-encoding", "").lower().split(",", _MAX_CODINGS)
    if len(codings) > _MAX_CODINGS:
        return Response(error=f"the body has more than {_MAX_CODINGS} content encodings")
    chunked = ("chunked",) if "chunked" in fields.get("transfer-encoding", "").lower() else ()
    known = (name for coding in reversed(codings) if (name := coding.strip()) in _CODINGS)
    return Response(body, (*chunked, *known), charset_of(declared))


def decoded_body(body: bytes, codings: Sequence[str], limit: int) -> tuple[bytes, str | None]:
    """Undo the codings of a response's body.

    Parameters
    ----------
    body, codings
        As in a :class:`Response`.
    limit
        Maximum number of bytes to return, and to decompress at each step.

    Returns
    -------
    bytes
        The body.
    str or None
        Why it is incomplete.

    Raises
    ------
    OSError
        The body is damaged.

    Examples
    --------
    >>> decoded_body(b"3\\r\\n<p>\\r\\n4\\r\\nCats\\r\\n0\\r\\n", ("chunked",), 100)
    (b'<p>Cats', None)
    """
    truncated = None
    for coding in codings:
        try:
            body, whole = _without_chunks(body) if coding == "chunked" else _decompressed(body, coding, limit)
        except OSError as error:
            raise OSError(f"the compressed body is damaged ({error})") from error
        if not whole:
            truncated = f"the response ends inside its {'chunked' if coding == 'chunked' else 'compressed'} body"
    # the limit is reported by parsing
    return body[:limit], None if len(body) >= limit else truncated


def media_type(declared: str) -> str:
    """Return the media type of a ``Content-Type``.

    Examples
    --------
    >>> media_type("Text/HTML; charset=utf-8")
    'text/html'
    """
    return declared.partition(";")[0].strip().lower()


def charset_of(declared: str) -> str | None:
    """Return the charset of a ``Content-Type``; None without one.

    Examples
    --------
    >>> charset_of('text/html; charset="utf-8"'), charset_of("text/html")
    ('utf-8', None)
    """
    found = _CHARSET.search(declared)
    return found[1] if found else None


def _split(block: bytes) -> tuple[bytes, bytes | None]:
    """Return header and body of a response; some servers end lines, and so the header, with only line feeds.

    The body is None if the header is longer than :data:`MAX_HEADER`.
    """
    end = block.find(b"\r\n\r\n", 0, MAX_HEADER)
    with_feeds = block.find(b"\n\n", 0, end if end >= 0 else MAX_HEADER)
    if with_feeds >= 0:
        return block[:with_feeds], block[with_feeds + 2 :]
    if end >= 0:
        return block[:end], block[end + 4 :]
    return block[:MAX_HEADER], None if len(block) > MAX_HEADER else b""


def _fields(header: bytes) -> dict[str, str]:
    """Return the fields of a header by lower-case name; the first one of repeated fields counts."""
    fields: dict[str, str] = {}
    for line in header.decode("utf-8", "replace").split("\n")[1:]:  # some servers send a Location in UTF-8
        name, _, value = line.partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    return fields


def _without_chunks(body: bytes) -> tuple[bytes, bool]:
    """Join the chunks of a body (RFC 9112, section 7.1), and tell whether the last one is present.

    Crawlers may have already joined them, but kept the header field.
    """
    pieces: list[bytes] = []
    position = 0
    while (end := body.find(b"\n", position, position + 100)) >= 0:
        try:
            length = int(body[position:end].partition(b";")[0].strip() or b"-", 16)
        except ValueError:
            break
        if length <= 0:
            return b"".join(pieces), True
        pieces.append(body[end + 1 : end + 1 + length])
        position = end + 1 + length
        position += 2 if body[position : position + 2] == b"\r\n" else 1
    return b"".join(pieces) or body, not pieces


def _decompressed(body: bytes, coding: str, limit: int) -> tuple[bytes, bool]:
    """Decompress a body to at most ``limit`` bytes, and tell whether it is complete.

    Crawlers may have already decompressed it, but kept the header field.

    Raises
    ------
    OSError
        The body is damaged.
    """
    if coding in {"gzip", "x-gzip"}:
        return inflated(body, (31,), limit) if body.startswith(GZIP) else (body, True)
    is_text = body[:_SNIFFED].lstrip().startswith(b"<")  # compressed bodies rarely do
    if coding == "deflate":
        return (body, True) if not body or is_text else inflated(body, (15, -15), limit)
    try:
        text, whole = _streamed(body, f".{_CODINGS[coding]}", limit)
    except OSError:
        if not is_text:
            raise
        return body, True
    return (text, whole) if whole or not is_text else (body, True)


def _streamed(body: bytes, compression: str, limit: int) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    left = limit
    try:
        stream = cast("io.BufferedReader", decompressed(io.BytesIO(body), compression))
        while left > 0 and (piece := stream.read1(left)):
            pieces.append(piece)
            left -= len(piece)
    except EOFError:
        return b"".join(pieces), False
    return b"".join(pieces), True


def inflated(body: bytes, formats: tuple[int, ...], limit: int) -> tuple[bytes, bool]:
    """Decompress with the first format (``wbits`` of zlib) that fits, to ``limit`` bytes; tell whether it is complete.

    Raises
    ------
    OSError
        The body is damaged.
    """
    for number in formats:
        unzip = zlib.decompressobj(wbits=number)
        try:
            text, rest = unzip.decompress(body, limit), unzip.unused_data
            for _ in range(_MAX_MEMBERS):  # of gzip (RFC 1952, section 2.2)
                if not rest.startswith(GZIP) or len(text) >= limit:
                    break
                unzip = zlib.decompressobj(wbits=number)
                text += unzip.decompress(rest, limit - len(text))
                rest = unzip.unused_data
        except zlib.error as error:
            reason = str(error)
        else:
            return text, unzip.eof and not rest.startswith(GZIP)
    raise OSError(reason)
