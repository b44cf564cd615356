"""Functions that process damaged bytes and check the result."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

import blockml
from blockml import _kernel
from blockml.errors import ModelError
from blockml.extract import extract_page
from blockml.extractors import TrainedExtractor
from blockml.model.model_file import load_model
from blockml.parsing import BACKENDS
from blockml.parsing.lexbor import are_equal
from research.fuzz.archives import archive
from research.fuzz.calls import CALLS, calls
from research.fuzz.loaders import LOADS, loaders
from research.fuzz.mutations import HTML_TOKENS, mutated

__all__ = ["EXECUTIONS", "TARGETS"]

ROOT = Path(__file__).parents[2]
_LIMITS = blockml.Limits(bytes=100_000, nodes=5_000, depth=200)


@cache
def _pages() -> tuple[bytes, ...]:
    return tuple(path.read_bytes()[:20_000] for path in sorted((ROOT / "data").glob("*/*/page.html")))


@cache
def _small_pages() -> tuple[blockml.Page, ...]:
    return tuple(blockml.parse(source) for source in _pages()[:3])


def _check(result: blockml.Extraction) -> None:
    assert result.status in set(blockml.Status), result.status
    assert len(result.kept) == len(result.scores) == len(result.page.blocks)
    assert np.isfinite(result.scores).all()
    assert ((result.scores >= 0) & (result.scores <= 1)).all()
    assert 0 <= result.confidence <= 1
    assert bool(result.text.strip()) <= bool(result.kept.any())


def page(chance: random.Random, folder: Path) -> None:  # noqa: ARG001 (all targets get a folder)
    """Extract a damaged page, and write it in every format."""
    source = mutated(chance.choice(_pages()), chance, HTML_TOKENS)
    result = blockml.extract(source, model=chance.choice(("default", "kim2013", "dccb")), limits=_LIMITS)
    _check(result)
    for name in ("markdown", "html", "json"):
        blockml.render(result, name)


def kernel(chance: random.Random, folder: Path) -> None:  # noqa: ARG001
    """Parse a damaged page with and without the C extension, and compare the results."""
    source = mutated(chance.choice(_pages()), chance, HTML_TOKENS)[:8_000]
    backend = chance.choice([name for name in BACKENDS if name != "html5lib"])
    fast = blockml.extract(source, model=_with_backend(backend), limits=_LIMITS)
    held, _kernel.compiled = _kernel.compiled, None
    try:
        slow = blockml.extract(source, model=_with_backend(backend), limits=_LIMITS)
    finally:
        _kernel.compiled = held
    assert (fast.text, fast.status) == (slow.text, slow.status)
    assert np.array_equal(fast.scores, slow.scores)


def parsers(chance: random.Random, folder: Path) -> None:  # noqa: ARG001
    """Parse a damaged page, or a repeated piece of one, by each back end, with and without the C extension."""
    source = mutated(chance.choice(_pages()), chance, HTML_TOKENS)
    if chance.random() < 0.5:
        start = source.find(b"<", chance.randrange(len(source) + 1))
        piece = mutated(source[start : start + chance.randint(1, 60)], chance, HTML_TOKENS, most=3) or b"<p>"
        source = piece * (chance.choice((2_000, 60_000)) // len(piece))
    limits = chance.choice((_LIMITS, blockml.Limits()))
    for backend in BACKENDS:
        fast = blockml.parse(source, backend=backend, limits=limits)
        held, _kernel.compiled = _kernel.compiled, None
        try:
            slow = blockml.parse(source, backend=backend, limits=limits)
        finally:
            _kernel.compiled = held
        assert are_equal(fast.nodes, slow.nodes), backend
        assert fast.blocks.texts == slow.blocks.texts, backend
        assert (fast.status, fast.warnings, fast.title) == (slow.status, slow.warnings, slow.title), backend


@cache
def _with_backend(backend: str) -> TrainedExtractor:
    from dataclasses import replace

    model = load_model(ROOT / "models" / "default.blockml")
    return TrainedExtractor(replace(model, parsing=replace(model.parsing, backend=backend)))


@cache
def _members(name: str) -> Mapping[str, bytes]:
    with zipfile.ZipFile(ROOT / "models" / f"{name}.blockml") as held:
        return {member: held.read(member) for member in held.namelist()}


def model(chance: random.Random, folder: Path) -> None:
    """Load a model file with damaged members; one that loads must give finite scores."""
    members = dict(_members(chance.choice(("kim2013", "stacking", "default"))))
    for name in chance.sample(sorted(members), k=min(len(members), chance.choice((1, 1, 2)))):
        start = 128 if name.endswith(".npy") and chance.random() < 0.8 else 0  # after the header of an array
        content = members[name]
        members[name] = content[:start] + _same_length(content[start:], chance, exactly=start > 0)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    path = folder / "m.blockml"
    path.write_bytes(stream.getvalue())
    try:
        extractor = TrainedExtractor(load_model(path))
    except ModelError:
        return
    for held in _small_pages():
        _check(extract_page(held, extractor))


def _same_length(content: bytes, chance: random.Random, *, exactly: bool) -> bytes:
    """Change bytes, or integers to values at the edges of their range."""
    if not exactly:
        return mutated(content, chance, most=3)
    made = bytearray(content)
    edges = (0, 1, -1, 2**31 - 1, -(2**31), 0x7FC00000, 0x7F800000, 100_000)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(max(1, len(made) // 4)) * 4
        if chance.random() < 0.5:
            made[place : place + 4] = (chance.choice(edges) & 0xFFFFFFFF).to_bytes(4, "little")[: len(made) - place]
        elif made:
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made[: len(content)])


#: The functions by name.
TARGETS: Mapping[str, Callable[[random.Random, Path], None]] = {
    "page": page,
    "kernel": kernel,
    "parsers": parsers,
    "model": model,
    "archive": archive,
    "calls": calls,
    "loaders": loaders,
}
#: Executions in one input of the targets whose single executions are too short to be numbered.
EXECUTIONS: Mapping[str, int] = {"calls": CALLS, "loaders": LOADS}
