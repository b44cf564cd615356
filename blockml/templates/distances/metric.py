"""Base class of the structural distances: settings, features of a page, distance of a pair, distance matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, check_name
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.templates.distances.page_sketch import PageSketch

Features = TypeVar("Features")
Matrix = NDArray[np.float64]

#: Largest page, in elements, for distances of quadratic cost. Two flat pages of that size take about half a minute.
MAX_NODES = 50_000

# Side of the tiles of a matrix: large enough that pages of a site share computed costs, small enough that a hundred
# pages occupy several processes. Our choice.
_TILE = 32


@dataclass(frozen=True)
class Metric(ABC, Generic[Features]):
    """Distance between pages; the dataclass fields are its settings.

    :meth:`prepare` runs once per page, :meth:`compare` once per pair. Distances are symmetric, non-negative, and 0 for
    pages with equal elements; not all fulfil the triangle inequality.
    """

    name: ClassVar[str]  #: Name in :data:`~blockml.templates.distances.METRICS`

    @abstractmethod
    def prepare(self, page: PageSketch) -> Features:
        """Extract the features that :meth:`compare` needs."""

    @abstractmethod
    def compare(self, a: Features, b: Features) -> float:
        """Return the distance of two pages."""

    def matrix(
        self, features: Sequence[Features], *, jobs: int = 1, progress: ProgressCallback = ignore_progress
    ) -> Matrix:
        """Return the symmetric (n, n) matrix of all distances, computed in ``jobs`` processes."""
        import joblib

        distances = np.zeros((len(features), len(features)))
        tiles = [slice(start, start + _TILE) for start in range(0, len(features), _TILE)]
        places = [(rows, columns) for i, rows in enumerate(tiles) for columns in tiles[i:]]
        tasks = (
            joblib.delayed(_tile)(self, features[rows], None if rows is columns else features[columns])
            for rows, columns in places
        )
        with joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="2*n_jobs") as parallel:
            blocks = tracked(parallel(tasks), progress, "distances", len(places))
            for (rows, columns), block in zip(places, blocks, strict=True):
                distances[rows, columns] = block
        # Only the upper triangle was computed.
        return distances + distances.T

    def block(self, rows: Sequence[Features], columns: Sequence[Features]) -> Matrix:
        """Return (rows, columns) distances; only the upper triangle if both are the same sequence object."""
        distances = np.zeros((len(rows), len(columns)))
        for i, row in enumerate(rows):
            for j in range(i + 1 if rows is columns else 0, len(columns)):
                distances[i, j] = self.compare(row, columns[j])
        return distances

    def using(self, **settings: object) -> Self:
        """Return a copy with other settings; raise UsageError for unknown settings or invalid values."""
        legal = [field.name for field in fields(self)]
        for setting in settings:
            check_name(f"setting of {self.name}:", setting, legal)
        return replace(self, **settings)


def check_positive(setting: str, value: object) -> None:
    """Raise UsageError unless the value of a setting is a positive integer."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{setting} must be a positive integer, got {value!r}")


def check_size(metric: str, size: int, limit: int) -> None:
    """Raise UsageError if a page is too large for a distance of quadratic cost."""
    if size > limit:
        raise UsageError(
            f"a page with {size:,} nodes is too large for the metric {metric!r} (max_nodes={limit:,}); "
            "raise max_nodes or choose a metric of linear cost: cp, cps, tv or ctss"
        )


def _tile(metric: Metric[Features], rows: Sequence[Features], columns: Sequence[Features] | None) -> Matrix:
    # Pickling would make two copies of one sequence, so a tile on the diagonal is None.
    return metric.block(rows, rows if columns is None else columns)
