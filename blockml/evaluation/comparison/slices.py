"""Slices: subsets of a data set's pages whose means are reported separately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.comparison.reference import PageScore

__all__ = ["Slice", "slice_pages"]

# Name of the slice of pages whose page type, language or script the data set doesn't give.
_UNKNOWN = "unknown"

#: Kinds with a single slice each: all pages, those without known gold defects, those whose gold has words.
WHOLES = ("all", "clean", "not_empty_gold")


class Slice(NamedTuple):
    """A subset of the pages of a data set."""

    kind: str
    name: str
    rows: NDArray[np.intp]
    """Indices of its pages."""

    @property
    def is_part(self) -> bool:
        """Whether it is one of many small subsets, not (nearly) the whole data set."""
        return self.kind not in WHOLES


def slice_pages(pages: Sequence[PageScore]) -> Iterator[Slice]:
    """Yield the non-empty slices of a data set, kind by kind, by name.

    Kinds are ``all``, ``clean`` (pages whose gold has no known defect), ``not_empty_gold`` (pages whose gold has
    words), ``page_type``, ``script``, ``language``, ``gold_length`` (quartiles of the number of gold words) and
    ``site`` (sites with several pages). A kind for which the data set gives no information is omitted.
    """
    flags = (True for _ in pages), (not page.flagged for page in pages), (page.gold_words > 0 for page in pages)
    for kind, keep in zip(WHOLES, flags, strict=True):
        rows = np.flatnonzero(np.fromiter(keep, dtype=bool))
        if rows.size:
            yield Slice(kind, kind, rows)
    for kind in ("page_type", "script", "language"):
        names = [getattr(page, kind) or _UNKNOWN for page in pages]
        if set(names) != {_UNKNOWN}:
            yield from _grouped(kind, names)
    yield from _grouped("gold_length", quartiles([page.gold_words for page in pages]))
    yield from (part for part in _grouped("site", [page.site for page in pages]) if part.rows.size > 1)


def _grouped(kind: str, names: Sequence[str]) -> Iterator[Slice]:
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        groups.setdefault(name, []).append(row)
    for name in sorted(groups):
        yield Slice(kind, name, np.array(groups[name], dtype=np.intp))


def quartiles(words: Sequence[int]) -> list[str]:
    """Return the name of the quartile of each length, which includes its range of lengths.

    Equal lengths stay together, so quartiles can differ in size, and some can be missing.

    Examples
    --------
    >>> quartiles([10, 400, 0, 25])
    ['q2 (10-10 words)', 'q4 (400-400 words)', 'q1 (0-0 words)', 'q3 (25-25 words)']
    >>> quartiles([7, 7, 7])
    ['q1 (7-7 words)', 'q1 (7-7 words)', 'q1 (7-7 words)']
    """
    if not words:
        return []
    lengths = np.asarray(words)
    quarter = np.searchsorted(np.quantile(lengths, [0.25, 0.5, 0.75]), lengths)
    titles = {
        number: f"q{number + 1} ({lengths[quarter == number].min()}-{lengths[quarter == number].max()} words)"
        for number in np.unique(quarter).tolist()
    }
    return [titles[number] for number in quarter.tolist()]
