"""Groups of a data set's pages whose means are reported apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.comparison.reference import PageScore

__all__ = ["Slice", "slice_pages"]

#: What stands for a page type, language or script that the data set doesn't tell.
UNKNOWN = "unknown"

_Rows = NDArray[np.intp]


class Slice(NamedTuple):
    """Some pages of a data set."""

    kind: str
    name: str
    rows: _Rows
    """Their places among the pages."""

    @property
    def is_part(self) -> bool:
        """Whether it is one of many small parts of the data set, not (nearly) the whole."""
        return self.kind not in WHOLES


#: Kinds of which there is one slice: all pages, those without known defects of their gold, those whose gold has words.
WHOLES = ("all", "clean", "not_empty_gold")


def slice_pages(pages: Sequence[PageScore]) -> Iterator[Slice]:
    """Slices of a data set that hold any page, kind by kind, by name.

    Kinds are ``all``, ``clean`` (pages whose gold has no known defect), ``not_empty_gold`` (pages whose gold has
    words), ``page_type``, ``script``, ``language``, ``gold_length`` (quarters of the data set by words of the gold) and
    ``site`` (sites with several pages). A kind of which the data set tells nothing is left out.
    """
    yield from _kept("all", [True for _ in pages])
    yield from _kept("clean", [not page.flagged for page in pages])
    yield from _kept("not_empty_gold", [page.gold_words > 0 for page in pages])
    for kind, tell in _FACTS.items():
        names = [tell(page) or UNKNOWN for page in pages]
        if set(names) != {UNKNOWN}:
            yield from _grouped(kind, names)
    yield from _grouped("gold_length", quartiles([page.gold_words for page in pages]))
    yield from (part for part in _grouped("site", [page.site for page in pages]) if part.rows.size > 1)


_FACTS: dict[str, Callable[[PageScore], str | None]] = {
    "page_type": lambda page: page.page_type,
    "script": lambda page: page.script,
    "language": lambda page: page.language,
}


def _kept(kind: str, keep: Sequence[bool]) -> Iterator[Slice]:
    if any(keep):
        yield Slice(kind, kind, np.flatnonzero(keep))


def _grouped(kind: str, names: Sequence[str]) -> Iterator[Slice]:
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        groups.setdefault(name, []).append(row)
    for name in sorted(groups):
        yield Slice(kind, name, np.array(groups[name], dtype=np.intp))


def quartiles(words: Sequence[int]) -> list[str]:
    """Tell the quarter of each length among all, with the lengths that it holds.

    Equal lengths stay together, so quarters can differ in size, and some can be missing.

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
