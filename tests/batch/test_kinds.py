"""The table of the kinds of files that hold many pages: no place forgets one of them."""

from __future__ import annotations

import argparse
import inspect
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

import blockml
from blockml.archives.kinds import (
    INPUT_KINDS,
    InputKind,
    kind_by_name,
    kind_by_start,
    read_in_folders,
    without_signature,
)
from blockml.batch import Item, find_inputs, predict_items, read_items, readers
from blockml.cli.predicting import add_predict
from blockml.errors import InputError, UsageError
from tests.batch.archives import EXAMPLES, PAGE

DOCS = Path(__file__).resolve().parents[2] / "docs" / "batch.md"
READ = [kind for kind in INPUT_KINDS if not kind.refused]
"""The kinds that are read."""


def named(kinds: Iterable[InputKind]) -> list[str]:
    """Return the names of kinds, for the names of tests."""
    return [kind.name for kind in kinds]


def write(kind: InputKind, folder: Path, name: str | None = None) -> Path:
    """Write the example of a kind, with its first suffix or another name."""
    path = folder / (name or f"pages{kind.suffixes[0]}")
    path.write_bytes(EXAMPLES[kind.name])
    return path


def test_each_kind_has_an_example() -> None:
    """A kind that is added needs an example here, so that the tests below read it."""
    assert set(EXAMPLES) == set(named(INPUT_KINDS))


@pytest.mark.parametrize("kind", READ, ids=named(READ))
def test_readers_have_the_signature_of_the_table(kind: InputKind) -> None:
    """The functions that a row names exist, and take what the table's readers take."""
    names = list(inspect.signature(readers._reader(kind.reader)).parameters)
    assert names == ["path", "fields", "reading"]
    if kind.piped:
        assert list(inspect.signature(readers._reader(kind.piped)).parameters)[1:] == ["stream", "fields", "reading"]


@pytest.mark.parametrize("kind", READ, ids=named(READ))
def test_pages_are_read_by_name_and_by_content(kind: InputKind, tmp_path: Path) -> None:
    """A file is read with each suffix of its kind and, if its start shows the kind, with any other one."""
    for suffix in [*kind.suffixes, *([".data"] if kind.begins else [])]:
        path = write(kind, tmp_path, f"pages{suffix}")
        (item,) = read_items(find_inputs([str(path)]))
        assert item.error is None
        page = item.decoded().read()
        assert (page.encode() if isinstance(page, str) else page) == PAGE


@pytest.mark.parametrize("kind", READ, ids=named(READ))
def test_folders(kind: InputKind, tmp_path: Path) -> None:
    """In a folder, kinds are read or counted, as the table says."""
    (tmp_path / "page.html").write_text("<p>Page", encoding="utf-8")
    path = write(kind, tmp_path)
    inputs = find_inputs([str(tmp_path)])
    assert len(list(read_items(inputs))) == 1 + kind.in_folders
    assert inputs.passed_over == ({} if kind.in_folders else {path.suffix: 1})


@pytest.mark.parametrize("kind", READ, ids=named(READ))
def test_standard_input(kind: InputKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is read, or refused with the names of all kinds that need a file; tables are pages there."""

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(EXAMPLES[kind.name]))

    monkeypatch.setattr("sys.stdin", Stdin)
    if kind.piped or kind.begins is None:
        assert len(list(read_items(find_inputs(["-"])))) == 1
        return
    with pytest.raises(UsageError, match="files cannot be read from standard input") as raised:
        list(read_items(find_inputs(["-"])))
    assert all(other.name in str(raised.value) for other in INPUT_KINDS if not other.piped and other.has_signature)


@pytest.mark.parametrize("kind", INPUT_KINDS, ids=named(INPUT_KINDS))
def test_a_file_taken_for_a_page_says_what_it_is(kind: InputKind, tmp_path: Path) -> None:
    """A page file that is an archive is an error of its page, which names the kind."""
    path = tmp_path / "page.html"
    path.write_bytes(EXAMPLES[kind.name])
    if kind.has_signature:
        with pytest.raises(InputError, match=f"not a page but {kind.described}"):
            Item("page", path).read()
    else:
        assert Item("page", path).read() == EXAMPLES[kind.name]
        assert without_signature(EXAMPLES[kind.name]) is None


@pytest.mark.parametrize("kind", READ, ids=named(READ))
def test_the_documentation_names_it(kind: InputKind) -> None:
    """The table of inputs in the documentation and the help name each kind."""
    parser = argparse.ArgumentParser()
    add_predict(parser)
    table = DOCS.read_text(encoding="utf-8").partition("## Input")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    assert any(kind.name in row for row in rows)
    assert kind.name in " ".join(parser.format_help().split())


def test_refused_kinds_give_their_reason(tmp_path: Path) -> None:
    """A kind that is not read has a row with the reason."""
    for kind in INPUT_KINDS:
        if kind.refused:
            path = write(kind, tmp_path, "pages.data")
            (record,) = predict_items(read_items(find_inputs([str(path)])), blockml.load("kim2013"), isolation="none")
            assert record["status"] == "unreadable"
            assert kind.refused in record["error"]


def test_a_kind_is_found_by_its_name_in_any_case() -> None:
    """Suffixes match in any case and with a compression."""
    for kind in INPUT_KINDS:
        for suffix in kind.suffixes:
            assert kind_by_name(f"A{suffix.upper()}.GZ") is kind
        assert kind.begins is None or kind_by_start(EXAMPLES[kind.name]) is kind
    assert kind_by_name("a.html") is kind_by_start(b"<p>One") is None
    assert read_in_folders() == (".warc", ".arc")


def test_a_workbook_named_like_a_table_is_no_archive(tmp_path: Path) -> None:
    """The reader of tables says that it is a workbook, and one with its own name has no pages."""
    for name, reason in (("t.csv", "an Excel file"), ("t.xlsx", "there are no page files in this archive")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
        (item,) = read_items(find_inputs([str(tmp_path / name)]))
        assert reason in (item.error or "")


def test_predictions_of_a_zip_archive(tmp_path: Path) -> None:
    """The public function reads archives as the command does."""
    kind = next(kind for kind in INPUT_KINDS if kind.name == "ZIP")
    table = list(blockml.predict(str(write(kind, tmp_path)), model="kim2013"))
    assert [(row["id"], row["status"]) for row in table] == [("pages.zip/site/a", "ok")]
