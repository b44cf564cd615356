"""Every reader finds and decompresses page files, whatever their suffix."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import brotli
import pytest
import zstandard

import blockml
from blockml.archives import compression
from blockml.archives.compression import open_decompressed, read_file
from blockml.archives.kinds import COMPRESSIONS, PAGES, page_stem, pages_below
from blockml.batch import find_inputs, predict_items, read_items
from blockml.cli import main
from blockml.datasets import open_dataset
from blockml.errors import MissingExtraError, UsageError
from blockml.extractors import Plain
from blockml.labelling.store import LabelStore
from blockml.templates.linked import open_source

TEXT = "Cats rule the world, and nobody has ever told them otherwise."
HTML = f"<title>Cats</title><p>{TEXT}</p>".encode()
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".br": partial(brotli.compress, quality=5),  # the default takes 7 s for 256 MB
}
SUFFIXES = [page + end for page in PAGES for end in ("", *COMPRESSIONS)]


def write(path: Path, html: bytes = HTML) -> Path:
    """Write a page, compressed according to the suffix of its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(COMPRESS["".join(path.suffixes[1:]).lower()](html))
    return path


def by_batch(folder: Path, suffix: str) -> list[str]:
    """Return the texts that a batch extracts from a folder."""
    write(folder / f"B{suffix}")
    items = list(read_items(find_inputs([str(folder)])))
    assert [item.id for item in items] == ["B"]
    return [record["text"] for record in predict_items(items, Plain(), isolation="none")]


def by_name(folder: Path, suffix: str) -> list[str]:
    """Return the text that a batch extracts from a file given by name."""
    items = read_items(find_inputs([str(write(folder / f"B{suffix}"))]))
    return [record["text"] for record in predict_items(items, Plain(), isolation="none")]


def by_flat_data_set(folder: Path, suffix: str) -> list[str]:
    """Return the texts of a flat data set, with the gold next to the page."""
    write(folder / f"B{suffix}")
    (folder / "B.txt").write_text(TEXT)
    dataset = open_dataset(folder)
    assert (dataset.format, [page.id for page in dataset.pages]) == ("flat", ["B"])
    assert [page.gold is not None for page in dataset.pages] == [True]
    return [blockml.extract(page.load()[0], model="plain").text for page in dataset.pages]


def by_page_folders(folder: Path, suffix: str) -> list[str]:
    """Return the texts of a data set of page folders."""
    write(folder / "cats" / f"page{suffix}")
    (folder / "cats" / "expected.txt").write_text(TEXT)
    dataset = open_dataset(folder)
    assert (dataset.format, [page.id for page in dataset.pages]) == ("folders", ["cats"])
    return [blockml.extract(page.load()[0], model="plain").text for page in dataset.pages]


def by_corpus(folder: Path, suffix: str) -> list[str]:
    """Return the texts of a corpus whose table has the same compression as its pages."""
    write(folder / "pages" / "a" / f"B{suffix}")
    end = suffix[suffix.find(".", 1) :].lower() if suffix.count(".") > 1 else ""
    (folder / f"gold.jsonl{end}").write_bytes(COMPRESS[end](json.dumps({"id": "a/B", "main_content": TEXT}).encode()))
    dataset = open_dataset(folder)
    assert (dataset.format, [page.id for page in dataset.pages]) == ("corpus", ["a/B"])
    return [blockml.extract(page.load()[0], model="plain").text for page in dataset.pages]


def by_annotated_data_set(folder: Path, suffix: str) -> list[str]:
    """Return the texts of a folder of annotated files."""
    write(folder / f"B{suffix}", HTML.replace(b"<p>", b"<p><span class=x-nc-sel1>"))
    dataset = open_dataset(folder)
    assert (dataset.format, [page.id for page in dataset.pages]) == ("annotated", ["B"])
    return [blockml.extract(page.load()[0], model="plain").text for page in dataset.pages]


def by_labelling(folder: Path, suffix: str) -> list[str]:
    """Return the texts of the pages that the labelling tool shows."""
    write(folder / f"B{suffix}")
    store = LabelStore(folder, folder / "labels", Plain())
    assert list(store.pages) == ["B"]
    return [store.parse(page).blocks.texts[-1] for page in store.pages.values()]


def by_site_copy(folder: Path, suffix: str) -> list[str]:
    """Return the texts of a copy of a site."""
    write(folder / f"B{suffix}")
    source = open_source(folder, base="http://a.example/")
    return [page.blocks.texts[-1] for url in source.urls if (page := source.get(url))]


def by_link_map(folder: Path, suffix: str) -> list[str]:
    """Return the texts of pages that come with a map of their URLs."""
    write(folder / "pages" / f"B{suffix}")
    (folder / "pages.jsonl").write_text('{"id": "B", "url": "http://a.example/b"}\n')
    source = open_source(folder)
    assert source.urls == ("http://a.example/b",)
    return [page.blocks.texts[-1] for url in source.urls if (page := source.get(url))]


def by_described_folders(folder: Path, suffix: str) -> list[str]:
    """Return the texts of page folders that contain a URL."""
    write(folder / "cats" / f"page{suffix}")
    (folder / "cats" / "meta.json").write_text('{"url": "http://a.example/b"}')
    source = open_source(folder)
    assert source.urls == ("http://a.example/b",)
    return [page.blocks.texts[-1] for url in source.urls if (page := source.get(url))]


READERS = (
    by_batch, by_name, by_flat_data_set, by_page_folders, by_corpus, by_annotated_data_set, by_labelling, by_site_copy,
    by_link_map, by_described_folders,
)  # fmt: skip


@pytest.mark.parametrize("case", [str.lower, str.upper])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_reads_every_suffix(
    reader: Callable[[Path, str], list[str]], suffix: str, case: Callable[[str], str], tmp_path: Path
) -> None:
    """Every reader finds the page, derives its id and decompresses it, even if the suffix is in upper case."""
    assert reader(tmp_path / "in", case(suffix)) == [TEXT]


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS, *map(str.upper, COMPRESSIONS)])
@pytest.mark.parametrize("name", ["a.HTML", "no-page"])
def test_commands_read_every_compression(
    name: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``extract`` decompresses every file that is given by name."""
    path = write(tmp_path / f"{name}{suffix}") if "." in name else tmp_path / f"{name}{suffix}"
    path.write_bytes(COMPRESS[suffix.lower()](HTML))
    assert main(["extract", str(path), "--model", "plain"]) == 0
    assert capsys.readouterr().out == f"{TEXT}\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_name_of_a_page_file_is_not_a_page(suffix: str) -> None:
    """``extract`` refuses a string that is a file name with any of the suffixes."""
    for name in (f"crawl/a{suffix}", f"A{suffix.upper()}"):
        with pytest.raises(UsageError, match="is the name of a file; pass a Path"):
            blockml.extract(name)


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_tables_and_archives_are_decompressed(suffix: str, tmp_path: Path) -> None:
    """JSON lines and WARC files are read with every compression."""
    line = json.dumps({"id": "a", "html": HTML.decode()}).encode()
    (tmp_path / f"pages.jsonl{suffix}").write_bytes(COMPRESS[suffix](line))
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML
    record = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:a>\r\nWARC-Target-URI: http://a.example/\r\n"
        b"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n" % (len(body), body)
    )
    (tmp_path / f"pages.warc{suffix}").write_bytes(COMPRESS[suffix](record))
    for name in ("pages.jsonl", "pages.warc"):
        (item,) = read_items(find_inputs([str(tmp_path / f"{name}{suffix}")]))
        assert blockml.extract(item.read(), model="plain").text == TEXT
    assert [file.path.name for file in find_inputs([str(tmp_path)]).files()] == [f"pages.warc{suffix}"]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_damaged_files(suffix: str, tmp_path: Path) -> None:
    """A file that is cut off, or whose content isn't compressed as its suffix says, is reported as damaged."""
    path = tmp_path / f"a.html{suffix}"
    whole = COMPRESS[suffix](HTML * 50)
    for content in (whole[:-6], b"<!doctype html><title>Not compressed at all</title>" * 20):
        path.write_bytes(content)
        with pytest.raises(OSError, match=r"damaged|[Nn]ot a|nvalid|nknown"):
            read_file(path)
        (record,) = predict_items(read_items(find_inputs([str(path)])), Plain(), isolation="none")
        assert record["status"] == "unreadable"


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_small_file_does_not_fill_the_memory(suffix: str, tmp_path: Path) -> None:
    """Reading stops at the limit, long before the end of the decompressed data."""
    path = tmp_path / f"a.html{suffix}"
    path.write_bytes(COMPRESS[suffix](bytes(1 << 28)))
    code = (
        "import resource, sys; from pathlib import Path; from blockml.archives.compression import read_file\n"
        "resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))\n"
        "print(len(read_file(Path(sys.argv[1]), 1000)))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)  # noqa: S603
    assert (run.returncode, run.stdout.strip()) == (0, "1000"), run.stderr


@pytest.mark.parametrize(("suffix", "package", "extra"), [(".zst", "zstandard", "zstd"), (".br", "brotli", "brotli")])
def test_a_missing_package_is_named(
    suffix: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the extra to install, and a batch stops instead of skipping the pages."""
    monkeypatch.setitem(sys.modules, package, None)
    path = write(tmp_path / f"a.html{suffix}")
    with pytest.raises(MissingExtraError, match=rf"\[{extra}\]"):
        read_file(path)
    with pytest.raises(MissingExtraError, match=rf"\[{extra}\]"):
        list(predict_items(read_items(find_inputs([str(path)])), Plain(), isolation="none"))


def test_the_compressed_file_of_a_page_is_preferred(tmp_path: Path) -> None:
    """If a folder has a page both compressed and uncompressed, the compressed file is read."""
    for name in ("a.html", "a.htm", "a.html.gz", "a.HTML.br", "b/c.xhtml"):
        write(tmp_path / name)
    found = pages_below(tmp_path)
    assert {stem: path.name for stem, path in found.items()} == {"a": "a.html.gz", "b/c": "c.xhtml"}


def test_every_compression_has_a_reader() -> None:
    """Every suffix that is searched for can also be opened."""
    assert set(compression._OPENERS) == {"", *COMPRESSIONS} == set(COMPRESS)
    assert [page_stem(f"a{suffix}") for suffix in SUFFIXES] == ["a"] * len(SUFFIXES)


def test_content_decides_for_files_of_many_pages(tmp_path: Path) -> None:
    """Compression is detected from the content, so the suffix may be missing, except for Brotli."""
    for content in (gzip.compress(HTML), zstandard.compress(HTML), HTML):
        (tmp_path / "pages").write_bytes(content)
        with open_decompressed(tmp_path / "pages") as stream:
            assert stream.read() == HTML


def test_outputs_are_not_written_as_brotli(tmp_path: Path) -> None:
    """An output file with the suffix of Brotli is refused because blockml doesn't write Brotli."""
    write(tmp_path / "a.html")
    assert main(["predict", str(tmp_path / "a.html"), "-o", str(tmp_path / "out.jsonl.br"), "--quiet"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
