"""One command, ``blockml``, with subcommands. Thin: it parses arguments, calls a room and prints."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

import blockml
from blockml import _kernel
from blockml.cli import comparing, extracting, learning, listing, templates, viewing
from blockml.cli.output import note
from blockml.errors import BlockmlError, InputError, ModelError

__all__ = ["main"]

_EXIT_CODES = """exit codes:
  0 ok   1 some inputs failed; extract: no text   2 wrong usage   3 nothing readable   4 model problem
  130 interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0 ok; 1 some inputs failed; 2 wrong usage; 3 nothing readable; 4 model problem; 130 interrupted.
    """
    arguments = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # pages are in any script, whatever the terminal's encoding
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        note("interrupted")
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough. Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModelError as error:
        note(f"blockml: {error}")
        return 4
    except InputError as error:
        note(f"blockml: {error}")
        return 3
    except BlockmlError as error:
        note(f"blockml: {error}")
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="blockml",
        description="Learns what the main content of a web page is, and extracts it.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action="version", version=f"blockml {blockml.__version__} (kernel: {_kernel.describe()})"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    extracting.add_commands(commands)
    learning.add_commands(commands)
    comparing.add_commands(commands)
    listing.add_commands(commands)
    templates.add_commands(commands)
    viewing.add_commands(commands)
    return parser
