"""Parts of an unfinished output, so that a killed run can be continued.

They are in a folder next to the output. ``manifest.json`` lists what the output depends on. Each part is a file with
encoded records, ``00000.part``, and a description, ``00000.json``; the part is complete once the description exists. A
part ends where a unit of the input ends. All files are written under a temporary name, flushed to the disk and renamed.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO

from blockml.batch.packing import End, Piece
from blockml.batch.readers.base import MANIFEST
from blockml.errors import UsageError
from blockml.storage.atomic import atomic_write

__all__ = ["Part", "PartWriter", "Parts"]

#: Bytes or seconds after which a part ends with the current unit: the most that a kill can lose.
_PART_BYTES = 64 << 20
_PART_SECONDS = 10.0
_FORMAT = 1


@dataclass(slots=True)
class Part:
    """Description of a part."""

    n_units: int = 0  #: Units of the input, including those of earlier parts.
    end: int | None = None  #: Offset at which reading of the last unit ended, see ``Reading.end``.
    n_bytes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)


class Parts:
    """Folder of the parts of an output.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._manifest = folder / MANIFEST

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Remove the parts of an earlier run and write the manifest."""
        self.remove()
        self.folder.mkdir(parents=True)
        _write(self._manifest, {"format": _FORMAT, **manifest})

    def resume(self, manifest: Mapping[str, Any]) -> bool:
        """Check that the parts belong to the same run; return whether any exist.

        Raises
        ------
        UsageError
            Inputs, options, model or version differ; the message names the difference.
        """
        if not self._manifest.is_file():
            return False
        try:
            before = json.loads(self._manifest.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"can't be read ({error})", source=self._manifest) from error
        now = json.loads(json.dumps({"format": _FORMAT, **manifest}))
        different = [
            f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
            for name in (*now, *(name for name in before if name not in now))
            if before.get(name) != now.get(name)
        ]
        if different:
            raise UsageError(
                f"can't be continued: {'; '.join(different)}; give the same options, or start over without resume=True",
                source=self.folder,
            )
        return True

    def complete(self) -> Iterator[tuple[Path, Part]]:
        """Yield the complete parts in order."""
        number = 0
        while (described := self.folder / f"{number:05d}.json").is_file():
            values = json.loads(described.read_text(encoding="utf-8"))
            values |= {name: Counter(values[name]) for name in ("statuses", "skipped", "rules")}
            yield self.folder / f"{number:05d}.part", Part(**values)
            number += 1

    def remove(self) -> None:
        """Remove the folder, starting with the manifest."""
        self._manifest.unlink(missing_ok=True)
        if self.folder.is_dir():
            shutil.rmtree(self.folder)


class PartWriter:
    """Writes the parts that follow the complete ones.

    Parameters
    ----------
    parts
        The folder.
    number
        Number of complete parts.
    n_units
        Number of units in them.
    """

    def __init__(self, parts: Parts, number: int, n_units: int) -> None:
        self._parts = parts
        self._number = number
        self._part = Part(n_units)
        self._stream: BinaryIO | None = None
        self._begun = time.monotonic()

    def add(self, piece: Piece) -> None:
        """Append encoded records."""
        if self._stream is None:
            self._stream = (self._parts.folder / f"{self._number:05d}.new").open("wb")
        self._stream.write(piece.payload)
        self._part.n_bytes += len(piece.payload)
        self._part.statuses += piece.statuses
        self._part.failures += piece.failures
        self._part.rules += piece.rules

    def end_unit(self, end: End) -> None:
        """Record the end of a unit, and complete the part if it is large or old enough."""
        self._part.n_units += 1
        self._part.end = end.end
        self._part.skipped.update(end.skipped)
        if self._part.n_bytes >= _PART_BYTES or time.monotonic() - self._begun >= _PART_SECONDS:
            self.complete()

    def complete(self) -> None:
        """Complete the part, which must not contain records of an unfinished unit."""
        if self._stream is None:
            self._stream = (self._parts.folder / f"{self._number:05d}.new").open("wb")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._stream = None
        part = self._parts.folder / f"{self._number:05d}.part"
        part.with_suffix(".new").replace(part)
        _write(part.with_suffix(".json"), {item.name: getattr(self._part, item.name) for item in fields(Part)})
        self._number += 1
        self._part = Part(self._part.n_units, self._part.end)
        self._begun = time.monotonic()

    def close(self) -> None:
        """Drop the unfinished part."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with atomic_write(path, mark="new") as stream:
        stream.write(json.dumps(value).encode())  # escaped, because file names may not be UTF-8
