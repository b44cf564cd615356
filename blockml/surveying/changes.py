"""Comparison of two outputs of the same pages."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.surveying.repeats import RuleCounts
from blockml.surveying.run_output import Record, RunOutput
from blockml.surveying.sites import OTHER, Sites, bounded_name
from blockml.text.sketches import min_hashes, stable_hash64

#: Maximum number of changed pages to show, lines of each change, and characters of each line.
_SHOWN_PAGES, _SHOWN_LINES, _SHOWN_CHARACTERS = 30, 12, 240
#: Maximum number of them from one site, and of sites they are taken from.
_PAGES_OF_SITE, _MOST_SITES = 3, 200
#: Maximum lines of a text to compare, and characters of them.
_COMPARED_LINES, _COMPARED_CHARACTERS = 2_000, 200_000
#: Maximum number of changes of the status counted separately.
_MOST_STATUSES = 1_000


@dataclass(slots=True)
class Earlier:
    """Facts about the records of an earlier output: about 50 bytes for each."""

    keys: NDArray[np.uint64]  #: Hashes of the ids, ascending.
    texts: NDArray[np.int64]  #: Hashes of the texts.
    hashes: NDArray[np.uint32]  #: (n, 6) MinHashes of the texts.
    confidence: NDArray[np.float32]  #: NaN if unknown.
    statuses: NDArray[np.int16]  #: Index in ``names``.
    names: list[str]
    rules: RuleCounts  #: Pages on which rules matched.

    @classmethod
    def read(cls, output: RunOutput) -> Earlier:
        """Read an output; if an id occurs several times, its last record counts.

        Raises
        ------
        UsageError
            The output has no records.
        """
        keys, texts, least = array("Q"), array("q"), array("I")
        confidence, statuses = array("f"), array("h")
        names: dict[str, int] = {}
        rules = RuleCounts()
        for record in output:
            rules.add(record)
            keys.append(int(stable_hash64([record.id])[0]))
            texts.append(hash(record.text))
            least.extend(min_hashes((record.text or "").split()).tolist())
            confidence.append(float("nan") if record.confidence is None else record.confidence)
            statuses.append(names.setdefault(bounded_name(names, record.status), len(names)))
        output.refuse_without_records(len(keys))
        found, place = np.unique(np.asarray(keys, dtype=np.uint64)[::-1], return_index=True)
        order = len(keys) - 1 - place
        return cls(
            found,
            np.asarray(texts, dtype=np.int64)[order],
            np.asarray(least, dtype=np.uint32).reshape(-1, 6)[order],
            np.asarray(confidence, dtype=np.float32)[order],
            np.asarray(statuses, dtype=np.int16)[order],
            list(names),
            rules,
        )

    def place(self, record: Record) -> int | None:
        """Return the row of a record's id; None if the output doesn't have it."""
        key = stable_hash64([record.id])[0]
        place = int(np.searchsorted(self.keys, key))
        return place if place < len(self.keys) and self.keys[place] == key else None


@dataclass(slots=True)
class Changes:
    """Differences of two outputs by site, and the pages that differ most."""

    earlier: Earlier
    n_same: int = 0
    n_changed: int = 0
    n_new: int = 0  #: Pages that the earlier output does not have.
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    by_site: dict[str, list[float]] = field(default_factory=dict)  #: Pages, changed pages, sums of confidence.
    _largest: dict[str, list[tuple[float, int, Record]]] = field(default_factory=dict)  #: Largest changes by site.
    _found: NDArray[np.bool_] = field(init=False)  #: (n_earlier,) whether the later output has the id of each record.

    def __post_init__(self) -> None:
        self._found = np.zeros(len(self.earlier.keys), dtype=bool)

    def add(self, record: Record, number: int, hashes: NDArray[np.uint32], site: str) -> None:
        """Compare a record with that of the earlier output."""
        place = self.earlier.place(record)
        if place is None:
            self.n_new += 1
            return
        self._found[place] = True
        before = self.earlier.names[self.earlier.statuses[place]]
        if before != record.status and (after := bounded_name(self.earlier.names, record.status)) != before:
            pair = (before, after)
            is_counted = pair in self.statuses or len(self.statuses) < _MOST_STATUSES
            self.statuses[pair if is_counted else (OTHER, OTHER)] += 1
        changed = bool(self.earlier.texts[place] != hash(record.text))
        self.n_changed += changed
        self.n_same += not changed
        counts = self.by_site.setdefault(site, [0, 0, 0.0, 0.0, 0])
        counts[0] += 1
        counts[1] += changed
        old = float(self.earlier.confidence[place])
        if record.confidence is not None and old == old:  # noqa: PLR0124 (NaN)
            counts[2] += old
            counts[3] += record.confidence
            counts[4] += 1
        if changed:
            moved = float((self.earlier.hashes[place] != hashes).mean())
            item = (moved, -number, _to_compare(record))
            if site in self._largest or len(self._largest) < _MOST_SITES:
                heap = self._largest.setdefault(site, [])
                (heapq.heappush if len(heap) < _PAGES_OF_SITE else heapq.heappushpop)(heap, item)

    @property
    def n_gone(self) -> int:
        """Number of pages that only the earlier output has."""
        return int((~self._found).sum())

    def rows(self, sites: Sites) -> list[dict[str, Any]]:
        """Return the rows of the table of changes by site, those with the most changed pages first."""
        rows = []
        for site in sites.ranked():
            pages, changed, old, new, rated = self.by_site.get(site.name, (0, 0, 0.0, 0.0, 0))
            if pages:
                means = (old / rated, new / rated) if rated else (None, None)
                rows.append(
                    {"site": site.name, "pages": int(pages), "changed": int(changed)}
                    | dict(zip(("confidence_before", "confidence"), means, strict=True))
                )
        return sorted(rows, key=lambda row: -row["changed"])

    def pages(self, output: RunOutput) -> list[dict[str, Any]]:
        """Return the pages that changed most, with their added and removed lines; reads the earlier output again."""
        largest = sorted((item for heap in self._largest.values() for item in heap), reverse=True)[:_SHOWN_PAGES]
        later = {record.id: (moved, record) for moved, _, record in largest}
        texts = {record.id: _to_compare(record) for record in output if record.id in later} if later else {}
        rows = []
        for page_id, (moved, record) in later.items():
            if (before := texts.get(page_id)) is not None:
                rows.append({"id": page_id, "site": record.site, "title": record.title, "changed_share": moved}
                            | _confidences(before, record) | _lines(before.text or "", record.text or ""))  # fmt: skip
        return rows


def _to_compare(record: Record) -> Record:
    """Return a record with only the part of its text that is compared, because hundreds of records are kept."""
    text = record.text or ""
    return record if len(text) <= _COMPARED_CHARACTERS else replace(record, text=text[:_COMPARED_CHARACTERS])


def _confidences(before: Record, after: Record) -> dict[str, Any]:
    return {
        "confidence_before": before.confidence, "confidence": after.confidence,
        "model_before": before.model, "model": after.model,
    }  # fmt: skip


def _lines(before: str, after: str) -> dict[str, Any]:
    """Return the first lines that only one of two texts has, and their total number."""
    old, new = ([line for line in text.split("\n")[:_COMPARED_LINES] if line.strip()] for text in (before, after))
    gone, came = _only(old, new), _only(new, old)
    return {
        "n_gone": len(gone), "gone": [line[:_SHOWN_CHARACTERS] for line in gone[:_SHOWN_LINES]],
        "n_came": len(came), "came": [line[:_SHOWN_CHARACTERS] for line in came[:_SHOWN_LINES]],
    }  # fmt: skip


def _only(lines: list[str], others: list[str]) -> list[str]:
    left = Counter(others)
    return [line for line in lines if not _taken(left, line)]


def _taken(left: Counter[str], line: str) -> bool:
    found = left[line] > 0
    left[line] -= found
    return found
