"""The inert model file: a zip of one JSON header and numpy arrays. Reading it runs nothing.

Reading has three steps: parse the container, check everything, build the model. A file of a newer format is
refused with a message; files of older formats stay readable.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from blockml.arrayfile import read_arrays, write_arrays
from blockml.errors import FeatureMismatchError, ModelError, ModelFormatError, UnknownNameError
from blockml.features import FEATURE_SETS
from blockml.page import Label
from blockml.parsing import BACKENDS, PROFILES
from blockml.parsing.words import TOKENIZERS
from blockml.trees import Trees

__all__ = ["FORMAT", "Model", "Parsing", "load_model", "save_model"]

#: Number of the format written. Raise it when a reader of the old number would misread the new file; keep the old
#: reader in ``_header`` and a file of the old format among the tests.
FORMAT = 1

_ARRAYS: Mapping[str, type[np.generic]] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "roots": np.int32,
}


@dataclass(frozen=True, slots=True)
class Parsing:
    """How pages were parsed when the model was trained; prediction parses alike."""

    backend: str = "lxml"
    profile: str = "anchor"
    keep_wordless: bool = True
    tokenizer: str = "space"


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A trained block classifier and all that is known about it."""

    name: str
    """Public name, such as ``kim2013``."""
    version: str
    """Version of the model."""
    features: str
    """Name of its feature set."""
    features_hash: str
    """Fingerprint of that set when it was trained."""
    trees: Trees
    """The trees; the mean of their leaf values is a probability."""
    threshold: float
    """Score from which on a block is kept, in (0, 1]."""
    parsing: Parsing = field(default_factory=Parsing)
    """How its pages are parsed."""
    link: Literal["mean", "logistic"] = "mean"
    """How leaf values become a score: their mean, or the logistic function of their sum."""
    labels: tuple[str, ...] = ("main", "heading", "supplement")
    """The labels that count as content."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    """Name and parameters of the training recipe."""
    training: tuple[Mapping[str, Any], ...] = ()
    """One entry per data set: name, pages, blocks, checksum, licence, attribution."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Measured quality with intervals."""
    command: str = ""
    """The command that trained it."""
    seed: int = 0
    """Seed of every random choice."""

    @property
    def id(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def score(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probability of content for each row of a feature matrix, (n_rows,) in [0, 1]."""
        total = self.trees.predict(matrix)
        if self.link == "logistic":
            # The logistic function, written so that it can't overflow.
            return (0.5 + 0.5 * np.tanh(0.5 * total)).astype(np.float32)
        return (total / len(self.trees.roots)).astype(np.float32)


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file. The file appears whole or not at all; the same model gives the same bytes.

    Raises
    ------
    ModelError
        The model could not be loaded again.
    """
    header: dict[str, Any] = {"format": FORMAT}
    for item in fields(Model):
        if item.name not in ("trees", "parsing"):
            header[item.name] = getattr(model, item.name)
    header["parsing"] = {item.name: getattr(model.parsing, item.name) for item in fields(Parsing)}
    _build(json.loads(json.dumps(header)), model.trees)  # what can't be loaded is not written
    write_arrays(
        path, header, {name: np.asarray(getattr(model.trees, name), dtype=dtype) for name, dtype in _ARRAYS.items()}
    )


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read and check a model file.

    Raises
    ------
    ModelFormatError
        Not a model file, damaged, or of a newer format.
    FeatureMismatchError
        Trained on features that this version does not compute, or computes otherwise.
    """
    try:
        header, arrays = read_arrays(path, "model file", FORMAT)
        trees = Trees(**{name: _typed(arrays, name, dtype) for name, dtype in _ARRAYS.items()})
        return _build(header, trees)
    except ModelError as error:
        raise type(error)(str(error), source=os.fspath(path)) from error


def _typed(arrays: Mapping[str, NDArray[Any]], name: str, dtype: type[np.generic]) -> NDArray[Any]:
    if name not in arrays:
        raise ModelFormatError(f"not a model file: it holds no {name}.npy")
    if arrays[name].dtype != np.dtype(dtype):
        raise ModelFormatError(f"an array has the wrong type, {np.dtype(dtype)} was expected")
    return arrays[name]


#: Header fields and what they must be.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "name": str, "version": str, "features": str, "features_hash": str, "threshold": (int, float), "link": str,
    "labels": list, "recipe": dict, "training": list, "metrics": dict, "command": str, "seed": int, "parsing": dict,
}  # fmt: skip
_PARSING_TYPES: Mapping[str, type] = {"backend": str, "profile": str, "keep_wordless": bool, "tokenizer": str}


def _build(header: Mapping[str, Any], trees: Trees) -> Model:
    """Check the header's values and make the model."""
    for name, expected in _TYPES.items():
        if not isinstance(header.get(name), expected):
            raise ModelFormatError(f"the header's {name!r} is missing or of the wrong kind")
    for name, expected in _PARSING_TYPES.items():
        if not isinstance(header["parsing"].get(name), expected):
            raise ModelFormatError(f"the header's parsing option {name!r} is missing or of the wrong kind")
    parsing = Parsing(**{name: header["parsing"][name] for name in _PARSING_TYPES})
    choices: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("backend", parsing.backend, BACKENDS),
        ("profile", parsing.profile, PROFILES),
        ("tokenizer", parsing.tokenizer, TOKENIZERS),
        ("link", header["link"], ("mean", "logistic")),
    )
    for kind, value, legal in choices:
        if value not in legal:
            raise ModelFormatError(str(UnknownNameError(kind, value, legal)))
    legal_labels = {str(label) for label in Label}
    if not all(isinstance(label, str) and label in legal_labels for label in header["labels"]):
        raise ModelFormatError(f"labels are among: {', '.join(sorted(legal_labels))}")
    if not all(isinstance(entry, dict) for entry in header["training"]):
        raise ModelFormatError("the header's training entries must be objects")
    if not 0 < header["threshold"] <= 1:
        raise ModelFormatError("the threshold must be above 0 and at most 1")
    known = FEATURE_SETS.get(header["features"])
    if known is None or known.hash != header["features_hash"]:
        raise FeatureMismatchError(
            f"it was trained on feature set {header['features']!r} ({header['features_hash']}), "
            f"which this version {'does not know' if known is None else 'computes otherwise'}: train it again"
        )
    trees.check(len(known.columns))
    if header["link"] == "mean" and ((trees.value < 0) | (trees.value > 1)).any():
        raise ModelFormatError("leaf values that are averaged must be between 0 and 1")
    values = {name: header[name] for name in _TYPES if name not in ("parsing", "labels", "training")}
    return Model(
        trees=trees, parsing=parsing, labels=tuple(header["labels"]), training=tuple(header["training"]), **values
    )
