"""Threads that share a model get equal results, workers use one thread each, and only what is needed is computed."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

import blockml
from blockml import _kernel
from blockml.batch import Item, predict_items
from blockml.batch.worker import one_thread
from blockml.extractors import Extractor, Plain, TrainedExtractor, Traits, trained
from blockml.features import COLUMNS, feature_set
from blockml.features.feature_sets import split_name
from blockml.features.kernel_tables import kernel_columns
from blockml.features.page_context import KernelPage, KernelRows, PageContext
from blockml.page import Extraction, Page
from blockml.page.lazy import cached_property
from blockml.parsing import BACKENDS, build

DATA = Path(__file__).parent.parent / "data"
PAGES = [path.read_bytes() for path in sorted(DATA.rglob("page.html"))]
NEEDED = {"lexbor": "selectolax"}


def on_backend(name: str, backend: str) -> TrainedExtractor:
    """Return a released model whose pages are parsed by another back end."""
    model = trained(name).model
    return TrainedExtractor(replace(model, parsing=replace(model.parsing, backend=backend)))


def told(result: Extraction) -> tuple[object, ...]:
    """Return everything in an extraction, bit for bit."""
    return (
        result.status, result.text, result.scores.tobytes(), result.kept.tobytes(), result.confidence, result.labels,
        result.remarks, result.page.warnings, result.page.title,
    )  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", sorted(set(BACKENDS) - {"html5lib"}))
@pytest.mark.parametrize("model", ["default", "kim2013"])
def test_threads_that_share_a_model_get_the_same_results(model: str, backend: str, implementation: str) -> None:
    """Sixteen threads that share a model get the same results, each with the pages in a different order."""
    if find_spec(NEEDED.get(backend, "blockml")) is None:
        pytest.skip(f"needs {NEEDED[backend]}")
    extractor = on_backend(model, backend)
    pages = PAGES[:: len(PAGES) // (6 if implementation == "compiled" else 3)]
    expected = [told(blockml.extract(page, model=extractor)) for page in pages]
    barrier = threading.Barrier(16)

    def work(number: int) -> dict[int, tuple[object, ...]]:
        order = np.random.default_rng(number).permutation(len(pages)).tolist()
        barrier.wait(timeout=60)
        return {i: told(blockml.extract(pages[i], model=extractor)) for i in order}

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(work, range(16)))
    for results in found:
        assert [results[i] for i in range(len(pages))] == expected


@pytest.mark.parametrize("model", ["default", "kim2013"])
def test_an_extraction_starts_no_python_threads(model: str) -> None:
    """An extraction starts no Python threads; those of numpy's matrix products are tested below."""
    before = threading.active_count()
    blockml.extract(PAGES[0], model=model)
    assert threading.active_count() == before


class Counting(Extractor):
    """An extractor that keeps every block and whose id shows the number of threads for matrix products."""

    traits: ClassVar[Traits] = Plain.traits

    @property
    def id(self) -> str:
        """Return the number of those threads and the id of this process."""
        return f"{blas_threads()} in {os.getpid()}"

    def score(self, page: Page) -> NDArray[np.float32]:
        """Return a score of 1 for every block."""
        return np.ones(len(page.blocks), dtype=np.float32)


@pytest.mark.parametrize("backend", sorted(set(BACKENDS) - {"html5lib"}))
@pytest.mark.parametrize(
    "unusual", [b"", "<p class=\u00c4>\u00c4\u200b<\u00c4 style='\u00c4 display: none'></\u00c4>".encode()]
)
def test_a_parse_lets_other_threads_run(backend: str, unusual: bytes) -> None:
    """With turns of an hour, another thread runs only while the lock is released."""
    if _kernel.compiled is None:
        pytest.skip("needs the C extension")
    pytest.importorskip(NEEDED.get(backend, "lxml"))
    n_turns, done = 0, threading.Event()

    def take_turns() -> None:
        nonlocal n_turns
        while not done.is_set():
            n_turns += 1
            time.sleep(0)  # gives the lock back

    before, worker = sys.getswitchinterval(), threading.Thread(target=take_turns)
    limits = blockml.Limits(blocks=10**6)
    source = (b"<p>A text of a page.</p>" + unusual) * 4_000
    build(source, backend, limits)  # finds the parser's functions
    worker.start()
    try:
        sys.setswitchinterval(3600)
        n_before = n_turns
        for _ in range(200):  # the other thread may get no processor for a while
            build(source, backend, limits)
            if n_turns > n_before:
                break
        n_after = n_turns
    finally:
        sys.setswitchinterval(before)
        done.set()
        worker.join()
    assert n_after > n_before


def blas_threads() -> list[int]:
    """Return the numbers of threads that numpy's library for matrix products may use."""
    return [lib.num_threads for lib in blas().lib_controllers if "numpy" in lib.filepath]


@functools.cache
def blas() -> ThreadpoolController:
    """Return the process's libraries for matrix products."""
    return ThreadpoolController().select(user_api="blas")


@pytest.mark.parametrize("jobs", [1, 2])
def test_pages_of_a_batch_are_processed_with_one_thread(jobs: int) -> None:
    """In a batch the workers and this process use one thread each, and the earlier setting is restored."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if blas_threads() != [2]:
            pytest.skip("numpy's matrix products know no threads here")
        items = [Item(str(i), html=f"<p>page {i}</p>") for i in range(40)]
        models = {record["model"] for record in predict_items(items, Counting(), jobs=jobs)}
        assert blas_threads() == [2]
    assert {model.split(" in ")[0] for model in models} == {"[1]"}
    assert f"{os.getpid()}" not in {model.split(" in ")[1] for model in models}


def test_one_thread_for_matrix_products_and_then_as_many_as_before() -> None:
    """The limit holds for all threads, may be nested, ends after exceptions, and is lifted by the last user."""
    before = blas_threads()
    if not before or max(before) < 2:
        pytest.skip("numpy's matrix products have one thread here")

    def inside() -> list[int]:
        with one_thread():
            with pytest.raises(KeyError), one_thread():
                raise KeyError
            return blas_threads()

    with ThreadPoolExecutor(1) as pool:
        assert inside() == pool.submit(inside).result() == [1] * len(before)
    assert blas_threads() == before

    def hold(number: int) -> None:
        for _ in range(20):
            with one_thread():
                time.sleep(0.0001 * number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hold, range(8)))
    assert blas_threads() == before


def called(work: Callable[[], object]) -> Counter[CodeType]:
    """Count the calls of each Python function during some work."""
    calls: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        calls[frame.f_code] += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def code_of(function: object) -> CodeType:
    """Return the code of a Python function."""
    assert isinstance(function, FunctionType)
    return function.__code__


@pytest.mark.parametrize("name", ["default", "kim2013"])
def test_only_what_the_model_reads_is_computed_and_once(
    name: str, implementation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the families and columns of features that the model reads are computed, each once a page."""
    extractor = trained(name)
    written: list[str] = []
    write = KernelPage.write

    def noted(page: KernelPage, rows: KernelRows, titles: tuple[str, str] | None, matrix: NDArray[np.float32]) -> None:
        written.extend(name for name, column in kernel_columns(page.compiled).items() if rows.row_of[column.place] >= 0)
        write(page, rows, titles, matrix)

    monkeypatch.setattr(KernelPage, "write", noted)
    calls = called(lambda: blockml.extract(PAGES[0], model=extractor))
    calls.update(code_of(family) for family in {COLUMNS[name].family for name in written})
    assert len(written) == len(set(written))
    assert bool(written) == (implementation == "compiled" and name == "default")
    bases = {split_name(column)[0] for column in feature_set(extractor.model.features).columns}
    families = {code_of(family) for base in bases if (family := COLUMNS[base].family)}
    wanted = families | {code_of(compute) for base in bases if (compute := COLUMNS[base].compute)}
    known = {code_of(made) for column in COLUMNS.values() for made in (column.family, column.compute) if made}
    assert known & set(calls) == wanted
    assert 0 < len(wanted) < len(known)
    assert all(calls[family] == 1 for family in families)


def test_a_model_without_words_of_classes_does_not_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model without words of classes does not read attributes, subtrees or ancestors."""
    expected = told(blockml.extract(PAGES[0], model="kim2013"))

    def fail(_: PageContext) -> object:
        raise AssertionError("computed for nothing")

    parts = [name for name, part in vars(PageContext).items() if isinstance(part, cached_property)]
    costly = set(parts) - {"words", "linked", "prose", "n_words"}
    assert {"kernel_page", "keywords", "chain", "low", "high", "counts"} <= costly
    for name in costly:
        monkeypatch.setattr(PageContext, name, property(fail))
    assert told(blockml.extract(PAGES[0], model="kim2013")) == expected


_FORKS = """
import os, sys, threading, time
import blockml
from blockml.extractors import TrainedExtractor, trained
from dataclasses import replace

held = trained("default").model
models = [TrainedExtractor(replace(held, parsing=replace(held.parsing, backend=name))) for name in sys.argv[1:]]
page = b"<title>Cats</title><p>The cat sat on the mat and looked.</p>" * 300

def work():
    for model in models:
        result = blockml.extract(page, model=model)
        blockml.render(result, "json")
        blockml.render(result, "markdown")

def work_on():
    while True:
        work()

work()
for _ in range(4):
    threading.Thread(target=work_on, daemon=True).start()
for number in range(40):
    if (child := os.fork()) == 0:
        work()
        os._exit(0)
    until = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, 9)
            print("child", number, "hangs")
            os._exit(1)
        time.sleep(0.01)
os._exit(0)
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_children_forked_while_threads_extract_do_not_hang() -> None:
    """Children forked while threads extract do not wait for a lock that a thread of the parent held."""
    backends = [name for name in ("lxml", "lexbor") if find_spec(NEEDED.get(name, "blockml"))]
    command = [sys.executable, "-W", "ignore", "-c", _FORKS, *backends]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)  # noqa: S603 (our own code)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_no_property_has_a_lock() -> None:
    """No property is functools.cached_property, which in Python 3.11 has one lock for all instances of a class."""
    assert blockml.extract(PAGES[0]).metadata.title
    found = [
        f"{name}.{kind.__name__}.{attribute}"
        for name, module in sys.modules.items()
        if name.startswith("blockml.")
        for kind in vars(module).values()
        if isinstance(kind, type)
        for attribute, value in vars(kind).items()
        if isinstance(value, functools.cached_property)
    ]
    assert not found


def test_threads_get_the_value_that_was_stored_first() -> None:
    """A value that two threads compute at the same time is one object for both."""
    started, go = threading.Semaphore(0), threading.Event()

    class Page:
        @cached_property
        def words(self) -> list[str]:
            started.release()
            go.wait(60)
            return ["cats"]

    page = Page()
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(lambda: page.words) for _ in range(2)]
        started.acquire()
        started.acquire()
        go.set()
        assert found[0].result() is found[1].result() is page.words
    assert isinstance(Page.words, cached_property)
