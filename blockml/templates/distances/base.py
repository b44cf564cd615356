"""What every distance is: settings, features of one page, the distance of two, the matrix of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.templates.distances.sketches import PageSketch

__all__ = ["MAX_NODES", "Matrix", "Metric", "Progress", "check_count", "check_size", "pairwise"]

Features = TypeVar("Features")
Matrix = NDArray[np.float64]

#: Wraps the pieces of work that are done one after the other, to show how far it has come.
Progress = Callable[[Iterable[Any]], Iterable[Any]]

#: Elements of the largest page that distances take whose cost grows with the product of two sizes. Two such pages that
#: hold nothing but siblings take about half a minute. Our choice.
MAX_NODES = 50_000

# Side of the square tiles that a matrix is cut into: large enough that pages of a site meet in one tile and share what
# was computed of them, small enough that a hundred pages keep several processes busy. Our choice.
_TILE = 32


@dataclass(frozen=True)
class Metric(ABC, Generic[Features]):
    """A distance between pages; its fields are its settings.

    The work is in two steps, so that in a matrix the first is done once per page: :meth:`prepare` and
    :meth:`compare`. Distances are symmetric, at least 0, and 0 for two pages with the same elements. Not all fulfil
    the triangle inequality.
    """

    name: ClassVar[str]
    """The name it is chosen by."""

    @abstractmethod
    def prepare(self, page: PageSketch) -> Features:
        """Take from one page what :meth:`compare` needs."""

    @abstractmethod
    def compare(self, a: Features, b: Features) -> float:
        """Distance of two pages."""

    def matrix(self, features: Sequence[Features], *, jobs: int = 1, progress: Progress = iter) -> Matrix:
        """(n, n) distances of all pairs, symmetric, with zeros on the diagonal."""
        return pairwise(self, features, jobs=jobs, progress=progress)

    def block(self, rows: Sequence[Features], columns: Sequence[Features]) -> Matrix:
        """(rows, columns) distances of some pages to others.

        If both are one and the same sequence, what is not above the diagonal stays 0.
        """
        distances = np.zeros((len(rows), len(columns)))
        for i, row in enumerate(rows):
            for j in range(i + 1 if rows is columns else 0, len(columns)):
                distances[i, j] = self.compare(row, columns[j])
        return distances

    def using(self, **settings: object) -> Self:
        """Give the same distance with other settings.

        Raises
        ------
        UsageError
            A setting that it doesn't have (the message lists those it has), or an illegal value.
        """
        legal = [field.name for field in fields(self)]
        for setting in settings:
            if setting not in legal:
                raise UnknownNameError(f"setting of {self.name}:", setting, legal)
        return replace(self, **settings)


def check_count(setting: str, value: object) -> None:
    """Refuse anything but a whole number from 1 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{setting} must be a whole number from 1 on, not {value!r}")


def check_size(metric: str, size: int, limit: int) -> None:
    """Refuse a page that is too large for a distance whose cost grows with the product of two sizes."""
    if size > limit:
        raise UsageError(
            f"a page with {size:,} nodes is too large for the metric {metric!r}: it takes up to max_nodes={limit:,}; "
            "raise that, or take a metric whose cost is linear: cp, cps, tv or ctss"
        )


def pairwise(metric: Metric[Features], features: Sequence[Features], *, jobs: int, progress: Progress) -> Matrix:
    """(n, n) distances, tile by tile, over processes."""
    import joblib

    distances = np.zeros((len(features), len(features)))
    tiles = [slice(start, start + _TILE) for start in range(0, len(features), _TILE)]
    places = [(rows, columns) for i, rows in enumerate(tiles) for columns in tiles[i:]]
    tasks = (
        joblib.delayed(_tile)(metric, features[rows], None if rows is columns else features[columns])
        for rows, columns in places
    )
    with joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="2*n_jobs") as parallel:
        for (rows, columns), block in zip(places, progress(parallel(tasks)), strict=True):
            distances[rows, columns] = block
    # Only what is above the diagonal was computed.
    return distances + distances.T


def _tile(metric: Metric[Features], rows: Sequence[Features], columns: Sequence[Features] | None) -> Matrix:
    return metric.block(rows, rows if columns is None else columns)
