"""Readers of all layouts of data sets, and their errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import blockml
from blockml.cli import main
from blockml.datasets import detect_format, open_dataset, site_of, validate
from blockml.errors import DatasetError, UnknownNameError, UsageError
from blockml.page import Label

DATA = Path(__file__).parents[2] / "data"


def write_corpus(folder: Path, rows: list[dict[str, Any]], pages: dict[str, bytes]) -> Path:
    """Write a folder in the corpus layout."""
    (folder / "pages").mkdir(parents=True)
    for name, html in pages.items():
        (folder / "pages" / f"{name}.html.gz").write_bytes(gzip.compress(html))
    with gzip.open(folder / "gold.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


def test_corpus_layout(tmp_path: Path) -> None:
    """Text, site, page type, flags and encoding are read, and a missing site is derived from the URL."""
    rows = [
        {"id": "a", "url": "http://x.example.co.uk/1", "main_content": "Héllo", "encoding": "cp1252", "with": ["H"]},
        {"id": "b", "site": "s", "page_type": "forum", "main_content": "", "flags": ["gold_empty_or_short"]},
        {"id": "c", "with": ["yes"], "without": ["no"], "encoding": "iso8859_15"},
    ]
    pages = {"a": "<p>Héllo</p>".encode("cp1252"), "b": b"<p>b</p>", "c": b"<p>c</p>"}
    dataset = open_dataset(f"mine={write_corpus(tmp_path / 'set', rows, pages)}")
    a, b, c = dataset.pages
    assert (dataset.name, dataset.format) == ("mine", "corpus")
    assert (a.site, b.site, c.site) == ("example.co.uk", "s", "c")
    assert (a.trusted, b.trusted, b.page_type) == (True, False, "forum")
    html, gold = a.load()
    assert blockml.parse(html, charset=a.charset).blocks.texts == ("Héllo",)
    assert gold is not None
    assert gold.text() == "Héllo"
    assert c.charset == "iso8859-15"
    assert c.gold is not None
    assert c.gold.text() is None


def test_ids_of_a_corpus_are_unique(tmp_path: Path) -> None:
    """Two rows with the same id are an error."""
    folder = write_corpus(tmp_path / "set", [{"id": "a", "main_content": name} for name in "xy"], {"a": b"<p>x</p>"})
    with pytest.raises(DatasetError, match="two pages have the id 'a'"):
        open_dataset(folder)


def test_names_of_data_sets_are_not_empty(tmp_path: Path) -> None:
    """An empty name, for example from an unset shell variable, is refused."""
    with pytest.raises(UsageError, match="the name before '=' is empty"):
        open_dataset(f"={tmp_path}")


def test_encodings_that_only_python_knows(tmp_path: Path) -> None:
    """A page in an encoding that only Python knows is converted to UTF-8."""
    rows = [{"id": "a", "main_content": "č", "encoding": "cp852"}]
    page = open_dataset(write_corpus(tmp_path / "set", rows, {"a": "<p>č</p>".encode("cp852")})).pages[0]
    html, _ = page.load()
    assert blockml.parse(html, charset=page.charset).blocks.texts == ("č",)


def test_encodings_of_page_folders(tmp_path: Path) -> None:
    """Page folders handle encodings like tables do: some are converted to UTF-8, and unknown ones are refused."""
    (tmp_path / "page.html").write_bytes("<p>č</p>".encode("cp852"))
    (tmp_path / "expected.txt").write_text("č", encoding="utf-8")
    (tmp_path / "meta.json").write_text('{"encoding": "cp852"}')
    page = open_dataset(tmp_path).pages[0]
    html, gold = page.load()
    assert blockml.parse(html, charset=page.charset).blocks.texts == ("č",)
    assert gold is not None
    (tmp_path / "meta.json").write_text('{"encoding": "klingon"}')
    with pytest.raises(DatasetError, match="unknown encoding 'klingon'"):
        open_dataset(tmp_path)


def test_folders_named_like_pages_are_not_pages(tmp_path: Path) -> None:
    """Folders whose names end in ``.html``, as in mirrors of sites, aren't read as pages in any layout."""
    for layout, names in {
        "flat": ("a.html", "a.txt"),
        "folders": ("p/page.html", "p/expected.txt"),
        "annotated": ("a.html",),
    }.items():
        folder = tmp_path / layout
        (folder / "mirror.html" / "page.html").mkdir(parents=True)
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("<p><span class=x-nc-sel2>Cats rule the world.</span></p>")
        dataset = open_dataset(folder)
        assert (dataset.format, len(dataset)) == (layout, 1)


def test_the_wrapper_of_cleaneval_is_removed(tmp_path: Path) -> None:
    """The ``text`` element that CleanEval adds around a page is removed."""
    rows = [{"id": "a", "main_content": "x", "has_text_wrapper": True}]
    pages = {"a": b'<text id="u" title="t">\n<html><body><p>x</p></body></html>\n</text>\n'}
    html, gold = open_dataset(write_corpus(tmp_path / "set", rows, pages)).pages[0].load()
    assert html.strip() == b"<html><body><p>x</p></body></html>"
    assert gold is not None


def test_cut_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table cut at the end of a line lacks pages; labels cut at the end of a line don't cover the page."""
    pages = {"a": b"<p>Cats rule", "b": b"<p>Dogs rule"}
    dataset = open_dataset(write_corpus(tmp_path / "set", [{"id": "a", "main_content": "Cats rule"}], pages))
    assert (len(dataset), dataset.failures) == (1, ("page b has no row in gold.jsonl.gz",))
    assert main(["datasets", str(tmp_path / "set")]) == 0
    assert "1 left out (page b has no row in gold.jsonl.gz)" in capsys.readouterr().err
    folder = tmp_path / "folders" / "a"
    folder.mkdir(parents=True)
    (folder / "page.html").write_text("<p>Cats rule<p>Dogs rule too", encoding="utf-8")
    line = '{"text": "Cats rule", "label": "main"}\n'
    (folder / "labels.jsonl").write_text(line, encoding="utf-8")
    assert main(["datasets", str(tmp_path / "folders")]) == 1
    assert "label mismatch" in capsys.readouterr().out
    (folder / "labels.jsonl").write_bytes(line.encode() + b'{"text": "Dogs \xe9')
    with pytest.raises(DatasetError, match=r"line 2 is not UTF-8 \(byte 0xe9\); save the file in UTF-8"):
        open_dataset(tmp_path / "folders")


def test_regions_by_xpath(tmp_path: Path) -> None:
    """Block types with XPaths become labels."""
    rows = [
        {
            "id": "a",
            "blocks": [{"type": "Menu", "xpath": "/html/body/ul"}, {"type": "Content", "xpath": "/html/body/p"}],
        }
    ]
    page = open_dataset(write_corpus(tmp_path / "set", rows, {"a": b"<ul><li>m</ul><p>c</p>"})).pages[0]
    html, gold = page.load()
    assert gold is not None
    assert gold.label(blockml.parse(html)).labels == (Label.NAVIGATION, Label.MAIN)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": 5}, "line 1: 'id' must be a string"),
        ({"id": "gone"}, "page 'gone' has no file"),
        ({"id": "[" * 2_000}, "page '.* has no file"),
        ({"id": "a\0"}, "page '.* has no file"),
        ({"id": "a", "encoding": "klingon"}, "unknown encoding 'klingon'"),
        ({"id": "a", "blocks": [{"type": "Hat", "xpath": "/html"}]}, "unknown block type 'Hat'"),
        ({"id": "a", "encoding": "zip"}, "unknown encoding 'zip'"),
        ({"id": "a", "encoding": "\ud800"}, "unknown encoding"),
        ({"id": "a", "encoding": 8}, "line 1: 'encoding' must be a string"),
        ({"id": "a", "main_content": ["x"]}, "line 1: 'main_content' must be a string"),
        ({"id": "a", "flags": "bad"}, "line 1: 'flags' must be a list of strings"),
        ({"id": "a", "with": [1]}, "line 1: 'with' must be a list of strings"),
        ({"id": "a", "blocks": [{"type": ["Menu"], "xpath": "/html"}]}, "line 1: 'blocks' must be a list of objects"),
        ({"id": "a", "blocks": {"xpath": "/html"}}, "line 1: 'blocks' must be a list of objects"),
        ({"id": "../a"}, "line 1: the id '../a' leads out of the folder"),
        ({"id": "/a"}, "line 1: the id '/a' leads out of the folder"),
        ({}, "line 1 has no 'id'"),
    ],
)
def test_damaged_corpus_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    """The error names the row and the problem."""
    folder = write_corpus(tmp_path / "set", [row], {"a": b"<p>x</p>"})
    with pytest.raises(DatasetError, match=message):
        open_dataset(folder)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("meta.json", b"[" * 100_000, "meta.json: the file is not JSON"),
        ("meta.json", b"[]", "meta.json: the file is not a JSON object"),
        ("meta.json", b'{"url": 1}', "meta.json: the file: 'url' must be a string"),
        ("meta.json", b"\xff", "meta.json: not UTF-8"),
        ("labels.jsonl", b"\xff", "line 1 is not UTF-8"),
        ("labels.jsonl", b"{}\n\xff", "labels.jsonl: line 1 needs the strings"),
        ("labels.jsonl", b'{"text": 1, "label": "main"}', "labels.jsonl: line 1 needs the strings 'text' and 'label'"),
        ("labels.jsonl", b'{"text": "x", "label": []}', "labels.jsonl: line 1 needs the strings 'text' and 'label'"),
    ],
)
def test_damaged_page_folder_is_named(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    """The error names the file, and the line if the file has several."""
    (tmp_path / "page.html").write_text("<p>x</p>", encoding="utf-8")
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        open_dataset(tmp_path, layout="folders")


def test_compressed_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is too long is an error that names it, and a page is cut off after the limit."""
    monkeypatch.setattr("blockml.datasets.sources.MAX_LINE", 10**6)
    rows = [{"id": "a", "main_content": "x"}, {"id": "b", "main_content": "x" * 10**6}]
    with pytest.raises(DatasetError, match=r"gold\.jsonl\.gz: line 2 is longer than 1000000 bytes"):
        open_dataset(write_corpus(tmp_path / "lines", rows, {"a": b"<p>x"}))
    limit = blockml.Limits().bytes
    pages = {"a": b"<p>x</p>" * (limit // 8 + 9)}
    for name, row in (("pages", rows[0]), ("wrapped", {**rows[0], "has_text_wrapper": True})):
        content, _ = open_dataset(write_corpus(tmp_path / name, [row], pages)).pages[0].load()
        assert len(content) == limit + 1


def test_page_folders(tmp_path: Path) -> None:
    """Each folder has one page with either kind of gold or none."""
    for name, files in {
        "one": {
            "page.html": "<p>A</p>",
            "expected.txt": "A",
            "meta.json": '{"url": "http://s.example/", "page_type": "article"}',
        },
        "deep/two": {"page.htm": "<p>B</p>", "labels.jsonl": '{"text": "B", "label": "comment"}\n'},
        "three": {"page.html": "<p>C</p>"},
    }.items():
        (tmp_path / name).mkdir(parents=True)
        for file, text in files.items():
            (tmp_path / name / file).write_text(text, encoding="utf-8")
    dataset = open_dataset(tmp_path)
    by_id = {page.id: page for page in dataset.pages}
    assert sorted(by_id) == ["deep/two", "one", "three"]
    assert by_id["one"].site == "s.example"
    assert by_id["three"].gold is None
    html, gold = by_id["deep/two"].load()
    assert gold is not None
    assert gold.label(blockml.parse(html)).labels == (Label.COMMENT,)


def test_unknown_label_names_the_legal_ones(tmp_path: Path) -> None:
    """A misspelt label is an error."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "page.html").write_text("<p>x</p>", encoding="utf-8")
    (tmp_path / "p" / "labels.jsonl").write_text('{"text": "x", "label": "mian"}\n', encoding="utf-8")
    with pytest.raises(DatasetError, match="line 1: unknown label 'mian'; choose one of: advertisement"):
        open_dataset(tmp_path)


def test_annotated_folder(tmp_path: Path) -> None:
    """Annotated files are read as UTF-8, whatever they declare."""
    html = '<meta charset="gb2312"><p><span class="x-nc-sel1">Grüße</span> und mehr</p>'
    (tmp_path / "p1.html.gz").write_bytes(gzip.compress(html.encode()))
    page = open_dataset(tmp_path).pages[0]
    source, gold = page.load()
    parsed = blockml.parse(source, charset=page.charset)
    assert parsed.blocks.texts == ("Grüße und mehr",)
    assert gold is not None
    assert gold.text() == "Grüße"


def test_an_empty_table(tmp_path: Path) -> None:
    """A table without rows is an error, like a folder without pages."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "gold.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"gold\.jsonl: the table has no page"):
        open_dataset(tmp_path)


def test_folders_without_pages_name_the_layouts(tmp_path: Path) -> None:
    """The error lists the layouts that can be read."""
    with pytest.raises(DatasetError, match="known layouts: corpus"):
        detect_format(tmp_path)
    with pytest.raises(DatasetError, match="no such folder"):
        open_dataset(tmp_path / "none")
    with pytest.raises(UnknownNameError, match="unknown layout 'zip'; choose one of: annotated, cleaneval"):
        open_dataset(tmp_path, layout="zip")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://a.b.example.com:8080/x", "example.com"),
        ("http://EXAMPLE.org./", "example.org"),
        ("http://www.abc.net.au/", "abc.net.au"),
        ("http://192.168.0.1/x", "192.168.0.1"),
        ("/relative/path", "page"),
        ("", "page"),
    ],
)
def test_site_of_url(url: str, site: str) -> None:
    """The site is the registrable domain of the URL, else the default."""
    assert site_of(url, "page") == site


def test_validation_finds_defects(tmp_path: Path) -> None:
    """Each kind of defect is reported once."""
    text = "one two three four five six seven eight nine ten eleven twelve"
    page = f"<p>{text}</p>".encode()
    rows = [
        {"id": "good", "main_content": "fine and good"},
        {"id": "tool", "main_content": "left by a tool"},
        {"id": "markup", "main_content": "with <p>markup</p>"},
        {"id": "empty", "main_content": " "},
        {"id": "cut", "main_content": "one two three four"},
        {"id": "wrong", "main_content": "nothing of this stands there"},
        {"id": "same", "main_content": text},
    ]
    pages = {
        "good": b"<p>fine and good</p>",
        "tool": b'<p class="x-nc-sel2">left by a tool</p>',
        "markup": b"<p>with markup</p>",
        "empty": b"<p>words</p>",
        "cut": page,
        "wrong": b"<p>other words</p>",
        "same": page,
    }
    findings = validate(open_dataset(write_corpus(tmp_path / "set", rows, pages)))
    assert {(finding.page_id, finding.kind) for finding in findings} == {
        ("tool", "contamination"),
        ("markup", "contamination"),
        ("markup", "missing words"),
        ("empty", "empty gold"),
        ("cut", "truncation"),
        ("wrong", "missing words"),
        ("cut", "contradiction"),
        ("same", "contradiction"),
    }


def test_our_pages_are_valid() -> None:
    """The validator finds nothing in the pages of data/."""
    assert validate(open_dataset(DATA / "sites")) == []
    assert validate(open_dataset(DATA / "pages")) == []
