"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import shlex
import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

from blockml.archives.compression import decompressed, read_file, recognized
from blockml.archives.kinds import COMPRESSIONS, is_list_of_pages, is_table_of_pages, kind_by_name, without_signature
from blockml.cli.output import note, one_line, show
from blockml.errors import InputError, UsageError
from blockml.options import Options, flags

if TYPE_CHECKING:
    from blockml.datasets import Dataset

__all__ = ["PAGE_HELP", "HelpFormatter", "Parser", "add_columns", "add_datasets", "add_format", "add_jobs", "add_page"]
__all__ += ["add_parameters", "check_files", "given_datasets", "number", "parameters", "parsing_options", "positive"]
__all__ += ["processes", "read_page", "refuse", "seconds", "seed"]

#: Names of options by the attribute that holds their value, where the two differ.
_OPTIONS = {
    "parameters": "set",
    "n_pages": "pages",
    "datasets": "dataset",
    "block_type_datasets": "block-type-dataset",
} | {name: flag.name.removeprefix("--") for name, flag in flags(of_records=True).items()}
#: Options that may be empty: they describe a page, have an optional value, or name a template, which then fails to
#: open.
_MAY_BE_EMPTY = ("url", "charset", "name", "template", "coverage")
#: Arguments that name files to read, and files to write.
_READ = (
    "page", "pages", "inputs", "files_from", "urls", "dataset", "gold", "source", "template", "model", "base",
    "extractors", "survey", "before", "rules",
)  # fmt: skip
_WRITTEN = ("output", "view", "curve", "curves", "coverage")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
#: Help on a page file.
PAGE_HELP = f"page file ({', '.join(COMPRESSIONS)} are decompressed)"
_PYTHON = {"True": True, "False": False, "None": None}


class HelpFormatter(argparse.HelpFormatter):
    """Formatter that adds the default value to the help of an option, if it has one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        is_value = isinstance(action.default, str | int) and not isinstance(action.default, bool)
        has_default = is_value and action.option_strings and action.default != argparse.SUPPRESS
        return f"{action.help} (default: {action.default})" if has_default else action.help


class Parser(argparse.ArgumentParser):
    """Parser that prints messages, which may quote arguments, with :func:`blockml.cli.output.show`."""

    def error(self, message: str) -> NoReturn:
        """Print usage and an error, and exit with the code 2."""
        super().error(one_line(message))

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401 (of typeshed's private type)
        if message:
            show(message, as_message=file is not sys.stdout)


def add_options(parser: argparse.ArgumentParser, *names: str, of_records: bool = False) -> None:
    """Add the flags of the named options of an extraction, or of all; ``of_records`` includes those of records."""
    kinds: dict[str, Any] = {"number": float, "positive": positive, "names": comma_separated, "": str}
    for option, flag in flags(of_records=of_records or bool(names)).items():
        if names and option not in names:
            continue
        if flag.kind == "switch":
            parser.add_argument(flag.name, dest=option, action=f"store_{str(not flag.default).lower()}", help=flag.help)
            continue
        parser.add_argument(
            flag.name, dest=option, type=kinds[flag.kind], metavar=flag.metavar, choices=flag.choices,
            default=flag.default, help=flag.help,
        )  # fmt: skip


def chosen_options(arguments: argparse.Namespace, *, left_out: Collection[str] = ()) -> Options:
    """Return the options that the flags of :func:`add_options` set; errors name flags instead of arguments.

    ``left_out`` has the names of arguments that mean something else in this command.
    """
    known = {name: flag for name, flag in flags(of_records=True).items() if name in arguments and name not in left_out}
    try:
        values = {name: getattr(arguments, name) for name in known}
        return Options(**{name: make(values[name]) if (make := known[name].make) else values[name] for name in known})
    except UsageError as error:
        flag_of = {name: flag.name for name, flag in known.items()}
        subject = re.match(rf"(?:the )?({'|'.join(flag_of)})(?:\.\w+)?(?= must be )", str(error))
        raise UsageError(f"{flag_of[subject[1]]}{str(error)[subject.end() :]}" if subject else str(error)) from None


def parsing_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parsing options that ``--backend`` sets, as keyword arguments of :func:`blockml.parse`."""
    return {} if arguments.backend is None else {"backend": arguments.backend}


def positive(text: str) -> int:
    """Parse a positive integer, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text!r}")
    return int(text)


def number(text: str, is_legal: Callable[[float], bool], legal: str) -> float:
    """Parse a number, for argparse; ``legal`` names the legal ones in the error."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not is_legal(value):
        raise argparse.ArgumentTypeError(f"must be {legal}, got {text!r}")
    return value


def seconds(text: str) -> float:
    """Parse a positive number of seconds, for argparse."""
    return number(text, lambda value: 0 < value < math.inf, "a positive number of seconds")


def seed(text: str) -> int:
    """Parse a random seed, for argparse."""
    if not text.isdecimal() or len(text) > 10 or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to {2**32 - 1}, got {text!r}")
    return int(text)


def processes(text: str) -> int:
    """Parse a number of processes, at most the number of cores, for argparse."""
    return min(positive(text), os.cpu_count() or 1)


def comma_separated(text: str) -> tuple[str, ...]:
    """Parse comma-separated names, for argparse.

    Examples
    --------
    >>> comma_separated("comment, related")
    ('comment', 'related')
    """
    found = tuple([name.strip() for name in text.split(",") if name.strip()])
    if not found:
        raise argparse.ArgumentTypeError(f"must be names separated by commas, got {text!r}")
    return found


def add_page(
    parser: argparse.ArgumentParser, *, url: str = "URL of the page; it is not fetched", optional: bool = False
) -> None:
    """Add the page, which may be ``optional``, and ``--url`` with its help text."""
    number = "?" if optional else None
    parser.add_argument("page", metavar="PAGE", nargs=number, help=f"{PAGE_HELP}, or - for standard input")
    parser.add_argument("--url", help=url)


def add_datasets(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add ``--dataset``, which may be repeated."""
    parser.add_argument(
        "--dataset",
        action="append",
        default=None if required else [],
        required=required,
        metavar="[NAME=]PATH",
        dest="datasets",
        help="folder or table of labelled pages; may be repeated ('blockml datasets' lists the layouts)",
    )
    add_columns(parser)


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add ``--columns`` and ``--outside-files``."""
    text = "column names of tables by kind, such as html=source,text=body; others are recognised by their names"
    parser.add_argument("--columns", type=comma_separated, metavar="KIND=NAME,…", help=text)
    add_outside_files(parser)


def add_outside_files(parser: argparse.ArgumentParser) -> None:
    """Add ``--outside-files``."""
    text = "let tables name files outside of their folder, which may then be shown in reports"
    parser.add_argument("--outside-files", action="store_true", help=text)


def given_datasets(arguments: argparse.Namespace, specs: Sequence[str], *, needs_gold: bool = True) -> list[Dataset]:
    """Open data sets, with ``--columns`` for the tables among them; print which rows are left out.

    With ``needs_gold=False``, a table may have no column of gold.

    Raises
    ------
    UsageError
        ``--columns`` is not a list of pairs, or no data set is a table.
    """
    from blockml.datasets import open_dataset
    from blockml.datasets.labelled_tables import read_table
    from blockml.datasets.sources import is_table

    pairs = [pair.partition("=") for pair in arguments.columns or ()]
    if wrong := next((kind for kind, sign, name in pairs if not (kind and sign and name)), None):
        raise UsageError(f"--columns takes KIND=NAME pairs, such as html=source,text=body; got {wrong!r}")
    columns = {kind: name for kind, _, name in pairs}
    if columns and specs and not any(is_table(Path(spec)) for spec in specs):
        raise UsageError("--columns is for tables, and every data set is a folder")
    opened = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for spec in specs:
            outside = arguments.outside_files
            if is_table(Path(spec)) and not needs_gold:
                path = Path(spec)
                opened.append(read_table(path, path.name, columns, needs_gold=False, outside_files=outside))
            else:
                chosen = columns if is_table(Path(spec)) else None
                opened.append(open_dataset(spec, columns=chosen, outside_files=outside))
            while caught:
                note(str(caught.pop(0).message))
    return opened


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format`` for commands that print a table."""
    parser.add_argument("--format", choices=["table", "json"], default="table", help="output format")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs``."""
    text = "number of processes, at most one per core"
    parser.add_argument("--jobs", type=processes, default=1, metavar="N", help=text)


def add_parameters(parser: argparse.ArgumentParser, of: str) -> None:
    """Add ``--set NAME=VALUE``, which may be repeated."""
    text = f"set a parameter of the {of}; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="parameters", help=text)


def parameters(pairs: Sequence[str]) -> dict[str, Any]:
    """Parse ``NAME=VALUE`` pairs. Values are JSON, or True, False or None as in Python; any other value is a string.

    Raises UsageError for a pair without ``=``.

    Examples
    --------
    >>> parameters(["radius=25", "keep_blocks=false", "view=tree"])
    {'radius': 25, 'keep_blocks': False, 'view': 'tree'}
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator:
            raise UsageError(f"--set takes NAME=VALUE, got {pair!r}")
        try:
            values[name] = _PYTHON[text] if text in _PYTHON else json.loads(text)
        except (ValueError, RecursionError):
            values[name] = text
    return values


def check_files(arguments: argparse.Namespace) -> None:
    """Check the arguments that name files, before anything is read or written.

    Raises
    ------
    UsageError
        A value is empty, as from an unset shell variable (an empty path would mean the current folder), or the output
        would replace a file that is read.
    """
    values = {name: value if isinstance(value, list) else [value] for name, value in vars(arguments).items()}
    for name, given in values.items():
        if name not in _MAY_BE_EMPTY and "" in given:
            raise UsageError(f"the value of {_OPTIONS.get(name, name)} is empty; is a shell variable unset?")
    read, written = (
        [Path(value) for name in names for value in values.get(name, ()) if value is not None]
        for names in (_READ, _WRITTEN)
    )
    for output in filter(Path.is_file, written):
        if any(path.exists() and path.samefile(output) for path in read):
            raise UsageError("is an input, which the output would replace; choose another output", source=output)


def read_page(name: str, limit: int = -1) -> bytes:
    """Read at most ``limit`` bytes of a file, decompressed according to its suffix, or of standard input for ``-``.

    Standard input is decompressed if its first bytes are those of gzip or Zstandard.

    Raises InputError if it cannot be read or is an archive of many pages; UsageError for a list or table of pages.
    """
    try:
        data = _standard_input(limit) if name == "-" else read_file(Path(name), limit)
    except OSError as error:
        if _ADDRESS.match(name):
            raise InputError(
                "is a URL, and pages are not fetched; give a file, or '-' for the output of curl", source=name
            ) from error
        raise InputError(getattr(error, "strerror", None) or str(error), source=name) from error
    # A tar archive in one file with its compression, as .tgz, is not decompressed.
    if (kind := without_signature(data) or (kind_by_name(name) if recognized(data[:4]) else None)) is not None:
        what = kind.described.replace("ARC file", "ARC archive")
        source = " (--source takes an archive of the pages that it links to)" if kind.name == "WARC" else ""
        saved = "save it as FILE and " if name == "-" and not kind.piped else ""
        command = f"'blockml predict {'FILE' if saved else shlex.quote(name)} -o OUT'"
        raise InputError(
            f"is {what} of many pages; give one page{source}, or {saved}extract all with {command}", source=name
        )
    if is_list_of_pages(data):
        raise UsageError("is a list of pages; give it to 'blockml predict --files-from'", source=name)
    if is_table_of_pages(name, data):
        quoted = shlex.quote(name)
        raise UsageError(
            f"is a table of pages; 'blockml predict {quoted} -o OUT' extracts them, and 'blockml view --dataset "
            f"{quoted} --id ID -o FILE' shows one of them",
            source=name,
        )
    return data


def _standard_input(limit: int) -> bytes:
    stream = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
    try:
        return decompressed(cast("BinaryIO", stream), recognized(stream.peek(4))).read(limit)
    except (EOFError, zlib.error) as error:
        raise OSError(f"damaged: {error}") from error
    finally:
        stream.detach()  # else standard input would be closed


def refuse(arguments: argparse.Namespace, reason: str, **defaults: object) -> None:
    """Raise UsageError if options that would have no effect are set; ``reason`` completes the message.

    Examples
    --------
    >>> refuse(argparse.Namespace(max_loads=5), "with a stored template", max_loads=50)
    Traceback (most recent call last):
    blockml.errors.UsageError: --max-loads has no effect with a stored template
    """
    given = [name for name, default in defaults.items() if getattr(arguments, name) != default]
    if given:
        names = " and ".join(f"--{_OPTIONS.get(name, name.replace('_', '-'))}" for name in given)
        raise UsageError(f"{names} {'has' if len(given) == 1 else 'have'} no effect {reason}")
