"""All ways to read a damaged WARC file give the same pages, and damage loses only the record that contains it."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import brotli
import pytest
import zstandard

from blockml.archives import compression
from blockml.archives import content as content_module
from blockml.archives.content import Content
from blockml.archives.warc import piped_captures, warc_captures
from blockml.batch import (
    BatchExtractor,
    Item,
    Options,
    PageExtractor,
    find_inputs,
    predict_items,
    predict_to_stream,
    read_items,
)
from blockml.batch.readers import Reading, web_archives
from blockml.extractors import Plain

pytestmark = pytest.mark.exhaustive

N_RECORDS = 12


def record(number: int, *, ends: bytes = b"\r\n", size: int = 300, named: bool = True) -> bytes:
    """Return a record with a page of random words."""
    chance = random.Random(number)  # noqa: S311 (no secret)
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    block += f"<p>page {number} {''.join(chance.choices('abcdefghij ', k=size))}".encode()
    fields = [
        "WARC/1.0",
        "WARC-Type: response",
        *([f"WARC-Record-ID: <urn:uuid:{number}>"] if named else ["WARC-Date: 2026-01-01T00:00:00Z"]),
        f"WARC-Target-URI: http://site.example/{number}",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(block)}",
        "",
        "",
    ]
    return ends.join(field.encode() for field in fields) + block + ends * 2


def each(compress: Callable[[bytes], bytes]) -> Callable[[list[bytes]], bytes]:
    """Return a function that compresses each record separately."""
    return lambda records: b"".join(map(compress, records))


def whole(compress: Callable[[bytes], bytes]) -> Callable[[list[bytes]], bytes]:
    """Return a function that compresses all records together."""
    return lambda records: compress(b"".join(records))


def cut_anywhere(records: list[bytes]) -> bytes:
    """Compress pieces that end in the middle of records."""
    data = b"".join(records)
    return b"".join(gzip.compress(data[place : place + 400], mtime=0) for place in range(0, len(data), 400))


def with_checksum(data: bytes) -> bytes:
    """Compress a frame of Zstandard with a checksum; without one, some damage is not noticed."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


LAYOUTS: Mapping[str, Callable[[list[bytes]], bytes]] = {
    "plain.warc": b"".join,
    "members.warc.gz": each(lambda data: gzip.compress(data, mtime=0)),
    "stored.warc.gz": each(lambda data: gzip.compress(data, 0, mtime=0)),
    "whole.warc.gz": whole(lambda data: gzip.compress(data, mtime=0)),
    "cut.warc.gz": cut_anywhere,
    "frames.warc.zst": each(with_checksum),
    "whole.warc.zst": whole(with_checksum),
    "whole.warc.br": whole(brotli.compress),
}


def damaged(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """Damage a file at a random place and return the data and the kind of damage."""
    place = chance.randrange(len(data))
    length = chance.choice((1, 1, 3, 20, 300))
    kind = chance.choice(("flip", "zero", "remove", "insert", "repeat", "end"))
    piece = data[place : place + length]
    new = {
        "flip": bytes(byte ^ 1 << chance.randrange(8) for byte in piece),
        "zero": bytes(len(piece)),
        "remove": b"",
        "insert": piece + chance.randbytes(length),
        "repeat": piece * 2,
        "end": b"",
    }[kind]
    return data[:place] + new + (b"" if kind == "end" else data[place + length :]), kind


def rows(items: Iterator[Item]) -> list[tuple[str, str | None, str]]:
    """Return id, URL, and error or content of each item."""
    return [(item.id, item.url, item.error or str(item.read())) for item in items]


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split files into ranges of two or three records."""
    monkeypatch.setattr(web_archives, "_RANGE_BYTES", 700)
    monkeypatch.setattr(web_archives, "_COMPRESSION", 2)


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_reader_gives_the_pages_of_a_damaged_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading by small ranges, by an engine or as one range gives the same pages, without duplicates or losses."""
    for seed in range(25):
        chance = random.Random(f"{name} {seed}")  # noqa: S311 (no secret)
        path = tmp_path / f"{seed}-{name}"
        data, kind = damaged(LAYOUTS[name]([record(number) for number in range(N_RECORDS)]), chance)
        path.write_bytes(data)
        inputs = find_inputs([str(path)])
        (file,) = inputs.files()
        expected = rows(read_items(inputs))
        assert rows(inputs.items_of(file, Reading())) == expected
        extractor = BatchExtractor("plain", options=Options(fields=("id", "url", "status", "text", "error")))
        by_engine = list(extractor.records(inputs.items_of(file, Reading())))
        assert by_engine == list(predict_items(read_items(inputs), Plain(), extractor.options, isolation="none"))
        assert [(row["id"], row["url"]) for row in by_engine] == [row[:2] for row in expected]
        with monkeypatch.context() as patch:
            patch.setattr(web_archives, "_RANGE_BYTES", 1 << 20)
            assert rows(read_items(inputs)) == expected
        pages = [text for _, _, text in expected if not text.startswith("damaged")]
        assert len(pages) == len(set(pages)) or kind == "repeat"
        if kind != "end" and not name.startswith("whole"):
            # 300 bytes touch at most three records or five pieces of records
            assert len(pages) >= N_RECORDS - (6 if name.startswith("cut") else 3)
        elif len(pages) < N_RECORDS:
            assert any(text.startswith("damaged") for _, _, text in expected)


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("name", LAYOUTS)
def test_workers_give_the_rows_of_a_damaged_file(tmp_path: Path, name: str) -> None:
    """Two worker processes write the same records as one process that reads in order."""
    paths = []
    for seed in range(8):
        chance = random.Random(f"{name} {seed}")  # noqa: S311 (no secret)
        paths.append(tmp_path / f"{seed}-{name}")
        paths[-1].write_bytes(damaged(LAYOUTS[name]([record(number) for number in range(N_RECORDS)]), chance)[0])
    inputs = find_inputs(list(map(str, paths)))
    options = Options(fields=("id", "url", "status", "text", "error"))
    expected = list(predict_items(read_items(inputs), Plain(), options, isolation="none"))
    stream = io.BytesIO()
    summary, _ = predict_to_stream(inputs, PageExtractor(Plain(), options), stream, jobs=2)
    assert [json.loads(line) for line in stream.getvalue().decode().splitlines()] == expected
    assert summary.n_pages == len(expected)


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("bad", [0, 4, N_RECORDS - 1])
def test_records_with_line_feeds_are_read(tmp_path: Path, name: str, bad: int) -> None:
    """Records are read if some or all of their header lines end with a line feed only, and so are their neighbours."""
    path = tmp_path / name
    for records in (
        [record(number, ends=b"\n" if number == bad else b"\r\n") for number in range(N_RECORDS)],
        [record(number, ends=b"\n") for number in range(N_RECORDS)],
    ):
        path.write_bytes(LAYOUTS[name](records))
        items = list(read_items(find_inputs([str(path)])))
        assert [(item.id, item.error) for item in items] == [
            (f"urn:uuid:{number}", None) for number in range(N_RECORDS)
        ]
        assert rows(iter(items)) == [
            (f"urn:uuid:{number}", f"http://site.example/{number}", str(items[number].html))
            for number in range(N_RECORDS)
        ]
        assert [capture.id for capture in warc_captures(path, 1000)] == [item.id for item in items] or name.endswith(
            "br"
        )


def test_odd_headers(tmp_path: Path) -> None:
    """Folded values and repeated fields are read, and a header without an end loses only its record."""
    folded = (
        record(1)
        .replace(b"WARC-Target-URI: ", b"WARC-Target-URI:\r\n\t ")
        .replace(b"WARC-Type", b"WARC-Protocol: h2\r\nWARC-Protocol: tls/1.3\r\nWARC-Type")
    )
    for odd, error in (
        (folded, None),
        (
            record(1).replace(b"Content-Length: 3", b"Content-Length: +3"),
            "the record's Content-Length is missing or invalid",
        ),
        (
            record(1).replace(b"Content-Length: 3", b"Content-Length: " + b"9" * 5000),
            "Content-Length is missing or invalid",
        ),
        (record(1).replace(b"WARC-Type", b"X: " + b"x" * 70_000 + b"\r\nWARC-Type"), "the header of the record"),
        (record(1).replace(b"WARC-Type:", b"WARC-Type"), "the header of the record"),
        (record(1).replace(b"WARC/1.0", b"WARC/one"), "the next bytes are not a record"),
    ):
        for name in ("plain.warc", "members.warc.gz"):
            (tmp_path / name).write_bytes(LAYOUTS[name]([record(0), odd, record(2)]))
            items = list(read_items(find_inputs([str(tmp_path / name)])))
            assert len(items) == 3
            assert (items[0].error, items[2].error) == (None, None)
            assert (items[0].id, items[2].id) == ("urn:uuid:0", "urn:uuid:2")
            if error is None:
                assert (items[1].url, items[1].error) == ("http://site.example/1", None)
            else:
                assert error in (items[1].error or "")


@pytest.mark.parametrize("name", ["plain.warc", "members.warc.gz"])
def test_each_record_with_a_wrong_length_has_a_row(tmp_path: Path, name: str) -> None:
    """Every record has a row, even if the lengths of all records extend past the records that follow."""
    records = [record(number).replace(b"Content-Length: ", b"Content-Length: 99999") for number in range(200)]
    path = tmp_path / name
    path.write_bytes(LAYOUTS[name](records))
    errors = [capture.response.error for capture in warc_captures(path, 1000)]
    assert len(errors) == 200
    assert all((error or "").startswith("damaged (") for error in errors)


@pytest.mark.parametrize("seed", range(30))
def test_the_same_damaged_bytes_give_the_same_records_however_they_are_stored(tmp_path: Path, seed: int) -> None:
    """Damage of the content, instead of the compressed file, loses one record in every layout."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    data, kind = damaged(b"".join(record(number) for number in range(N_RECORDS)), chance)
    found = {}
    for name in ("plain.warc", "whole.warc.gz", "cut.warc.gz", "whole.warc.zst", "whole.warc.br"):
        (tmp_path / name).write_bytes(LAYOUTS[name]([data]))
        items = rows(read_items(find_inputs([str(tmp_path / name)])))
        # Ids of damaged records end in their place, which is that of a gzip member if there are several.
        found[name] = [(re.sub("^.*@.*" if name[0] == "c" else "^.*@", "@", row[0]), *row[1:]) for row in items]
    expected = found.pop("plain.warc")
    assert found.pop("cut.warc.gz") == [(re.sub("^@.*", "@", row[0]), *row[1:]) for row in expected]
    for rest in found.values():
        assert rest == expected
    with (tmp_path / "plain.warc").open("rb") as stream:
        piped = [capture.response for capture in piped_captures(stream, 1000)]
    assert len([response for response in piped if not response.skipped]) == len(expected)
    pages = [row for row in expected if not row[2].startswith("damaged")]
    assert len(pages) >= N_RECORDS - 3 or kind == "end"


@pytest.mark.parametrize("name", ["plain.warc", "members.warc.gz", "whole.warc.gz", "frames.warc.zst"])
@pytest.mark.parametrize("length", [10**12, 90_000_000, 20_000])
def test_wrong_lengths_are_read_no_further_than_the_next_record(
    tmp_path: Path, name: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content is read once, even if every record's length extends past the file or far into it."""
    n_bytes = 0
    extend = Content._extend

    def counted(content: Content) -> bool:
        nonlocal n_bytes
        before = len(content._buffer)
        found = extend(content)
        n_bytes += len(content._buffer) - before
        return found

    records = [record(number).replace(b"Content-Length: 3", b"Content-Length: %d3" % length) for number in range(300)]
    (tmp_path / name).write_bytes(LAYOUTS[name](records))
    monkeypatch.setattr(Content, "_extend", counted)
    captures = list(warc_captures(tmp_path / name, 1000))
    assert len(captures) == 300
    assert all(capture.response.error for capture in captures)
    assert n_bytes <= sum(map(len, records))


def test_a_long_compressed_record_is_searched_for_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record longer than what is kept of a stream ends where the next one starts, unless the file shows its end."""
    monkeypatch.setattr(content_module, "LOOKAHEAD", 1000)
    image = record(1, size=70_000)
    for name in LAYOUTS:
        for records, errors in (
            ([record(0), image, record(2)], [False, False, False]),
            ([record(0), image.replace(b"Content-Length: 7", b"Content-Length: 17"), record(2)], [False, True, False]),
            ([record(0), image.replace(b"Content-Length: 70", b"Content-Length: 71"), record(2)], [False, True, False]),
            ([record(0), image[:9000], record(2)], [False, True, False]),
        ):
            (tmp_path / name).write_bytes(LAYOUTS[name](records))
            found = list(read_items(find_inputs([str(tmp_path / name)])))
            assert [item.id[-1] for item in found] == ["0", "1", "2"], name
            assert [item.error is not None for item in found] == errors, name


def test_a_header_of_many_starts_is_read_once(tmp_path: Path) -> None:
    """Lines that look like the start of a record, without an end of the header, each cost their own bytes."""
    (tmp_path / "a.warc").write_bytes(b"X:WARC/1.0\r\n" * 20_000)
    calls = 0

    class Counted:
        def __init__(self, pattern: re.Pattern[bytes]) -> None:
            self.pattern = pattern

        def search(self, data: bytearray, start: int, end: int) -> re.Match[bytes] | None:
            nonlocal calls
            found = self.pattern.search(data, start, end)
            calls += (found.end() if found else end) - start
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content_module, "_HEADER_END", Counted(content_module._HEADER_END))
        assert len(list(warc_captures(tmp_path / "a.warc", 1000))) > 9000
    assert calls < 2 * 13 * 20_000 + 70_000


@pytest.mark.parametrize("name", ["whole.warc.gz", "whole.warc.zst"])
def test_a_record_is_copied_only_if_its_length_is_right(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lengths that all end in the same far place don't make each record copy what is between."""
    filler = b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 900000\r\n\r\n" + bytes(900_000) + b"\r\n\r\n"
    bad = [record(number).replace(b"Content-Length: 3", b"Content-Length: 50003") for number in range(100)]
    (tmp_path / name).write_bytes(LAYOUTS[name]([*bad, filler * 8]))
    copied = 0
    end = Content._is_end

    def counted(content: Content, after: bytes) -> bool:
        nonlocal copied
        copied += len(after)
        return end(content, after)

    monkeypatch.setattr(Content, "_is_end", counted)
    captures = [capture for capture in warc_captures(tmp_path / name, 10_000_000) if capture.response.error]
    assert len(captures) == 100
    assert 5_000 <= copied < 50_000


def arc_record(number: int, size: int = 300) -> bytes:
    """Return a record of an ARC file with a page of random words."""
    block = record(number, size=size).partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n")
    line = f"http://site.example/{number} 1.2.3.4 20260101000000 text/html {len(block)}\n"
    return line.encode() + block + b"\n"


ARC_LAYOUTS = {
    "plain.arc": b"".join,
    "members.arc.gz": LAYOUTS["members.warc.gz"],
    "cut.arc.gz": cut_anywhere,
    "frames.arc.zst": LAYOUTS["frames.warc.zst"],
}


@pytest.mark.parametrize("name", ARC_LAYOUTS)
@pytest.mark.parametrize("seed", range(30))
def test_damage_of_an_arc_file_loses_only_its_records(tmp_path: Path, name: str, seed: int) -> None:
    """The pages after a damaged record are read, whatever the file is compressed with, and the damage has a row."""
    chance = random.Random(f"{name} {seed}")  # noqa: S311 (no secret)
    records = [arc_record(number) for number in range(N_RECORDS)]
    data, kind = damaged(ARC_LAYOUTS[name](records), chance)
    (tmp_path / name).write_bytes(data)
    reading = Reading()
    found = rows(read_items(find_inputs([str(tmp_path / name)]), reading))
    pages = {url: text for _, url, text in found if not text.startswith("damaged")}
    (tmp_path / "whole.arc").write_bytes(b"".join(records))
    expected = {url: text for _, url, text in rows(read_items(find_inputs([str(tmp_path / "whole.arc")])))}
    right = [url for url, text in pages.items() if expected.get(url) == text]
    if kind != "end":
        assert len(right) >= N_RECORDS - (6 if name.startswith("cut") else 3)
    if len(pages) < N_RECORDS and kind != "end":
        assert reading.skipped or any(text.startswith("damaged") for _, _, text in found)  # another media type


@pytest.mark.parametrize("length", [0, 5, 299, 400, 3000, 10**12])
@pytest.mark.parametrize("name", ARC_LAYOUTS)
def test_a_wrong_length_of_an_arc_record_loses_only_that_record(tmp_path: Path, name: str, length: int) -> None:
    """A length that is too small or too large gives an error, and the records after it are read."""
    records = [arc_record(number) for number in range(N_RECORDS)]
    start, _, rest = records[4].partition(b"\n")
    records[4] = start.rpartition(b" ")[0] + f" {length}\n".encode() + rest
    (tmp_path / name).write_bytes(ARC_LAYOUTS[name](records))
    found = rows(read_items(find_inputs([str(tmp_path / name)])))
    assert [url for _, url, text in found if not text.startswith("damaged")] == [
        f"http://site.example/{number}" for number in range(N_RECORDS) if number != 4
    ]
    assert any(text.startswith("damaged") for _, _, text in found)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", with_checksum)])
@pytest.mark.parametrize("cut", ["between lines", "inside of lines"])
@pytest.mark.parametrize("seed", range(12))
def test_damage_of_compressed_lines_loses_only_its_member(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes], cut: str, seed: int
) -> None:
    """JSON lines after a damaged gzip member or frame are read, and the damage has a row that says where it is."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    lines = [json.dumps({"id": str(n), "html": f"<p>{chance.random()} {chance.random()}"}) + "\n" for n in range(200)]
    data = "".join(lines).encode()
    size = len(data) // 20 + (0 if cut == "between lines" else 7)
    pieces = [data[place : place + size] for place in range(0, len(data), size)]
    if cut == "between lines":
        pieces = ["".join(lines[place : place + 10]).encode() for place in range(0, 200, 10)]
    members = list(map(compress, pieces))
    bad = chance.randrange(20)
    place = chance.randrange(len(members[bad]))
    members[bad] = members[bad][:place] + bytes([members[bad][place] ^ 64]) + members[bad][place + 1 :]
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(b"".join(members))
    items = list(read_items(find_inputs([str(path)])))
    good = {item.id for item in items if item.error is None}
    lost = {str(n) for n in range(200)} - good
    assert good <= {str(n) for n in range(200)}
    assert len(lost) <= 13
    assert not lost or any(item.error for item in items)


@pytest.mark.parametrize("name", ["whole.warc.gz", "whole.warc.zst", "whole.warc.br"])
def test_what_can_not_be_decompressed_is_reported(tmp_path: Path, name: str) -> None:
    """Damage inside of a file that is compressed as a whole has a row with the place and the size of the file."""
    data = LAYOUTS[name]([record(number, size=20_000) for number in range(N_RECORDS)])
    (tmp_path / name).write_bytes(data[:90_000] + bytes(400) + data[90_400:])
    found = rows(read_items(find_inputs([str(tmp_path / name)])))
    assert found[-1][2].startswith("damaged (")
    assert f"from byte 0 of the compressed data, which has {len(data):,} bytes" in found[-1][2]


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("a.jsonl.gz", b"\x1f\x8b\x08" + bytes(7) + b"\x07"),  # a block of a reserved type
        ("a.jsonl.gz", b"\x1f\x8b\x08" + bytes(7) + b"\x00\x04\x00\xfb\xff{}\n\n"),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x00\x00\xff\xff\xff"),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x00\x50\x01\x00\x50"),
        ("a.warc.gz", b"\x1f\x8b\x08" + bytes(7) + b"\x00\x07\x00\xf8\xffWARC/1."),
    ],
)
def test_searching_for_frames_reads_a_file_about_twice(
    tmp_path: Path, name: str, frame: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of starts of members, none of which is whole, cost about what two readings of the file cost."""
    n_read = 0
    step = compression.Decompressed._load

    def counted(stream: compression.Decompressed, n_bytes: int = 1) -> bool:
        nonlocal n_read
        before = stream._n_read
        found = step(stream, n_bytes)
        n_read += stream._n_read - before
        return found

    monkeypatch.setattr(compression, "_MAX_AGAIN", 1 << 20)
    monkeypatch.setattr(compression.Decompressed, "_load", counted)
    data = frame * (2_000_000 // len(frame))
    (tmp_path / name).write_bytes(data)
    items = list(read_items(find_inputs([str(tmp_path / name)])))
    assert items
    assert n_read < 4 * len(data)
