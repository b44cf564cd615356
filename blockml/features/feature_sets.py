"""Catalogue of columns, and named sets of columns.

The name of a column in a set tells the base column and the block: ``wd_m2`` is ``wd`` of the block two before, ``ld_0``
``ld`` of the block itself, ``distnext_p1`` ``distnext`` of the next one; ``parent_0=h1`` is 1 if the nominal column
``parent`` has the value ``h1``, else 0.

A column that a family gains is in none of these sets, so no released model changes. To use it in a model, add a set
with a new name and train on that one. Names of columns are explained in :mod:`blockml.features.feature_sets`.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from blockml.errors import UnknownNameError, UsageError, check_name
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
from blockml.text.words import counted

#: Names of the columns of large sets, one per line.
_COLUMNS = Path(__file__).with_name("columns")

#: The parent tag as a code, or as a 0/1 column for each of these values.
_CODE = ("",)
_ONE_HOT = tuple(
    f"={tag}"
    for tag in "a b blockquote br dd dl dt font h1 h2 h3 h4 h5 h6 img li ol p pre q table ul other none".split()
)


def _kim2013(density: str, parents: tuple[str, ...]) -> str:
    """Write the paper's attributes of a block and two neighbours on each side, with a column of word density."""
    return " ".join(
        f"{density}_{where} ld_{where} {' '.join(f'parent_{where}{value}' for value in parents)} distprev_{where} "
        f"distnext_{where}"
        for where in ("m2", "m1", "0", "p1", "p2")
    )


#: Name, version, source and columns of each set, as fields of :class:`~blockml.features.feature_sets.FeatureSet`.
SHIPPED_SETS: tuple[tuple[str, int, str, str], ...] = (
    ("kim2013", 1, "Kim et al. 2013, section 3.3", _kim2013("wd", _CODE)),
    ("kim2013-onehot", 1, "Kim et al. 2013, section 3.3, parent tags one-hot encoded", _kim2013("wd", _ONE_HOT)),
    ("kim2013-80w", 1, "Kim et al. 2013, section 3.3, word density read literally", _kim2013("wd80w", _CODE)),
    (
        "kim2013-80w-onehot",
        1,
        "Kim et al. 2013, section 3.3, word density read literally, one-hot",
        _kim2013("wd80w", _ONE_HOT),
    ),
    ("kim2013-sentence", 1, "Kim et al. 2013, section 3.3, word density per sentence", _kim2013("wdsent", _CODE)),
    (
        "kim2013-sentence-onehot",
        1,
        "Kim et al. 2013, section 3.3, word density per sentence, one-hot",
        _kim2013("wdsent", _ONE_HOT),
    ),
    (
        "boilerpipe6",
        1,
        "Kim et al. 2013, section 2.2: boilerpipe's six attributes",
        "wd_m1 ld_m1 wd_0 ld_0 wd_p1 ld_p1",
    ),
    (
        "kim2013-site",
        1,
        "Kim et al. 2013, section 3.3, parent tags one-hot encoded; and columns from other pages of the site",
        _kim2013("wd", _ONE_HOT)
        + " sitepages_0 sitetext_0 siteblock_0 siteentropy_0 sitetree_0 siteibdf_0 sitepath_0 sitenovel_0 sitewords_0"
        + " sitelinks_0",
    ),
    (
        "page",
        2,
        "text, kim2013, tree, vocabulary, repetition and metadata of a whole page",
        _COLUMNS.joinpath("page.txt").read_text("ascii"),
    ),
    ("votes", 1, "Wolpert 1992: stacking; scores of ten extractors", _COLUMNS.joinpath("votes.txt").read_text("ascii")),
)

#: :attr:`~blockml.features.feature_sets.FeatureSet.hash` of each set. Computing it would load OpenSSL for every model,
#: which takes 4 MB.
SHIPPED_HASHES: Mapping[str, str] = {
    "kim2013": "3bc2ca1b4019a0fa",
    "kim2013-onehot": "a0dafb0249b21d20",
    "kim2013-80w": "97326a650f9a347a",
    "kim2013-80w-onehot": "8671e4c11cbec333",
    "kim2013-sentence": "2e73a096864a2d69",
    "kim2013-sentence-onehot": "d7b4d0a6c74ab3f5",
    "boilerpipe6": "0d05c172bbcbd881",
    "kim2013-site": "d617b91435216f5c",
    "page": "dbaf6eb6faefb430",
    "votes": "c9d1bc3d273b4ab8",
}


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
_NAME = re.compile(r"(?P<base>[a-z0-9]+)_(?P<offset>0|[mp]\d{1,4})(?:=(?P<value>\w+))?")


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
        return SHIPPED_HASHES[self.name] if FEATURE_SETS.get(self.name) is self else self.computed_hash()

    def computed_hash(self) -> str:
        """Compute :attr:`hash`."""
        from hashlib import sha256  # loads OpenSSL

        text = f"{self.version}:" + ",".join(self.columns)
        return sha256(text.encode()).hexdigest()[:16]


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


def feature_set(features: str) -> FeatureSet:
    """Look a feature set up by its name, or make one of the names of its columns, separated by white space.

    Raises UnknownNameError for an unknown set or column, and UsageError for a column that is named twice.

    Examples
    --------
    >>> feature_set("boilerpipe6").columns
    ('wd_m1', 'ld_m1', 'wd_0', 'ld_0', 'wd_p1', 'ld_p1')
    >>> feature_set("words_0 ld_0")
    FeatureSet(name='2 columns', version=2, columns=('words_0', 'ld_0'), source='columns chosen by name')
    """
    names = str(features)
    if names not in FEATURE_SETS and "_" in names:
        return _set_of_columns(names)
    check_name("feature set", features, FEATURE_SETS)
    return FEATURE_SETS[features]


@functools.cache
def _set_of_columns(names: str) -> FeatureSet:
    columns = tuple(names.split())
    for name in columns:
        split_name(name)
    if repeated := sorted({name for name in columns if columns.count(name) > 1}):
        raise UsageError(f"a feature set has each column once, not twice: {', '.join(repeated)}")
    # A model of these columns is refused once a released set has them computed differently.
    version = max((item.version for item in FEATURE_SETS.values() if {*columns} & {*item.columns}), default=1)
    return FeatureSet(counted(len(columns), "column"), version, columns, "columns chosen by name")


def read_columns(path: str | os.PathLike[str]) -> str:
    """Read the names of a feature set's columns from a file, one per line, for :func:`feature_set`.

    Empty lines, and what follows a ``#``, are ignored. Raises UsageError if the file has no names, and names all
    unknown ones.
    """
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    names = [name for line in lines if (name := line.partition("#")[0].strip())]
    if unknown := [name for name in names if not _is_column(name)]:
        raise UsageError(
            f"unknown feature columns: {', '.join(map(repr, unknown))}; 'blockml features' lists the columns",
            source=path,
        )
    if not names:
        raise UsageError("a file of feature columns must have a name on each line", source=path)
    return " ".join(names)


def _is_column(name: str) -> bool:
    try:
        split_name(name)
    except UnknownNameError:
        return False
    return True


def nominal_columns(columns: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the columns that hold codes instead of amounts."""
    parts = [split_name(name) for name in columns]
    return tuple(i for i, (base, _, code) in enumerate(parts) if code is None and COLUMNS[base].values)


def describe_columns(columns: Iterable[str]) -> list[dict[str, object]]:
    """Describe columns: name, unit, range, value beyond the ends of the page, source.

    Examples
    --------
    >>> describe_columns(["ld_m1"])[0]["unit"]
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
