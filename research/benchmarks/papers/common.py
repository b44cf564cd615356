"""Data sets, intervals and tables shared by the sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, open_dataset
from blockml.evaluation.bootstrap import Difference, Interval, Resampled, bootstrap_systems
from blockml.evaluation.comparison.means import block_ratios

__all__ = ["DATA", "corpus", "limited", "pooled_counts", "pooled_f1", "show", "signed", "spread"]

#: Synthetic pages, on which everything runs without corpora.
DATA = Path(__file__).parents[3] / "data"

#: Without corpora only so many sites, and pages of each, are read.
_MOST_SITES, _MOST_PAGES = 4, 6

_Floats = NDArray[np.float64]


def corpus(corpora: Path | None, name: str, folder: str = "") -> Dataset:
    """Open a corpus by its name, or a folder within it; without corpora, some pages of ``data/sites``."""
    if corpora is not None:
        return open_dataset(f"{name}={corpora / name / folder}")
    return limited(open_dataset(f"data={DATA / 'sites'}"))


def limited(dataset: Dataset, sites: int = _MOST_SITES, pages: int = _MOST_PAGES) -> Dataset:
    """Return the first pages of the first sites of a data set."""
    names = list(dict.fromkeys(page.site for page in dataset.pages))[:sites]
    chosen = [page for site in names for page in [p for p in dataset.pages if p.site == site][:pages]]
    return replace(dataset, pages=tuple(chosen))


def pooled_counts(
    truth: NDArray[np.bool_], kept: NDArray[np.bool_], owner: NDArray[np.integer], n_owners: int
) -> _Floats:
    """Count true positives, false positives and false negatives of blocks by owner, (n_owners, 3)."""
    cells = (truth & kept, ~truth & kept, truth & ~kept)
    return np.stack([np.bincount(owner[cell], minlength=n_owners) for cell in cells], axis=1).astype(np.float64)


def pooled_f1(counts: Sequence[_Floats]) -> Resampled:
    """Bootstrap the F1 pooled over owners (pages, or sites) of several systems, each with counts (n_owners, 3)."""

    def f1(sums: _Floats) -> _Floats:
        ratios: _Floats = block_ratios(sums)[..., 0]
        return ratios

    return bootstrap_systems(np.stack(counts, axis=1), f1)


def spread(found: Interval) -> str:
    """Format a mean with its interval."""
    return f"{_three(found.mean)} [{_three(found.low)}, {_three(found.high)}]"


def signed(found: Difference) -> str:
    """Format a difference with its interval."""
    mean, low, high = (f"{value:+.3f}".replace("0.", ".", 1) for value in (found.mean, found.low, found.high))
    return f"{mean} [{low}, {high}]"


def _three(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def show(title: str, rows: Sequence[dict[str, object]]) -> None:
    """Print a title and rows with equal keys as a Markdown table; floats with three decimals."""
    names = list(rows[0])
    print(f"\n### {title}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        cells = [_three(value) if isinstance(value, float) else str(value) for value in (row[name] for name in names)]
        print(f"| {' | '.join(cells)} |", flush=True)
