"""Changes of package while one page is extracted: Python calls within blockml whose caller is in another package.

A package is the first folder below ``blockml/``, or a module next to it such as ``extract.py``. The caller is the
nearest function of blockml on the stack, so that a call through the standard library counts as well. Each change is
counted when it enters, not when it returns. There are three kinds: calls of ``errors``, which check an argument;
methods of the data that all packages share (pages, nodes, blocks, outlines, extractions); and changes from one step of
the pipeline to another.

``python -m research.benchmarks.package_changes [PAGE …]`` prints the numbers of each kind, for one page with the calls.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import blockml
from blockml.cli.output import print_rows
from blockml.outline import Outline
from blockml.page import Attributes, Blocks, Extraction, Nodes, Page
from blockml.page.lazy import Lazy, LazySequence, cached_property

__all__ = ["KINDS", "Change", "package_changes"]

#: Kinds of changes: between steps, into checks of arguments, into shared data.
KINDS = ("step", "check", "data")
_DATA = (Attributes, Blocks, Extraction, Lazy, LazySequence, Nodes, Outline, Page)
_PAGES = Path(__file__).parents[2] / "data" / "pages"


class Change(NamedTuple):
    """A call from one package into another."""

    kind: str  #: One of :data:`KINDS`.
    caller: str  #: Package and function.
    called: str  #: Package and function.


def package_changes(html: bytes, model: str = "default") -> list[Change]:
    """List the changes of package of one extraction, in order, after a first one that fills all caches.

    Examples
    --------
    >>> found = package_changes(b"<p>One short page.", "kim2013")
    >>> found[0]
    Change(kind='step', caller='extract extract', called='options __create_fn__.<locals>.__init__')
    """
    found: list[Change] = []

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        caller = frame.f_back
        while caller is not None and _package(caller) is None:
            caller = caller.f_back
        ours, theirs = _package(frame), None if caller is None else _package(caller)
        if event == "call" and caller is not None and ours not in (None, theirs):
            is_data = isinstance(frame.f_locals.get("self"), _DATA)
            kind = "check" if ours == "errors" else "data" if is_data else "step"
            names = (f"{_package(one)} {one.f_code.co_qualname}" for one in (caller, frame))
            found.append(Change(kind, *names))

    blockml.extract(html, model=model)
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        blockml.extract(html, model=model)
    finally:
        sys.setprofile(before)
    return found


def _package(frame: FrameType) -> str | None:
    """Return the package of blockml that a function is in; None for other code and the replacement of functools."""
    if frame.f_code.co_qualname.startswith(f"{cached_property.__name__}."):
        return None
    root, *inner = str(frame.f_globals.get("__name__")).split(".")
    return (inner or [root])[0] if root == "blockml" else None


def main(arguments: Sequence[str]) -> int:
    """Print the changes of pages."""
    paths = list(map(Path, arguments)) or sorted(_PAGES.glob("*/page.html*"))
    rows: list[dict[str, object]] = []
    for path in paths:
        found = package_changes(path.read_bytes())
        counts = Counter(change.kind for change in found)
        rows.append({"page": str(path), **{kind: counts[kind] for kind in KINDS}, "all": len(found)})
    print_rows(rows, "table")
    if len(paths) == 1:
        for change, n in Counter(found).most_common():
            print(n, *change, sep="  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
