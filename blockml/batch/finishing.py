"""Completion of the records of a run in order: near duplicates, and pages in other languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from blockml.options import Options
from blockml.records import FAILURES
from blockml.text.sketches import DuplicateIndex

__all__ = ["SKETCH", "Finisher", "finishes", "finishing_fields"]

#: Field of records between a worker and the end of a run.
SKETCH = "sketch"


def finishing_fields(options: Options) -> tuple[str, ...]:
    """Return the fields that :class:`Finisher` needs besides those that are written; empty if it has nothing to do."""
    fields: dict[str, None] = {}
    if options.deduplicate or "duplicate_of" in options.record_fields:
        fields |= dict.fromkeys(("id", "status", SKETCH))
    if options.languages:
        fields |= dict.fromkeys(("status", "language"))
    return tuple(name for name in fields if name not in options.record_fields)


def finishes(options: Options) -> bool:
    """Return whether the records of a run with these options need a :class:`Finisher`."""
    return bool(options.languages or options.deduplicate or "duplicate_of" in options.record_fields)


class Finisher:
    """Completes the records of a run in order, and leaves out those that the options exclude.

    Failed pages are kept.

    Parameters
    ----------
    options
        The options of the run.
    """

    def __init__(self, options: Options) -> None:
        self.left_out: Counter[str] = Counter()  #: Pages that were left out, by reason.
        self._options = options
        self._duplicates = options.deduplicate or "duplicate_of" in options.record_fields
        self._index = DuplicateIndex()

    def __call__(self, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the completed records."""
        options = self._options
        for record in records:
            if options.languages and record["status"] not in FAILURES and record["language"] not in options.languages:
                self.left_out["in another language"] += 1
                continue
            if self._duplicates:
                record["duplicate_of"] = self._index.first(record["id"], record[SKETCH] or ())
                if options.deduplicate and record["duplicate_of"] is not None:
                    self.left_out["near duplicates"] += 1
                    continue
            yield {name: record[name] for name in options.record_fields}
