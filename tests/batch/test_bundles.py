"""ZIP and tar archives of pages: what is read, and what hostile and damaged ones give."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml.archives.bundles import tar_members
from blockml.batch import Item, find_inputs, read_items
from blockml.batch.readers import Reading
from tests.batch.archives import PAGE, tar_of, zip_of

pytestmark = pytest.mark.exhaustive

FILES = {
    "./site/a.html": PAGE,
    "site/sub/B.HTM.GZ": gzip.compress(PAGE),
    f"long/{'n' * 160}/page.html": PAGE,
    "style.css": b"a{}",
    "inner.zip": zip_of({"c.html": PAGE}),
    "README": b"read me",
    "ü.xhtml": PAGE,
}


def items_of(path: Path, reading: Reading | None = None) -> list[Item]:
    """Return the pages of an archive."""
    return list(read_items(find_inputs([str(path)]), reading))


def write(path: Path, content: bytes) -> Path:
    """Write an archive."""
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, None])
def test_pages_of_an_archive(tmp_path: Path, form: int | None) -> None:
    """Pages have the archive and their path as id and their folder as site; other files are counted."""
    path = write(tmp_path / "a.data", zip_of(FILES) if form is None else tar_of(FILES, form))
    reading = Reading()
    found = items_of(path, reading)
    assert [item.id for item in found] == [
        "a.data/site/a", "a.data/site/sub/B", f"a.data/long/{'n' * 160}/page", "a.data/ü",
    ]  # fmt: skip
    assert [item.site for item in found] == ["a.data/site", "a.data/site", "a.data/long", "a.data"]
    assert {item.decoded().read() for item in found} == {PAGE}
    assert reading.skipped == {".css": 1, ".zip": 1, "files without a suffix": 1}


@pytest.mark.parametrize("suffix", [".tar.gz", ".tgz", ".tar", ".tar.zst"])
def test_compressed_archives(tmp_path: Path, suffix: str) -> None:
    """A compressed tar archive is read as a stream; a ZIP archive that is compressed once more is refused."""
    content = tar_of(FILES)
    if suffix.endswith("gz"):
        content = gzip.compress(content)
    elif suffix.endswith("zst"):
        content = pytest.importorskip("zstandard").compress(content)
    assert len(items_of(write(tmp_path / f"a{suffix}", content))) == 4
    (item,) = items_of(write(tmp_path / "a.zip.gz", gzip.compress(zip_of(FILES))))
    assert "compressed once more" in (item.error or "")


def test_links_and_devices_lead_nowhere(tmp_path: Path) -> None:
    """Links and devices are counted, whatever they are named, and no path leaves the archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("page.html")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("../../etc/a.html")
        info.size = len(PAGE)
        archive.addfile(info, io.BytesIO(PAGE))
    reading = Reading()
    (item,) = items_of(write(tmp_path / "a.tar", buffer.getvalue()), reading)
    assert (item.id, item.html, item.path) == ("a.tar/../../etc/a", PAGE, None)
    assert reading.skipped == {"links": 4}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        link = zipfile.ZipInfo("page.html")
        link.external_attr = 0o120777 << 16
        zipped.writestr(link, "/etc/passwd")
    (item,) = items_of(tmp_path / "a.zip")
    assert item.error == "there are no page files in this archive"


@pytest.mark.parametrize("place", range(0, 4096, 97))
def test_damage_loses_no_other_page_silently(tmp_path: Path, place: int) -> None:
    """After a damaged block of a tar archive, the files behind it are read, and something says what is missing."""
    content = bytearray(tar_of({f"{number}.html": PAGE * 9 for number in range(8)}, tarfile.USTAR_FORMAT))
    content[place] ^= 0xFF
    found = items_of(write(tmp_path / "a.tar", bytes(content)))
    whole = [item for item in found if item.error is None]
    assert len(whole) >= 7
    assert len(whole) == 8 or any("damaged" in (item.error or "") for item in found)


@given(st.integers(0, 9000))
def test_archives_that_are_cut_off(n_bytes: int) -> None:
    """The pages before the cut are read, and a row names it unless a file ended there."""
    page = PAGE * 40
    content = tar_of({f"{number}.html": page for number in range(6)}, tarfile.USTAR_FORMAT)[:n_bytes]
    n_whole = n_errors = 0
    for member, read in tar_members(io.BytesIO(content)):
        try:
            n_errors += member.error is not None
            n_whole += member.error is None and read(10**9) == page
        except EOFError:
            n_errors += 1
    each = 512 + 1024  # a header and two blocks
    assert n_whole == min(6, (n_bytes + 1024 - len(page)) // each)
    assert n_errors == (n_bytes < 6 * each and 0 < n_bytes % each < 512 + len(page))


def test_damaged_zip_archives(tmp_path: Path) -> None:
    """A damaged file is an error of its page, and a damaged directory one of the archive."""
    content = bytearray(zip_of({f"{number}.html": PAGE * 50 for number in range(3)}, zipfile.ZIP_STORED))
    content[200] ^= 0xFF
    first, *others = items_of(write(tmp_path / "a.zip", bytes(content)))
    assert "damaged" in (first.error or "")
    assert [item.error for item in others] == [None, None]
    (item,) = items_of(write(tmp_path / "b.zip", bytes(content[:-30])))
    assert "cannot read" in (item.error or "")


@given(junk=st.binary(max_size=30), place=st.integers(0, 400))
def test_no_bytes_raise(junk: bytes, place: int) -> None:
    """Whatever is written into an archive, its pages or the reasons why they can't be read are rows."""
    zipped, tarred = bytearray(zip_of(FILES)), bytearray(tar_of(FILES))
    zipped[-place - 1 : len(zipped) - place - 1 + len(junk)] = junk
    tarred[place : place + len(junk)] = junk
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("a.zip", zipped), ("a.tar", tarred)):
            assert items_of(write(Path(folder, name), bytes(content)))


def test_files_that_overlap_and_odd_compressions_are_refused(tmp_path: Path) -> None:
    """An archive whose directory lists one file many times gives it once, and other compressions give a reason."""
    content = zip_of({"a.html": PAGE})
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entries = content[start:end] * 50
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 50, 50, len(entries), start, 0)
    found = items_of(write(tmp_path / "a.zip", content[:start] + entries + tail))
    assert [item.error for item in found].count("cannot read the page (it overlaps the next file of the archive)") == 49
    (item,) = items_of(write(tmp_path / "b.zip", zip_of({"a.html": PAGE}, zipfile.ZIP_BZIP2)))
    assert "compression (method 12) is not supported" in (item.error or "")
    encrypted = bytearray(zip_of({"a.html": PAGE}))
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    (item,) = items_of(write(tmp_path / "c.zip", bytes(encrypted)))
    assert "it is encrypted" in (item.error or "")


@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_bombs_need_no_memory(tmp_path: Path, make: object) -> None:
    """Of a page that decompresses to 200 MB, the bytes that are parsed are read, as for page files."""
    assert callable(make)
    content = make({"a.html": bytes(200 << 20), "b.html": PAGE})
    path = write(tmp_path / "a", content if make is zip_of else gzip.compress(content, 1))
    del content
    tracemalloc.start()
    try:
        first, second = items_of(path, Reading(1 << 20))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(first.html or b""), second.html) == (1 << 20, PAGE)
    assert peak < 8 << 20


def test_attributes_of_any_length(tmp_path: Path) -> None:
    """A header full of small attributes is read, and one beyond the limit is an error that loses no other file."""
    for n_attributes, expected in ((170_000, ["a.tar/b"]), (175_000, ["a.tar", "a.tar/a"])):
        attributes = b"6 a=b\n" * n_attributes + b"15 path=b.html\n"
        header = bytearray(tar_of({"x": b""})[:512])
        header[124:136] = b"%011o\0" % len(attributes)
        header[156:157] = b"x"
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        content = bytes(header) + attributes + bytes(-len(attributes) % 512) + tar_of({"a.html": PAGE})
        assert [item.id for item in items_of(write(tmp_path / "a.tar", content))] == expected
