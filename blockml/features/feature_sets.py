"""Every column and every named set of columns.

The name of a column in a set says how it is made: ``wd_m2`` is the base column ``wd`` of the block two before,
``ld_0`` of the block itself, ``distnext_p1`` of the next one; ``parent_0=h1`` is 1 where the nominal column
``parent`` has the value ``h1``, else 0.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from blockml.errors import UnknownNameError
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

__all__ = ["COLUMNS", "FEATURE_SETS", "FeatureSet", "describe", "feature_set", "nominal_columns", "one_hot_name"]

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
#: Families that the default model's features are from.
_PAGE_FAMILIES = (text, position, structure, container, vocabulary, repetition, metadata)

_NAME = re.compile(r"(?P<base>[a-z0-9]+)_(?P<offset>0|[mp]\d+)(?:=(?P<value>\w+))?")


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """A named, versioned list of columns."""

    name: str
    version: int
    """Rises whenever a column of the set is computed differently: models of another version are refused. For columns
    that are scores of extractors that is whenever such an extractor, or a default of its parameters, changes."""
    columns: tuple[str, ...]
    source: str

    @property
    def hash(self) -> str:
        """Fingerprint of version, column names and their order; model files carry it."""
        text = f"{self.version}:" + ",".join(self.columns)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _around(bases: Sequence[str], reach: int) -> tuple[str, ...]:
    """Columns of the blocks from ``reach`` before to ``reach`` after."""
    offsets = [f"m{-k}" if k < 0 else f"p{k}" if k else "0" for k in range(-reach, reach + 1)]
    return tuple(f"{base}_{offset}" for offset in offsets for base in bases)


def _one_hot(columns: Iterable[str]) -> tuple[str, ...]:
    """Nominal columns replaced by one 0/1 column per value."""
    names: list[str] = []
    for name in columns:
        values = COLUMNS[split_name(name)[0]].values
        names.extend([one_hot_name(name, value) for value in values] if values else [name])
    return tuple(names)


def one_hot_name(column: str, value: str) -> str:
    """Name of the 0/1 column for one value of a nominal column.

    Examples
    --------
    >>> one_hot_name("parent_m1", "h1")
    'parent_m1=h1'
    """
    return f"{column}={value}"


def split_name(name: str) -> tuple[str, int, int | None]:
    """Split a column name into base, offset and the code of the value (None for the plain column).

    Raises
    ------
    UnknownNameError
        No such column.

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


def _kim(word_density: str) -> tuple[str, ...]:
    return _around((word_density, "ld", "parent", "distprev", "distnext"), 2)


_KIM = "Kim et al. 2013, section 3.3"
#: Columns that are also taken of the block on each side.
_NEIGHBOURS = ("linkshare", "tag0", "endssentence")
_SETS = (
    FeatureSet("kim2013", 1, _kim("wd"), _KIM),
    FeatureSet("kim2013-onehot", 1, _one_hot(_kim("wd")), _KIM + ", parent tags one-hot encoded"),
    FeatureSet("kim2013-80w", 1, _kim("wd80w"), _KIM + ", word density read literally"),
    FeatureSet("kim2013-80w-onehot", 1, _one_hot(_kim("wd80w")), _KIM + ", word density read literally, one-hot"),
    FeatureSet("kim2013-sentence", 1, _kim("wdsent"), _KIM + ", word density per sentence"),
    FeatureSet("kim2013-sentence-onehot", 1, _one_hot(_kim("wdsent")), _KIM + ", word density per sentence, one-hot"),
    FeatureSet("boilerpipe6", 1, _around(("wd", "ld"), 1), "Kim et al. 2013, section 2.2: boilerpipe's six attributes"),
    FeatureSet(
        "kim2013-site",
        1,
        (*_one_hot(_kim("wd")), *(f"{column.name}_0" for column in site_pages.COLUMNS)),
        _KIM + ", parent tags one-hot encoded; and what other pages of the site say",
    ),
    FeatureSet(
        "page",
        1,
        (
            *(f"{column.name}_0" for family in _PAGE_FAMILIES for column in family.COLUMNS),
            *(f"{base}_{offset}" for offset in ("m1", "p1") for base in _NEIGHBOURS),
        ),
        "text, kim2013, tree, vocabulary, repetition and metadata of a whole page",
    ),
    FeatureSet("votes", 1, _around((*votes.VOTERS, "wd", "ld"), 1), "Wolpert 1992: stacking; scores of ten extractors"),
)

#: Feature sets by name.
FEATURE_SETS: Mapping[str, FeatureSet] = {item.name: item for item in _SETS}


def feature_set(name: str) -> FeatureSet:
    """Look a feature set up.

    Raises
    ------
    UnknownNameError
        No such set.
    """
    if name not in FEATURE_SETS:
        raise UnknownNameError("feature set", name, FEATURE_SETS)
    return FEATURE_SETS[name]


def nominal_columns(columns: Sequence[str]) -> tuple[int, ...]:
    """Positions of the columns that hold codes instead of amounts."""
    parts = [split_name(name) for name in columns]
    return tuple(i for i, (base, _, code) in enumerate(parts) if code is None and COLUMNS[base].values)


def describe(columns: Iterable[str]) -> list[dict[str, object]]:
    """Catalogue rows of columns: name, unit, range, value where there is no block, source.

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
