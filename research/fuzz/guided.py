"""Fuzzing that is guided by coverage of the C extension and of the loader of models, by atheris.

``make fuzz-guided`` builds the extension with clang's instrumentation and runs each target:

    python -m research.fuzz.guided page -max_total_time=300

Options after the target are libFuzzer's. Seeds are the pages of ``data/`` and a model of one small tree.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import atheris
import numpy as np

import blockml
from blockml import _kernel
from blockml.errors import ModelError, UsageError
from blockml.extract import extract_page
from blockml.extractors import TrainedExtractor
from blockml.features.page_matrix import matrix
from blockml.model.model_file import load_model, save_model
from blockml.parsing import BACKENDS, parse
from blockml.predictors import TreeEnsemble
from blockml.predictors.tree_ensemble import Trees

ROOT = Path(__file__).parents[2]
_LIMITS = blockml.Limits(bytes=4_096, nodes=100, depth=20)
_BACKENDS = [name for name in BACKENDS if name != "html5lib"]
#: Longest inputs: small ones, as the states of parsers and loops are reached by few bytes.
_LENGTHS = {"page": 400, "trees": 400, "model": 16_384}
#: Between the members of a model in an input.
_MARK = b"\xff\xfe\xfd\xfc"
#: One input in so many goes through the whole model.
_WHOLE = 32
_FOLDER = tempfile.TemporaryDirectory()
_MODEL = Path(_FOLDER.name, "m.blockml")


def page(data: bytes) -> None:
    """Parse a page and compute its features; extract now and then. The first byte chooses the back end."""
    if not data:
        return
    found = parse(data[1:], backend=_BACKENDS[data[0] % len(_BACKENDS)], limits=_LIMITS)
    values = matrix(found, "page").values
    assert np.isfinite(values).all()
    if data[0] // len(_BACKENDS) % _WHOLE == 0:
        result = extract_page(found, _default())
        assert np.isfinite(result.scores).all()
        assert len(result.kept) == len(found.blocks)


def trees(data: bytes) -> None:
    """Build trees of any numbers; those that pass the checks must give finite sums."""
    held = atheris.FuzzedDataProvider(data)
    n_nodes, n_trees = held.ConsumeIntInRange(0, 12), held.ConsumeIntInRange(0, 4)

    def numbers(count: int) -> np.ndarray:
        return np.array([_number(held) for _ in range(count)], np.int64).astype(np.int32)

    arrays = {name: numbers(n_nodes) for name in ("feature", "left", "right")} | {"roots": numbers(n_trees)}
    for name in ("threshold", "value"):
        arrays[name] = np.array([held.ConsumeFloat() for _ in range(n_nodes)], np.float64)
    try:
        found = TreeEnsemble.from_arrays(arrays, 4)
    except ModelError:
        return
    rows = np.array([[held.ConsumeFloat() for _ in range(4)] for _ in range(3)], np.float64)
    with np.errstate(over="ignore"):
        small = np.nan_to_num(rows.astype(np.float32))
    sums = found.trees.predict(small)
    assert np.isfinite(sums).all()


def _number(held: atheris.FuzzedDataProvider) -> int:
    """Return a small number most often, or any of 32 bits."""
    return int(held.ConsumeInt(4)) if held.ConsumeIntInRange(0, 7) == 0 else int(held.ConsumeIntInRange(-2, 12))


def model(data: bytes) -> None:
    """Load a model file with damaged members; one that loads must give finite scores."""
    names = list(_small_members())
    with zipfile.ZipFile(_MODEL, "w") as made:
        for name, content in zip(names, data.split(_MARK), strict=False):
            made.writestr(name, content)
    try:
        extractor = TrainedExtractor(load_model(_MODEL))
        result = extract_page(_some_page(), extractor)
    except (ModelError, UsageError):
        return
    assert np.isfinite(result.scores).all()


@cache
def _default() -> TrainedExtractor:
    return TrainedExtractor(load_model(ROOT / "models" / "default.blockml"))


@cache
def _some_page() -> blockml.Page:
    return parse(b"<h1>Cats</h1><p>Cats <a href=/>rule</a> the world.<p>Nobody asked.")


@cache
def _small_members() -> Mapping[str, bytes]:
    """Return the members of the file of a model of one tree with two leaves."""
    left, right = np.array([1, -1, -1], np.int32), np.array([2, -1, -1], np.int32)
    tree = Trees(np.array([0, -1, -1], np.int32), np.array([0.5, 0, 0]), left, right,
                 np.array([0, -1.0, 1.0]), np.array([0], np.int32))  # fmt: skip
    held = load_model(ROOT / "models" / "kim2013.blockml")
    path = Path(_FOLDER.name, "small.blockml")
    save_model(replace(held, predictors={"trees": TreeEnsemble(tree)}, weights={"trees": 1.0}), path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _page_seeds() -> Iterable[bytes]:
    size = _LENGTHS["page"] - 1
    for path in sorted((ROOT / "data").glob("*/*/page.html")):
        content = path.read_bytes()
        for number, start in enumerate(range(0, len(content), 8 * size)):
            yield bytes([number % 256]) + content[start : start + size]


TARGETS: Mapping[str, tuple[Callable[[bytes], None], Callable[[], Iterable[bytes]]]] = {
    "page": (page, _page_seeds),
    "trees": (trees, lambda: [bytes(range(200))]),
    "model": (model, lambda: [_MARK.join(_small_members().values())]),
}


def main() -> None:
    """Write the seeds and fuzz; ends the process."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        raise SystemExit(f"usage: python -m research.fuzz.guided {{{','.join(TARGETS)}}} [libFuzzer options]")
    if _kernel.compiled is None:
        raise SystemExit("the C extension is missing")
    target, seeds = TARGETS[name]
    warnings.simplefilter("ignore")
    corpus = Path(os.environ.get("FUZZ_CORPUS", _FOLDER.name), name)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    if name == "model":
        atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-max_len={_LENGTHS[name]}", *sys.argv[2:], str(corpus)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
