"""Registry of extractors and released models by public name."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from blockml.errors import ModelError, UnknownNameError, UsageError, check_type
from blockml.extractors.extractor import Extractor, HasExtractor
from blockml.extractors.methods import COMBINATIONS, METHODS, SITE_METHODS, Extractors
from blockml.extractors.trained_extractor import TrainedExtractor
from blockml.model import Model, load_model, save_model
from blockml.text.words import lazy_pattern

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Extractors that need no training, by public name.
EXTRACTORS = Extractors({**METHODS.places, **COMBINATIONS.places, **SITE_METHODS.places})

SUFFIX = ".blockml"

#: Extractors of other projects, which only comparisons run: see :mod:`blockml.evaluation.comparison.systems`.
OTHER_TOOLS = frozenset(
    "trafilatura trafilatura-nocomments readability-lxml resiliparse justext boilerpy3-article boilerpy3-default "
    "newspaper4k goose3 magic-html html-text".split()
)

#: Start of the name of an extractor by rules, before the name of a file.
PREFIX = "rules:"
#: Group of entry points with which other packages add extractors.
PLUG_INS = "blockml.extractors"
#: A class with its module: ``package.module:Class``.
_CLASS = lazy_pattern(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _model_folder() -> Path:
    """Return the folder of the released models: inside the installed package, or next to it in a source tree."""
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


def _trained(name: str) -> TrainedExtractor:
    """Read a released model, once per process, a model file, or a folder of models."""
    if (released := _released(name)) is not None:
        return TrainedExtractor(released)
    from blockml.extractors.routed import is_routed, read_routed  # imports rules, which released models do not need

    if is_routed(name):
        return read_routed(name)
    try:
        is_file = Path(name).is_file()
    except (OSError, ValueError):  # not a possible file name
        is_file = False
    if is_file:
        return TrainedExtractor(load_model(name))
    raise _unknown_model(name)


def _unknown_model(name: str) -> UnknownNameError:
    """Return the error for a name that is neither a released model nor a file."""
    return UnknownNameError("model", name, [*model_names(), "(path of a model file)"])


def resolve(name_or_path: str | os.PathLike[str], parameters: Mapping[str, Any] | None = None) -> Extractor:
    """Look up an extractor: an untrained method, a released model, a model file or a plug-in.

    Parameters
    ----------
    name_or_path
        A name, the path of a model file, ``rules:`` and the path of a file of rules, the name of an entry point of the
        group :data:`PLUG_INS`, or ``package.module:Class`` for a subclass of :class:`~blockml.extractors.Extractor`.
    parameters
        Values of parameters that replace their defaults.

    Raises
    ------
    UnknownNameError
        The name or a parameter is unknown.
    ModelError
        There is no such model file, or it can't be used.
    UsageError
        The value of a parameter is not legal; or a plug-in can't be imported, or is not an extractor.
    """
    name = _name(name_or_path)
    if name.startswith(PREFIX):
        from blockml.extractors.routed import RulesExtractor  # only if some are given

        return RulesExtractor(name.removeprefix(PREFIX))
    try:
        extractor: Extractor = EXTRACTORS[name]() if name in EXTRACTORS else _trained(name)
    except UnknownNameError as error:
        plug_in = _plug_in(name)
        if plug_in is None and name in OTHER_TOOLS:
            raise UsageError(
                f"{name} is another tool, which only a comparison runs: blockml compare {name} default --dataset DIR "
                "-o OUT, or blockml.compare"
            ) from None
        is_path = name.endswith(".blockml") or (Path(name).name != name and ":" not in name)
        if plug_in is None and is_path:
            raise ModelError("not a model" if Path(name).exists() else "no such file", source=name) from None
        if plug_in is None:
            places = [*EXTRACTORS, *plug_ins(), "(module:Class)", "(rules:FILE)"]
            raise UnknownNameError("extractor or model", name, [*places, *error.legal]) from None
        extractor = plug_in
    given = dict(parameters or {})
    if name in COMBINATIONS and isinstance(members := given.get("members"), list | tuple):
        # Combinations know only the methods; here every extractor and model has a name.
        given["members"] = [
            resolve(item) if isinstance(item, str) and item not in METHODS else item for item in members
        ]
    return extractor.set_params(**given) if given else extractor


def _name(name_or_path: str | os.PathLike[str]) -> str:
    """Return a name or path as str; raise UsageError for anything else."""
    check_type("model", name_or_path, str, os.PathLike, legal="a name or a path")
    return os.fsdecode(name_or_path)


#: Accepted by every function that takes a model; see :func:`load`.
AnyModel: TypeAlias = str | os.PathLike[str] | Extractor | Model | HasExtractor


def load(model: AnyModel = "default") -> Extractor:
    """Load a model or an untrained extractor; every function that takes a model takes the result.

    A released model is read once per process. Models are never changed after loading, so threads may share them.

    Parameters
    ----------
    model
        Name of a released model (``default``), untrained extractor (``bte``) or plug-in, path of a model file,
        ``rules:FILE`` for a file of rules, or ``module:Class`` of a custom extractor. An extractor is returned
        unchanged, and a :class:`blockml.model.Model` or a fitted :class:`blockml.estimators.BlockClassifier` as an
        extractor.

    Raises
    ------
    UnknownNameError
        Neither a name nor a file.
    ModelError
        The file can't be used.
    UsageError
        ``model`` is something else, such as an estimator that is not fitted.

    Examples
    --------
    >>> load("kim2013"), load("bte")
    (<TrainedExtractor kim2013 0.1.0>, <BTE bte>)
    """
    if isinstance(model, Extractor):
        return model
    if isinstance(model, str | os.PathLike):
        return resolve(model)
    if isinstance(model, Model):
        return TrainedExtractor(model)
    if isinstance(model, HasExtractor):
        return model.extractor_
    raise UsageError(f"model must be a name, a path, an extractor or a fitted BlockClassifier, got {model!r}")


def trained(model: AnyModel) -> TrainedExtractor:
    """Load a trained model; raises UsageError for an untrained extractor, and the errors of :func:`load`."""
    name = os.fsdecode(model) if isinstance(model, str | os.PathLike) else ""
    try:
        extractor = load(model) if name not in EXTRACTORS else None
    except UnknownNameError:
        raise _unknown_model(name) from None
    if isinstance(extractor, TrainedExtractor):
        return extractor
    raise UsageError(
        f"{name or model!r} is an untrained extractor, not a model: choose a model file or one of: "
        f"{', '.join(model_names())}"
    )


def save(model: AnyModel, path: str | os.PathLike[str]) -> None:
    """Write a trained model to a file, atomically; equal models give equal bytes.

    Parameters
    ----------
    model
        Result of :func:`blockml.load` or :func:`blockml.train`, a fitted
        :class:`blockml.estimators.BlockClassifier`, or another value that :func:`blockml.load` takes. A threshold that
        is set on an extractor is written with its model.
    path
        The file, such as ``mine.blockml``.

    Raises
    ------
    UsageError
        The model is untrained, or has a site template, which needs a separate file; or ``path`` is not a path.
    ModelError
        The model could not be loaded again.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(load("kim2013"), f"{folder}/mine.blockml")
    ...     load(f"{folder}/mine.blockml").id
    'kim2013 0.1.0'
    """
    extractor = trained(model)
    if extractor.template is not None:
        raise UsageError(
            "a site template is not part of a model file: remove it from the extractor, and save it itself"
        )
    save_model(replace(extractor.model, policy=extractor.policy), path)


def plug_ins() -> dict[str, EntryPoint]:
    """Return the extractors added by installed packages, by name."""
    from importlib.metadata import entry_points  # imports the reader of mail, which only plug-ins need

    return {entry.name: entry for entry in entry_points(group=PLUG_INS)}


def _plug_in(name: str) -> Extractor | None:
    """Create the extractor of an entry point or of a class ``module:Class``; None for other names."""
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
        raise UsageError(f"{place} is not a subclass of blockml.extractors.Extractor")
    if not hasattr(kind, "name"):
        raise UsageError(f"{place} needs the class attribute 'name'")
    try:
        return kind()
    except TypeError as error:  # an abstract method, or an argument without a default
        raise UsageError(f"{place} can't be constructed: {error}") from error
