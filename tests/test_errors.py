"""Messages and pickling of errors."""

from __future__ import annotations

import pickle

import pytest

from blockml.errors import BlockmlError, DatasetError, MissingExtraError, UnknownNameError


@pytest.mark.parametrize(
    "error",
    [
        BlockmlError("plain", source="a.html"),
        UnknownNameError("format", "xml", ["text", "json"], source="line 3"),
        MissingExtraError("the report", "report"),
        DatasetError("gone"),
    ],
)
def test_errors_survive_pickling(error: BlockmlError) -> None:
    """A pickled error has the same type, message and source."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.source == error.source
