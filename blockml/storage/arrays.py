"""Zip files with a JSON header and NumPy arrays; reading them runs no code."""

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
from blockml.storage.atomic import atomic_write, refuse_special

#: Maximum sizes in bytes. Headers have a few kB and the arrays of a file a few MB.
_MAX_HEADER, _MAX_ARRAYS = 2**24, 2**30
#: Kinds of numpy types that arrays may have: truth values, numbers, bytes and text. The caller checks each type.
_KINDS = frozenset("biufcSU")
#: Date of every member, so that equal content gives equal bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
_HEADER = "header.json"
_NO_MARK: Mapping[str, object] = MappingProxyType({})


def write_arrays(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file atomically; equal content gives equal bytes.

    Parameters
    ----------
    path
        The file.
    header
        JSON-serialisable values; ``format`` is the format number.
    arrays
        Numeric arrays by name.

    Raises
    ------
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(f"{folder}/a", {"format": 1}, {"x": np.arange(3)})
    ...     header, arrays = read_arrays(f"{folder}/a", "file of numbers", 1)
    >>> header, arrays["x"].tolist()
    ({'format': 1}, [0, 1, 2])
    """
    members = file_members(header, arrays)
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, date_time=_DATE)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)


def file_members(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return the contents of a file written by :func:`write_arrays`, by name and uncompressed."""
    # A name that is not UTF-8 has surrogates, whose escapes are those of JSON.
    members = {_HEADER: json.dumps(header, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array.astype(array.dtype.newbyteorder("<"), copy=False), allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    return members


def read_arrays(
    path: str | os.PathLike[str], kind: str, newest: int, mark: Mapping[str, object] = _NO_MARK
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays of a file written by :func:`write_arrays`; the caller checks their content.

    Parameters
    ----------
    path
        The file.
    kind
        Kind of file, for messages.
    newest
        Number of the newest known format.
    mark
        Header fields and values that identify files of this kind.

    Raises
    ------
    ModelFormatError
        The file is missing, damaged, of another kind, or in a newer format.
    """
    members = _members(path, kind)
    try:
        header = json.loads(members.pop(_HEADER))
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"the header is not JSON ({error})") from None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFormatError("the header has no format number")
    if any(header.get(name) != value for name, value in mark.items()):
        raise ModelFormatError(f"not a {kind}")
    if not 1 <= header["format"] <= newest:
        raise ModelFormatError(
            f"unknown format {header['format']} (this version reads 1 to {newest}): use a newer blockml"
        )
    names = list(members)  # each content is freed when its array is made, which lowers the peak of memory
    return header, {name.removesuffix(".npy"): _array(members.pop(name)) for name in names}


def _members(path: str | os.PathLike[str], kind: str) -> dict[str, bytes]:
    """Return the contents of header and arrays by file name."""
    try:
        refuse_special(path)
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            names = [name for name in sizes if name.endswith(".npy")]
            if _HEADER not in sizes:
                raise ModelFormatError(f"not a {kind}: it has no {_HEADER}")  # noqa: TRY301
            if sizes[_HEADER] > _MAX_HEADER or sum(sizes[name] for name in names) > _MAX_ARRAYS:
                raise ModelFormatError("header or arrays are too large")  # noqa: TRY301
            members = {}
            for name in [_HEADER, *names]:
                with archive.open(name) as stream:
                    members[name] = stream.read(sizes[name])  # unzips at most the declared size
                if len(members[name]) != sizes[name]:
                    raise ModelFormatError(f"{name} is damaged")  # noqa: TRY301
            return members
    except FileNotFoundError:
        raise ModelFormatError(f"no such {kind}") from None
    except ModelFormatError:
        raise
    except Exception as error:  # zipfile raises errors of many types for damaged files
        raise ModelFormatError(f"not a {kind} ({type(error).__name__}: {error})") from error


def _array(data: bytes) -> NDArray[Any]:
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # numpy raises errors of many types for damaged files
        raise ModelFormatError(f"damaged array ({type(error).__name__}: {error})") from error
    # Items without bytes could be any number, which later become as many objects.
    if not isinstance(array, np.ndarray) or array.dtype.kind not in _KINDS or max(array.shape, default=0) > len(data):
        raise ModelFormatError("damaged array")
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # may have been written with either byte order
