"""Pages to label from tables, JSON lines, WARC files and published layouts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from blockml.datasets import open_dataset
from blockml.errors import DatasetError, InputError, UsageError
from blockml.extractors import resolve
from blockml.labelling.store import LabelStore, labels_folder, pages_to_label
from blockml.page import Label
from blockml.storage.atomic import safe_file_name

HTML = "<title>Cats</title><h1>Cats {0}</h1><p>Cats rule the world {0}.</p>"
WARC = (
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://cats.example/{id}\r\n"
    b"WARC-Record-ID: <urn:uuid:{id}>\r\nContent-Type: application/http; msgtype=response\r\n"
    b"Content-Length: {size}\r\n\r\n"
)


def warc_record(name: str) -> bytes:
    """A response of a WARC file."""
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML.format(name).encode()
    head = WARC.replace(b"{id}", name.encode()).replace(b"{size}", str(len(body)).encode())
    return head + body + b"\r\n\r\n"


def table_of(path: Path) -> list[str]:
    """A CSV of two pages, with a column of ids and no gold."""
    cells = "".join(f'{name},https://cats.example/{name},"{HTML.format(name)}"\n' for name in "ab")
    path.with_suffix(".csv").write_text("id,url,html\n" + cells, encoding="utf-8")
    return [str(path.with_suffix(".csv"))]


def lines_of(path: Path) -> list[str]:
    """Compressed JSON lines of two pages."""
    rows = [{"id": name, "url": f"https://cats.example/{name}", "html": HTML.format(name)} for name in "ab"]
    with gzip.open(path.with_suffix(".jsonl.gz"), "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return [str(path.with_suffix(".jsonl.gz"))]


def warc_of(path: Path) -> list[str]:
    """A WARC file of two pages."""
    path.with_suffix(".warc").write_bytes(warc_record("a") + warc_record("b"))
    return [str(path.with_suffix(".warc"))]


def corpus_of(path: Path) -> list[str]:
    """A corpus folder of two pages."""
    (path / "pages").mkdir(parents=True)
    rows = [{"id": name, "url": f"https://cats.example/{name}", "main_content": "Cats"} for name in "ab"]
    (path / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for name in "ab":
        (path / "pages" / f"{name}.html").write_text(HTML.format(name), encoding="utf-8")
    return [str(path)]


def files_of(path: Path) -> list[str]:
    """Two page files by name."""
    path.mkdir()
    for name in "ab":
        canonical = f"<link rel=canonical href=https://cats.example/{name}>"
        (path / f"{name}.html").write_text(canonical + HTML.format(name), encoding="utf-8")
    return [str(path / "a.html"), str(path / "b.html")]


@pytest.mark.parametrize("write", [table_of, lines_of, warc_of, corpus_of, files_of])
def test_labels_of_any_input(write: object, tmp_path: Path) -> None:
    """The labels become a data set with the pages, their URLs and sites; a second start shows them again."""
    names = write(tmp_path / "pages")  # type: ignore[operator]
    store = LabelStore(pages_to_label(names), tmp_path / "labels", resolve("kim2013"))
    store.rank()
    assert len(store.pages) == 2
    assert {page.title for page in store.pages.values()} == {"Cats"}
    for page in store.pages.values():
        parsed = store.parse(page)
        store.save(page, parsed, [Label.HEADING, Label.MAIN], done=True)
    again = LabelStore(pages_to_label(names), tmp_path / "labels", resolve("kim2013"))
    assert {page.state for page in again.pages.values()} == {"done"}
    dataset = open_dataset(tmp_path / "labels")
    assert [page.site for page in dataset.pages] == ["cats.example"] * 2
    texts = [gold.text() for _, gold in (page.load() for page in dataset.pages) if gold is not None]
    assert sorted(map(str, texts)) == [f"Cats {name}\nCats rule the world {name}." for name in "ab"]


def test_a_folder_is_read_as_a_folder(tmp_path: Path) -> None:
    """Page files are found again at each start, and a folder of archives is read as archives."""
    files_of(tmp_path / "pages")
    assert pages_to_label([str(tmp_path / "pages")]) == tmp_path / "pages"
    (tmp_path / "pages" / "gold.jsonl").write_text("{}\n", encoding="utf-8")  # not a corpus: it has no folder of pages
    assert pages_to_label([str(tmp_path / "pages")]) == tmp_path / "pages"
    (tmp_path / "crawl").mkdir()
    warc_of(tmp_path / "crawl" / "one")
    pages = pages_to_label([str(tmp_path / "crawl")])
    assert isinstance(pages, list)
    assert [page.meta["url"] for page in pages] == ["https://cats.example/a", "https://cats.example/b"]


def test_wrong_inputs(tmp_path: Path) -> None:
    """Errors name the remedy."""
    table = table_of(tmp_path / "pages")
    with pytest.raises(UsageError, match="one table or data set"):
        pages_to_label([*table, *table])
    with pytest.raises(UsageError, match="folder of the labels with -o"):
        labels_folder(tmp_path / "*.warc")
    with pytest.raises(InputError, match="no such file, folder or glob"):
        pages_to_label([str(tmp_path / "nothing")])
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="no column of pages was recognised; the columns are: a, b"):
        pages_to_label([str(tmp_path / "wrong.csv")])


def test_every_page_of_a_hostile_crawl_can_be_labelled(tmp_path: Path) -> None:
    """Repeated ids, and ids whose files would replace each other's, get page folders of their own."""
    twice, odd = tmp_path / "twice.warc", tmp_path / "odd.jsonl"
    twice.write_bytes(warc_record("a") * 2)
    ids = [
        "x y",
        safe_file_name("x y"),
        "p",
        "p/page.html",
        "p/labels.jsonl",
        "p/Page.htm.gz",
        "/",
        "..",
        "p//q",
        "p/q",
    ]
    rows = [{"id": page_id, "html": HTML.format(n)} for n, page_id in enumerate(ids)]
    odd.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pages = pages_to_label([str(twice), str(odd)])
    assert isinstance(pages, list)
    store = LabelStore(pages, tmp_path / "labels", resolve("kim2013"))
    assert len(store.pages) == 12
    for page in [*pages, *reversed(pages)]:
        parsed = store.parse(page)
        store.save(page, parsed, [Label.MAIN] * len(parsed.blocks), done=True)
    found = {page.load()[0].decode() for page in open_dataset(tmp_path / "labels").pages}
    assert found == {HTML.format(name) for name in (*range(10), "a")}
    assert {page.id for page in open_dataset(tmp_path / "labels").pages} == {page.id for page in pages}


def test_folder_of_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is beside the input, also for the current folder."""
    monkeypatch.chdir(tmp_path)
    assert labels_folder(Path()) == tmp_path.with_name(f"{tmp_path.name}-labelled")
    assert labels_folder(Path("a/crawl.warc.gz")) == Path("a/crawl-labelled")
