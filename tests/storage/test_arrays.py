"""Files of a header and arrays: their bytes, and arrays that are refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from blockml.errors import ModelFormatError
from blockml.storage.arrays import read_arrays, write_arrays


def test_members_are_as_documented(tmp_path: Path) -> None:
    """Members are compressed, without a time stamp, world-readable and little-endian, and the header is indented."""
    write_arrays(tmp_path / "a", {"format": 1, "name": "Zoë"}, {"x": np.arange(300, dtype=">i4")})
    with zipfile.ZipFile(tmp_path / "a") as archive:
        members = archive.infolist()
        header = archive.read("header.json").decode()
        array = np.load(io.BytesIO(archive.read("x.npy")))
    assert [member.filename for member in members] == ["header.json", "x.npy"]
    assert {member.date_time for member in members} == {(1980, 1, 1, 0, 0, 0)}
    assert {member.external_attr >> 16 for member in members} == {0o644}
    assert {member.compress_type for member in members} == {zipfile.ZIP_DEFLATED}
    assert header == '{\n  "format": 1,\n  "name": "Zoë"\n}'
    assert (array.dtype, array.tolist()) == (np.dtype("<i4"), list(range(300)))


def test_arrays_of_objects_are_not_written(tmp_path: Path) -> None:
    """Arrays of objects are not written, because reading them would require pickle, which is refused."""
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_arrays(tmp_path / "a", {"format": 1}, {"x": np.array([{}, None])})
    assert list(tmp_path.iterdir()) == []


def test_the_newest_format_is_read_and_the_next_one_is_not(tmp_path: Path) -> None:
    """The newest format is read, and an error for the next one or another kind says what is wrong."""
    write_arrays(tmp_path / "a", {"format": 3, "kind": "x"}, {})
    assert read_arrays(tmp_path / "a", "file", 3, {"kind": "x"}) == ({"format": 3, "kind": "x"}, {})
    with pytest.raises(ModelFormatError, match=r"unknown format 3 \(this version reads 1 to 2\)"):
        read_arrays(tmp_path / "a", "file", 2)
    with pytest.raises(ModelFormatError, match="not a file"):
        read_arrays(tmp_path / "a", "file", 3, {"kind": "y"})


@pytest.mark.parametrize(("name", "bound"), [("header.json", "_MAX_HEADER"), ("x.npy", "_MAX_ARRAYS")])
def test_the_largest_sizes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bound: str) -> None:
    """A member of exactly the maximum size is read, and one byte more is refused."""
    write_arrays(tmp_path / "a", {"format": 1}, {"x": np.arange(3)})
    with zipfile.ZipFile(tmp_path / "a") as archive:
        size = archive.getinfo(name).file_size
    monkeypatch.setattr(f"blockml.storage.arrays.{bound}", size)
    assert read_arrays(tmp_path / "a", "file", 1)[0] == {"format": 1}
    monkeypatch.setattr(f"blockml.storage.arrays.{bound}", size - 1)
    with pytest.raises(ModelFormatError, match="too large"):
        read_arrays(tmp_path / "a", "file", 1)


def test_a_member_that_is_shorter_than_declared_is_refused(tmp_path: Path) -> None:
    """A member shorter than the zip directory declares is refused, even if its checksum and its array are valid."""
    path = tmp_path / "a"
    write_arrays(path, {"format": 1}, {"x": np.arange(3)})
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02") + 24  # the uncompressed size of the last member
    data[place] += 1
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match=r"x\.npy is damaged"):
        read_arrays(path, "file", 1)


def test_an_archive_in_place_of_an_array_is_refused(tmp_path: Path) -> None:
    """An npz archive in place of an array, which numpy opens as something else, is refused."""
    buffer = io.BytesIO()
    np.savez(buffer, np.arange(3))
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr("header.json", '{"format": 1}')
        archive.writestr("x.npy", buffer.getvalue())
    with pytest.raises(ModelFormatError, match="damaged array"):
        read_arrays(tmp_path / "a", "file", 1)
