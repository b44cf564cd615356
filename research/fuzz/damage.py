"""Damage to the arguments of functions: numbers at the edges of their range, other lengths and types."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.fuzz.mutations import HTML_TOKENS, mutated

__all__ = ["damaged", "damaged_array", "damaged_json"]

_INTEGERS = (0, 1, -1, 2, 3, 7, 127, 128, 255, 1_000, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 1e308, float("nan"), float("inf"), float("-inf"))
_JSON: tuple[Any, ...] = (None, True, False, 0, 1, -1, 2**70, *_FLOATS, "", "x", "\ud800", [], {}, [[]], [0], {"": 0})
_TEXTS = ("", "a", "p", "\x00", "\ud800", "é" * 9, "😀 x", "a " * 40, "class", "2026-01-01", "\u4f60\u597d")


def damaged(value: Any, chance: random.Random) -> Any:  # noqa: ANN401 (any argument)
    """Return a value damaged in one place; values of other types are returned unchanged."""
    if isinstance(value, np.ndarray):
        return damaged_array(value, chance)
    if isinstance(value, bytes):
        return mutated(value, chance, HTML_TOKENS, most=2)
    if isinstance(value, str):
        return chance.choice(_TEXTS)
    if isinstance(value, bool | int):
        return chance.choice((*_INTEGERS, value + 1, value - 1))
    if isinstance(value, float):
        return chance.choice(_FLOATS)
    if isinstance(value, tuple | list) and value:
        made = list(value)
        place = chance.randrange(len(made))
        if chance.random() < 0.9:
            made[place] = damaged(made[place], chance)
        elif chance.random() < 0.5:
            del made[place]
        else:
            made.append(made[place])
        return type(value)(made)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        rest = {other: held for other, held in value.items() if other != key}
        return rest if chance.random() < 0.05 else rest | {key: damaged(value[key], chance)}
    return value


def damaged_array(array: NDArray[Any], chance: random.Random) -> NDArray[Any]:
    """Return a copy with one to three other numbers, or sometimes of another length, type or layout."""
    kind = chance.random()
    if kind < 0.06:
        return array.ravel()[: chance.randint(0, array.size)].copy()
    if kind < 0.1:
        return np.resize(array, array.size + chance.randint(1, 3))
    if kind < 0.12 and array.dtype.kind in "iuf":
        return array.astype(chance.choice((np.uint8, np.int32, np.int64, np.float32, np.float64)), copy=True)
    if kind < 0.13:
        return np.repeat(array, 2)[::2]
    made = array.copy()
    flat = made.reshape(-1)
    numbers = _FLOATS if made.dtype.kind == "f" else (*_INTEGERS, made.size - 1, made.size, made.size + 1)
    for _ in range(min(made.size, chance.randint(1, 3))):
        place = chance.randrange(made.size)
        if chance.random() < 0.3:
            flat[place] = flat[chance.randrange(made.size)]
        elif made.dtype.kind in "iuf":
            flat[place] = np.array(chance.choice(numbers)).astype(made.dtype)  # wraps if it doesn't fit
    return made


def damaged_json(value: Any, chance: random.Random) -> Any:  # noqa: ANN401 (any JSON)
    """Return a JSON value damaged in one place: a value replaced, added or removed."""
    if isinstance(value, dict | list) and value and chance.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        made, key = value.copy(), chance.choice(keys)
        if chance.random() < 0.85:
            made[key] = damaged_json(made[key], chance)
        elif chance.random() < 0.5:
            del made[key]
        elif isinstance(made, dict):
            made[f"{key}."] = made[key]
        else:
            made.append(made[key])
        return made
    return chance.choice(_JSON)
