"""Output of the commands: results on standard output, messages on standard error."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from blockml.errors import UsageError, install_hint
from blockml.storage.atomic import atomic_write

__all__ = ["command_line", "note", "print_json", "print_rows", "progress_bar", "write_output", "writing"]

_T = TypeVar("_T")


def note(text: str) -> None:
    """Print a message on standard error, if that can be written."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def command_line() -> str:
    """Return the command line of the process, for reports and model cards."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make the folder of a file, and raise errors of writing the file as UsageError."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=path) from error


def write_output(text: str, output: str | None) -> None:
    """Print a result, or write it to a file atomically; raise UsageError if the file can't be written."""
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    with writing(output), atomic_write(output) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))  # as standard output


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    write_output(json.dumps(value, ensure_ascii=False, indent=2, default=str), None)


def print_rows(rows: Sequence[Mapping[str, Any]], output_format: str) -> None:
    """Print rows with the same keys as ``table`` or ``json``."""
    if output_format == "json":
        print_json(list(rows))
        return
    names = list(rows[0]) if rows else []
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:  # noqa: ANN401 (values of any type)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def progress_bar(total: int | None, unit: str, *, quiet: bool) -> Callable[[Iterable[_T]], Iterable[_T]]:
    """Return a function that shows a progress bar on standard error, if that is a terminal and not ``quiet``."""
    if quiet or not sys.stderr.isatty():
        return iter
    try:
        from tqdm import tqdm
    except ImportError:
        note(f"(for a progress bar, {install_hint('progress')})")
        return iter

    def wrap(iterable: Iterable[_T]) -> Iterable[_T]:
        bar: Iterable[_T] = tqdm(iterable, total=total, unit=unit, file=sys.stderr)
        return bar

    return wrap
