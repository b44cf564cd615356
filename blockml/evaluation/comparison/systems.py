"""What can be compared: our extractors and models, other people's tools, and files of outputs of any other tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import blockml
from blockml.datasets import LabelledPage
from blockml.datasets.corpus import read_rows
from blockml.errors import DatasetError, UnknownNameError, UsageError
from blockml.evaluation.comparison.marks import code_mark, extraction_mark
from blockml.evaluation.comparison.peers import PEERS
from blockml.evaluation.site_pages import at_their_site
from blockml.extract import extract
from blockml.extractors import EXTRACTORS, TrainedExtractor, model_names, resolve
from blockml.model import Model
from blockml.parsing.options import ParsingOptions

__all__ = ["GROUPS", "Chosen", "Output", "Run", "System", "choose", "read_outputs"]

#: Words that stand for several systems, and what for.
GROUPS: Mapping[str, str] = {
    "all": "every extractor and released model of blockml",
    "siblings": "every extractor and released model that learns from other pages of the same site",
    "peers": "every third-party extractor",
}


class Output(NamedTuple):
    """What a system made of a page."""

    text: str
    kept: list[int] | None = None
    """Indices of the kept blocks; None if the system knows no blocks."""
    status: str | None = None
    """Status that blockml gave the extraction; None for other systems."""


#: Takes a page as text and its URL, if known.
Run = Callable[[str, str | None], Output]


@dataclass(frozen=True, slots=True)
class System:
    """Something that turns a page into text.

    It travels to the processes that work with it by name and parameters, and is made there.
    """

    name: str
    """Name in results; unique in a comparison."""
    kind: Literal["own", "peer", "outputs"]
    version: str
    maker: Callable[[str, Mapping[str, Any], Sequence[LabelledPage]], Run]
    """Makes it from ``source``, ``parameters`` and pages of a site; a function of a module, so that it can be sent."""
    source: str
    """What the maker knows it by: a public name or a path."""
    parameters: tuple[tuple[str, Any], ...] = ()
    """Parameters that don't have their default, by name."""
    parsing: ParsingOptions = field(default_factory=ParsingOptions)
    """How pages are parsed whose blocks it keeps."""
    uses_siblings: bool = False
    """Whether it learns from other pages of the same site."""
    trained_on: frozenset[str] = frozenset()
    """Checksums of the data sets that it was trained on."""

    def make(self, siblings: Sequence[LabelledPage] = ()) -> Run:
        """Make it, for a site if it uses siblings; costly things are done here once, not for every page."""
        return self.maker(self.source, dict(self.parameters), siblings)


class Chosen(NamedTuple):
    """Systems that can be compared, and those that can't be run here."""

    systems: list[System]
    missing: dict[str, str]
    """What is to be done to have them, by name."""


def choose(specs: Iterable[str], outputs: Iterable[str] = ()) -> Chosen:
    """Find systems by name.

    Parameters
    ----------
    specs
        Names of extractors, models or peers, paths of model files, each with ``:PARAMETER=VALUE,…`` behind it where it
        is one of ours and shall not have its defaults; or words of :data:`GROUPS`. Values are JSON, else text.
    outputs
        ``NAME=FILE`` for outputs of any other tool: a line ``{"id": …, "text": …}`` for each page, gzipped if the
        file's name ends in ``.gz``.

    Returns
    -------
    Chosen
        Each system once, in the order of the names.

    Raises
    ------
    UnknownNameError
        No system or parameter of this name.
    UsageError
        Two systems would have one name, a parameter has no such value, or a file of outputs is missing.
    ModelError
        A model file can't be used.

    Examples
    --------
    >>> [system.name for system in choose(["plain", "default", "plain"]).systems]
    ['plain', 'default']
    """
    given = [_outputs(spec) for spec in outputs]
    # Outputs may stand in for a tool that can't be installed here.
    stand_ins = {system.name for system in given}
    names = [name for name in _expanded(specs) if not (name in stand_ins and name in PEERS)]
    missing = {name: PEERS[name].install for name in names if name in PEERS and PEERS[name].version is None}
    systems: dict[str, System] = {}
    found = [_peer(name) if name in PEERS else _own(name) for name in names if name not in missing]
    for system in [*found, *given]:
        if systems.setdefault(system.name, system) != system:
            raise UsageError(f"two systems have the name {system.name!r}")
    return Chosen(list(systems.values()), missing)


def _expanded(specs: Iterable[str]) -> list[str]:
    names: list[str] = []
    for spec in specs:
        if spec == "all":
            names += [name for name, kind in EXTRACTORS.items() if not kind.traits.uses_siblings]
            names += model_names()
        elif spec == "siblings":
            names += [name for name in (*EXTRACTORS, *model_names()) if resolve(name).uses_siblings]
        elif spec == "peers":
            names += PEERS
        else:
            names.append(spec)
    return names


def _peer(name: str) -> System:
    peer = PEERS[name]
    mark = code_mark(lambda module: module.name == "peers.py")
    # What blockml makes of a tool's HTML is part of what the tool is given credit for.
    marks = f"{mark}.{extraction_mark()}" if peer.gives_html else mark
    return System(name, "peer", f"{peer.version or ''}+{marks}", _make_peer, name)


def _make_peer(name: str, parameters: Mapping[str, Any], siblings: Sequence[LabelledPage]) -> Run:  # noqa: ARG001 (peers have their defaults and know one page)
    adapter = PEERS[name].adapter
    return lambda html, url: Output(adapter(html, url))


def _own(spec: str) -> System:
    source, parameters = _parted(spec)
    try:
        extractor = resolve(source)
    except UnknownNameError as error:
        raise UnknownNameError("system", source, [*error.legal, *PEERS, *GROUPS]) from None
    extractor.set_params(**parameters)
    name = source if source in (*EXTRACTORS, *model_names()) else Path(source).stem
    settings = ",".join(f"{key}={value}" for key, value in parameters.items())
    model = extractor.model if isinstance(extractor, TrainedExtractor) else None
    return System(
        name=f"{name}:{settings}" if settings else name,
        kind="own",
        version=f"{model.version if model else blockml.__version__}+{_mark(model)}",
        maker=_make_own,
        source=source,
        parameters=tuple(parameters.items()),
        parsing=extractor.parsing,
        uses_siblings=extractor.uses_siblings,
        trained_on=frozenset(entry.get("checksum", "") for entry in model.training) if model else frozenset(),
    )


def _make_own(source: str, parameters: Mapping[str, Any], siblings: Sequence[LabelledPage]) -> Run:
    extractor = at_their_site(resolve(source, parameters), siblings)

    def run(html: str, url: str | None) -> Output:
        result = extract(html, url=url, model=extractor)
        return Output(result.text, np.flatnonzero(result.kept).tolist(), str(result.status))

    return run


def _parted(spec: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters; a path may hold a colon, parameters an ``=``."""
    source, colon, settings = spec.rpartition(":")
    if not colon or "=" not in settings or Path(spec).is_file():
        return spec, {}
    parameters: dict[str, Any] = {}
    for setting in settings.split(","):
        name, separator, text = setting.partition("=")
        if not separator:
            raise UsageError(f"a parameter is NAME=VALUE, not {setting!r}", source=spec)
        parameters[name] = _value(text)
    return source, parameters


def _value(text: str) -> str | float | bool | None:
    """A JSON number or word, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | str | None) else text


def _mark(model: Model | None) -> str:
    """A few digits that change with the code or the model: both are worked on without a new version."""
    if model is None:
        return extraction_mark()
    digest = hashlib.sha256(extraction_mark().encode())
    digest.update(repr((model.features_hash, model.policy, model.weights, model.parsing)).encode())
    for predictor in (*model.predictors.values(), model.article, model.block_types):
        for array in () if predictor is None else predictor.to_arrays().values():
            digest.update(array.tobytes())
    return digest.hexdigest()[:8]


def _outputs(spec: str) -> System:
    name, separator, path = spec.partition("=")
    if not separator or not name or not Path(path).is_file():
        raise UsageError(f"outputs are given as NAME=FILE.jsonl with an existing file, not {spec!r}")
    version = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    return System(name, "outputs", version, _make_none, path)


def _make_none(source: str, parameters: Mapping[str, Any], siblings: Sequence[LabelledPage]) -> Run:  # noqa: ARG001 (the signature of makers)
    raise UsageError("outputs of another tool are read, not made", source=source)


def read_outputs(system: System, ids: Sequence[str]) -> tuple[dict[str, str], int]:
    """Texts of an outputs system by page id, and the number of its lines about other pages.

    Raises
    ------
    DatasetError
        A line is no object with an id and a text, or an id occurs twice.
    """
    wanted, texts, n_others = set(ids), dict[str, str](), 0
    for number, row in enumerate(read_rows(Path(system.source)), start=1):
        page_id, text = row["id"], row.get("text")
        if not isinstance(text, str) or page_id in texts:
            fault = f"the id {page_id!r} occurs twice" if page_id in texts else "there is no string 'text'"
            raise DatasetError(f"line {number}: {fault}", source=system.source)
        if page_id in wanted:
            texts[page_id] = text
        else:
            n_others += 1
    return texts, n_others
