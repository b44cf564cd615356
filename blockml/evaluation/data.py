"""Data sets as arguments: one or several, opened or not."""

from __future__ import annotations

import os
from typing import Any

from blockml.datasets import Dataset, open_dataset
from blockml.datasets.base import check_names


def as_dataset(data: Any) -> Dataset:  # noqa: ANN401 (whatever open_dataset reads)
    """Return a data set as it is, and open anything else by :func:`blockml.datasets.open_dataset`."""
    return data if isinstance(data, Dataset) else open_dataset(data)


def as_datasets(data: Any) -> list[Dataset]:  # noqa: ANN401
    """Open one data set, or each of a list of data sets and their paths.

    Raises
    ------
    DatasetError
        One can't be read.
    UsageError
        Two have the same name.
    """
    is_list = isinstance(data, list | tuple) and all(isinstance(item, str | os.PathLike | Dataset) for item in data)
    datasets = [as_dataset(item) for item in (data if is_list else [data])]
    check_names(datasets)
    return datasets
