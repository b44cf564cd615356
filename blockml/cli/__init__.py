"""The command ``blockml`` and its subcommands, which parse arguments, call the library and print."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import blockml
from blockml import _kernel
from blockml.cli.arguments import HelpFormatter, Parser, check_files
from blockml.cli.output import note
from blockml.errors import BlockmlError, DatasetError, InputError, ModelError, missing_extra

__all__ = ["main", "with_flags"]

#: Patterns of arguments that errors of the library name, and the options of the command to show instead.
_FLAGS: Mapping[str, str] = {
    r"accept_defects=True": "--accept-defects",
    r'protocols="page"': "--cv page",
    r"resume=True": "--resume",
    r"overwrite=True": "--overwrite",
    r"columns=\{'(\w+)': …\}": r"--columns \1=…",
    r"\bwith_title only has": "--with-title only has",
    r"\bfront_matter only has": "--front-matter only has",
    r"\bparagraphs only has": "--paragraphs only has",
    r"\bchunk_size only has": "--chunk-size only has",
    r"\blanguage only has": "--detect-language only has",
}

#: Module and help text of each command. Only the module of the given command is imported; its ``COMMANDS`` has the
#: function that adds the arguments.
_COMMANDS: Mapping[str, tuple[str, str]] = {
    "extract": ("extracting", "extract the main content of one page"),
    "predict": ("predicting", "extract the main content of many pages"),
    "survey": ("labelling", "survey the output of a run: sites, repeated lines, lowest-confidence pages, changes"),
    "view": ("extracting", "explain the decision on each block of a page in an HTML file"),
    "label": ("labelling", "label the blocks of pages in the browser"),
    "train": ("learning", "train a model on labelled pages"),
    "evaluate": ("learning", "evaluate models and extractors on labelled pages"),
    "compare": ("comparing", "compare extractors, models and other tools on labelled pages in a report"),
    "rules": ("models", "learn rules of sites, and export rules to other programs"),
    "model": ("models", "show or check a model file"),
    "models": ("listing", "list the released models"),
    "extractors": ("listing", "list the untrained extractors"),
    "features": ("listing", "list feature columns"),
    "datasets": ("listing", "list the layouts of labelled pages, or check their gold"),
    "templates": ("templates", "cluster pages by template, learn and extract templates, find menus"),
}

_EXIT_CODES = """exit codes:
  0    success
  1    some inputs failed, or no text was extracted
  2    invalid usage
  3    no readable input or labelled pages
  4    invalid model or template file
  130  interrupted
  143  terminated
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments, or those of the process, and return the exit code."""
    given = sys.argv[1:] if argv is None else argv
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # texts may be in any script, whatever the encoding of the terminal
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if (folder := os.getcwd()) not in sys.path:  # noqa: PTH109 (a plug-in, module:Class, may be a file of this folder)
        sys.path.append(folder)
    try:
        arguments = _parse(given)
        with _stopped_by_signals():
            code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        note("interrupted")
        return 130
    except BrokenPipeError:  # the reader has closed the pipe
        _give_up_output()
        return 0
    except ModuleNotFoundError as error:
        missing = missing_extra(error, f"blockml {given[0]}")
        if missing is None:
            raise
        note(str(missing))
        return 2
    except BlockmlError as error:
        note(f"blockml: {with_flags(str(error))}")
        return 4 if isinstance(error, ModelError) else 3 if isinstance(error, InputError | DatasetError) else 2
    except OSError as error:  # mostly standard output, for example on a full disk
        note(f"blockml: can't read or write ({error})")
        _give_up_output()
        return 2
    return code


def with_flags(text: str) -> str:
    """Replace arguments of Python functions in an error with the options of the command."""
    for argument, flag in _FLAGS.items():
        text = re.sub(argument, flag, text)
    return text


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Turn SIGTERM into an exit that ends workers and removes unfinished files, with the exit code 143."""

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _replace_closed_streams() -> None:
    """Replace standard streams that the caller has closed with streams that fail like closed files.

    They occupy the file descriptors, which other files would otherwise take and be written to by mistake.
    """
    for name, mode, access in (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, access)
            os.set_inheritable(number, True)  # noqa: FBT003 (positional only)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _give_up_output() -> None:
    """Redirect standard output if it can't be written, so that Python does not fail to flush it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="blockml",
        description="Extract the main content of web pages with a trained text-block classifier.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    version = f"blockml {blockml.__version__} (kernel: {_kernel.describe()})"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in _COMMANDS.items():
        description = f"{text[0].upper()}{text[1:]}."
        command = commands.add_parser(name, help=text, description=description, formatter_class=HelpFormatter)
        if name in argv[:1]:
            importlib.import_module(f"blockml.cli.{module}").COMMANDS[name](command)
    arguments = parser.parse_args(argv)
    check_files(arguments)
    return arguments
