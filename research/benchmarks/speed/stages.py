"""Time of ``blockml.extract`` by stage, measured around the functions that connect the packages.

The time of each function of :data:`TIMED`, each family of features and each intermediate result of the page context
excludes that of nested ones, so that stages add up to the whole. Families of features, which the C extension computes
in one call, are computed separately here, which costs a little more.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockml
import blockml.features.page_matrix
from blockml import _kernel
from blockml.extractors import Extractor
from blockml.features import COLUMNS, page_matrix
from blockml.features.kernel_tables import kernel_columns
from blockml.features.page_context import KernelPage, KernelRows, PageContext
from blockml.page.lazy import cached_property
from research.benchmarks.speed.clock import Laps, Subject
from research.benchmarks.speed.pages import Source
from research.benchmarks.speed.subjects import on_backend

__all__ = ["REST", "SHARED", "TIMED", "Stopwatch", "routes", "watched"]

PARSE, PUT_TOGETHER = "parse to nodes", "features: assembly"
#: Timed functions: module, name in it, stage.
TIMED = (
    ("blockml.extract", "parse", "parse: warnings, title"),
    ("blockml.parsing", "decode", "decode"),
    ("blockml.parsing", "build", PARSE),
    ("blockml.parsing", "segment", "segment"),
    ("blockml.extractors.trained_extractor", "page_matrix", PUT_TOGETHER),
    ("blockml.predictors.tree_ensemble", "TreeEnsemble.log_odds", "trees"),
    ("blockml.predictors.tree_ensemble", "MeanTrees.probabilities", "trees"),
    ("blockml.features.page_matrix", "ancestor_words", "ancestor words"),
    ("blockml.predictors.mlp", "MLP.predict", "MLPs"),
    ("blockml.model.model", "article_probability", "page features"),
    ("blockml.extract", "decide", "decide"),
    ("blockml.predictors.block_types", "BlockTypes.comment_probabilities", "block types"),
    ("blockml.extract", "render_text", "render"),
)
#: Stages that include the time of stages called by them, because block types are predicted by trees as well.
_CLOSED = frozenset({"block types"})
#: Name for the time between the stages.
REST = "rest"
#: Prefix of intermediate results of the page context.
SHARED = "page context: "

Work = Callable[..., Any]


class Stopwatch:
    """Seconds of each stage, without those of the stages within it.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> inner = watch.around(lambda: 7, "inner")
    >>> watch.around(lambda: inner() + 1, "outer")(), sorted(watch.seconds)
    (8, ['inner', 'outer', 'rest'])
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open = [REST]
        self._since = time.process_time()

    def around(self, function: Work, stage: str) -> Work:
        """Return the function, timed."""

        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 (signature of the timed function)
            if self._open[-1] in _CLOSED:
                return function(*arguments, **named)
            self._turn()
            self._open.append(stage)
            try:
                return function(*arguments, **named)
            finally:
                self._turn()
                self._open.pop()

        return timed

    def _turn(self) -> None:
        """Add the time since the last turn to the open stage."""
        now = time.process_time()
        stage = self._open[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now

    def stop(self) -> dict[str, float]:
        """Return the seconds of each stage, in the order in which they first ended."""
        self._turn()
        return self.seconds


@contextmanager
def watched() -> Iterator[Stopwatch]:
    """Time all stages in this context."""
    with ExitStack() as stack:
        watch = Stopwatch()
        for module, name, stage in TIMED:
            owner: Any = sys.modules[module]
            *outer, last = name.split(".")
            for part in outer:
                owner = getattr(owner, part)
            stack.enter_context(_instead(owner, last, watch.around(getattr(owner, last), stage)))
        for name, part in vars(PageContext).items():
            if isinstance(part, cached_property):
                stack.enter_context(_instead(part, "function", watch.around(part.function, SHARED + name)))
        stack.enter_context(_instead(page_matrix, "_plan", _by_family(page_matrix._plan, watch)))  # noqa: SLF001
        stack.enter_context(_instead(KernelPage, "write", _by_step(KernelPage.write, watch)))
        stack.enter_context(_instead(blockml.parsing, "build", _building(blockml.parsing.build, watch)))
        watch._turn()  # noqa: SLF001 (patching is not part of the page)
        watch.seconds.clear()
        yield watch


@contextmanager
def _instead(owner: Any, name: str, value: object) -> Iterator[None]:  # noqa: ANN401 (a module, a class, a property)
    """Replace an attribute in this context."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _by_step(write: Work, watch: Stopwatch) -> Work:
    """Return a method that writes compiled columns family by family, each timed."""

    def by_step(
        page: KernelPage, rows: KernelRows, titles: tuple[str, str] | None, matrix: NDArray[np.float32]
    ) -> None:
        known = kernel_columns(page.compiled)
        families = np.array([_stage(COLUMNS[name].family) for name in known])
        for stage in dict.fromkeys(families[rows.row_of >= 0].tolist()):
            its_rows = rows._replace(row_of=np.where(families == stage, rows.row_of, -1))
            watch.around(write, stage)(page, its_rows, titles, matrix)

    return by_step


def _stage(function: Callable[..., object] | None) -> str:
    """Return the stage of a family, or of a function of blocks, by its module."""
    return PUT_TOGETHER if function is None else f"features: {function.__module__.rpartition('.')[2]}"


def _building(build: Work, watch: Stopwatch) -> Work:
    """Return a factory of timed node builders."""

    class Watched:
        """Builder whose last step is timed."""

        def __init__(self, builder: Any) -> None:  # noqa: ANN401 (any builder)
            self._builder = builder
            self.nodes = watch.around(builder.nodes, PARSE)

        def __getattr__(self, name: str) -> object:
            return getattr(self._builder, name)

    return lambda *arguments, **named: Watched(build(*arguments, **named))


def _by_family(plan_of: Work, watch: Stopwatch) -> Work:
    """Return a function that plans as ``plan_of`` does, with each family and each function of blocks timed."""

    def timed(*arguments: Any) -> Any:  # noqa: ANN401 (a plan)
        plan = plan_of(*arguments)
        return replace(
            plan,
            families=tuple((watch.around(family, _stage(family)), wanted) for family, wanted in plan.families),
            of_blocks=tuple((watch.around(compute, _stage(compute)), row) for compute, row in plan.of_blocks),
        )

    return timed


def routes(model: str, backends: Sequence[str]) -> list[Subject]:
    """Return the stages of a model: compiled on each back end, and on the first without the C extension."""
    found = [_subject(model, backend, compiled=True) for backend in backends]
    if _kernel.compiled is not None:
        found.append(_subject(model, backends[0], compiled=False))
    return found


def _subject(model: str, backend: str, *, compiled: bool) -> Subject:
    way = f"{model}, {backend}" if compiled else f"{model}, {backend}, in Python"
    return Subject(f"stages of {way}", functools.partial(_route, on_backend(model, backend)), compiled=compiled)


def _route(extractor: Extractor, laps: Laps, source: Source) -> None:
    """Extract one page."""
    with watched() as watch:
        blockml.extract(source.html, url=source.url, charset=source.charset, model=extractor)
        laps.seconds |= watch.stop()
