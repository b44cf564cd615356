"""A small file of each kind that holds many pages, and archives with hostile or damaged contents."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping

__all__ = ["EXAMPLES", "PAGE", "tar_of", "zip_of"]

PAGE = b"<p>One page about cats."


def tar_of(files: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar archive of files by name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP archive of files by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table({"html": [PAGE]}), buffer)
    return buffer.getvalue()


_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE
#: One page in a file of each kind, by the name of the kind.
EXAMPLES: Mapping[str, bytes] = {
    "WARC": (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://a.example/\r\n"
        b"Content-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (len(_RESPONSE), _RESPONSE)
    ),
    "ARC": (
        b"filedesc://a.arc 0.0.0.0 20200101000000 text/plain 12\n1 0 Archives\n\n"
        b"http://a.example/ 1.2.3.4 20200101000000 text/html %d\n%b\n" % (len(_RESPONSE), _RESPONSE)
    ),
    "Parquet": _parquet(),
    "ZIP": zip_of({"site/a.html": PAGE}),
    "tar": tar_of({"site/a.html": PAGE}),
    "JSON": b'[{"html": "%b"}]\n[]' % PAGE,
    "JSON lines": b'{"html": "%b"}\n' % PAGE,
    "CSV": b"html\n%b\n" % PAGE,
}
