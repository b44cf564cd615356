"""Model files: a zip of one JSON header and numpy arrays, and checks of the header's values.

Loading parses the container, checks everything and builds the model. Files of newer formats are refused.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any, TypeAlias

from numpy.typing import NDArray

from blockml.decision.policy import DecisionPolicy
from blockml.errors import FeatureMismatchError, ModelError, ModelFormatError, UnknownNameError, UsageError, check_type
from blockml.features import feature_set
from blockml.features.page_context import GROUPINGS
from blockml.model.model import Model
from blockml.model.training_hashes import TrainingHashes
from blockml.page import Label
from blockml.parsing import BACKENDS, PROFILES
from blockml.parsing.limits import ParsingOptions
from blockml.predictors import MLP, PREDICTORS, BlockTypes, Correction, Predictor, TreeEnsemble
from blockml.predictors.page_features import PAGE_FEATURES
from blockml.storage.arrays import file_members, read_arrays, write_arrays
from blockml.text.words import TOKENIZERS

#: Version of the format. Increase it when readers of the old version would misread new files.
MODEL_FORMAT = 1
#: Identifies the header of a model.
_MARK = {"kind": "model"}
#: Prefix of the names of the arrays of :class:`TrainingHashes`, which are optional.
_HASHES = "training_hashes."
_SHOWN = 200  # maximum characters of a model's columns in a message

#: A type; a dict for an object, whose keys ending in ``?`` may be missing and whose key ``*`` matches any; a list of
#: one item for a list of any length; or a tuple for a list of fixed length. Integers are accepted as floats.
Schema: TypeAlias = type | Mapping[str, "Schema"] | list["Schema"] | tuple["Schema", ...]

_INTERVAL: Schema = dict.fromkeys(("mean", "low", "high"), float)
_MEANS: Schema = {"*": {"f1": float, "pages": int}}
_IMPORTANCE: Schema = [(str, int, float, float, float)]
_PROTOCOL: Schema = {
    "protocol": str,
    "folds": int,
    "block": dict.fromkeys(("precision", "recall", "f1", "f1_fold_mean", "f1_fold_sd"), float),
    "page_bag_f1?": _INTERVAL,
    "page_bag_f1_usable?": _INTERVAL,
    "page_bag_f1_by_dataset?": _MEANS,
    "page_bag_f1_by_type?": _MEANS,
    "importance?": dict.fromkeys(("family", "column"), _IMPORTANCE),
    "reliability?": [(float, float, float)],
    "confidence?": dict.fromkeys(("correlation", "worst", "others"), float),
}
#: Values of :attr:`blockml.model.Model.metrics`.
METRICS_SCHEMA: Schema = {
    **dict.fromkeys(("block?", "page?", "site?"), _PROTOCOL),
    "gaps?": {"*": float},
    "importance?": {
        "pages": int,
        "repeats": int,
        "datasets": [str],
        **dict.fromkeys(("family", "column"), _IMPORTANCE),
    },
    "adaptation?": {"pages": int, **dict.fromkeys(("before", "after", "difference", "low", "high"), float)},
}
#: Values of :attr:`blockml.model.Model.training`.
TRAINING_SCHEMA: Schema = [
    {
        **dict.fromkeys(("pages", "flagged_pages", "sites", "blocks", "content_blocks"), int),
        **dict.fromkeys(("name", "checksum", "licence", "attribution"), str),
    }
]
#: Fields of a model that are stored unchanged in the header.
_PLAIN: Mapping[str, Schema] = {
    "name": str, "version": str, "features": str, "features_hash": str, "labels": [str], "recipe": dict,
    "training": TRAINING_SCHEMA, "metrics": METRICS_SCHEMA, "notes": [str], "command": str, "seed": int,
}  # fmt: skip
_HEADER: Schema = {
    **_PLAIN,
    "predictors": {"*": str},
    "weights": dict,
    "policy": dict,
    "parsing": {"backend": str, "profile": str, "keep_wordless": bool, "tokenizer": str},
}
#: Fields of a model with predictors of something other than main content, and their kinds.
_OTHERS: Mapping[str, type[Predictor]] = {
    "article": TreeEnsemble, "block_types": BlockTypes, "correction": Correction,
}  # fmt: skip


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically; equal models give equal bytes.

    Raises
    ------
    ModelError
        The file would not be loadable.
    UsageError
        ``model`` is not a model, or ``path`` is not a path.
    """
    check_type("model", model, Model, legal="a blockml.model.Model")
    check_type("path", path, str, os.PathLike, legal="a path")
    header, arrays = _content(model)
    _build(json.loads(json.dumps(header)), arrays)  # raises for models that could not be loaded
    write_arrays(path, header, arrays)


def _content(model: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a model's file."""
    others = {name: predictor for name in _OTHERS if (predictor := getattr(model, name)) is not None}
    named: dict[str, Predictor] = {**model.predictors, **others}
    header = {
        "format": MODEL_FORMAT,
        **_MARK,
        **{name: getattr(model, name) for name in _PLAIN},
        "parsing": asdict(model.parsing),
        "predictors": {name: predictor.kind for name, predictor in named.items()},
        "weights": dict(model.weights),
        "policy": asdict(model.policy),
    }
    arrays = {
        f"{name}.{array}": values
        for name, predictor in named.items()
        for array, values in predictor.to_arrays().items()
    }
    if model.training_hashes is not None:
        arrays |= {f"{_HASHES}{name}": values for name, values in model.training_hashes.to_arrays().items()}
    return header, arrays


def model_digest(model: Model) -> str:
    """Return 16 hexadecimal digits that change with the content of a model's file."""
    from hashlib import sha256  # loads OpenSSL, which extraction doesn't need

    digest = sha256()
    for name, data in file_members(*_content(model)).items():
        digest.update(name.encode() + data)
    return digest.hexdigest()[:16]


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read and check a model file.

    Raises
    ------
    ModelFormatError
        Not a model file, damaged, or of another format.
    FeatureMismatchError
        Trained on features that this version does not compute, or computes differently.
    """
    try:
        return _build(*read_arrays(path, "model file", MODEL_FORMAT, _MARK))
    except ModelError as error:
        raise type(error)(str(error), source=os.fspath(path)) from error
    except MemoryError as error:
        raise ModelFormatError("needs more memory than is available", source=os.fspath(path)) from error


def _build(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Model:
    """Check everything, and build the model."""
    check_values(header, _HEADER)
    parsing = _parsing(header["parsing"])
    for label in header["labels"]:
        _check_choice("label", label, [*map(str, Label)])
    known = None
    with suppress(UsageError):
        known = feature_set(header["features"])
    if known is None or known.hash != header["features_hash"]:
        raise FeatureMismatchError(
            f"the model was trained on feature set {header['features'][:_SHOWN]!r} ({header['features_hash']}), "
            f"which this version {'does not know' if known is None else 'computes differently'}: train it again"
        )
    found = _predictors(header["predictors"], arrays, len(known.columns))
    others: dict[str, Any] = {name: _of_kind(found.pop(name, None), kind, name) for name, kind in _OTHERS.items()}
    for name, predictor in found.items():
        if isinstance(predictor, BlockTypes | Correction):
            raise ModelFormatError(f"the predictor {name!r} of main content must not be of kind {predictor.kind}")
    hashes = {name.removeprefix(_HASHES): array for name, array in arrays.items() if name.startswith(_HASHES)}
    values: dict[str, Any] = {name: header[name] for name in _PLAIN}
    for name in ("labels", "training", "notes"):
        values[name] = tuple(header[name])
    return Model(
        **values,
        predictors=found,
        weights=_weights(header["weights"], found),
        policy=DecisionPolicy.from_header(header["policy"]),
        parsing=parsing,
        training_hashes=TrainingHashes.from_arrays(hashes) if hashes else None,
        **others,
    )


def _parsing(values: Mapping[str, Any]) -> ParsingOptions:
    """Check the options of parsing."""
    for kind, legal in (("backend", BACKENDS), ("profile", PROFILES), ("tokenizer", TOKENIZERS)):
        _check_choice(kind, values[kind], legal)
    return ParsingOptions(**{item.name: values[item.name] for item in fields(ParsingOptions)})


def _check_choice(kind: str, name: str, legal: Iterable[str]) -> None:
    """Check that a name of the header is known to this version."""
    if name not in legal:
        raise ModelFormatError(str(UnknownNameError(kind, name, legal)))


def _predictors(kinds: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n_columns: int) -> dict[str, Predictor]:
    """Build and check the predictors."""
    found: dict[str, Predictor] = {}
    for name, kind in kinds.items():
        _check_choice("predictor kind", kind, PREDICTORS)
        its_arrays = {key.removeprefix(f"{name}."): a for key, a in arrays.items() if key.startswith(f"{name}.")}
        predictor = PREDICTORS[kind].from_arrays(its_arrays, len(PAGE_FEATURES) if name == "article" else n_columns)
        if isinstance(predictor, MLP) and predictor.n_groupings != len(GROUPINGS):
            raise ModelFormatError(f"an MLP must have weights for {len(GROUPINGS)} groupings of blocks")
        found[name] = predictor
    return found


def _weights(values: Mapping[str, Any], predictors: Mapping[str, Predictor]) -> dict[str, float]:
    """Check that each predictor of main content has a weight, and that their sum is 1."""
    if not predictors or {*values} != {*predictors}:
        raise ModelFormatError("the header must have a weight for each predictor of main content, at least one")
    numbers = [value for value in values.values() if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values) or not all(0 <= value <= 1 for value in numbers):
        raise ModelFormatError("weights of predictors must be between 0 and 1")
    if not math.isclose(sum(numbers), 1):
        raise ModelFormatError("the weights of predictors must add up to 1")
    return {name: float(values[name]) for name in predictors}


def _of_kind(predictor: Predictor | None, kind: type[Predictor], name: str) -> Predictor | None:
    """Check the kind of a predictor."""
    if predictor is not None and not isinstance(predictor, kind):
        raise ModelFormatError(f"the predictor {name!r} must be of kind {kind.kind}")
    return predictor


def check_values(value: Any, schema: Schema, place: str = "") -> None:  # noqa: ANN401 (a parsed JSON value)
    """Check a value of the header against a schema; keys that the schema does not name are not checked.

    Parameters
    ----------
    value
        Parsed JSON.
    schema
        Its types.
    place
        Name of the value in the error message; empty for the whole header.

    Raises
    ------
    ModelFormatError
        A value is missing or of the wrong type.

    Examples
    --------
    >>> check_values({"gaps": {"page - site": "?"}}, METRICS_SCHEMA, "metrics")
    Traceback (most recent call last):
    blockml.errors.ModelFormatError: the header's metrics.gaps.page - site is missing or of the wrong type
    """
    if isinstance(schema, type):
        kinds: tuple[type, ...] = (int, float) if schema is float else (schema,)
    else:
        kinds = (dict,) if isinstance(schema, Mapping) else (list,)
    is_right = isinstance(value, kinds) and isinstance(value, bool) == (schema is bool)
    if not is_right:
        named = f"header's {place}" if place else "header"
        raise ModelFormatError(f"the {named} is missing or of the wrong type")
    if isinstance(schema, Mapping):
        for name, inner in schema.items():
            key = name.removesuffix("?")
            is_optional = key != name and key not in value
            for found in value if name == "*" else () if is_optional else (key,):
                check_values(value.get(found), inner, f"{place}.{found}".removeprefix("."))
    elif isinstance(schema, list | tuple):
        if isinstance(schema, tuple) and len(value) != len(schema):
            raise ModelFormatError(f"the header's {place} must have {len(schema)} values")
        for number, item in enumerate(value):
            check_values(item, schema[number % len(schema)], f"{place}.{number}")
