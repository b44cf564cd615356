"""Output of the commands: results on standard output, messages on standard error."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self

from blockml.errors import UsageError
from blockml.storage.atomic import atomic_write

__all__ = ["TerminalProgress", "command_line", "note", "one_line", "print_json", "print_rows", "show"]
__all__ += ["write_output", "writing"]

#: Control characters except tabs and line ends, marks and overrides of text direction, line and paragraph separators,
#: and lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: Minimum seconds between two updates of the progress.
_REDRAWN = 0.2
#: Maximum characters of a cell of a printed table.
_MAX_CELL = 500


def show(text: str, *, as_message: bool = False, redraws: bool = False) -> None:
    """Print lines on standard output, or ``as_message`` on standard error if that can be written.

    Characters that control the terminal or disguise a text are printed as escapes. A text that ``redraws`` replaces the
    line where the cursor is, and leaves the cursor there. Only :func:`write_output` prints data unescaped; nothing else
    writes to the terminal.
    """
    shown = _UNSAFE.sub(_escape, text.removesuffix("\n"))
    start, end = ("\r", "") if redraws else ("", "\n")
    with suppress(OSError) if as_message else nullcontext():
        print(start + shown, end=end, file=sys.stderr if as_message else sys.stdout, flush=as_message)


def note(text: str) -> None:
    """Print a message on one line of standard error, shortened if it is very long."""
    show(one_line(text), as_message=True)


def one_line(text: str, limit: int = 4000) -> str:
    r"""Return a text on one line, with its middle left out if it has more than ``limit`` characters.

    Examples
    --------
    >>> one_line("a\nb"), one_line("abcdefghi", 5)
    ('a\\u000ab', 'abcd … i')
    """
    if len(text) > limit:
        end = limit // 4
        text = f"{text[: limit - end]} … {text[len(text) - end :]}"
    return text.replace("\n", r"\u000a")


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


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
    """Print a result unescaped, or write it to a file atomically; raise UsageError if the file can't be written."""
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    with writing(output), atomic_write(output) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))  # like standard output


def print_json(value: object) -> None:
    """Print a value as indented JSON, whose strings read back with the escapes of :func:`show`."""
    show(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def print_rows(rows: Sequence[Mapping[str, Any]], output_format: str) -> None:
    """Print rows with the same keys as ``table`` or ``json``."""
    if output_format == "json":
        print_json(list(rows))
        return
    names = list(rows[0]) if rows else []
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    for line in cells:
        show("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:  # noqa: ANN401 (values of any type)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else _UNSAFE.sub(_escape, one_line(str(value), _MAX_CELL))


class TerminalProgress:
    """Progress on the last line of standard error, with the time left; prints nothing if that is not a terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._is_shown = not quiet and sys.stderr.isatty()
        self._start = self._shown = time.monotonic()
        self._before = 0
        self._width = 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Show the stage and how many of its items are done, as described in :mod:`blockml.progress`."""
        if not self._is_shown:
            return
        now = time.monotonic()
        if done < self._before or not done:
            self._start = now
        self._before = done
        if now - self._shown < _REDRAWN and done not in (0, total):
            return
        self._shown = now
        line = stage
        if total or done:
            line += f": {done / total:4.0%}" if total else f": {done:,}"
        if total and now - self._start > _REDRAWN and 0 < done < total:
            line += f", {duration((now - self._start) * (total - done) / done)} left"
        line = one_line(line, shutil.get_terminal_size().columns - 1)
        show(line.ljust(self._width), as_message=True, redraws=True)
        self._width = len(line)

    def clear(self) -> None:
        """Remove the line, so that other messages can be printed."""
        if self._width:
            show(" " * self._width, as_message=True, redraws=True)
            show("", as_message=True, redraws=True)
            self._width = 0

    def report(self, text: str) -> None:
        """Print a message above the progress."""
        self.clear()
        note(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


def duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds.

    Examples
    --------
    >>> duration(75), duration(7384)
    ('1:15', '2:03:04')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
