"""The inert model file: a zip of one JSON header and numpy arrays. Reading it runs nothing.

Reading has three steps: parse the container, check everything, build the model. A file of a newer format is
refused with a message; files of older formats stay readable.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Rule
from blockml.decision.page_policy import COLUMNS as WHOLE_COLUMNS
from blockml.errors import FeatureMismatchError, ModelError, ModelFormatError, UnknownNameError
from blockml.features import FEATURE_SETS
from blockml.features.block_groups import GROUPINGS
from blockml.page import Label
from blockml.parsing import BACKENDS, PROFILES
from blockml.predictors.block_types import BlockTypes
from blockml.predictors.log_odds import sigmoid
from blockml.predictors.mlp import MLP
from blockml.predictors.tree_ensemble import Trees, side_by_side
from blockml.storage.arrays import read_arrays, write_arrays
from blockml.text.words import TOKENIZERS

__all__ = ["FORMAT", "Model", "Parsing", "Rule", "load_model", "save_model"]

#: Number of the format written. Raise it when a reader of the old number would misread the new file; keep the old
#: reader in ``_header`` and a file of the old format among the tests.
FORMAT = 5

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

    def options(self) -> dict[str, Any]:
        """As arguments of :func:`blockml.parse`."""
        return {
            "backend": self.backend,
            "profile": self.profile,
            "keep_wordless": self.keep_wordless,
            "tokenizer": self.tokenizer,
        }


@dataclass(frozen=True, eq=False)
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
    rule: Rule = "threshold"
    """How scores become a decision."""
    least_words: float = 0.0
    """Expected words of content below which a page may be taken to have none, where the rule is ``expected_f1``."""
    net: MLP | None = None
    """Nets whose log odds are averaged with those of the trees."""
    net_share: float = 0.5
    """Weight of the nets in that mean, in [0, 1]."""
    article: Trees | None = None
    """Trees that tell whether a page is an article: see :mod:`blockml.decision.page_policy`."""
    caution: float = 0.0
    """By how much the log odds of blocks are lowered on every page."""
    article_caution: float = 0.0
    """By how much more on a page that certainly is an article."""
    link_caution: float = 0.0
    """By how much more those of links on a page that certainly has a body of running text."""
    copy_caution: float = 0.0
    """By how much more those of text that stands on the page already: see :mod:`blockml.decision.duplicates`."""
    leaning: float = 0.0
    """Part of the log odds of a line that its neighbours decide, in [0, 1]."""
    doubt: float = 0.0
    """Part by which log odds against a block are lessened on a page that is hardly an article, in [0, 1]."""
    areas: BlockTypes | None = None
    """Tells what blocks are, beyond main content or not."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    """Name and parameters of the training recipe."""
    training: tuple[Mapping[str, Any], ...] = ()
    """One entry per data set: name, pages, blocks, checksum, licence, attribution."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Measured quality with intervals."""
    notes: tuple[str, ...] = ()
    """What its users should know, such as where it is known to be weak: paragraphs for the card."""
    command: str = ""
    """The command that trained it."""
    seed: int = 0
    """Seed of every random choice."""

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields alone, not what is made of them for prediction."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    def id(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def score(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probability of content for each row of a feature matrix, (n_rows,) in [0, 1]: the first look."""
        return self.linked(self.trees.predict(matrix))

    def sums(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n_rows, 1 + k) sums of the leaf values of the trees, and of those of :attr:`BlockTypes.rivals`, in one go.

        Raises
        ------
        UsageError
            The matrix has fewer columns than the trees ask for.
        """
        trees, group, n_groups = self.joint
        trees.check_width(matrix)
        return trees.sums(matrix, group, n_groups)

    @cached_property
    def joint(self) -> tuple[Trees, NDArray[np.int32], int]:
        """The trees and those of ``BlockTypes.rivals`` as one ensemble; the group of each, and the number of groups."""
        parts = [self.trees, *(self.areas.rivals if self.areas is not None else ())]
        return *side_by_side(parts), len(parts)

    def linked(self, total: NDArray[np.float64]) -> NDArray[np.float32]:
        """Probabilities of sums of leaf values, both (n_rows,)."""
        if self.link == "logistic":
            return sigmoid(total)
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
        if item.name not in ("trees", "parsing", *_PARTS):
            header[item.name] = getattr(model, item.name)
    header["parsing"] = model.parsing.options()
    header["parts"] = [name for name in _PARTS if getattr(model, name) is not None]
    header["area_labels"] = [] if model.areas is None else [str(label) for label in model.areas.labels]
    arrays = _tree_arrays(model.trees)
    if model.article is not None:
        arrays |= _tree_arrays(model.article, "article_")
    if model.net is not None:
        arrays |= {f"net_{name}": array for name, array in model.net.arrays().items()}
    if model.areas is not None:
        arrays |= model.areas.to_arrays()
    _build(json.loads(json.dumps(header)), arrays)  # what can't be loaded is not written
    write_arrays(path, header, arrays)


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
        lacking = {
            1: {**_SINCE_2, **_SINCE_3, **_SINCE_4, **_SINCE_5},
            2: {**_SINCE_3, **_SINCE_4, **_SINCE_5},
            3: {**_SINCE_4, **_SINCE_5},
            4: _SINCE_5,
        }.get(header["format"], {})
        if lacking:
            arrays.setdefault("net_mix", np.zeros((0, 0), dtype=np.float16))
        return _build({**lacking, **header}, arrays)
    except ModelError as error:
        raise type(error)(str(error), source=os.fspath(path)) from error


def _tree_arrays(trees: Trees, prefix: str = "") -> dict[str, NDArray[Any]]:
    return {prefix + name: np.asarray(getattr(trees, name), dtype=dtype) for name, dtype in _ARRAYS.items()}


def _read_trees(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Trees:
    return Trees(**{name: _typed(arrays, prefix + name, dtype) for name, dtype in _ARRAYS.items()})


def _typed(arrays: Mapping[str, NDArray[Any]], name: str, dtype: type[np.generic]) -> NDArray[Any]:
    if name not in arrays:
        raise ModelFormatError(f"not a model file: it holds no {name}.npy")
    if arrays[name].dtype != np.dtype(dtype):
        raise ModelFormatError(f"an array has the wrong type, {np.dtype(dtype)} was expected")
    return arrays[name]


#: What a model may have beside its trees.
_PARTS = ("net", "article", "areas")
#: Header fields that format 1 did not have, with what they were then.
_SINCE_2: Mapping[str, Any] = {
    "rule": "threshold",
    "net_share": 0.5,
    "least_words": 0.0,
    "caution": 0.0,
    "article_caution": 0.0,
    "parts": [],
    "area_labels": [],
    "notes": [],
}

#: The same of format 2.
_SINCE_3: Mapping[str, Any] = {"link_caution": 0.0}

#: The same of format 3.
_SINCE_4: Mapping[str, Any] = {"copy_caution": 0.0}

#: The same of format 4.
_SINCE_5: Mapping[str, Any] = {"leaning": 0.0, "doubt": 0.0}

#: Header fields and what they must be.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "name": str, "version": str, "features": str, "features_hash": str, "threshold": (int, float), "link": str,
    "labels": list, "recipe": dict, "training": list, "metrics": dict, "command": str, "seed": int, "parsing": dict,
    "rule": str, "net_share": (int, float), "least_words": (int, float), "caution": (int, float),
    "article_caution": (int, float), "link_caution": (int, float), "copy_caution": (int, float),
    "leaning": (int, float), "doubt": (int, float), "parts": list, "area_labels": list, "notes": list,
}  # fmt: skip
#: Header fields that are not fields of a model as they stand.
_NOT_FIELDS = frozenset({"parsing", "labels", "training", "parts", "area_labels", "notes"})
_PARSING_TYPES: Mapping[str, type] = {"backend": str, "profile": str, "keep_wordless": bool, "tokenizer": str}


def _build(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Model:
    """Check everything and make the model."""
    trees = _read_trees(arrays)
    _check_kinds(header)
    parsing = Parsing(**{name: header["parsing"][name] for name in _PARSING_TYPES})
    _check_values(header, parsing)
    known = FEATURE_SETS.get(header["features"])
    if known is None or known.hash != header["features_hash"]:
        raise FeatureMismatchError(
            f"it was trained on feature set {header['features']!r} ({header['features_hash']}), "
            f"which this version {'does not know' if known is None else 'computes otherwise'}: train it again"
        )
    trees.check(len(known.columns))
    if header["link"] == "mean" and ((trees.value < 0) | (trees.value > 1)).any():
        raise ModelFormatError("leaf values that are averaged must be between 0 and 1")
    values = {name: header[name] for name in _TYPES if name not in _NOT_FIELDS}
    return Model(
        trees=trees,
        parsing=parsing,
        labels=tuple(header["labels"]),
        training=tuple(header["training"]),
        notes=tuple(header["notes"]),
        **values,
        **_parts(header, arrays, len(known.columns)),
    )


def _check_kinds(header: Mapping[str, Any]) -> None:
    """Each field is there and of its kind."""
    for name, expected in _TYPES.items():
        if not isinstance(header.get(name), expected):
            raise ModelFormatError(f"the header's {name!r} is missing or of the wrong kind")
    for name, expected in _PARSING_TYPES.items():
        if not isinstance(header["parsing"].get(name), expected):
            raise ModelFormatError(f"the header's parsing option {name!r} is missing or of the wrong kind")
    if not all(isinstance(entry, dict) for entry in header["training"]):
        raise ModelFormatError("the header's training entries must be objects")


def _check_values(header: Mapping[str, Any], parsing: Parsing) -> None:
    """Each field has a legal value."""
    choices: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("backend", parsing.backend, BACKENDS),
        ("profile", parsing.profile, PROFILES),
        ("tokenizer", parsing.tokenizer, TOKENIZERS),
        ("link", header["link"], ("mean", "logistic")),
        ("rule", header["rule"], get_args(Rule)),
        *(("part", str(part), _PARTS) for part in header["parts"]),
    )
    for kind, value, legal in choices:
        if value not in legal:
            raise ModelFormatError(str(UnknownNameError(kind, value, legal)))
    legal_labels = {str(label) for label in Label}
    if not all(isinstance(label, str) and label in legal_labels for label in header["labels"]):
        raise ModelFormatError(f"labels are among: {', '.join(sorted(legal_labels))}")
    for name in ("area_labels", "notes"):
        if not all(isinstance(text, str) for text in header[name]):
            raise ModelFormatError(f"the header's {name!r} must be texts")
    for name in ("least_words", "caution", "article_caution", "link_caution", "copy_caution"):
        if not 0 <= header[name] <= sys.float_info.max:  # JSON has whole numbers of any size
            raise ModelFormatError(f"the header's {name!r} must be 0 or more")
    for name in ("net_share", "leaning", "doubt"):
        if not 0 <= header[name] <= 1:
            raise ModelFormatError(f"the header's {name!r} must be between 0 and 1")
    if not 0 < header["threshold"] <= 1:
        raise ModelFormatError("the threshold must be above 0 and at most 1")


def _parts(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n_columns: int) -> dict[str, Any]:
    """What the model has beside its trees, checked."""
    parts: dict[str, Any] = {}
    if "article" in header["parts"]:
        parts["article"] = _read_trees(arrays, "article_")
        parts["article"].check(len(WHOLE_COLUMNS))
    if "net" in header["parts"]:
        net = MLP.from_arrays({name.removeprefix("net_"): array for name, array in arrays.items()})
        net.check(n_columns)
        if net.ways != len(GROUPINGS):
            raise ModelFormatError(f"a model's net sees {len(GROUPINGS)} ways to be alike, not {net.ways}")
        parts["net"] = net
    if "areas" in header["parts"]:
        parts["areas"] = BlockTypes.from_arrays(header["area_labels"], arrays)
        parts["areas"].check(n_columns)
    return parts
