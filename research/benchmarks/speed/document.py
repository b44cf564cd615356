"""Updates the tables of a document with the numbers of a run.

``python -m research.benchmarks.speed.document out/speed.json research/performance.md`` updates the second file.

A table is between ``<!-- table: TITLE -->`` and ``<!-- end -->``, and is replaced if the run has a table of that
title; the title ``about`` is for the description of the run. Nothing else in the document changes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blockml.cli.output import note, write_output
from research.benchmarks.speed.tables import markdown

__all__ = ["filled", "main"]

_TABLE = re.compile(r"(<!-- table: ([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(document: str, results: Mapping[str, Any]) -> str:
    """Replace the tables of a document by those of a run.

    Parameters
    ----------
    document
        Text with the marks.
    results
        Numbers that :mod:`benchmarks.speed` wrote with ``-o``.

    Examples
    --------
    >>> print(filled("<!-- table: Floor -->\\nold\\n<!-- end -->", {"floor": {"Floor": [{"": "a", "ms": 1.5}]}}))
    <!-- table: Floor -->
    |  | ms |
    |---|---|
    | a | 1.50 |
    <!-- end -->
    """
    sections = [section for name, section in results.items() if name != "about"]
    tables = {title: markdown(rows) for section in sections for title, rows in section.items() if rows}
    if "about" in results:
        tables["about"] = "\n".join(f"- {name}: {value}" for name, value in results["about"].items())

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}{tables[match[2]]}\n{match[3]}" if match[2] in tables else match[0]

    return _TABLE.sub(table, document)


def main(argv: Sequence[str] | None = None) -> int:
    """Fill a document, and report tables of it that the run does not have."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if len(arguments) != 2:
        note("usage: python -m research.benchmarks.speed.document NUMBERS.json DOCUMENT.md")
        return 2
    results, path = json.loads(Path(arguments[0]).read_text(encoding="utf-8")), Path(arguments[1])
    before = path.read_text(encoding="utf-8")
    known = {title for name, section in results.items() if name != "about" for title in section} | {"about"}
    for _, title, _ in _TABLE.findall(before):
        if title not in known:
            note(f"left as it is: {title}")
    write_output(filled(before, results), str(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
