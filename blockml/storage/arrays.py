"""Files of one JSON header and numpy arrays in a zip: inert, for reading one runs nothing."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelFormatError
from blockml.storage.atomic import atomic_write

__all__ = ["read_arrays", "write_arrays"]

#: A header is a few kB and all arrays are a few MB; more is no file of ours.
_MAX_HEADER, _MAX_ARRAYS = 2**24, 2**30
#: Every member carries this date, so that the same content is the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
_HEADER = "header.json"
_NO_MARK: Mapping[str, object] = MappingProxyType({})


def write_arrays(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file. It appears whole or not at all; the same content gives the same bytes.

    Parameters
    ----------
    path
        Where to.
    header
        Anything JSON can hold; ``format`` is the number of the format.
    arrays
        Arrays of numbers by name.

    Raises
    ------
    OSError
        The file can't be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(f"{folder}/a", {"format": 1}, {"x": np.arange(3)})
    ...     header, arrays = read_arrays(f"{folder}/a", "file of numbers", 1)
    >>> header, arrays["x"].tolist()
    ({'format': 1}, [0, 1, 2])
    """
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, _HEADER, json.dumps(header, indent=2, ensure_ascii=False).encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array.astype(array.dtype.newbyteorder("<"), copy=False), allow_pickle=False)
            _write(archive, f"{name}.npy", buffer.getvalue())


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, date_time=_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def read_arrays(
    path: str | os.PathLike[str], kind: str, newest: int, mark: Mapping[str, object] = _NO_MARK
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a file that :func:`write_arrays` wrote. What header and arrays say is for the caller to check.

    Parameters
    ----------
    path
        The file.
    kind
        What the file is called in messages.
    newest
        Number of the newest format that is known.
    mark
        Header fields by which files of this kind are known, whatever their format.

    Raises
    ------
    ModelFormatError
        There is no such file, it is damaged, no file of this kind, or of a newer format.
    """
    members = _members(path, kind)
    header = _header(members.pop(_HEADER), newest, kind, mark)
    return header, {name.removesuffix(".npy"): _array(data) for name, data in members.items()}


def _members(path: str | os.PathLike[str], kind: str) -> dict[str, bytes]:
    """Contents of the zip by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            if sum(info.file_size for info in arrays) > _MAX_ARRAYS:
                raise ModelFormatError("its arrays are too large")  # noqa: TRY301 (as _read does)
            names = [info.filename for info in arrays]
            sizes = {_HEADER: _MAX_HEADER, **dict.fromkeys(names, _MAX_ARRAYS)}
            return {name: _read(archive, name, limit, kind) for name, limit in sizes.items()}
    except FileNotFoundError:
        raise ModelFormatError(f"no such {kind}") from None
    except ModelFormatError:
        raise
    except Exception as error:  # whatever the zip reader trips over, the file is damaged
        raise ModelFormatError(f"not a {kind} ({type(error).__name__}: {error})") from error


def _read(archive: zipfile.ZipFile, name: str, limit: int, kind: str) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ModelFormatError(f"not a {kind}: it holds no {name}") from None
    if info.file_size > limit:
        raise ModelFormatError(f"{name} is too large")
    with archive.open(info) as stream:
        data = stream.read(limit + 1)
    if len(data) != info.file_size:
        raise ModelFormatError(f"{name} is damaged")
    return data


def _header(data: bytes, newest: int, kind: str, mark: Mapping[str, object]) -> dict[str, Any]:
    try:
        header = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"the header is no JSON ({error})") from None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFormatError("the header names no format")
    if any(header.get(name) != value for name, value in mark.items()):
        raise ModelFormatError(f"not a {kind}")
    if not 1 <= header["format"] <= newest:
        raise ModelFormatError(
            f"it has format {header['format']}, this version reads 1 to {newest}: use a newer blockml"
        )
    return header


def _array(data: bytes) -> NDArray[Any]:
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # whatever numpy's reader trips over, the file is damaged
        raise ModelFormatError(f"an array is damaged ({type(error).__name__}: {error})") from error
    if not isinstance(array, np.ndarray):
        raise ModelFormatError("an array is damaged")
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # written on a machine of either byte order
