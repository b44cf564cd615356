"""Options of an extraction, in one table that functions, batches and commands read.

To add an option, add a field with its flag to :class:`Options`, and an argument to :func:`blockml.extract`, which uses
it. ``blockml predict``, ``blockml.batch``, ``blockml.extract_column`` and the flags of the commands are derived from
the field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from blockml.decision.decide import label_names, with_threshold
from blockml.decision.policy import DecisionPolicy
from blockml.errors import UsageError, check_name, check_type
from blockml.extractors.extractor import Extractor
from blockml.extractors.trained_extractor import ParsedBy
from blockml.formats import CHUNK_FORMATS, FORMATS
from blockml.page import Label
from blockml.parsing import BACKENDS, Limits
from blockml.parsing.decoding import Detector
from blockml.predictors.base import log_odds, sigmoid
from blockml.records import CHUNK_FIELDS, OPTIONAL, RECORD, RECORD_FIELDS

if TYPE_CHECKING:
    from blockml.rules import AnyRules

__all__ = ["FAVOURED", "HIDDEN_TEXT", "TEXT_FORMATS", "CommandFlag", "Options", "flags"]

#: Formats of the field ``text`` of a record.
TEXT_FORMATS = tuple(name for name in FORMATS if name != "json")
#: Shift of the log odds that a block needs, for each value of ``favour``. Chosen on the curve of ``default`` on
#: collections that it was not trained on (``python -m research.benchmarks.presets --dataset dragnet-2012 --dataset
#: cleaneval``).
FAVOURED: Mapping[str, float] = MappingProxyType({"precision": 1.5, "recall": -1.4})
_FAVOUR_HELP = (
    "favour precision or recall, instead of --threshold (default on dragnet-2012, not in its training: mean P .937, R "
    ".934; with precision .949 and .903; with recall .915 and .948)"
)
_THRESHOLD_HELP = "minimum score of blocks to keep, from 0 (keep all) to 1, instead of the extractor's own"
#: Values of ``hidden``.
HIDDEN_TEXT = ("keep", "drop", "mark")
_HIDDEN_HELP = (
    "text that no reader sees: keep all that the model keeps, drop all, or keep and mark it as [hidden: ...] (default: "
    "keep only tabs, accordions and other content that a script shows)"
)
_INCLUDE_HELP = f"also keep blocks with these labels: {', '.join(sorted(Label))}"
_RULES_HELP = (
    'TOML file of rules by site, which come after the extractor; the smallest one has two lines: ["cats.example"] and '
    'drop = ".newsletter" (docs/rules.md)'
)
_BACKEND_HELP = "HTML parser; models expect the one they were trained with (default: the extractor's, else lxml)"
_FIELDS_HELP = (
    "fields of a record, such as id,text,metadata.authors (default: all except "
    f"{', '.join(item.name for item in OPTIONAL)})"
)
_CHUNKS_HELP = "write a record for each chunk of at most N characters, with its headings and its place in the text"
_LANGUAGE_HELP = "keep only pages in these languages, such as en,de: as declared, else as detected (extra 'language')"
_DECLARED_HELP = "give pages without an address the one that they declare (canonical or og:url)"
_FRONT_HELP = "begin Markdown with title, authors, dates and other metadata as YAML"
_DEDUPLICATE_HELP = "leave out near duplicates of earlier pages"
_ON, _OFF = True, False
_POLICY = DecisionPolicy()
_NONE: frozenset[Label] = frozenset()
_FIELDS, _LEGAL_FIELDS = tuple(item.name for item in RECORD), tuple(RECORD_FIELDS)
_FIELDS_OF_CHUNKS = ("id", "number", "headings", "text", "start", "end")
_CHUNKS_ONLY = frozenset(item.name for item in CHUNK_FIELDS)


def _shifted(probability: float, shift: float) -> float:
    """Return a probability whose log odds are shifted."""
    return float(sigmoid(log_odds(np.array([probability])) + shift)[0])


@dataclass(frozen=True, slots=True)
class CommandFlag:
    """Command-line flag of an option."""

    name: str
    help: str
    #: Type of its value for argparse: ``number``, ``positive`` or ``names``; empty for a name; a ``switch`` has no
    #: value.
    kind: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    default: Any = None
    make: Callable[[Any], Any] | None = None  #: Converts the parsed argument to the value of the option.
    of_records: bool = False  #: Whether it affects records, so that only ``blockml predict`` has it.


def _option(default: Any, /, *flag: Any, **more: Any) -> Any:  # noqa: ANN401 (of any type)
    """Declare an option and its flag, which has the option's default unless another one is given."""
    made = CommandFlag(*flag, **{"default": default, **more}) if flag else None
    return field(default=default, metadata=MappingProxyType({"flag": made}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of the extraction of a page, see :func:`blockml.extract`, and of its record in a batch.

    Raises
    ------
    UsageError
        An option has an invalid value.

    Examples
    --------
    >>> Options(threshold=0.3, exclude="comment").threshold
    0.3
    >>> Options(threshold=2)
    Traceback (most recent call last):
    blockml.errors.UsageError: the threshold must be between 0 and 1, got 2
    """

    #: Minimum score to keep a block; None for the extractor's own.
    threshold: float | None = _option(None, "--threshold", _THRESHOLD_HELP, "number", "X")
    #: ``precision`` or ``recall``, see :data:`FAVOURED`; excludes ``threshold``.
    favour: str | None = _option(None, "--favour", _FAVOUR_HELP, choices=tuple(FAVOURED))
    #: Names of labels whose blocks are kept, or removed, whatever their score.
    include: str | Iterable[str] = _option((), "--include", _INCLUDE_HELP, "names", "LABEL,…")
    exclude: str | Iterable[str] = _option((), "--exclude", "remove blocks with these labels", "names", "LABEL,…")
    #: Rules by site that change the decision and the metadata, as read by :func:`blockml.rules.read_rules`.
    rules: AnyRules | None = _option(None, "--rules", _RULES_HELP, metavar="FILE")  # noqa: RUF009 (makes a field)
    #: One of :data:`HIDDEN_TEXT`; None keeps the hidden text that a script shows, see :mod:`blockml.decision.hidden`.
    hidden: str | None = _option(None, "--hidden", _HIDDEN_HELP, choices=HIDDEN_TEXT)
    #: Limits on the size of one page.
    limits: Limits = _option(
        Limits(), "--max-bytes", "read at most N bytes of a page", "positive", "N",
        default=Limits().bytes, make=lambda number: Limits(bytes=number),
    )  # fmt: skip
    #: HTML parser; None for the extractor's own.
    backend: str | None = _option(None, "--backend", _BACKEND_HELP, choices=tuple(sorted(BACKENDS)))
    #: Function that guesses the encoding of bytes that declare none; a batch pickles it.
    detector: Detector | None = _option(None)  # noqa: RUF009 (makes a field)
    #: Format of the field ``text`` of a record, one of :data:`TEXT_FORMATS`.
    format: str = _option("text", "--format", "format of the texts", choices=TEXT_FORMATS, of_records=True)
    #: Whether Markdown and HTML include links, pictures, data tables, and bold, italic and other formatting.
    links: bool = _option(_ON, "--no-links", "write links as plain text", "switch", of_records=True)
    images: bool = _option(_ON, "--no-images", "leave out pictures", "switch", of_records=True)
    tables: bool = _option(_ON, "--no-tables", "leave out data tables", "switch", of_records=True)
    formatting: bool = _option(_ON, "--no-formatting", "leave out bold, italics and so on", "switch", of_records=True)
    #: Whether Markdown begins with the metadata as YAML.
    front_matter: bool = _option(_OFF, "--front-matter", _FRONT_HELP, "switch", of_records=True)
    #: Maximum characters of a chunk: records are chunks of pages instead of pages. None for pages.
    chunks: int | None = _option(None, "--chunks", _CHUNKS_HELP, "positive", "N", of_records=True)
    #: Fields of a record, in this order; :data:`blockml.records.RECORD` if empty. ``metadata.authors`` is a
    #: field of the metadata.
    fields: tuple[str, ...] = _option((), "--fields", _FIELDS_HELP, "names", "NAME,…", of_records=True)
    #: Language codes; pages in other languages are left out of a batch.
    languages: tuple[str, ...] = _option((), "--language", _LANGUAGE_HELP, "names", "CODE,…", of_records=True)
    #: Whether near duplicates of earlier pages are left out of a batch.
    deduplicate: bool = _option(_OFF, "--deduplicate", _DEDUPLICATE_HELP, "switch", of_records=True)
    #: Minimum confidence for the status ``ok``; records below it have the status ``unsure``. None for no limit.
    min_confidence: float | None = _option(
        None, "--min-confidence", "give pages below this confidence the status unsure", "number", "X", of_records=True
    )

    #: Whether pages without an address get the one that they declare, so that their links become absolute.
    declared_urls: bool = _option(_OFF, "--declared-urls", _DECLARED_HELP, "switch", of_records=True)

    def __post_init__(self) -> None:
        self._check_records()
        if self.threshold is not None:
            with_threshold(_POLICY, self.threshold)
        if self.favour is not None:
            check_name("favour", self.favour, FAVOURED)
            if self.threshold is not None:
                raise UsageError("threshold and favour can't be combined")
        if self.hidden is not None:
            check_name("treatment of hidden text", self.hidden, HIDDEN_TEXT)
        if not (type(self.include) is type(self.exclude) is tuple and not self.include and not self.exclude):
            for name, labels in zip(("include", "exclude"), label_names(self.include, self.exclude), strict=True):
                object.__setattr__(self, name, labels)
        if self.rules is not None:
            from blockml.rules import read_rules  # only if some are given

            object.__setattr__(self, "rules", read_rules(self.rules))
        check_type("limits", self.limits, Limits, legal="blockml.Limits")
        if self.backend is not None:
            check_name("backend", self.backend, BACKENDS)
        if self.detector is not None and not callable(self.detector):
            raise UsageError(f"detector must be a function of bytes or None, got {type(self.detector).__name__}")

    def _check_records(self) -> None:
        """Check the options of records."""
        if self.format != "text":
            check_name("format", self.format, TEXT_FORMATS)
        if self.min_confidence is not None:
            check_type("min_confidence", self.min_confidence, float, int, legal="a number from 0 to 1")
            if not 0 <= self.min_confidence <= 1:
                raise UsageError(f"min_confidence must be between 0 and 1, got {self.min_confidence}")
        check_type("fields", self.fields, tuple, list, legal="a tuple of names")
        for name in self.fields:
            check_name("field", name, _LEGAL_FIELDS)
        self._check_chunks()
        for name in ("links", "images", "tables", "formatting", "front_matter", "deduplicate", "declared_urls"):
            check_type(name, getattr(self, name), bool, legal="True or False")
        check_type("languages", self.languages, tuple, list, legal="a tuple of language codes, such as ('en', 'de')")
        for code in self.languages:
            check_type("language", code, str, legal="a language code, such as 'en'")
            if not (code.isascii() and code.isalpha() and 2 <= len(code) <= 3):
                raise UsageError(f"languages must be codes of two or three letters, such as en, got {code!r}")

    def _check_chunks(self) -> None:
        """Check the options of records of chunks."""
        if self.chunks is not None:
            check_type("chunks", self.chunks, int, legal="a positive integer or None")
            if self.chunks < 1:
                raise UsageError(f"chunks must be at least 1, got {self.chunks}")
            if self.format not in CHUNK_FORMATS:
                raise UsageError(f"chunks must have one of the formats {', '.join(CHUNK_FORMATS)}, not {self.format}")
            if self.front_matter:
                raise UsageError("chunks and front_matter can't be combined; fields give metadata beside chunks")
            if self.deduplicate or "duplicate_of" in self.fields:
                raise UsageError("chunks can't be combined with deduplicate and duplicate_of, which compare pages")
        elif not _CHUNKS_ONLY.isdisjoint(self.fields):
            names = ", ".join(name for name in self.fields if name in _CHUNKS_ONLY)
            raise UsageError(f"only records of chunks have the fields {names}; set chunks")

    def policy(self, policy: DecisionPolicy) -> DecisionPolicy:
        """Return the policy with ``threshold`` and ``hidden``, or shifted towards precision or recall."""
        if self.hidden is not None:
            policy = replace(policy, hidden="drop" if self.hidden == "drop" else "keep")
        if self.favour is None:
            return with_threshold(policy, self.threshold)
        shift = FAVOURED[self.favour]
        if shift > 0 and policy.rule == "expected_f1":  # a higher threshold would leave nothing on some pages
            best = policy.form_best_probability and _shifted(policy.form_best_probability, -shift)
            return replace(policy, base_penalty=policy.base_penalty + shift, form_best_probability=best)
        return replace(policy, threshold=_shifted(policy.threshold, shift))

    @property
    def switches(self) -> dict[str, bool]:
        """Arguments of :func:`blockml.render` that leave something out of Markdown and HTML, or add front matter."""
        found = {name: False for name in ("links", "images", "tables", "formatting") if not getattr(self, name)}
        return found | ({"front_matter": True} if self.front_matter else {})

    @property
    def record_fields(self) -> tuple[str, ...]:
        """Names of the fields of a record, in order."""
        fields = tuple(self.fields) or (_FIELDS if self.chunks is None else _FIELDS_OF_CHUNKS)
        return fields if self.rules is None or self.fields or self.chunks is not None else (*fields, "rules")

    @property
    def read_limit(self) -> int:
        """Bytes to read of a page: one more than are parsed, so that parsing notices that the page is longer."""
        return self.limits.bytes + 1

    def labels(self, extractor: Extractor) -> tuple[frozenset[Label], frozenset[Label]]:
        """Return the labels to include and to exclude.

        Raises
        ------
        UsageError
            Labels are given, and the extractor has none.
        """
        if not (self.include or self.exclude):
            return _NONE, _NONE
        if not extractor.gives_labels:
            raise UsageError(
                f"model {extractor.id} has no block labels to include or exclude; use one with labels, such as default"
            )
        return cast("tuple[frozenset[Label], frozenset[Label]]", (self.include or _NONE, self.exclude or _NONE))

    def adapted(self, extractor: Extractor) -> Extractor:
        """Return the extractor with the parser ``backend``, after the checks of :meth:`labels`."""
        self.labels(extractor)
        return extractor if self.backend is None else ParsedBy(extractor, self.backend)

    def record(self) -> dict[str, Any]:
        """Return the options as JSON, for the manifest of a run."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        detector = self.detector and f"{self.detector.__module__}.{getattr(self.detector, '__qualname__', '')}"
        limits = {name: getattr(self.limits, name) for name in Limits.__slots__}
        labels = {name: sorted(values[name]) for name in ("include", "exclude")}
        lists = {name: list(values[name]) for name in ("fields", "languages")}
        rules = self.rules
        if rules is not None:
            from blockml.rules import read_rules  # only if some are given

            rules = read_rules(rules).digest
        return {**values, **labels, **lists, "limits": limits, "detector": detector, "rules": rules}


def flags(*, of_records: bool) -> Mapping[str, CommandFlag]:
    """Return the flags by option name; ``of_records`` includes those that affect records."""
    found = {item.name: item.metadata["flag"] for item in fields(Options)}
    return {name: flag for name, flag in found.items() if flag and (of_records or not flag.of_records)}
