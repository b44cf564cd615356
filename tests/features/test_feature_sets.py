"""The catalogue: names, order, sizes and fingerprints of the feature sets."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import pytest

from blockml.errors import UnknownNameError, UsageError
from blockml.features import COLUMNS, FEATURE_SETS, describe_columns, feature_set, feature_sets
from blockml.features.feature_sets import nominal_columns, read_columns, split_name

EVERY_COLUMN = sorted({column for item in FEATURE_SETS.values() for column in item.columns})


def test_order_of_the_25_columns() -> None:
    """The set has five attributes of each of two blocks before, the block, and two blocks after it."""
    expected = [
        f"{base}_{offset}"
        for offset in ("m2", "m1", "0", "p1", "p2")
        for base in ("wd", "ld", "parent", "distprev", "distnext")
    ]
    assert list(FEATURE_SETS["kim2013"].columns) == expected


@pytest.mark.parametrize(("name", "size"), [("kim2013", 25), ("kim2013-onehot", 140), ("boilerpipe6", 6)])
def test_sizes(name: str, size: int) -> None:
    """The 25 attributes have 140 columns if tags are one-hot encoded, and the reduced set has 6."""
    assert len(feature_set(name).columns) == len(set(feature_set(name).columns)) == size


def test_reduced_set() -> None:
    """The reduced set has the word and link density of the block and of its two neighbours."""
    assert FEATURE_SETS["boilerpipe6"].columns == ("wd_m1", "ld_m1", "wd_0", "ld_0", "wd_p1", "ld_p1")


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_sets_have_a_name_and_a_source(name: str) -> None:
    """Each set has its name, a version, a source and columns that exist."""
    item = FEATURE_SETS[name]
    assert (item.name, bool(item.source), item.version >= 1) == (name, True, True)
    for row in describe_columns(item.columns):
        assert row["source"]
        assert row["unit"]
        low, empty, high = (float(str(row[key])) for key in ("low", "empty", "high"))
        assert low <= empty <= high


@pytest.mark.parametrize("name", EVERY_COLUMN)
def test_column_names_can_be_parsed(name: str) -> None:
    """``split_name`` inverts the construction of column names."""
    base, offset, code = split_name(name)
    written = f"{base}_{'0' if offset == 0 else f'm{-offset}' if offset < 0 else f'p{offset}'}"
    assert name == (written if code is None else f"{written}={COLUMNS[base].values[code]}")


@pytest.mark.parametrize(
    "name", ["", "wd", "wd_", "wd_3", "wd_m", "nothing_0", "wd_0=a", "parent_0=", "parent_0=video", "WD_0", "wd_0 "]
)
def test_unknown_columns(name: str) -> None:
    """An unknown column is an error that lists the known ones."""
    with pytest.raises(UnknownNameError):
        split_name(name)


def test_nominal_columns() -> None:
    """Only the parent tags of the plain set are nominal."""
    assert nominal_columns(FEATURE_SETS["kim2013"].columns) == (2, 7, 12, 17, 22)
    assert nominal_columns(FEATURE_SETS["kim2013-onehot"].columns) == ()


def test_fingerprint_depends_on_version_columns_and_order() -> None:
    """The fingerprint depends on the version, the columns and their order, but not on the name."""
    item = FEATURE_SETS["kim2013"]
    assert len({other.hash for other in FEATURE_SETS.values()}) == len(FEATURE_SETS)
    assert dataclasses.replace(item, name="x", source="y").hash == item.hash
    assert dataclasses.replace(item, version=item.version + 1).hash != item.hash
    assert dataclasses.replace(item, columns=item.columns[::-1]).hash != item.hash
    for item in FEATURE_SETS.values():  # also where it is written down
        assert item.hash == hashlib.sha256(f"{item.version}:{','.join(item.columns)}".encode()).hexdigest()[:16]


#: Fingerprints of the sets that models have been trained on.
SHIPPED = {
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


def test_shipped_sets_never_change() -> None:
    """Models load only while the fingerprint of their set is unchanged: add a set instead of changing one."""
    assert {name: item.hash for name, item in FEATURE_SETS.items() if name in SHIPPED} == SHIPPED


def test_unknown_set_names_the_legal_ones() -> None:
    """The error lists every feature set."""
    with pytest.raises(UnknownNameError, match=", ".join(sorted(FEATURE_SETS))):
        feature_set("nothing")


def test_columns_by_name() -> None:
    """Column names make a set, whose fingerprint depends on the names and their order."""
    chosen = feature_set("words_0 ld_m1\n parent_0=p")
    assert chosen.columns == ("words_0", "ld_m1", "parent_0=p")
    assert feature_set("words_0 ld_m1 parent_0=p").hash == chosen.hash
    assert feature_set("ld_m1 words_0 parent_0=p").hash != chosen.hash
    with pytest.raises(UsageError, match="not twice: ld_0"):
        feature_set("ld_0 words_0 ld_0")
    with pytest.raises(UnknownNameError, match="unknown feature column 'nothing_0'"):
        feature_set("ld_0 nothing_0")


def test_sets_of_column_names_follow_the_released_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of a column are refused after a release that computes this column differently."""
    columns = "linkshare_0 endssentence_0", "wdsent_0 ld_m2"
    before = [feature_set(names).hash for names in columns]
    changed = dataclasses.replace(FEATURE_SETS["page"], version=FEATURE_SETS["page"].version + 1)
    monkeypatch.setattr(feature_sets, "FEATURE_SETS", {**FEATURE_SETS, "page": changed})
    monkeypatch.setattr(feature_sets, "_set_of_columns", feature_sets._set_of_columns.__wrapped__)
    after = [feature_set(names).hash for names in columns]
    assert (before[0] == after[0], before[1] == after[1]) == (False, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("words_0\nnothing_0\nld_x\n", "unknown feature columns: 'nothing_0', 'ld_x'"),
        ("# only a comment\n\n", "must have a name on each line"),
        ("words_0 ld_0\n", "unknown feature columns: 'words_0 ld_0'"),
    ],
)
def test_files_without_columns_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file and every unknown column."""
    path = tmp_path / "mine.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        read_columns(path)
    assert str(path) in str(caught.value)


def test_files_of_columns(tmp_path: Path) -> None:
    """A file has one name per line, and empty lines and comments are ignored."""
    (tmp_path / "mine.txt").write_text("# text\nwords_0\n\nld_m1  # of the block before\n")
    assert feature_set(read_columns(tmp_path / "mine.txt")).columns == ("words_0", "ld_m1")
