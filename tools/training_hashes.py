"""Adds the hashes of training pages to released models that were trained before these hashes existed.

``python -m tools.training_hashes NAME --corpora DIR`` opens the data sets that the model's file names, as ``train.py``
does, and refuses them unless their checksums are those in the file. Nothing is trained.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from blockml.datasets import Dataset
from blockml.errors import DatasetError
from blockml.evaluation.page_results import training_hashes
from blockml.model import Model, load_model, render_card, save_model
from train import LABELS, opened

MODELS = Path(__file__).resolve().parents[1] / "models"


def with_hashes(model: Model, corpora: Path) -> Model:
    """Return a model with the hashes of its training pages; ``corpora`` has a folder for each of its data sets.

    Raises
    ------
    DatasetError
        The pages of a data set are not those that the model was trained on.
    """
    datasets = [opened(str(entry["name"]), str(corpora / str(entry["name"]))) for entry in model.training]
    for entry, dataset in zip(model.training, datasets, strict=True):
        if dataset.checksum() != entry["checksum"]:
            raise DatasetError(f"these are not the pages that {model.id} was trained on", source=dataset.path)
    return replace(model, training_hashes=training_hashes(map(_without_labels, datasets)))


def _without_labels(dataset: Dataset) -> Dataset:
    """Read pages without the labels kept in this repository, which may not fit another segmentation."""
    if dataset.name not in LABELS:
        return dataset
    return replace(dataset, pages=tuple(replace(page, reader=None) for page in dataset.pages))


def main() -> int:
    """Add hashes to the models named in the arguments, and write their cards."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--corpora", required=True, type=Path, metavar="DIR")
    arguments = parser.parse_args()
    for name in arguments.names:
        path = MODELS / f"{name}.blockml"
        model = with_hashes(load_model(path), arguments.corpora)
        save_model(model, path)
        Path(f"{path}.md").write_text(render_card(model), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
