"""Check of the values in a model's header that cards and lists read: training data and results of cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from blockml.errors import ModelFormatError

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


def check_values(value: Any, schema: Schema, place: str) -> None:  # noqa: ANN401 (a parsed JSON value)
    """Check a value of the header against a schema; keys that the schema does not name are not checked.

    Parameters
    ----------
    value
        Parsed JSON.
    schema
        Its types.
    place
        Name of the value in the error message.

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
    is_right = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_right:
        raise ModelFormatError(f"the header's {place} is missing or of the wrong type")
    if isinstance(schema, Mapping):
        for name, inner in schema.items():
            key = name.removesuffix("?")
            is_optional = key != name and key not in value
            for found in value if name == "*" else () if is_optional else (key,):
                check_values(value.get(found), inner, f"{place}.{found}")
    elif isinstance(schema, list | tuple):
        if isinstance(schema, tuple) and len(value) != len(schema):
            raise ModelFormatError(f"the header's {place} must have {len(schema)} values")
        for number, item in enumerate(value):
            check_values(item, schema[number % len(schema)], f"{place}.{number}")
