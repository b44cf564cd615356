"""Values of arguments that several commands share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blockml.datasets.base import read_bytes
from blockml.errors import InputError, UsageError

__all__ = ["add_format", "add_parameters", "names", "parameters", "positive", "read_page", "share"]


_PYTHON = {"True": True, "False": False, "None": None}


def positive(text: str) -> int:
    """Read a whole number from 1 on, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def share(text: str) -> float:
    """Read a number between 0 and 1, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1")
    return value


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them, for argparse.

    Examples
    --------
    >>> names("comment, related")
    ('comment', 'related')
    """
    return tuple([name.strip() for name in text.split(",") if name.strip()])


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format`` for commands that print a table."""
    parser.add_argument("--format", choices=["table", "json"], default="table", help="(default: %(default)s)")


def add_parameters(parser: argparse.ArgumentParser, of: str) -> None:
    """Add ``--set NAME=VALUE``, which may be given more than once."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="parameters", help=f"a parameter of the {of}"
    )


def parameters(pairs: Sequence[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` pairs; values are JSON, or Python's True, False and None, where they can be, else text.

    Raises
    ------
    UsageError
        A pair without ``=``.

    Examples
    --------
    >>> parameters(["radius=25", "keep_blocks=false", "view=tree"])
    {'radius': 25, 'keep_blocks': False, 'view': 'tree'}
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator:
            raise UsageError(f"--set takes NAME=VALUE, not {pair!r}")
        try:
            values[name] = _PYTHON[text] if text in _PYTHON else json.loads(text)
        except (ValueError, RecursionError):
            values[name] = text
    return values


def read_page(name: str, limit: int = -1) -> bytes:
    """Bytes of a file, unzipped if its name ends in ``.gz``, or of standard input for ``-``; no more than ``limit``.

    Raises
    ------
    InputError
        It can't be read.
    """
    try:
        return sys.stdin.buffer.read(limit) if name == "-" else read_bytes(Path(name), limit)
    except OSError as error:
        raise InputError(getattr(error, "strerror", None) or str(error), source=name) from error
