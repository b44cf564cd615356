"""Registry of extractors and released models by public name."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blockml.errors import UnknownNameError
from blockml.extractors.base import Extractor
from blockml.extractors.methods import COMBINATIONS, METHODS, SITE_METHODS, Extractors
from blockml.extractors.trained import TrainedExtractor
from blockml.model import Model, load_model

__all__ = ["EXTRACTORS", "load", "model_names", "resolve"]

#: Extractors that need no training, by public name.
EXTRACTORS = Extractors({**METHODS.places, **COMBINATIONS.places, **SITE_METHODS.places})

SUFFIX = ".blockml"


def _model_folder() -> Path:
    """Return the folder of the released models: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "models"
    return installed if installed.is_dir() else package.parent / "models"


def model_names() -> list[str]:
    """List the names of the released models.

    Examples
    --------
    >>> "kim2013" in model_names()
    True
    """
    return sorted(path.stem for path in _model_folder().glob(f"*{SUFFIX}"))


@functools.cache
def _released(name: str) -> Model | None:
    """Read a released model; None for other names."""
    return load_model(_model_folder() / f"{name}{SUFFIX}") if name in model_names() else None


def load(name_or_path: str | os.PathLike[str] = "default") -> TrainedExtractor:
    """Load a released model by name, or a model file by path.

    A released model is read once per process. Models are never changed after loading, so threads may share them.

    Raises
    ------
    UnknownNameError
        Neither a released model nor a file.
    ModelError
        The file can't be used.

    Examples
    --------
    >>> load("kim2013").model.features
    'kim2013-onehot'
    """
    name = os.fspath(name_or_path)
    if (released := _released(name)) is not None:
        return TrainedExtractor(released)
    try:
        is_file = Path(name).is_file()
    except (OSError, ValueError):  # no possible file name
        is_file = False
    if is_file:
        return TrainedExtractor(load_model(name))
    raise UnknownNameError("model", name, [*model_names(), "(path of a model file)"])


def resolve(name_or_path: str | os.PathLike[str], parameters: Mapping[str, Any] | None = None) -> Extractor:
    """Look up an extractor: an untrained method, a released model or a model file.

    Parameters
    ----------
    name_or_path
        The name or path.
    parameters
        Values of parameters that replace their defaults.

    Raises
    ------
    UnknownNameError
        The name or a parameter is unknown.
    UsageError
        The value of a parameter is not legal.
    """
    name = os.fspath(name_or_path)
    try:
        extractor: Extractor = EXTRACTORS[name]() if name in EXTRACTORS else load(name)
    except UnknownNameError as error:
        raise UnknownNameError("extractor or model", name, [*EXTRACTORS, *error.legal]) from None
    given = dict(parameters or {})
    if name in COMBINATIONS and isinstance(members := given.get("members"), list | tuple):
        # Combinations know the methods alone; here any extractor and model has a name.
        given["members"] = [
            resolve(item) if isinstance(item, str) and item not in METHODS else item for item in members
        ]
    return extractor.set_params(**given) if given else extractor
