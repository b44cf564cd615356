"""The route of a page, stage by stage: ``blockml.extract`` itself, with a clock at the doors between its rooms.

Each function of :data:`DOORS`, each family of features and each part of the shared view has the time that is spent in
it and not in another of them. So the stages add up to the whole, whatever calls what. What the kernel does in one go is
done step by step here, families of features and what leads to scores, which costs a little more.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockml
import blockml.features.page_matrix
from benchmarks.speed.clock import Laps, Subject
from benchmarks.speed.pages import Source
from benchmarks.speed.subjects import on_backend
from blockml import _kernel, features
from blockml.extractors import Extractor
from blockml.features import COLUMNS
from blockml.features.kernel_families import FAMILIES, steps_of
from blockml.features.kernel_page import Claims, KernelPage, Steps
from blockml.features.page_context import PageContext

__all__ = ["DOORS", "REST", "SHARED", "Stopwatch", "routes", "watched"]

PARSE, PUT_TOGETHER = "parse to nodes", "features: votes, putting together"
#: What is timed: module, name in it, stage.
DOORS = (
    ("blockml.extract", "parse", "parse: warnings, title"),
    ("blockml.parsing", "decode", "decode"),
    ("blockml.parsing", "build", PARSE),
    ("blockml.parsing", "segment", "segment"),
    ("blockml.extractors.trained", "page_matrix", PUT_TOGETHER),
    ("blockml.predictors.tree_ensemble", "TreeEnsemble.log_odds", "trees"),
    ("blockml.predictors.tree_ensemble", "MeanTrees.probabilities", "trees"),
    ("blockml.features.page_matrix", "alike", "for MLPs: block groups"),
    ("blockml.features.page_matrix", "bags", "for MLPs: words above blocks"),
    ("blockml.predictors.mlp", "MLP.predict", "MLPs"),
    ("blockml.model.scoring", "page_features", "page features"),
    ("blockml.extract", "decide", "decide"),
    ("blockml.predictors.block_types", "BlockTypes.comments", "block types"),
    ("blockml.extract", "render_text", "render"),
)
#: Stages that keep the time of stages within them: block types are predicted by trees, too.
_CLOSED = frozenset({"block types"})
#: Whatever is done between the stages.
REST = "all the rest"
#: Parts of the shared view begin so.
SHARED = "shared view: "

Work = Callable[..., Any]


class Stopwatch:
    """Seconds of each stage, without those of the stages within it.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> inner = watch.around(lambda: 7, "inner")
    >>> watch.around(lambda: inner() + 1, "outer")(), sorted(watch.seconds)
    (8, ['all the rest', 'inner', 'outer'])
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open = [REST]
        self._since = time.process_time()

    def around(self, function: Work, stage: str) -> Work:
        """The function, timed."""

        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 (whatever the function takes and gives)
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
        """Give the time since the last turn to the stage that is open."""
        now = time.process_time()
        stage = self._open[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now

    def stop(self) -> dict[str, float]:
        """Seconds of each stage, in the order in which they were first left."""
        self._turn()
        return self.seconds


@contextmanager
def watched() -> Iterator[Stopwatch]:
    """Put a clock at all doors for a while."""
    with ExitStack() as stack:
        watch = Stopwatch()
        for module, name, stage in DOORS:
            owner: Any = sys.modules[module]
            *outer, last = name.split(".")
            for part in outer:
                owner = getattr(owner, part)
            stack.enter_context(_instead(owner, last, watch.around(getattr(owner, last), stage)))
        for name, part in vars(PageContext).items():
            if isinstance(part, functools.cached_property):
                stack.enter_context(_instead(part, "func", watch.around(part.func, SHARED + name)))
        stack.enter_context(_instead(features, "_values", _by_family(features._values, watch)))  # noqa: SLF001
        stack.enter_context(_instead(KernelPage, "write", _by_step(KernelPage.write, watch)))
        stack.enter_context(_instead(blockml.parsing, "build", _building(blockml.parsing.build, watch)))
        watch._turn()  # noqa: SLF001 (to put up the clocks is no part of the page)
        watch.seconds.clear()
        yield watch


@contextmanager
def _instead(owner: Any, name: str, value: object) -> Iterator[None]:  # noqa: ANN401 (a module, a class, a property)
    """Have an attribute hold something else for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _by_step(write: Work, watch: Stopwatch) -> Work:
    """What has the kernel write columns, family after family, each timed; texts are read for each that needs them."""
    stages = {number: f"features: {family.__module__.rpartition('.')[2]}" for family, number in FAMILIES.items()}
    family_of = {number: family for family, number in FAMILIES.items()}

    def by_step(sheet: KernelPage, steps: Steps, claims: Claims | None, matrix: NDArray[np.float32]) -> None:
        for row in steps.rows.tolist():
            family = family_of.get(row[0])
            step = steps_of([row], set() if family is None else {family})
            watch.around(write, stages.get(row[0], PUT_TOGETHER))(sheet, step, claims, matrix)

    return by_step


def _building(build: Work, watch: Stopwatch) -> Work:
    """What gives a builder of nodes, with the clock in that builder too."""

    class Watched:
        """A builder whose last step is timed."""

        def __init__(self, builder: Any) -> None:  # noqa: ANN401 (whatever was built)
            self._builder = builder
            self.nodes = watch.around(builder.nodes, PARSE)

        def __getattr__(self, name: str) -> object:
            return getattr(self._builder, name)

    return lambda *arguments, **named: Watched(build(*arguments, **named))


def _by_family(values: Work, watch: Stopwatch) -> Work:
    """What computes the columns of a family, or those of none, timed by the module that they are from."""

    def timed(part: Any, *arguments: Any) -> Any:  # noqa: ANN401 (a part of a plan, whatever it is made of)
        function = part.family or COLUMNS[part.bases[0]].compute
        stage = f"features: {function.__module__.rpartition('.')[2]}" if function else PUT_TOGETHER
        return watch.around(values, stage)(part, *arguments)

    return timed


def routes(model: str, backends: Sequence[str]) -> list[Subject]:
    """The stages of a model: on each back end compiled, and on the first in Python alone."""
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
