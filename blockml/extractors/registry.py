"""Registry of extractors and released models by public name."""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from blockml.errors import UnknownNameError, UsageError, check_type
from blockml.extractors.base import Extractor, HasExtractor
from blockml.extractors.methods import COMBINATIONS, METHODS, SITE_METHODS, Extractors
from blockml.extractors.routed import is_routed, read_routed
from blockml.extractors.trained import TrainedExtractor
from blockml.model import Model, load_model

#: Extractors that need no training, by public name.
EXTRACTORS = Extractors({**METHODS.places, **COMBINATIONS.places, **SITE_METHODS.places})

SUFFIX = ".blockml"

#: Group of entry points by which other packages add extractors.
PLUG_INS = "blockml.extractors"
#: A class by module: ``package.module:Class``.
_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


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
    """Load a released model by name, or a model file or a folder of models by path.

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
    name = _name(name_or_path)
    if (released := _released(name)) is not None:
        return TrainedExtractor(released)
    if is_routed(name):
        return read_routed(name)
    try:
        is_file = Path(name).is_file()
    except (OSError, ValueError):  # no possible file name
        is_file = False
    if is_file:
        return TrainedExtractor(load_model(name))
    raise UnknownNameError("model", name, [*model_names(), "(path of a model file)"])


def resolve(name_or_path: str | os.PathLike[str], parameters: Mapping[str, Any] | None = None) -> Extractor:
    """Look up an extractor: an untrained method, a released model, a model file or a plug-in.

    Parameters
    ----------
    name_or_path
        A name, the path of a model file, the name of an entry point of the group :data:`PLUG_INS`, or
        ``package.module:Class`` for a subclass of :class:`~blockml.extractors.Extractor`.
    parameters
        Values of parameters that replace their defaults.

    Raises
    ------
    UnknownNameError
        The name or a parameter is unknown.
    UsageError
        The value of a parameter is not legal; or a plug-in can't be imported, or is no extractor.
    """
    name = _name(name_or_path)
    try:
        extractor: Extractor = EXTRACTORS[name]() if name in EXTRACTORS else load(name)
    except UnknownNameError as error:
        plug_in = _plug_in(name)
        if plug_in is None:
            places = [*EXTRACTORS, *plug_ins(), "(module:Class)"]
            raise UnknownNameError("extractor or model", name, [*places, *error.legal]) from None
        extractor = plug_in
    given = dict(parameters or {})
    if name in COMBINATIONS and isinstance(members := given.get("members"), list | tuple):
        # Combinations know the methods alone; here any extractor and model has a name.
        given["members"] = [
            resolve(item) if isinstance(item, str) and item not in METHODS else item for item in members
        ]
    return extractor.set_params(**given) if given else extractor


def _name(name_or_path: str | os.PathLike[str]) -> str:
    """Return a name or path as str; raise UsageError for anything else."""
    check_type("model", name_or_path, str, os.PathLike, legal="a name or a path")
    return os.fsdecode(name_or_path)


def as_extractor(model: str | os.PathLike[str] | Extractor | HasExtractor) -> Extractor:
    """Return an extractor for a name, a path, a fitted estimator, or an extractor itself.

    Raises
    ------
    UnknownNameError
        The name is unknown.
    UsageError
        Neither of these, such as an estimator that is not fitted.
    """
    if isinstance(model, Extractor):
        return model
    if isinstance(model, str | os.PathLike):
        return resolve(model)
    if isinstance(model, HasExtractor):
        return model.extractor_
    raise UsageError(f"model must be a name, a path, an extractor or a fitted BlockClassifier, got {model!r}")


def plug_ins() -> dict[str, EntryPoint]:
    """Return the extractors that installed packages add, by name."""
    return {entry.name: entry for entry in entry_points(group=PLUG_INS)}


def _plug_in(name: str) -> Extractor | None:
    """Make the extractor of an entry point or of a class ``module:Class``; None for other names."""
    entry = plug_ins().get(name)
    place = name if entry is None else entry.value
    if entry is None and not _CLASS.fullmatch(name):
        return None
    module, _, attribute = place.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute.strip())
    except (ImportError, AttributeError) as error:
        raise UsageError(f"the extractor {name!r} can't be imported: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Extractor)):
        raise UsageError(f"{place} is no subclass of blockml.extractors.Extractor")
    if not hasattr(kind, "name"):
        raise UsageError(f"{place} needs the class attribute 'name'")
    try:
        return kind()
    except TypeError as error:  # an abstract method, or an argument without a default
        raise UsageError(f"{place} can't be constructed: {error}") from error
