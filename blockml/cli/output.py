"""What the command prints: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from blockml.errors import UsageError, install_hint
from blockml.storage.atomic import atomic_write

__all__ = ["note", "print_rows", "progress_bar", "write_output"]

T = TypeVar("T")


def note(text: str) -> None:
    """Tell the user something that is no result."""
    print(text, file=sys.stderr, flush=True)


def write_output(text: str, output: str | None) -> None:
    """Print a result, or write it to a file that appears whole or not at all.

    Raises
    ------
    UsageError
        The file can't be written.
    """
    if not text.endswith("\n"):
        text += "\n"
    if output is None:
        sys.stdout.write(text)
        return
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(output) as stream:
            stream.write(text.encode("utf-8"))
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=output) from error


def print_rows(rows: Sequence[Mapping[str, Any]], output_format: str) -> None:
    """Print rows as a table for people or as JSON.

    Parameters
    ----------
    rows
        All with the same keys.
    output_format
        ``table`` or ``json``.
    """
    if output_format == "json":
        sys.stdout.write(json.dumps(list(rows), ensure_ascii=False, indent=2, default=str) + "\n")
        return
    names = list(rows[0]) if rows else []
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:  # noqa: ANN401 (whatever a row holds)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def progress_bar(total: int | None, unit: str, *, quiet: bool) -> Callable[[Iterable[T]], Iterable[T]]:
    """Wrap iterations in a progress bar on standard error, if that is a terminal and tqdm is installed."""
    if quiet or not sys.stderr.isatty():
        return iter
    try:
        from tqdm import tqdm
    except ImportError:
        note(f"(for a progress bar, {install_hint('progress')})")
        return iter

    def wrap(iterable: Iterable[T]) -> Iterable[T]:
        bar: Iterable[T] = tqdm(iterable, total=total, unit=unit, file=sys.stderr)
        return bar

    return wrap
