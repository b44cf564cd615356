"""Tables and published layouts are read without preparation."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import os
import pickle
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import blockml
from blockml.cli import main
from blockml.datasets import Dataset, LabelledPage, open_dataset
from blockml.datasets.label_studio import SpanGold, label_studio_task
from blockml.datasets.sources import page_content
from blockml.errors import BlockmlError, DatasetError, MissingExtraError, UnknownNameError, UsageError
from blockml.page import Label, Nodes

CATS = '<h1>Cats</h1>\n<p>Cats rule; "really",\nthe world.</p><ul><li>Home</ul>'
GOLD = 'Cats\nCats rule; "really", the world.'
ROWS = [
    {"id": "a", "url": "https://cat.example/a", "html": CATS, "main_text": GOLD},
    {"id": "b", "url": "https://dog.example/b", "html": "<p>Grüße</p>", "main_text": "Grüße"},
]


def write_csv(path: Path, rows: list[dict[str, Any]] = ROWS, *, encoding: str = "utf-8", **options: Any) -> Path:
    """Write rows as CSV."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding=encoding, newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_parquet(path: Path) -> Path:
    """Write rows as Parquet, with pages as bytes."""
    pa = pytest.importorskip("pyarrow", reason="needs the extra arrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([row | {"html": row["html"].encode()} for row in ROWS]), path)
    return path


def write(path: Path, text: str) -> Path:
    """Write a text file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


FILES: Mapping[str, Callable[[Path], Path]] = {
    "csv": lambda folder: write_csv(folder / "t.csv"),
    "csv.gz": lambda folder: write_csv(folder / "t.csv.gz"),
    "tsv": lambda folder: write_csv(folder / "t.tsv", delimiter="\t"),
    "Excel": lambda folder: write_csv(folder / "t.csv", encoding="utf-8-sig", delimiter=";"),
    "UTF-16": lambda folder: write_csv(folder / "t.csv", encoding="utf-16"),
    "json": lambda folder: write(folder / "t.json", json.dumps(ROWS)),
    "json by id": lambda folder: write(folder / "t.json", json.dumps({str(row["id"]): row for row in ROWS})),
    "json columns": lambda folder: write(
        folder / "t.json", json.dumps({key: {str(n): row[key] for n, row in enumerate(ROWS)} for key in ROWS[0]})
    ),
    "jsonl": lambda folder: write(folder / "t.jsonl", "\n".join(map(json.dumps, ROWS))),
    "parquet": lambda folder: write_parquet(folder / "t.parquet"),
}


def content(data: Dataset) -> list[tuple[str, str | None, str, str | None]]:
    """Return id, URL, page and gold text of all pages."""
    found = []
    for page in data.pages:
        html, gold = page.load()
        found.append((page.id, page.url, html.decode(), gold.text() if gold else None))
    return found


EXPECTED = [(row["id"], row["url"], row["html"], row["main_text"]) for row in ROWS]


@pytest.mark.parametrize("kind", FILES)
def test_table_files(kind: str, tmp_path: Path) -> None:
    """Every format gives the same pages and gold."""
    data = open_dataset(FILES[kind](tmp_path))
    assert content(data) == EXPECTED
    assert (data.name, data.format, [page.site for page in data.pages]) == (
        "t",
        "table",
        ["cat.example", "dog.example"],
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow", "list", "iterator", "columns"])
def test_data_in_memory(kind: str) -> None:
    """Data frames, Arrow tables and Python objects give the same pages and gold."""
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    data: Any = {"list": ROWS, "iterator": iter(ROWS), "columns": columns}.get(kind)
    if kind == "pandas":
        data = pytest.importorskip("pandas", reason="needs pandas").DataFrame(ROWS)
    elif kind in ("polars", "lazy"):
        frame = pytest.importorskip("polars", reason="needs polars").DataFrame(ROWS)
        data = frame.lazy() if kind == "lazy" else frame
    elif kind == "arrow":
        data = pytest.importorskip("pyarrow", reason="needs the extra arrow").table(columns)
    assert content(open_dataset(data, name="mine")) == EXPECTED


def test_spooled_pages_outlive_their_data_set() -> None:
    """Spooled pages can be pickled, and their temporary file is deleted with the last of them."""
    pages = open_dataset(ROWS).pages
    path = pages[0].reader.spool.path  # type: ignore[union-attr]
    copy = pickle.loads(pickle.dumps(pages[1]))  # noqa: S301
    assert copy.load()[0] == b"<p>Gr\xc3\xbc\xc3\x9fe</p>"
    del copy
    assert path.exists()
    del pages
    assert not path.exists()


def test_open_data_sets_and_lists_of_pages() -> None:
    """An open data set is returned unchanged, and a list of its pages is a data set."""
    data = open_dataset(ROWS, name="x")
    assert open_dataset(data) is data
    assert open_dataset(data, name="y").name == "y"
    pages: list[LabelledPage] = list(data.pages)
    assert content(open_dataset(pages)) == EXPECTED
    with pytest.raises(DatasetError, match="two pages have the same id"):
        open_dataset([pages[0], pages[0]])


def test_equal_pages_have_equal_checksums(tmp_path: Path) -> None:
    """The checksum depends on the pages and not on the format of the table."""
    first, second = open_dataset(FILES["csv"](tmp_path)), open_dataset(FILES["jsonl"](tmp_path))
    assert first.checksum() == second.checksum()
    changed = [*ROWS[:1], ROWS[1] | {"html": "<p>Other</p>"}]
    assert open_dataset(changed).checksum() != first.checksum()


def test_pages_in_files_and_block_rows(tmp_path: Path) -> None:
    """Pages are found relative to the table, and labels are matched by text or XPath."""
    write(tmp_path / "pages" / "a.html", CATS)
    rows = 'page,text,label\npages/a.html,Cats,title\npages/a.html,"Cats rule; ""really"", the world.",1\n'
    by_text = open_dataset(write(tmp_path / "t.csv", rows + "pages/a,Home,navigation\n".replace("a,", "a.html,"))).pages
    rows = "page,xpath,label\npages/a,/html/body/h1,heading\npages/a,/html/body/p/text()[1],main\n"
    by_path = open_dataset(write(tmp_path / "x.csv", rows)).pages
    for page in (by_text[0], by_path[0]):
        html, gold = page.load()
        assert page.id == "pages/a"
        assert gold is not None
        assert gold.label(blockml.parse(html)).main.tolist() == [True, True, False]
    with pytest.raises(DatasetError, match="row 3: the id 'a' is on rows that are not adjacent"):
        open_dataset([{"id": n, "html": CATS, "text": "Cats", "label": 1} for n in "aba"])
    with pytest.raises(DatasetError, match="row 1: unknown label 'mian'; choose one of: advertisement"):
        open_dataset([{"id": "a", "html": CATS, "text": "Cats", "label": "mian"}])


def test_snippets() -> None:
    """Snippets can be lists or lines in a cell."""
    for value in (["Cats rule"], "Cats rule\n"):
        gold = open_dataset([{"html": CATS, "with": value, "without": "Home"}]).pages[0].load()[1]
        assert gold == blockml.datasets.SnippetGold(("Cats rule",), ("Home",))


def test_columns_can_be_named() -> None:
    """Columns with unrecognised names can be given, and errors list the existing columns."""
    rows = [{"seite": CATS, "inhalt": GOLD}]
    columns = {"html": "seite", "text": "inhalt"}
    assert content(open_dataset(rows, columns=columns)) == [("1", None, CATS, GOLD)]
    with pytest.raises(
        DatasetError, match=r"no column of pages was recognised; the columns are: seite, inhalt; .*html':"
    ):
        open_dataset(rows)
    with pytest.raises(
        DatasetError, match=r"no column of gold was recognised; the columns are: seite, inhalt; .*text':"
    ):
        open_dataset(rows, columns={"html": "seite"})
    with pytest.raises(UsageError, match="no column 'page'; the columns are: seite, inhalt"):
        open_dataset(rows, columns={"html": "page"})
    with pytest.raises(UnknownNameError, match="unknown kind of column 'main'; choose one of: encoding, flags, html"):
        open_dataset(rows, columns={"main": "inhalt"})
    # A column can't be both the page and the gold.
    assert content(open_dataset([{"content": CATS, "main_text": GOLD}]))[0][2:] == (CATS, GOLD)
    assert content(open_dataset([{"html": CATS, "content": GOLD}]))[0][2:] == (CATS, GOLD)


BAD: Mapping[str, tuple[str, bytes, str]] = {
    "empty file": ("t.csv", b"", "the table has no rows"),
    "header only": ("t.csv", b"html,text\n", "the table has no rows"),
    "latin-1": ("t.csv", b"html,text\n<p>x,x\n<p>\xe9,x\n", "line 3 is not UTF-8 .*CSV UTF-8"),
    "comma in a text": ("t.csv", b"html,text\n<p>x,a,b\n", "row 1 has 3 cells, the header has 2"),
    "UTF-16 without a mark": ("t.csv", "html,text\n".encode("utf-16-le"), "UTF-16 without a byte order mark"),
    "Excel file": ("t.csv", b"PK\x03\x04", "is a ZIP archive or an Excel file; save the table in UTF-8"),
    "two columns": ("t.csv", b"html,html,text\n<p>x,<p>y,x\n", "two columns have the name 'html'"),
    "no header": ("t.csv", b"<p>x,y\n<p>z,y\n", "the first row must have the names of the columns"),
    "broken address": ("t.csv", b"html,text\nhttp://[::1,x\n", "has the address 'http://.::1' instead of a page"),
    "broken file URL": (
        "t.csv",
        b"html,text\nfile://[a.html,x\n",
        "names a file that does not exist, 'file://.a.html'",
    ),
    "text with an address": ("t.csv", b"html,text\nsee http://x.example/,x\n", "^((?!has the address).)*$"),
    "addresses": ("t.csv", b"html,text\nhttps://x.example/,x\n", "has the address .* pages are not downloaded"),
    "JSON array": ("t.jsonl", b'[{"html": "<p>x", "text": "x"}]', "each line must be one object"),
    "carriage return": ("t.csv", b"html,text\n<p>x,a\rb\n", "line 2 is not CSV"),
    "same id": ("t.csv", b"id,html,text\n1,<p>x,x\n1,<p>y,y\n", "row 2: the id '1' occurs twice"),
    "no page": ("t.csv", b"html,text\n,x\n,y\n", "no row has a page: row 1 has no page; row 2 has no page"),
    "no file": ("t.csv", b"html,text\na.html,x\n", "row 1 names a file that does not exist, 'a.html'"),
    "not JSON": ("t.jsonl", b'{"html": "<p>x", "text": "x"}\n{"html"\n', "line 2 is not JSON"),
    "not an object": ("t.jsonl", b'{"html": "<p>x", "text": "x"}\n[1]\n', "line 2 is not a JSON object"),
    "nested": ("t.jsonl", b'{"html": "<p>x", "text": {"a": "x"}}\n', "row 1: 'text' is an object, not a text"),
    "number": ("t.jsonl", b'{"html": "<p>x", "text": [1]}\n', "row 1: the gold is a list, not a text"),
    "scalar JSON": ("t.json", b"3", "data must be a folder"),
    "cut gzip": ("t.csv.gz", gzip.compress(b"html,text\n<p>x,x\n" * 999)[:-20], "cannot be read"),
    "encoding": ("t.jsonl", b'{"html": "t.jsonl", "text": "x", "encoding": "xyz"}', "unknown encoding 'xyz'"),
    "Parquet": ("t.parquet", b"PAR1xx", "not a readable Parquet file"),
    "suffix": ("t.xlsx", b"PK", "the suffixes of tables are .csv, .tsv.* save a spreadsheet as 'CSV UTF-8'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables(case: str, tmp_path: Path) -> None:
    """Damaged tables raise an error that names the row, and the command exits with the code for bad input."""
    name, data, message = BAD[case]
    if case == "Parquet":
        pytest.importorskip("pyarrow", reason="needs the extra arrow")
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BlockmlError, match=message):
        open_dataset(path)
    assert main(["datasets", str(path)]) in (2, 3)


@pytest.mark.parametrize("name", ["a" * 5_000, "a/" * 3_000, 1e308, 10**400, "\0"])
def test_impossible_names_of_files(name: object) -> None:
    """A name that no file can have is a page that is missing."""
    with pytest.raises(DatasetError, match="names a file that does not exist"):
        open_dataset([{"path": name, "text": "cats"}])


def spooled(page: Any, gold: Any = GOLD, **options: Any) -> tuple[bytes, str | None]:
    """Return page and gold of a table of one row."""
    (page,) = open_dataset([{"html": page, "text": gold}], **options).pages
    html, found = page.load()
    return html, None if found is None else found.text()


PAGE = CATS.encode()
FORMS: Mapping[str, Any] = {
    "bytearray": bytearray(PAGE),
    "memoryview": memoryview(PAGE),
    "gzip": gzip.compress(PAGE),
    "base64": base64.b64encode(PAGE).decode(),
    "base64 in lines": base64.encodebytes(PAGE).decode(),
    "gzip in base64": base64.b64encode(gzip.compress(PAGE)).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_page(form: str) -> None:
    """Pages are unpacked; a damaged one is an error."""
    assert spooled(FORMS[form]) == (PAGE, GOLD)
    with pytest.raises(DatasetError, match=r"row 1: the page is a damaged \.gz stream"):
        spooled(gzip.compress(PAGE)[:-20])


def test_forms_of_gold(tmp_path: Path) -> None:
    """Gold may be markup, a list of paragraphs, or a text file; a text with a tag in it stays as it is."""
    write(tmp_path / "a.txt", GOLD)
    write(tmp_path / "a.html", CATS)
    (page,) = open_dataset(write(tmp_path / "t.csv", "file,text\na.html,a.txt\n")).pages
    gold = page.load()[1]
    assert gold is not None
    assert gold.text() == GOLD
    for form in (GOLD.split("\n"), tuple(GOLD.split("\n")), "<h1>{}</h1><p>{}</p>".format(*GOLD.split("\n"))):
        assert spooled(CATS, form)[1] == GOLD
    assert spooled(CATS, "<p> is a tag")[1] == "<p> is a tag"
    assert spooled(CATS, "<p>un<b>believ</b>able cats</p>")[1] == "unbelievable cats"
    long_name = "cats " * 100 + "robots.txt"  # no file system holds such a name
    assert spooled(CATS, long_name)[1] == long_name
    (by_name,) = open_dataset([{"html": CATS, "content_html": f"<p>{GOLD}</p>"}]).pages
    assert by_name.load()[1] is not None


CSV_FORMS = {
    "line for Excel": "sep=;\r\nhtml;text\r\n{0};{1}\r\n",
    "trailing separators": "html,text,,\r\n{0},{1},,\r\n",
    "other case": "Page-HTML,Main Text\r\n{0},{1}\r\n",
    "key first": "PK,html,text\r\n1,{0},{1}\r\n",
}


@pytest.mark.parametrize("form", CSV_FORMS)
def test_forms_of_csv(form: str, tmp_path: Path) -> None:
    """Spreadsheets and engines write different CSV."""
    cells = ['"' + text.replace('"', '""') + '"' for text in (CATS, GOLD)]
    (page,) = content(open_dataset(write(tmp_path / "t.csv", CSV_FORMS[form].format(*cells))))
    assert page[2:] == (CATS, GOLD)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ('a,<p>One two.</p>,One two.\nb,<p>Five six.</p>,"Five si', "line 3 is not CSV (the file ends inside of a"),
        ('a,"<p>One two.</p>,One two.\nb,"<p>x</p>",x\nc,"<p>y</p>",y\n', "line 3 is not CSV (text follows a"),
        ('a,"<p>One two.</p>,One two.\nb,<p>x</p>,x\n', "line 3 is not CSV (the file ends inside of a quoted cell"),
        ('a,"<p class="x">One two.</p>",One two.\n', "line 2 is not CSV (text follows a closing quote"),
    ],
)
@pytest.mark.parametrize("name", ["gold.csv", "gold.tsv"])
def test_a_missing_quote_is_an_error(tmp_path: Path, name: str, rows: str, words: str) -> None:
    """A table that is cut off inside of a cell, or lacks a quote, isn't read as gold of other rows."""
    text = f"id,html,text\n{rows}"
    (tmp_path / name).write_text(text.replace(",", "\t") if name.endswith("tsv") else text, encoding="utf-8")
    with pytest.raises(DatasetError, match=re.escape(words)):
        open_dataset(tmp_path / name)


def test_quotes_with_backslashes(tmp_path: Path) -> None:
    """Spark escapes quotes with backslashes; where quotes are doubled, a backslash may end a cell."""
    path = write_csv(tmp_path / "spark.csv", doublequote=False, escapechar="\\")
    assert content(open_dataset(path)) == EXPECTED
    path = write(tmp_path / "spark.csv", 'html,text\n"<p class=\\"a\\">C:\\d",C:\\d\n')
    assert content(open_dataset(path))[0][2:] == ('<p class="a">C:\\d', "C:\\d")
    path = write(tmp_path / "t.csv", 'html,text\n<p>C:,"C:\\"\n')
    assert content(open_dataset(path))[0][3] == "C:\\"


def test_names_of_files(tmp_path: Path) -> None:
    """Pages are found by addresses of files and names with backslashes, outside of the table's folder if allowed."""
    page = write(tmp_path / "pages" / "a.html", "<link rel=canonical href=https://www.cat.example/a>" + CATS)
    table = tmp_path / "tables" / "t.csv"
    for name in ("../pages/a.html", "..\\pages\\a.html", page.as_uri(), str(page)):
        rows = write(table, f"file,text\n{name},Cats\n")
        with pytest.raises(DatasetError, match=r"outside of the table's folder.* --outside-files"):
            open_dataset(rows)
        (found,) = open_dataset(rows, outside_files=True).pages
        assert found.load()[0] == page.read_bytes()
        assert (found.url, found.site, found.site_known) == ("https://www.cat.example/a", "cat.example", True)
        (found,) = open_dataset(write(tmp_path / "t.csv", f"file,text\n{name.replace('..', 'tables/..')},Cats\n")).pages
        assert found.load()[0] == page.read_bytes()


def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither pages nor gold, in files or in memory, through links or exports, come from another folder."""
    write(tmp_path / "secret.html", CATS)
    write(tmp_path / "secret.txt", "secret")
    (tmp_path / "mine").mkdir()
    if hasattr(os, "symlink"):
        (tmp_path / "mine" / "link.html").symlink_to(tmp_path / "secret.html")
    monkeypatch.chdir(tmp_path / "mine")
    address = (tmp_path / "secret.html").as_uri()
    for name in (
        "../secret.html",
        "../secret",
        str(tmp_path / "secret.html"),
        address,
        "link.html",
        "x/../../secret.html",
    ):
        row = {"html": name, "text": "Cats"}
        with pytest.raises(DatasetError, match=r"no row has a page: row 1 names a file (outside|that does not exist)"):
            open_dataset([row])
        for table, text in (
            ("t.json", json.dumps([row])),
            ("t.jsonl", json.dumps(row)),
            ("e.json", json.dumps([{"data": {"html": name}, "annotations": []}])),
        ):
            with pytest.raises(DatasetError, match="no row has a page"):
                open_dataset(write(tmp_path / "mine" / table, text))
    for gold in ("../secret.txt", str(tmp_path / "secret.txt")):
        with pytest.raises(DatasetError, match="row 1: the gold names a file outside"):
            open_dataset([{"html": CATS, "text": gold}])
        (page,) = open_dataset([{"html": CATS, "text": gold}], outside_files=True).pages
        assert page.load()[1] is not None
    assert main(["label", str(tmp_path / "mine" / "t.jsonl"), "--format", "label-studio", "-o", "x.json"]) == 3


def test_the_address_in_a_page_tells_its_site() -> None:
    """Without a column of addresses or sites; with one, the page is not asked."""
    page = "<link rel=canonical href=https://www.cat.example/a>" + CATS
    (found,) = open_dataset([{"html": page, "text": GOLD}]).pages
    assert (found.url, found.site) == ("https://www.cat.example/a", "cat.example")
    (found,) = open_dataset([{"html": page.encode(), "text": GOLD, "site": "dogs"}]).pages
    assert (found.url, found.site) == (None, "dogs")


def test_part_files(tmp_path: Path) -> None:
    """A folder of part files, as engines write it, is one table."""
    (tmp_path / "table").mkdir()
    for number, row in enumerate(ROWS):
        write_csv(tmp_path / "table" / f"part-{number}.csv", [row])
    assert content(open_dataset(tmp_path / "table")) == EXPECTED
    (tmp_path / "out.json").mkdir()
    write(tmp_path / "out.json" / "_SUCCESS", "")
    write(tmp_path / "out.json" / "part-0.json", json.dumps(ROWS))
    assert content(open_dataset(tmp_path / "out.json")) == EXPECTED


def test_a_long_cell_that_is_nearly_base64_is_read_in_linear_time() -> None:
    """A long cell of white space between letters is a name of a file, found in one pass."""
    assert page_content("a" * 40 + " " * 1_000_000 + "!") is None


def test_named_indices_are_columns() -> None:
    """A frame with the addresses as index keeps them."""
    frame = pytest.importorskip("pandas", reason="needs pandas").DataFrame(ROWS).set_index("url")
    assert content(open_dataset(frame)) == EXPECTED


def test_arrow_batches() -> None:
    """Batches, readers of batches and lists of batches are tables."""
    pa = pytest.importorskip("pyarrow", reason="needs the extra arrow")
    table = pa.Table.from_pylist(ROWS)
    (batch,) = table.to_batches()
    for data in (batch, [batch], pa.RecordBatchReader.from_batches(table.schema, [batch])):
        assert content(open_dataset(data)) == EXPECTED


def test_addresses_and_wrong_items() -> None:
    """Errors name the remedy."""
    with pytest.raises(UsageError, match=r"https://cat.example/t.csv: is an address; download it"):
        open_dataset("https://cat.example/t.csv")
    with pytest.raises(DatasetError, match="row 1 is a tuple; give dicts with the keys html and text"):
        open_dataset([(CATS, GOLD)])
    rows = [
        {"id": "a", "html": CATS, "text": text, "label": label} for text, label in (("Cats", "yes"), ("Home", None))
    ]
    with pytest.raises(DatasetError, match="row 2: has no label; 'ignore' marks"):
        open_dataset(rows)


def test_rows_without_page_are_left_out_with_a_warning() -> None:
    """Empty cells, NaN and None are missing pages or gold, and huge cells are read."""
    rows = [*ROWS, {"html": None, "main_text": "x"}, {"html": float("nan"), "main_text": "x"}]
    rows += [{"id": "n", "html": "<p>" + "x " * 100_000, "main_text": float("nan")}]
    with pytest.warns(UserWarning, match="<list>: 2 rows left out: row 3 has no page; row 4 has no page"):
        data = open_dataset(rows)
    assert data.failures == ("row 3 has no page", "row 4 has no page")
    assert "3 pages (2 left out)" in repr(data)
    assert data.pages[2].load()[1] is None


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Reading Parquet files needs .*\.\[arrow\]"):
        open_dataset(write(tmp_path / "t.parquet", "x"))


def test_published_layouts(tmp_path: Path) -> None:
    """Layouts of published collections are recognised, with URL, page type and comments."""
    write(tmp_path / "s" / "html" / "1.html", CATS)
    write(tmp_path / "s" / "ground-truth.json", json.dumps({"1": {"articleBody": GOLD, "url": "https://cat.example"}}))
    write(tmp_path / "w" / "html" / "1.html", CATS)
    gold = {"main_content": GOLD, "with": ["Cats"], "without": ["Home"]}
    kind = {"page_type": {"primary": "article"}}
    write(tmp_path / "w" / "ground-truth" / "1.json", json.dumps({"_internal": kind, "ground_truth": gold}))
    write(tmp_path / "d" / "HTML" / "1.html", CATS)
    write(tmp_path / "d" / "Corrected" / "1.html.corrected.txt", GOLD + "\n\n!@#$%^&*()  COMMENTS\n\nSo true")
    marked = 'URL: https://cat.example\n\n<h>Cats\n<p>Cats rule; "really",\nthe world.\n'
    write(tmp_path / "c" / "1.html", f"<text id='x'>{CATS}</text>")
    write(tmp_path / "c" / "1-cleaned.txt", marked)
    write(tmp_path / "c2" / "original" / "1.html", CATS)
    write(tmp_path / "c2" / "gold" / "1-cleaned.txt", marked)
    found = {name: open_dataset(tmp_path / name) for name in ("s", "w", "d", "c", "c2")}
    formats = ["scrapinghub", "wcxb", "dragnet", "cleaneval", "cleaneval"]
    assert [data.format for data in found.values()] == formats
    for data in found.values():
        (_, _, html, text) = content(data)[0]
        assert (html, (text or "").split()) == (CATS, GOLD.split())
    assert found["d"].pages[0].extra["comments"] == "So true"
    assert found["w"].pages[0].page_type == "article"
    assert [found[name].pages[0].url for name in ("s", "c")] == ["https://cat.example"] * 2


def test_label_studio_round_trip(tmp_path: Path) -> None:
    """Labels exported as tasks are imported unchanged, with the offsets of a browser's text nodes."""
    html = "<body>\n <h1>Cats</h1>\n<div>\n<br>\n Cats rule. </div><p>Maybe</p><p>Home</p></body>"
    labels = ["heading", "main", "ignore", "navigation"]
    texts = [block.text for block in blockml.parse(html).blocks]
    write(tmp_path / "in" / "a" / "page.html", html)
    rows = zip(texts, labels, strict=True)
    write(tmp_path / "in" / "a" / "labels.jsonl", "\n".join(json.dumps({"text": t, "label": n}) for t, n in rows))
    tasks = tmp_path / "tasks.json"
    assert (
        main(["label", str(tmp_path / "in"), "--format", "label-studio", "-o", str(tasks), "--model", "kim2013"]) == 0
    )
    (task,) = json.loads(tasks.read_text(encoding="utf-8"))
    second = task["annotations"][0]["result"][1]["value"]
    assert (second["start"], second["end"]) == ("/div/text()[2]", "/div/text()[2]")
    assert (second["startOffset"], second["endOffset"]) == (2, 12)
    data = open_dataset(tasks)
    assert (data.format, data.pages[0].id) == ("label-studio", "a")
    source, gold = data.pages[0].load()
    assert gold is not None
    found = gold.label(blockml.parse(source))
    assert [str(label) for label in found.labels or ()][:2] == labels[:2]
    assert found.known.tolist() == [True, True, False, True]
    assert gold.text() == "Cats\nCats rule."


@pytest.mark.parametrize("form", ["<p>{{}}</p>", "<{0}>" * 9 + "{{}}"])
def test_tasks_of_many_lines_are_linear(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Siblings are numbered once for all regions, and long names of elements are not repeated in each of them."""
    n_lines, calls = 4000, 0
    xpaths = Nodes.xpaths

    def counted(nodes: Nodes, found: Sequence[int]) -> list[str]:
        nonlocal calls
        calls += 1
        return xpaths(nodes, found)

    monkeypatch.setattr(Nodes, "xpaths", counted)
    html = form.format("x-" + "y" * 90).format("some words<br>" * n_lines)
    page = blockml.parse(html)
    task = label_studio_task("a", html, page, [Label.MAIN] * n_lines, is_done=True)
    result = task["annotations"][0]["result"]
    assert len(result) == n_lines
    path = "/p" if form.startswith("<p") else "/descendant::*[12]"
    assert result[-1]["value"]["start"] == f"{path}/text()[{n_lines}]"
    assert calls == 1
    gold = SpanGold(tuple((r["value"]["start"], r["value"]["end"], "some words", Label.MAIN) for r in result[:3]))
    assert gold.missing(page) == []


def test_numbers_of_thousands_of_digits_in_a_path() -> None:
    """An XPath with a number that Python refuses to read finds nothing, and its text is searched for."""
    page = blockml.parse("<p>One</p><p>Two</p>")
    assert page.nodes.find(f"/html/body/p[{'9' * 5000}]") is None
    path = f"/p[{'1' * 5000}]/text()[1]"
    assert SpanGold(((path, path, "Two", Label.MAIN),)).label(page).main.tolist() == [False, True]
    assert SpanGold(((path, path, "Three", Label.MAIN),)).missing(page) == [path]


def test_label_studio_damage(tmp_path: Path) -> None:
    """Cancelled annotations are skipped, moved text is found by its content, and unknown labels are an error."""
    value = {
        "start": "/p[9]/text()[1]",
        "end": "/p[9]/text()[1]",
        "text": "Grüße\\nan alle",
        "hypertextlabels": ["Main"],
    }
    result = {"type": "hypertextlabels", "value": value}
    cancelled = {"was_cancelled": True, "result": []}
    task = {"id": 7, "data": {"text": "<p>Grüße<p>an alle"}, "annotations": [cancelled, {"result": [result]}]}
    page = open_dataset(write(tmp_path / "x.json", json.dumps([task]))).pages[0]
    html, gold = page.load()
    assert page.id == "7"
    assert gold is not None
    assert gold.label(blockml.parse(html)).main.tolist() == [True, True]  # found by its text
    assert gold.missing(blockml.parse("<p>Other")) == ["/p[9]/text()[1]"]  # type: ignore[attr-defined]
    value["hypertextlabels"] = ["Mian"]
    with pytest.raises(DatasetError, match="task 1: unknown label 'Mian'"):
        open_dataset(write(tmp_path / "x.json", json.dumps([task])))
    value["hypertextlabels"] = ["Main"]
    odd_parts: list[dict[str, object]] = [
        {"start": 5},
        {"end": None},
        {"text": {}},
        {"hypertextlabels": [], "labels": []},
    ]
    for odd in odd_parts:
        changed = {"type": "labels", "value": value | odd}
        with pytest.raises(DatasetError, match="task 1 is not a Label Studio task"):
            open_dataset(write(tmp_path / "x.json", json.dumps([task | {"annotations": [{"result": [changed]}]}])))


def test_commands_take_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--dataset`` accepts a table, ``--columns`` names its columns, and ``datasets`` prints what was recognised."""
    rows = [{"n": row["id"], "seite": row["html"], "inhalt": row["main_text"]} for row in ROWS] + [
        {"n": "c", "seite": "", "inhalt": "x"}
    ]
    path = write_csv(tmp_path / "t.csv", rows)
    columns = ["--columns", "id=n,html=seite,text=inhalt"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        main(["datasets", f"mine={path}", *columns])
    shown = capsys.readouterr().err
    assert "t.csv: 1 row left out: row 3 has no page" in shown
    assert "mine: table, 2 pages" in shown
    assert main(["evaluate", "bte", "--dataset", str(path), *columns]) == 0
    assert main(["evaluate", "bte", "--dataset", str(path), "--columns", "html"]) == 2
    assert "--columns takes KIND=NAME pairs" in capsys.readouterr().err
    assert main(["evaluate", "bte", "--dataset", "data/pages", *columns]) == 2


@pytest.mark.parametrize(
    "html",
    [b"", b"<!-- x -->", b"\x89PNG\r\n\x1a\n\0\0", b"<script>x</script>", b"<?xml version='1.0' encoding='utf-8'?>"],
)
def test_pages_that_are_no_document_become_tasks(html: bytes, tmp_path: Path) -> None:
    """A page without blocks is a task without regions, and a declared encoding doesn't matter to a decoded page."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_bytes(html)
    (tmp_path / "in" / "b.html").write_bytes(b"<?xml version='1.0' encoding='utf-8'?><p>Cats rule.")
    tasks = tmp_path / "tasks.json"
    command = ["label", str(tmp_path / "in"), "--format", "label-studio", "-o", str(tasks), "--model", "plain"]
    assert main(command) == 0
    empty, full = json.loads(tasks.read_text())
    assert empty["predictions"][0]["result"] == []
    assert [region["value"]["text"] for region in full["predictions"][0]["result"]] == ["Cats rule."]
