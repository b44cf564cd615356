"""Catalogue of columns, and named sets of columns.

The name of a column in a set tells the base column and the block: ``wd_m2`` is ``wd`` of the block two before, ``ld_0``
``ld`` of the block itself, ``distnext_p1`` ``distnext`` of the next one; ``parent_0=h1`` is 1 if the nominal column
``parent`` has the value ``h1``, else 0.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from blockml.errors import UnknownNameError, check_name
from blockml.features import (
    container,
    density,
    kim2013,
    metadata,
    position,
    repetition,
    site_pages,
    structure,
    text,
    vocabulary,
    votes,
)
from blockml.features.column import Column
from blockml.features.shipped_sets import SHIPPED_SETS

#: Base columns by name.
COLUMNS: Mapping[str, Column] = {
    column.name: column
    for family in (
        density,
        kim2013,
        votes,
        site_pages,
        text,
        position,
        structure,
        container,
        vocabulary,
        repetition,
        metadata,
    )
    for column in family.COLUMNS
}
_NAME = re.compile(r"(?P<base>[a-z0-9]+)_(?P<offset>0|[mp]\d+)(?:=(?P<value>\w+))?")


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """A named, versioned, explicit tuple of columns."""

    name: str
    #: Rises whenever a column of the set is computed differently; models of another version are refused. Columns that
    #: are scores of extractors change with these extractors and their default parameters.
    version: int
    columns: tuple[str, ...]
    source: str

    @property
    def hash(self) -> str:
        """Fingerprint of version, column names and their order; model files carry it."""
        text = f"{self.version}:" + ",".join(self.columns)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def split_name(name: str) -> tuple[str, int, int | None]:
    """Split a column name into base, offset and the code of the value (None for the plain column).

    Raises UnknownNameError for an unknown column.

    Examples
    --------
    >>> split_name("parent_m2=b")
    ('parent', -2, 1)
    >>> split_name("ld_0")
    ('ld', 0, None)
    """
    match = _NAME.fullmatch(name)
    if match is None or match["base"] not in COLUMNS:
        raise UnknownNameError("feature column", name, (f"{base}_0" for base in COLUMNS))
    offset = int(match["offset"].translate(str.maketrans("mp", "-+")))
    if match["value"] is None:
        return match["base"], offset, None
    values = COLUMNS[match["base"]].values
    if match["value"] not in values:
        raise UnknownNameError(f"value of {match['base']}", match["value"], values)
    return match["base"], offset, values.index(match["value"])


#: Feature sets by name.
FEATURE_SETS: Mapping[str, FeatureSet] = {
    name: FeatureSet(name, version, tuple(columns.split()), source) for name, version, source, columns in SHIPPED_SETS
}


def feature_set(name: str) -> FeatureSet:
    """Look a feature set up.

    Raises UnknownNameError for an unknown set.
    """
    check_name("feature set", name, FEATURE_SETS)
    return FEATURE_SETS[name]


def nominal_columns(columns: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the columns that hold codes instead of amounts."""
    parts = [split_name(name) for name in columns]
    return tuple(i for i, (base, _, code) in enumerate(parts) if code is None and COLUMNS[base].values)


def describe(columns: Iterable[str]) -> list[dict[str, object]]:
    """Describe columns: name, unit, range, value beyond the ends of the page, source.

    Examples
    --------
    >>> describe(["ld_m1"])[0]["unit"]
    'linked words / words, block 1 before'
    """
    rows: list[dict[str, object]] = []
    for name in columns:
        base, offset, code = split_name(name)
        column = COLUMNS[base]
        where = f", block {abs(offset)} {'before' if offset < 0 else 'after'}" if offset else ""
        is_one_hot = code is not None
        rows.append(
            {
                "name": name,
                "unit": ("0 or 1" if is_one_hot else column.unit) + where,
                "low": 0 if is_one_hot else column.low,
                "high": 1 if is_one_hot else column.high,
                "empty": float(code == column.empty) if is_one_hot else column.empty,
                "source": column.source,
            }
        )
    return rows
