"""Pages that are valid UTF-8 but declare another encoding: a piece of each, decoded both ways.

Bytes that are valid UTF-8 with characters outside ASCII are decoded as UTF-8, whatever the page declares. The table
has the pages of all collections on which that differs from the declaration: the declared encoding, the number of
characters outside ASCII, and the first word with one as UTF-8 and as declared. Needs BLOCKML_CORPORA.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from blockml.datasets import LabelledPage, open_dataset
from blockml.errors import BlockmlError
from blockml.parsing.decoding import decode
from research.benchmarks.default import markdown

#: Bytes that make a text invalid UTF-8, so that the declaration decides.
_INVALID = b"<!-- \xff\xff -->"
_WORD = re.compile(r"[^\s<>\"]*[^\x00-\x7f][^\s<>\"]*")


def changed(page: bytes) -> dict[str, object] | None:
    """Return a page decoded both ways; None if both encodings are the same."""
    read = decode(page)
    if read.source != "valid utf-8":
        return None
    declared = decode(page + _INVALID)
    if declared.encoding in ("utf-8", "binary") or declared.source == "fallback":
        return None
    word = _WORD.search(read.text)
    place = word.start() if word else 0
    other = declared.text[place:]  # everything before it is ASCII
    return {
        "declared": declared.encoding,
        "characters outside ASCII": sum(1 for sign in read.text if sign > "\x7f"),
        "as UTF-8": word[0][:40] if word else "",
        "as declared": other.split(maxsplit=1)[0][:40] if other else "",
    }


def rows(corpora: Path, counts: dict[str, int]) -> Iterator[dict[str, object]]:
    """Iterate over the rows of the table; count the pages that were read and those with characters outside ASCII."""
    for folder in sorted(path for path in corpora.iterdir() if path.is_dir()):
        for labelled in _pages(folder):
            page, _ = labelled.load()
            counts["read"] += 1
            counts["not ASCII"] += not page.isascii()
            if row := changed(page):
                yield {"page": f"{folder.name}/{labelled.id}", **row}


def _pages(folder: Path) -> Sequence[LabelledPage]:
    try:
        return open_dataset(folder).pages
    except BlockmlError:  # not a collection of pages
        return ()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    arguments = parser.parse_args(argv)
    counts = {"read": 0, "not ASCII": 0}
    found = list(rows(arguments.corpora, counts))
    print(f"{counts['read']:,} pages, {counts['not ASCII']:,} not in ASCII, {len(found)} read otherwise than declared")
    print()
    print(markdown(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
