"""Write the public suffixes that blockml ships from a copy of the list: ``python -m tools.public_suffixes LIST``.

LIST is ``public_suffix_list.dat`` of https://publicsuffix.org/list/, which is also in the package publicsuffixlist.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from blockml.text.addresses import FILE, ascii_host

__all__ = ["main"]


def rules(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rules of the list in ASCII, after comments with its version and licence."""
    yield "# The rules of the Public Suffix List, https://publicsuffix.org/list/, without its comments."
    yield "# Mozilla Public License 2.0: https://mozilla.org/MPL/2.0/"
    for line in lines:
        text = line.strip()
        if text.startswith("// VERSION:"):
            yield f"# {text.removeprefix('// ')}"
        elif text and not text.startswith("//"):
            yield ascii_host(text.split()[0])


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file; equal lists give equal files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", type=Path)
    text = "\n".join(rules(parser.parse_args(argv).list.read_text(encoding="utf-8").splitlines())) + "\n"
    FILE.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))
    print(f"{FILE}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
