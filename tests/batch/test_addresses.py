"""Addresses of page files: from a table, or declared by the pages."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import blockml
from blockml.batch import Guard, PageExtractor, find_inputs, read_items
from blockml.batch.readers.page_addresses import read_addresses
from blockml.batch.run import _manifest
from blockml.cli import main
from blockml.errors import UsageError
from blockml.extractors import Plain

pytestmark = pytest.mark.exhaustive

LINKED = (
    "<html><head>{head}</head><p>" + "Nine words of text that no link interrupts. " * 20 + "See <a href=b>more</a>."
)


def test_page_files_get_addresses_from_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of addresses makes the links of files absolute, and names their site; other files are counted."""
    pages = tmp_path / "pages"
    (pages / "deep").mkdir(parents=True)
    for name in ("a.html", "deep/c.html", "lost.html"):
        (pages / name).write_text(LINKED.format(head=""), encoding="utf-8")
    urls = tmp_path / "urls.csv"
    urls.write_text("File,Link\na.html,https://cats.example/x/a\ndeep/c,https://dogs.example/c\n", encoding="utf-8")
    command = ["predict", str(pages), "--format", "markdown", "-o", str(tmp_path / "out.jsonl")]
    assert main([*command, "--urls", str(urls)]) == 0
    assert "1 page file without an address in" in capsys.readouterr().err
    rows = {row["id"]: row for row in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())}
    assert {name: row["url"] for name, row in rows.items()} == {
        "a": "https://cats.example/x/a", "deep/c": "https://dogs.example/c", "lost": None
    }  # fmt: skip
    assert "[more](https://cats.example/x/b)" in rows["a"]["text"]
    by_path = {str(pages / "a.html"): "https://cats.example/x/a"}
    assert [row["url"] for row in blockml.predict(pages, urls=by_path)] == ["https://cats.example/x/a", None, None]
    inputs = find_inputs([str(pages)])
    inputs.add_addresses(read_addresses(urls))
    assert [item.site for item in read_items(inputs)] == ["cats.example", "dogs.example", str(pages)]


def test_wrong_tables_of_addresses_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table without the columns, of other files, or for pages in memory is an error before the run."""
    page, urls = tmp_path / "a.html", tmp_path / "urls.csv"
    page.write_text("<p>x", encoding="utf-8")
    for text, expected in {
        "a.html,https://cats.example/\n": "has no row with a name and an address below the names of its columns",
        "a.html,https://cats.example/\nb,c\n": "no column of file names; the first row must have",
        "path,where\na.html,https://cats.example/\n": "no column of addresses",
        "path,url\nb.html,https://cats.example/\n": "has no address of a page file; the first file is ",
        "path,url\n,\n": "has no row with a name and an address",
        "path,url\na.html,https://a.example/\na,https://b.example/\n": "row 2 has another address for 'a' than a row",
    }.items():
        urls.write_text(text, encoding="utf-8")
        assert main(["predict", str(page), "--urls", str(urls)]) == 2
        assert expected in capsys.readouterr().err
    assert main(["predict", str(page), "--urls", str(tmp_path / "none.csv")]) == 3
    (tmp_path / "urls.jsonl").write_text('{"path": "a.html", "url": ["https://a.example/"]}\n', encoding="utf-8")
    assert main(["predict", str(page), "--urls", str(tmp_path / "urls.jsonl")]) == 2
    assert "row 1 has an address that is not a text: ['https://a.example/']" in capsys.readouterr().err
    assert main(["predict", str(page), "--urls", str(page)]) == 2
    with pytest.raises(UsageError, match="name 2 has another address for 'a' than a name before it"):
        blockml.predict(str(page), urls={"a.html": "https://a.example/", "a": "https://b.example/"})
    with pytest.raises(UsageError, match="urls are for files"):
        blockml.predict([b"<p>x"], urls={"1": "https://cats.example/"})


def test_only_one_suffix_of_a_name_is_left_out(tmp_path: Path) -> None:
    """The addresses of ``a.htm.html`` and ``a.htm`` are those of two files."""
    urls = tmp_path / "urls.csv"
    for name in ("a.htm.html", "a.htm"):
        (tmp_path / name).write_text("<p>x", encoding="utf-8")
    names = {str(tmp_path / name): f"https://cats.example/{name}" for name in ("a.htm.html", "a.htm")}
    urls.write_text("path,url\n" + "".join(f"{name},{url}\n" for name, url in names.items()), encoding="utf-8")
    for source in (urls, names):
        found = blockml.predict(list(names), urls=source)
        assert sorted(str(record["url"]) for record in found) == sorted(names.values())


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_of_addresses_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A named pipe, which may never have a writer, is an error instead of an endless wait."""
    (tmp_path / "a.html").write_text("<p>x", encoding="utf-8")
    os.mkfifo(tmp_path / "urls.csv")
    assert main(["predict", str(tmp_path / "a.html"), "--urls", str(tmp_path / "urls.csv")]) == 2
    assert "not a regular file" in capsys.readouterr().err


def test_pages_may_declare_their_address() -> None:
    """Only with ``declared_urls``, a page without an address gets the one that it declares."""
    heads = (
        "<link rel=canonical href=https://cats.example/a>",
        "<meta property=og:url content=https://dogs.example/>",
        "",
    )
    rows = [{"html": LINKED.format(head=head)} for head in heads] + [{"html": LINKED.format(head=heads[0]), "url": "u"}]
    declared = [row["url"] for row in blockml.predict(rows, declared_urls=True)]
    assert declared == ["https://cats.example/a", "https://dogs.example/", None, "u"]
    assert [row["url"] for row in blockml.predict(rows)] == [None, None, None, "u"]


def test_a_run_with_other_addresses_is_not_continued(tmp_path: Path) -> None:
    """Addresses are part of what an output depends on."""
    page = tmp_path / "a.html"
    page.write_text("<p>x", encoding="utf-8")
    manifests = []
    for url in ("https://cats.example/", "https://dogs.example/"):
        inputs = find_inputs([str(page)])
        inputs.add_addresses(read_addresses({"a": url}))
        manifests.append(_manifest(inputs, PageExtractor(Plain()), Guard())["urls"])
    assert manifests[0] != manifests[1]
