"""Ray Data: pages of a data set, with ``map_batches``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blockml.batch.batch_extractor import BatchExtractor
from blockml.errors import needed

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["extract_dataset"]

#: Rows of a batch.
BATCH_ROWS = 64


def extract_dataset(dataset: Dataset, extractor: BatchExtractor, **options: Any) -> Dataset:  # noqa: ANN401 (Ray's)
    """Extract the pages of a data set, one row out for each row in.

    The extractor runs in tasks, not in a pool of actors: a pool that takes all cores leaves none for reading, and the
    run never ends. Each Ray process keeps the model that it has loaded.

    Parameters
    ----------
    dataset
        The pages, in the columns ``extractor.columns``.
    extractor
        The extractor; its columns ``keep`` stay in the result.
    **options
        Further arguments of ``ray.data.Dataset.map_batches``.

    Raises
    ------
    MissingExtraError
        Ray isn't installed.
    """
    with needed("Ray Data", "ray"):
        import ray.data  # noqa: F401
    chosen = {"batch_size": BATCH_ROWS, "batch_format": "pyarrow", **options}
    return dataset.map_batches(extractor.__call__, **chosen)
