"""Systems that can be compared: extractors, models and third-party tools, with fingerprints of their code.

Each is used as its documentation shows, with default settings unless its name indicates otherwise. Tools are imported
when they are called, and fetch nothing. If a tool returns HTML, blockml converts it to text.

Version numbers are not enough, because code and models change between versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

import blockml
from blockml.datasets import LabelledPage
from blockml.datasets.sources import is_table, table_rows
from blockml.errors import DatasetError, UnknownNameError, UsageError, install_hint
from blockml.evaluation.page_results import Trained, training_records
from blockml.extract import extract
from blockml.extractors import EXTRACTORS, Extractor, Plain, TrainedExtractor, model_names, resolve
from blockml.extractors.extractor import HasExtractor
from blockml.extractors.registry import load
from blockml.extractors.trained_extractor import ParsedBy
from blockml.model import Model, model_digest
from blockml.parsing.limits import ParsingOptions
from blockml.sites.fitting import fit_to_site

#: Names that stand for several systems, and their meaning.
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "all": "every extractor and released model of blockml",
        "siblings": "every extractor and released model that learns from other pages of the same site",
        "peers": "every third-party extractor",
    }
)


#: A system to compare: a name, the path of a model file, an extractor, or a fitted estimator.
Comparable: TypeAlias = str | os.PathLike[str] | Extractor | HasExtractor


class SystemOutput(NamedTuple):
    """Text, and for blockml's systems the indices of the kept blocks and the status of the extraction."""

    text: str
    kept: list[int] | None = None
    status: str | None = None


#: Takes a page as text and its URL, if known.
Run = Callable[[str, str | None], SystemOutput]


@dataclass(frozen=True, slots=True)
class System:
    """A text extractor, in a form that can be pickled: worker processes construct it from name and parameters."""

    name: str  #: Name in results; unique in a comparison
    kind: Literal["own", "peer", "outputs"]
    version: str
    #: Constructs it from ``source``, ``parameters`` and pages of a site; a module-level function, so that it can be
    #: pickled
    maker: Callable[[Any, Mapping[str, Any], Sequence[LabelledPage]], Run]
    source: str | Extractor  #: Public name, path or extractor, for the maker
    parameters: tuple[tuple[str, Any], ...] = ()  #: Name and value of the parameters that differ from their default
    #: Parsing options of the pages whose blocks it keeps
    parsing: ParsingOptions = field(default_factory=ParsingOptions)
    uses_site: bool = False  #: Whether it learns from other pages of the same site
    training: tuple[Trained, ...] = field(default=(), compare=False)  #: Training data of its models
    #: Systems for parts of the pages, each given by data set and id, for results out of fold.
    folds: tuple[tuple[frozenset[tuple[str, str]], System], ...] = field(default=(), compare=False)

    def make(self, site_pages: Sequence[LabelledPage] = ()) -> Run:
        """Construct the system, fitted to the pages of a site if it uses them; expensive steps run once, here."""
        return self.maker(self.source, dict(self.parameters), site_pages)

    def extractor(self) -> Extractor | None:
        """Return the extractor of a system of blockml; None for any other."""
        return None if self.kind != "own" else _resolved(self.source, dict(self.parameters))

    def with_folds(self, name: str, extractors: Mapping[frozenset[tuple[str, str]], Extractor]) -> System:
        """Return the system with an extractor for each part of the pages; ``name`` tells how they were made."""
        folds = tuple((pages, _object(extractor)) for pages, extractor in extractors.items())
        digest = hashlib.sha256(" ".join(system.version for _, system in folds).encode()).hexdigest()[:8]
        parameters = (*self.parameters, ("trained", name))
        return replace(self, version=f"{blockml.__version__}+{digest}", parameters=parameters, folds=folds)


class Chosen(NamedTuple):
    """Systems that can be compared, and those that can't be run here."""

    systems: list[System]
    missing: dict[str, str]  #: Install instructions by name


def choose(
    models: Comparable | Iterable[Comparable] | Mapping[str, Comparable],
    outputs: str | Iterable[str] | Mapping[str, str | os.PathLike[str]] = (),
) -> Chosen:
    """Find systems; each is returned only once, in the order of the names.

    Raises UnknownNameError for an unknown system or parameter, ModelError if a model file can't be used, and UsageError
    if two systems would have the same name, a parameter value is invalid, or a file of outputs is missing.

    Parameters
    ----------
    models
        Names of extractors, models or peers, paths of model files, names of :data:`GROUPS`, extractors or fitted
        estimators, one or several; or a mapping from names in the results to these. Names of blockml's systems may be
        followed by ``:PARAMETER=VALUE,…`` to change defaults; values are JSON, else text. Model files with equal names
        are prefixed by their folder.
    outputs
        ``NAME=FILE`` for outputs of any other tool: a table (JSON lines, CSV, Parquet …) with the fields ``id`` and
        ``text`` of each page; or a mapping from names to files.

    Examples
    --------
    >>> [system.name for system in choose(["plain", "default", "plain"]).systems]
    ['plain', 'default']
    """
    outputs = [f"{name}={path}" for name, path in outputs.items()] if isinstance(outputs, Mapping) else outputs
    given = [_from_file(spec) for spec in ([outputs] if isinstance(outputs, str) else outputs)]
    if not isinstance(models, Iterable) or isinstance(models, str | os.PathLike):
        models = [models]
    # Outputs may stand in for a tool that can't be installed here.
    replaced = {system.name for system in given} & PEERS.keys()
    named = [*models.items()] if isinstance(models, Mapping) else [("", model) for model in _expanded(models)]
    missing, found = {}, []
    for name, model in named:
        peer = PEERS.get(model) if isinstance(model, str) else None
        if peer is not None and peer.version is None and model not in replaced:
            missing[name or str(model)] = peer.install
        elif model not in replaced:
            system = _system(model)
            found.append(replace(system, name=name or system.name))
    found = _with_folders(found)
    systems: dict[str, System] = {}
    for system in [*found, *given]:
        if systems.setdefault(system.name, system) != system:
            raise UsageError(
                f"two systems have the name {system.name!r}; from Python, give them names: {{NAME: MODEL, …}}"
            )
    return Chosen(list(systems.values()), missing)


def _system(model: Comparable) -> System:
    if isinstance(model, str | os.PathLike):
        spec = os.fsdecode(model)
        return _peer(spec) if spec in PEERS else _own(spec)
    return _object(load(model))


def _with_folders(systems: Sequence[System]) -> list[System]:
    """Prefix the name of each model file by its folder if another system has the same name."""
    counts = Counter(name for name, _ in {(system.name, system.source) for system in systems})
    return [
        replace(system, name=str(Path(system.source).parent / system.name))
        if counts[system.name] > 1 and isinstance(system.source, str) and Path(system.source).is_file()
        else system
        for system in systems
    ]


def _expanded(specs: Iterable[Comparable]) -> list[Comparable]:
    """Replace the names of groups by those of their systems."""
    names: list[Comparable] = []
    for spec in specs:
        if spec == "all":
            names += [name for name, kind in EXTRACTORS.items() if not kind.traits.uses_site]
            names += model_names()
        elif spec == "siblings":
            names += [name for name in (*EXTRACTORS, *model_names()) if resolve(name).uses_site]
        else:
            names += PEERS if spec == "peers" else [spec]
    return names


def _peer(name: str) -> System:
    peer = PEERS[name]
    fingerprint = source_fingerprint(lambda module: module.name == "peers.py")
    if peer.gives_html:  # blockml converts it to text
        fingerprint += f".{extraction_fingerprint()}"
    return System(name, "peer", f"{peer.version or ''}+{fingerprint}", _make_peer, name)


def _make_peer(name: str, parameters: Mapping[str, Any], site_pages: Sequence[LabelledPage]) -> Run:  # noqa: ARG001 (the signature of makers)
    adapter = PEERS[name].adapter
    return lambda html, url: SystemOutput(adapter(html, url))


def _own(spec: str) -> System:
    source, parameters = _split_parameters(spec)
    if source in PEERS:
        raise UsageError("third-party tools have no parameters", source=spec)
    try:
        extractor = resolve(source)
    except UnknownNameError as error:
        raise UnknownNameError("system", source, [*error.legal, *PEERS, *GROUPS]) from None
    model = extractor.model if isinstance(extractor, TrainedExtractor) else None
    fingerprint = model_fingerprint(model) if model else class_fingerprint(type(extractor))
    if extractor.rules is not None:
        fingerprint += f".{extractor.id.rpartition(' ')[2]}"
    extractor = _resolved(source, parameters)
    name = Path(source).stem if model else source
    settings = ",".join(f"{key}={value}" for key, value in parameters.items())
    return System(
        name=f"{name}:{settings}" if settings else name,
        kind="own",
        version=f"{model.version if model else blockml.__version__}+{fingerprint}",
        maker=_make_own,
        source=source,
        parameters=tuple(parameters.items()),
        parsing=extractor.parsing,
        uses_site=extractor.uses_site,
        training=training_records(extractor),
    )


def _object(extractor: Extractor) -> System:
    """Make a system from an extractor, whose parameters become part of its version."""
    models = extractor.used_models()
    prints = [class_fingerprint(type(extractor)), *map(model_digest, models), extractor.id]
    return System(
        name=models[0].name if isinstance(extractor, TrainedExtractor) else extractor.id,
        kind="own",
        version=f"{blockml.__version__}+{hashlib.sha256(' '.join(prints).encode()).hexdigest()[:8]}",
        maker=_make_own,
        source=extractor,
        parsing=extractor.parsing,
        uses_site=extractor.uses_site,
        training=training_records(extractor),
    )


def _make_own(source: str | Extractor, parameters: Mapping[str, Any], site_pages: Sequence[LabelledPage]) -> Run:
    extractor = fit_to_site(_resolved(source, parameters), site_pages)

    def run(html: str, url: str | None) -> SystemOutput:
        result = extract(html, url=url, model=extractor)
        return SystemOutput(result.text, np.flatnonzero(result.kept).tolist(), str(result.status))

    return run


def _resolved(source: str | Extractor, parameters: Mapping[str, Any]) -> Extractor:
    """Make an extractor with parameters, one of which may be ``backend``, its HTML parser."""
    if isinstance(source, Extractor):
        return source
    own = {name: value for name, value in parameters.items() if name != "backend"}
    extractor = resolve(source, own)
    return ParsedBy(extractor, str(parameters["backend"])) if "backend" in parameters else extractor


def _split_parameters(spec: str) -> tuple[str, dict[str, Any]]:
    """Split a spec into name and parameters; a path may contain a colon, a value an ``=``."""
    source, colon, settings = spec.rpartition(":")
    if not colon or "=" not in settings or Path(spec).is_file():
        return spec, {}
    parameters: dict[str, Any] = {}
    for setting in settings.split(","):
        name, separator, text = setting.partition("=")
        if not separator:
            raise UsageError(f"a parameter must be given as NAME=VALUE, got {setting!r}", source=spec)
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        parameters[name] = value if isinstance(value, int | float | str | None) else text
    return source, parameters


def _from_file(spec: str) -> System:
    name, separator, path = spec.partition("=")
    if not separator or not name or not Path(path).is_file() or not is_table(Path(path)):
        raise UsageError(
            "outputs must be given as NAME=FILE, with a file of JSON lines, CSV or Parquet that has id and text of "
            f"each page, got {spec!r}"
        )
    version = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    return System(name, "outputs", version, _make_none, path)


def _make_none(source: str, parameters: Mapping[str, Any], site_pages: Sequence[LabelledPage]) -> Run:  # noqa: ARG001 (the signature of makers)
    raise UsageError("outputs of another tool are read, not made", source=source)


def read_outputs(system: System, ids: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return the texts in a file of outputs by page id, and the number of lines about other pages.

    DatasetError is raised if a row has no id or text, or an id occurs twice.
    """
    wanted, texts, n_others = set(ids), dict[str, str](), 0
    for number, row in enumerate(table_rows(Path(str(system.source))), start=1):
        if missing := [name for name in ("id", "text") if not isinstance(row.get(name), str | int)]:
            name = missing[0]
            why = f"has no {name!r}; its fields are: {', '.join(map(str, row))}"
            if name in row:
                why = f"has a {name!r} that is {type(row[name]).__name__}, not a text"
            raise DatasetError(f"row {number} {why}", source=system.source)
        page_id, text = str(row["id"]), str(row["text"])
        if page_id in texts:
            raise DatasetError(f"row {number}: the id {page_id!r} occurs twice", source=system.source)
        if page_id in wanted:
            texts[page_id] = text
        else:
            n_others += 1
    return texts, n_others


def check_ids(system: System, ids: Collection[str]) -> None:
    """Check that a file of outputs has a page with one of these ids.

    Raises
    ------
    DatasetError
        It has none: the pages would all count as missing.
    """
    first = None
    for row in table_rows(Path(str(system.source))):
        if str(row.get("id")) in ids:
            return
        first = row.get("id") if first is None else first
    if first is not None and ids:
        raise DatasetError(
            f"no line has the id of a page: ids are like {first!r} here, and like {min(ids)!r} in the data sets; "
            "'blockml predict' with the folder of a data set writes the ids of its pages",
            source=system.source,
        )


#: Takes a page as text and its URL, if known, and returns the main content as text.
Adapter = Callable[[str, str | None], str]


@dataclass(frozen=True, slots=True)
class Peer:
    """A third-party extractor."""

    package: str  #: Distribution name on PyPI
    adapter: Adapter
    python: tuple[int, int] = (3, 11)  #: Minimum Python version
    gives_html: bool = False  #: Whether it returns HTML, which blockml converts to text

    @property
    def version(self) -> str | None:
        """Version of the installed package; None if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @property
    def install(self) -> str:
        """Instructions to install it."""
        if sys.version_info < self.python:
            return f"needs Python {self.python[0]}.{self.python[1]}: pip install {self.package}"
        return f"pip install {self.package} (or all of them, {install_hint('compare')})"


def _trafilatura(html: str, url: str | None, *, comments: bool) -> str:
    import trafilatura

    return str(trafilatura.extract(html, url=url, include_comments=comments) or "")


def _readability_lxml(html: str, url: str | None) -> str:
    from readability import Document

    return _text(Document(html, url=url).summary(html_partial=True))


def _resiliparse(html: str, url: str | None) -> str:  # noqa: ARG001 (it has no use for the URL)
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True))


def _justext(html: str, url: str | None) -> str:  # noqa: ARG001
    import justext

    # jusText needs the language of the page; with another language it finds little.
    paragraphs = justext.justext(html, justext.get_stoplist("English"))
    return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


def _boilerpy3(html: str, url: str | None, *, extractor: str) -> str:  # noqa: ARG001
    from boilerpy3 import extractors

    return str(getattr(extractors, extractor)().get_content(html))


def _newspaper4k(html: str, url: str | None) -> str:
    import newspaper

    article = newspaper.Article(url or "", fetch_images=False)
    article.download(input_html=html)
    article.parse()
    return str(article.text)


def _goose3(html: str, url: str | None) -> str:  # noqa: ARG001 (it would fetch the URL)
    from goose3 import Goose

    return str(Goose().extract(raw_html=html).cleaned_text)


def _magic_html(html: str, url: str | None) -> str:
    from magic_html import GeneralExtractor

    return _text(GeneralExtractor().extract(html, base_url=url or "")["html"])


def _html_text(html: str, url: str | None) -> str:  # noqa: ARG001
    import html_text

    return str(html_text.extract_text(html))


def _text(html: str) -> str:
    return extract(html, model=Plain()).text


#: Peers by their name in results.
PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "trafilatura": Peer("trafilatura", partial(_trafilatura, comments=True)),
        "trafilatura-nocomments": Peer("trafilatura", partial(_trafilatura, comments=False)),
        "readability-lxml": Peer("readability-lxml", _readability_lxml, gives_html=True),
        "resiliparse": Peer("resiliparse", _resiliparse),
        "justext": Peer("jusText", _justext),
        "boilerpy3-article": Peer("boilerpy3", partial(_boilerpy3, extractor="ArticleExtractor")),
        "boilerpy3-default": Peer("boilerpy3", partial(_boilerpy3, extractor="DefaultExtractor")),
        "newspaper4k": Peer("newspaper4k", _newspaper4k),
        "goose3": Peer("goose3", _goose3),
        "magic-html": Peer("magic-html", _magic_html, python=(3, 12), gives_html=True),
        "html-text": Peer("html-text", _html_text),
    }
)


# C sources count as code, but only an sdist or a checkout has them; wheels of different code differ in version.
_SUFFIXES = frozenset({".py", ".c", ".h"})

# Packages that extraction does not use.
_NOT_EXTRACTING = frozenset(
    "archives batch cli comparing.py datasets estimators evaluation labelling progress.py reports "
    "surveying training".split()
)

# Packages and modules that page scores depend on: parsing, blocks, tokens, gold and metrics.
_SCORING_PACKAGES = frozenset({"_kernel", "page", "parsing", "text"})
_SCORING_MODULES = frozenset({"datasets/gold.py", "evaluation/metrics.py", "evaluation/comparison/reference.py"})


def runs_in_extraction(module: PurePath) -> bool:
    """Return whether an extraction depends on a source file, given relative to the package."""
    return module.parts[0] not in _NOT_EXTRACTING


def runs_in_scoring(module: PurePath) -> bool:
    """Return whether page scores depend on a source file, given relative to the package."""
    return module.parts[0] in _SCORING_PACKAGES or module.as_posix() in _SCORING_MODULES


def source_fingerprint(selected: Callable[[PurePath], bool]) -> str:
    """Return eight hexadecimal digits that change with the selected source files, given relative to the package."""
    digest = hashlib.sha256()
    package = Path(blockml.__file__).parent
    for path in sorted(path for path in package.rglob("*") if path.suffix in _SUFFIXES):
        if selected(path.relative_to(package)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def extraction_fingerprint() -> str:
    """Return the fingerprint of the code that an extraction depends on."""
    return source_fingerprint(runs_in_extraction)


def scoring_fingerprint() -> str:
    """Return the fingerprint of the code that page scores depend on."""
    return source_fingerprint(runs_in_scoring)


def class_fingerprint(kind: type) -> str:
    """Return eight hexadecimal digits that change with the code of an extraction or of an extractor's class.

    For a class of another package, this covers every Python file of its top-level package, or its module.

    Raises
    ------
    UsageError
        The code is not in a file, for example because it was defined in a notebook.
    """
    top = sys.modules[kind.__module__.partition(".")[0]]
    if top is blockml:
        return extraction_fingerprint()
    digest = hashlib.sha256(extraction_fingerprint().encode())
    files = [path for folder in getattr(top, "__path__", ()) for path in sorted(Path(folder).rglob("*.py"))]
    try:
        for path in files or [Path(getattr(top, "__file__", None) or "")]:
            digest.update(path.read_bytes())
    except OSError as error:
        raise UsageError(f"the class {kind.__name__} must be defined in a file, so that changes are noticed") from error
    return digest.hexdigest()[:8]


def model_fingerprint(model: Model) -> str:
    """Return eight hexadecimal digits that change with a model's file or with the code of an extraction."""
    return hashlib.sha256(f"{extraction_fingerprint()} {model_digest(model)}".encode()).hexdigest()[:8]
