"""Generate the synthetic labelled pages, or check that a folder contains them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from blockml.errors import BlockmlError
from tools.synthetic_sites.build import check, write

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 success, 1 the folder differs, 2 a hand-written page is invalid."""
    parser = argparse.ArgumentParser(prog="python -m tools.synthetic_sites", description=__doc__)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("data"), help="folder of the data set (default: data)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the templated sites (default: 0)")
    parser.add_argument("--check", action="store_true", help="list the files that differ instead of writing them")
    options = parser.parse_args(arguments)
    try:
        if not options.check:
            print(f"{write(options.output, options.seed)} files in {options.output}")
            return 0
        wrong = check(options.output, options.seed)
    except BlockmlError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name in wrong:
        print(f"differs: {name}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
