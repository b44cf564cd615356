"""Pages of a batch before extraction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from blockml.archives.compression import read_file
from blockml.archives.http import decoded_body
from blockml.archives.kinds import without_signature
from blockml.errors import InputError
from blockml.parsing import Limits

__all__ = ["Item"]


@dataclass(frozen=True, slots=True)
class Item:
    """One page to extract."""

    id: str
    path: Path | None = None  #: File with the page; its suffix tells whether it is compressed.
    html: bytes | str | None = None  #: The page itself, if it came in a record.
    url: str | None = None
    charset: str | None = None
    #: Name of the site: a record's ``site``, else the site of its URL; for a file, the subfolder of the input folder
    #: that contains it, or the input folder itself.
    site: str = ""
    error: str | None = None  #: Reason why the record is invalid.
    truncated: str | None = None  #: Reason why the page is incomplete; gives a warning and the status ``truncated``.
    #: Codings of ``html``, which is the body of a response as sent, in the order in which they are undone.
    codings: tuple[str, ...] = ()

    def decoded(self, limit: int = -1) -> Item:
        """Return the item without codings, with at most ``limit`` bytes; ``error`` tells if the body is damaged."""
        if not self.codings or not isinstance(self.html, bytes):
            return self
        try:
            html, reason = decoded_body(self.html, self.codings, limit if limit >= 0 else Limits().bytes + 1)
        except OSError as error:
            return replace(self, html=None, codings=(), error=str(error))
        return replace(self, html=html, codings=(), truncated=self.truncated or reason)

    def read(self, limit: int = -1) -> bytes | str:
        """Read the page, at most ``limit`` bytes of a file.

        Raises
        ------
        OSError
            The file cannot be read or holds many pages, or the record is invalid.
        """
        if self.error is not None:
            raise InputError(self.error)
        if self.codings:
            return self.decoded(limit).read()
        if self.html is not None:
            return self.html
        if self.path is None:
            raise InputError("an item needs a path or html", source=self.id)
        page = read_file(self.path, limit)
        if (kind := without_signature(page)) is not None:
            raise InputError(f"not a page but {kind.described}; pass it to 'blockml predict' by its name")
        return page
