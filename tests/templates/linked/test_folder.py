"""Pages in folders: static copies, link maps and page folders, without access to files outside."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.errors import InputError, UnknownNameError, UsageError
from blockml.templates.linked import ArchiveSource, FolderSource, find_links, normalise, open_source

DATA = Path(__file__).parents[3] / "data" / "sites"
BASE = "http://folder.invalid/"


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder; those whose names end in ``.gz`` are compressed."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def title(source: FolderSource | ArchiveSource, url: str) -> str | None:
    """Return the title of a page, by which the tests identify it."""
    found = source.get(url)
    return None if found is None else found.title


def titled(*names: str) -> dict[str, str]:
    """Return files whose title is their name."""
    return {name: f"<title>{name}</title><p>{name}</p>" for name in names}


# Static sites


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("", "index.html"),
        ("index.html", "index.html"),
        ("#part", "index.html"),
        ("?utm_source=x", "index.html"),
        ("about", "about.html"),
        ("about.html", "about.html"),
        ("about/", "about.html"),
        ("about.html?lang=en", "about.html"),
        ("docs/", "docs/index.htm"),
        ("docs", "docs/index.htm"),
        ("docs/../about", "about.html"),
        ("docs/a%20b.html", "docs/a b.html"),
        ("docs/a b.html", "docs/a b.html"),
        ("%64ocs/caf%C3%A9.html", "docs/café.html"),
        ("docs/café.html", "docs/café.html"),
        ("zipped.html", "zipped.html.gz"),
        ("zipped", "zipped.html.gz"),
        ("list.php?id=3", "list.php?id=3.html"),
        ("list.php%3Fid=3.html", "list.php?id=3.html"),
        ("list.php?id=4", "list.php@id=4.html"),
        ("list.php?id=5", "list.php"),
        ("?p=7", "index.html?p=7"),
        ("plain", "plain"),
        ("%E4%BD%A0.html", "%e4%bd%a0.html"),
        ("100%25.html", "100%.html"),
    ],
)
def test_urls_find_files_as_servers_do(tmp_path: Path, path: str, name: str) -> None:
    """Indexes, missing extensions, escapes, compressed files and queries as wget and HTTrack write them are found."""
    names = titled(
        "index.html", "index.html?p=7", "about.html", "docs/index.htm", "docs/a b.html", "docs/café.html", "list.php",
        "list.php?id=3.html", "list.php@id=4.html", "zipped.html.gz", "%e4%bd%a0.html", "100%.html",
    )  # fmt: skip
    source = FolderSource(write(tmp_path, {**names, "plain": "<html><title>plain</title>", "logo.png": "<html>"}))
    assert source.layout == "site"
    assert title(source, BASE + path) == name


@pytest.mark.parametrize("path", ["missing", "docs/missing.html", "logo.png", "notes", "index.html/", "docs//a.html"])
def test_other_files_give_none(tmp_path: Path, path: str) -> None:
    """Images, texts, missing files and paths below a file give None."""
    folder = write(tmp_path, {**titled("index.html", "docs/a.html"), "logo.png": "<html>", "notes": "no markup"})
    assert FolderSource(folder).get(BASE + path) is None


def test_the_url_of_a_page_is_base_and_path(tmp_path: Path) -> None:
    """All files are listed in order, and each is found under its URL, which is base and path."""
    names = ("a b.html", "dir/index.html", "dir/x.xhtml", "list.php?id=3.html", "zipped.htm.gz", "ä#%41.html")
    source = FolderSource(write(tmp_path, titled(*names)), base="https://Ex.org:443/sub")
    assert source.base == "https://ex.org/sub/"
    assert source.urls == tuple(
        "https://ex.org/sub/" + path
        for path in (
            "a%20b.html", "dir/index.html", "dir/x.xhtml", "list.php%3Fid=3.html", "zipped.htm", "%C3%A4%23%2541.html"
        )
    )  # fmt: skip
    for url, name in zip(source.urls, names, strict=True):
        found = source.get(url)
        assert found is not None
        assert (found.url, found.title) == (url, name)
        assert source.url_of(name) == source.url_of(tmp_path / name) == url
        assert normalise(url) == url
    assert source.url_of("zipped.htm") == "https://ex.org/sub/zipped.htm"
    with pytest.raises(UsageError, match=r"no page has the id or file 'gone\.html'"):
        source.url_of("gone.html")


def test_links_resolve_to_one_url_for_each_page(tmp_path: Path) -> None:
    """Different spellings of a link give one URL, and links to missing pages are left out."""
    home = "<a href=/docs/>1</a><a href=docs>2</a><a href=docs/index.html#x>3</a><a href=./>self</a><a href=gone>4</a>"
    home += "<a href=https://ex.org/docs/?a=b>5</a><a href=http://other.example/docs/>6</a><a href='docs/a b'>7</a>"
    folder = write(tmp_path, {"index.html": home, **titled("docs/index.html", "docs/a b.html")})
    source = FolderSource(folder, base="http://ex.org/")
    page = source.get("http://ex.org/")
    assert page is not None
    assert [link.url for link in find_links(page, source)] == [
        "http://ex.org/docs/index.html",
        "http://ex.org/docs/a%20b.html",
    ]
    below = source.get("http://ex.org/docs")
    assert below is not None
    assert source.resolve(below, "a%20b.html") == "http://ex.org/docs/a%20b.html"  # relative to the folder's index
    assert source.resolve(blockml.parse("<a href=docs>"), "docs") is None  # relative to nothing


def test_absolute_links_of_a_copy_need_its_base(tmp_path: Path) -> None:
    """Absolute links resolve to files of the folder only if the base names the site that was copied."""
    folder = write(tmp_path, titled("index.html", "a.html"))
    page = FolderSource(folder).get(BASE)
    assert page is not None
    assert FolderSource(folder).resolve(page, "https://ex.org/a.html") is None
    assert FolderSource(folder, base="http://ex.org").resolve(page, "https://ex.org/a.html") == "http://ex.org/a.html"


def test_a_page_next_to_its_compressed_copy_is_one_page(tmp_path: Path) -> None:
    """A page with a compressed copy next to it, as on sites that send compressed files, is one page."""
    folder = write(tmp_path, {**titled("a.html"), "a.html.gz": "<title>zipped</title>"})
    source = FolderSource(folder)
    assert source.urls == (f"{BASE}a.html",)
    assert title(source, source.urls[0]) == "a.html"


def test_file_names_that_are_not_text_work(tmp_path: Path) -> None:
    """File names in a legacy encoding, as in old copies, get an escaped URL."""
    try:
        write(tmp_path, {os.fsdecode(b"caf\xe9.html"): "<title>old</title>"})
    except OSError:
        pytest.skip("this file system takes only names that are text")
    source = FolderSource(tmp_path)
    assert source.urls == (f"{BASE}caf%E9.html",)
    assert title(source, f"{BASE}caf%e9.html") == "old"


# Nothing from outside


@pytest.fixture
def fenced(tmp_path: Path) -> FolderSource:
    """Return a folder next to a secret file, with links to it."""
    write(tmp_path, {"secret.html": "<title>secret</title>", "outside/secret.html": "<title>secret</title>"})
    folder = write(tmp_path / "site", titled("index.html", "docs/index.html"))
    (folder / "link.html").symlink_to(tmp_path / "secret.html")
    (folder / "relative.html").symlink_to("../secret.html")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "circle.html").symlink_to("circle.html")
    (folder / "alias.html").symlink_to("index.html")
    return FolderSource(folder)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.html",
        "..%2fsecret.html",
        "%2e%2e/secret.html",
        "docs/../../secret.html",
        "docs/%2e%2e%2f%2e%2e%2fsecret.html",
        "..\\secret.html",
        "docs\\..\\..\\secret.html",
        "%5c..%5csecret.html",
        "/etc/passwd",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "file:///etc/passwd",
        "index.html%00.png",
        "%00",
        "C:\\secret.html",
        "link.html",
        "relative.html",
        "linked/secret.html",
        "circle.html",
        "?../../secret.html",
        "a?/../../../secret",
    ],
)
def test_nothing_outside_the_folder_is_read(fenced: FolderSource, path: str) -> None:
    """Dots, escapes, absolute paths and links out of the folder do not read files outside."""
    for url in (BASE + path, path):
        assert title(fenced, url) in {None, "index.html"}  # "?..." is the home page with a query
    page = fenced.get(BASE)
    assert page is not None
    assert fenced.resolve(page, path) in {None, f"{BASE}index.html"}


def test_links_inside_the_folder_are_read(fenced: FolderSource) -> None:
    """A symbolic link to another page of the folder is a page."""
    assert fenced.urls == (f"{BASE}alias.html", f"{BASE}docs/index.html", f"{BASE}index.html")
    assert title(fenced, f"{BASE}alias.html") == "index.html"


def test_a_file_that_became_a_link_is_not_read(fenced: FolderSource, tmp_path: Path) -> None:
    """A file that was replaced by a link out of the folder after the source was opened is not read."""
    page = tmp_path / "site" / "docs" / "index.html"
    page.unlink()
    page.symlink_to(tmp_path / "secret.html")
    assert fenced.get(f"{BASE}docs/") is None


@given(st.text(alphabet="./\\%25efasecrt?#:\0 \n@é", max_size=30))
def test_no_url_leads_out_of_the_folder(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    """Any URL gives a page of the folder or None."""
    top = tmp_path_factory.getbasetemp() / "fence"
    if not top.exists():
        write(top, {"secret.html": "<title>secret</title>", "site/a/index.html": "<title>inside</title>"})
    source = FolderSource(top / "site")
    for url in (BASE + path, path, f"{BASE}a/{path}"):
        assert title(source, url) in {None, "inside"}


# Files that can't be read


def test_damaged_and_missing_files_give_none(tmp_path: Path) -> None:
    """Damaged and missing files give None instead of an error, like a broken link."""
    folder = write(tmp_path, titled("a.html.gz", "b.html", "c.html.gz"))
    source = FolderSource(folder)
    whole = (folder / "a.html.gz").read_bytes()
    (folder / "a.html.gz").write_bytes(whole[:-12])
    (folder / "b.html").unlink()
    (folder / "c.html.gz").write_bytes(b"\x1f\x8bgarbage")
    assert [source.get(url) for url in source.urls] == [None, None, None]


def test_parsing_options_and_limits_apply(tmp_path: Path) -> None:
    """Decompression stops at the limit of bytes with the status TRUNCATED, and wrong options are refused."""
    folder = write(tmp_path, {"bomb.html.gz": b"<p>x</p>" * 100_000})
    source = FolderSource(folder, parsing={"limits": blockml.Limits(bytes=800), "backend": "html5lib"})
    page = source.get(source.urls[0])
    assert page is not None
    assert (len(page.blocks), page.backend, page.status) == (100, "html5lib", blockml.Status.TRUNCATED)
    with pytest.raises(UsageError):
        FolderSource(folder, parsing={"backend": "nothing"})
    with pytest.raises(TypeError):
        FolderSource(folder, parsing={"url": "http://a.example/"})


@pytest.mark.parametrize("base", ["", "folder", "ftp://ex.org/", "http://ex.org/?q=1"])
def test_bases_that_are_not_folder_urls_are_refused(tmp_path: Path, base: str) -> None:
    """A base to which paths cannot be appended is refused."""
    with pytest.raises(UsageError, match="the base must be"):
        FolderSource(write(tmp_path, titled("index.html")), base=base)


def test_folders_without_pages_are_refused(tmp_path: Path) -> None:
    """A folder that is missing, has no pages or has no sites is refused at once."""
    with pytest.raises(InputError, match="no such folder"):
        FolderSource(tmp_path / "missing")
    with pytest.raises(InputError, match="no pages"):
        FolderSource(write(tmp_path, {"logo.png": "", "notes.txt": "<html>"}))
    with pytest.raises(UsageError, match="this folder does not assign its pages to sites"):
        FolderSource(write(tmp_path, titled("index.html")), site="a")


# Link maps


def write_map(folder: Path, rows: list[dict[str, Any]], name: str = "pages.jsonl.gz") -> Path:
    """Write a link map and, for each line, a page whose title is its id."""
    files: dict[str, str | bytes] = {name: "".join(json.dumps(row) + "\n" for row in rows)}
    for row in rows:
        files[f"pages/{row['id']}.html.gz"] = f"<title>{row['id']}</title>"
    return write(folder, files)


ROWS: list[dict[str, Any]] = [
    {"id": "a--0", "site": "a", "url": "http://a.example/", "path": "index.html",
     "hrefs": {"x": "a--1", "../odd": "a--1", "self": "a--0", "b": "b--0", "gone": "a--9"}},
    {"id": "a--1", "site": "a", "url": "http://a.example/%7eone/", "path": "one/index.html", "encoding": "latin1"},
    {"id": "b--0", "site": "b", "url": None, "path": "dir/b c.html", "hrefs": {"d.html": "b--1"}},
    {"id": "b--1", "site": "b", "path": "dir/d.html"},
]  # fmt: skip


def test_a_link_map_says_where_links_lead(tmp_path: Path) -> None:
    """Links are resolved by the map first, and as in browsers if the map doesn't have them."""
    source = FolderSource(write_map(tmp_path, ROWS), links="pages.jsonl.gz")
    assert source.layout == "map"
    assert source.urls == ("http://a.example/", "http://a.example/~one/", f"{BASE}dir/b%20c.html", f"{BASE}dir/d.html")
    assert [title(source, url) for url in source.urls] == ["a--0", "a--1", "b--0", "b--1"]
    home, one, other = (source.get(url) for url in source.urls[:3])
    assert home is not None
    assert one is not None
    assert other is not None
    found = [source.resolve(home, href) for href in ("x", "../odd", " x ", "self", "b", "gone", "~one/", "~one")]
    one_url = "http://a.example/~one/"
    assert found == [one_url, one_url, one_url, "http://a.example/", f"{BASE}dir/b%20c.html", None, one_url, None]
    assert source.resolve(one, "x") is None  # another page's link
    assert source.resolve(other, "d.html") == f"{BASE}dir/d.html"
    assert (one.encoding, one.encoding_source) == ("windows-1252", "transport")
    assert source.url_of("a--1") == source.url_of("pages/a--1.html.gz") == source.url_of("one/index.html") == one_url


def test_one_site_of_a_map(tmp_path: Path) -> None:
    """Pages of other sites of the map are neither pages nor targets of links."""
    source = FolderSource(write_map(tmp_path, ROWS), links=tmp_path / "pages.jsonl.gz", site="a")
    assert source.urls == ("http://a.example/", "http://a.example/~one/")
    home = source.get("http://a.example/")
    assert home is not None
    assert source.resolve(home, "b") is None
    with pytest.raises(UnknownNameError, match="unknown site 'c'; choose one of: a, b"):
        FolderSource(tmp_path, links="pages.jsonl.gz", site="c")


def test_pages_with_one_url_are_refused(tmp_path: Path) -> None:
    """Two pages with the same URL are refused, because links to it would be ambiguous."""
    rows = [{"id": "a", "path": "index.html", "site": "a"}, {"id": "b", "path": "index.html", "site": "b"}]
    write_map(tmp_path, rows)
    with pytest.raises(InputError, match="another page has this URL too; choose a site"):
        FolderSource(tmp_path, links="pages.jsonl.gz")
    assert FolderSource(tmp_path, links="pages.jsonl.gz", site="b").url_of("index.html") == f"{BASE}index.html"


def test_a_map_leads_to_no_file_outside(tmp_path: Path) -> None:
    """Ids and paths of a map, which are parts of file names, do not lead outside the folder."""
    write(tmp_path, {"secret.html": "secret"})
    rows = [{"id": name} for name in ("../secret", "../../secret", str(tmp_path / "secret"), "a\0b")]
    rows += [{"id": "x", "path": "../secret.html"}, {"id": "y", "path": str(tmp_path / "secret.html")}, {"id": "in"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    write(tmp_path / "site", {"map.jsonl": lines, "pages/in.html": "inside"})
    assert FolderSource(tmp_path / "site", links="map.jsonl").urls == (f"{BASE}in",)


@pytest.mark.parametrize(
    ("line", "problem"),
    [("{", r"map\.jsonl:2: invalid JSON"), ("[1]", "not a JSON object"), ('{"url": "a"}', "must have an 'id'")],
)
def test_damaged_maps_are_refused(tmp_path: Path, line: str, problem: str) -> None:
    """A damaged map is refused with the line number."""
    write(tmp_path, {"map.jsonl": f'{{"id": "a"}}\n{line}\n', "a.html": "<p>a"})
    with pytest.raises(InputError, match=problem):
        FolderSource(tmp_path, links="map.jsonl")


def test_missing_and_truncated_maps_are_refused(tmp_path: Path) -> None:
    """A missing or truncated map is refused as unreadable."""
    with pytest.raises(InputError, match="the link map can't be read"):
        FolderSource(tmp_path, links="missing.jsonl")
    write_map(tmp_path, ROWS)
    whole = (tmp_path / "pages.jsonl.gz").read_bytes()
    (tmp_path / "pages.jsonl.gz").write_bytes(whole[:-9])
    with pytest.raises(InputError, match="the link map can't be read"):
        FolderSource(tmp_path, links="pages.jsonl.gz")


@pytest.mark.corpora
@pytest.mark.parametrize("site", ["fs-uae", "myengine-javadoc", "nltk"])
def test_links_of_a_real_site_are_those_of_its_map(corpora: Path, site: str) -> None:
    """The targets of a page's links are the pages that the collection lists for it."""
    with gzip.open(corpora / "sites" / "pages.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [row for row in map(json.loads, stream) if row["site"] == site]
    source = FolderSource(corpora / "sites", links="pages.jsonl.gz", site=site)
    assert len(source.urls) == len(rows)
    for row in rows[::6]:
        page = source.get(source.url_of(row["id"]))
        assert page is not None
        found = {link.url for link in find_links(page, source)}
        assert found == {source.url_of(target) for target in row["links"]}


# Page folders


def test_synthetic_pages_link_to_the_pages_in_their_meta() -> None:
    """The links in the synthetic pages lead to exactly the pages that ``links`` lists."""
    source = FolderSource(DATA)
    assert source.layout == "described"
    metas = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*/*/meta.json"))]
    assert len(source.urls) == len(metas)
    for meta in metas[::7]:
        url = source.url_of(meta["id"])
        assert url == normalise(meta["url"])
        page = source.get(url)
        assert page is not None
        assert page.title.startswith(meta["title"]) or meta["title"] in page.title
        found = {link.url for link in find_links(page, source, same_site=False)}
        assert found == {source.url_of(target) for target in meta["links"]}


def test_one_of_the_synthetic_sites() -> None:
    """One of the synthetic sites is found by name or by folder."""
    by_name = FolderSource(DATA, site="patient-crumb")
    assert len(by_name.urls) == 15
    assert FolderSource(DATA / "patient-crumb").urls == by_name.urls
    assert by_name.url_of(DATA / "patient-crumb" / "crumb-bread" / "page.html") == by_name.url_of("crumb-bread")


def test_page_folders_need_no_id_or_url(tmp_path: Path) -> None:
    """Without an id a page has its folder's name, and without a URL base and path; other ``meta.json`` are ignored."""
    page = "<title>page</title>"
    folder = write(tmp_path, {
        "one/page.html": page, "one/meta.json": '{"url": "http://a.example/1", "encoding": "cp1252"}',
        "two/page.html.gz": page, "two/meta.json": '\ufeff{"id": "second"}',
        "three/page.html": page, "three/meta.json": '{"name": "app"}',
        "four/page.html": page,
    })  # fmt: skip
    source = FolderSource(folder)
    assert source.urls == ("http://a.example/1", f"{BASE}two/page.html.gz")
    assert source.url_of("one") == "http://a.example/1"
    assert source.url_of("second") == f"{BASE}two/page.html.gz"
    write(tmp_path, {"five/page.html": page, "five/meta.json": "{"})
    with pytest.raises(InputError, match=r"five/meta\.json: invalid JSON"):
        FolderSource(folder)


# Choosing the source


def test_sources_are_chosen_by_content(tmp_path: Path) -> None:
    """Folders, link maps and archives are recognised by content, whatever their names."""
    record = json.dumps({"url": "http://a.example/", "html": "<title>fetched</title>"})
    write(tmp_path / "static", titled("index.html"))
    write_map(tmp_path / "mapped", ROWS)
    write(tmp_path / "fetched", {"crawl.gz": record, "log.txt": "fetched 1 page"})
    write(tmp_path / "both", {**titled("index.html"), "pages.jsonl": record})
    found = {
        name: open_source(tmp_path / name)
        for name in ("static", "mapped", "mapped/pages.jsonl.gz", "fetched", "fetched/crawl.gz", "both")
    }
    assert {name: getattr(source, "layout", "archive") for name, source in found.items()} == {
        "static": "site", "mapped": "map", "mapped/pages.jsonl.gz": "map", "fetched": "archive",
        "fetched/crawl.gz": "archive", "both": "site",
    }  # fmt: skip
    assert found["mapped"].urls == found["mapped/pages.jsonl.gz"].urls
    assert title(found["fetched"], "http://a.example/") == "fetched"
    assert open_source(DATA).urls == FolderSource(DATA).urls


def test_options_reach_the_source(tmp_path: Path) -> None:
    """Options are passed to the source, and unknown ones are refused by name."""
    write_map(tmp_path / "mapped", ROWS)
    write(tmp_path / "fetched", {"crawl.jsonl": json.dumps({"url": "http://a.example/", "html": "<p>"})})
    assert len(open_source(tmp_path / "mapped", site="a").urls) == 2
    with pytest.raises(UnknownNameError, match="unknown option 'sites'; did you mean 'site'"):
        open_source(tmp_path / "mapped", sites="a")
    with pytest.raises(UnknownNameError, match="unknown option 'site'; choose one of: max_redirects, parsing"):
        open_source(tmp_path / "fetched", site="a")


@pytest.mark.parametrize("content", ["<html><p>page</p>", "", "text", "{}", "[]", "{", b"\x1f\x8bgarbage"])
def test_files_without_pages_are_refused(tmp_path: Path, content: str | bytes) -> None:
    """A single page and other files are refused, because a source needs several pages of a site."""
    write(tmp_path, {"file.html": content})
    with pytest.raises(InputError, match="not a folder of pages, a WARC or ARC file"):
        open_source(tmp_path / "file.html")
    with pytest.raises(InputError, match="no such file or folder"):
        open_source(tmp_path / "missing")
