"""Functions that damaged bytes are given to, with checks of the result."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

import blockml
from blockml import _kernel
from blockml.batch import find_inputs, read_items
from blockml.errors import BlockmlError, ModelError
from blockml.extract import extract_page
from blockml.extractors import TrainedExtractor
from blockml.model.model_file import load_model
from blockml.parsing import BACKENDS
from tools.fuzz.calls import CALLS, calls
from tools.fuzz.mutations import HTML_TOKENS, mutated

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
    """Parse a damaged page with the extension and without it, and compare the results."""
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
        start = 128 if name.endswith(".npy") and chance.random() < 0.8 else 0  # behind the header of an array
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
    """Change bytes, or whole numbers to values at the edges of their range."""
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


@cache
def _archives() -> Mapping[str, bytes]:
    sources = _pages()[:6]
    warc = b"".join(gzip.compress(_warc_record(number, source), 1, mtime=0) for number, source in enumerate(sources))
    lines = b"".join(
        json.dumps({"id": 1, "html": item.decode("utf-8", "replace")}).encode() + b"\n" for item in sources
    )
    made = {
        "a.warc.gz": warc,
        "a.warc": b"".join(_warc_record(number, source) for number, source in enumerate(sources)),
        "a.jsonl": lines,
        "a.jsonl.gz": gzip.compress(lines, 1, mtime=0),
        "a.html.gz": gzip.compress(sources[0], mtime=0),
        "a.arc": b"filedesc://a.arc 0.0.0.0 20260101000000 text/plain 10\n1 0 a\n\n\n\n"
        + b"".join(b"http://a.example/ 1.2.3.4 20260101000000 text/html %d\n%b\n" % (len(s), s) for s in sources),
    }
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return made
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": list(map(str, range(len(sources)))), "html": list(sources)}), stream)
    return made | {"a.parquet": stream.getvalue()}


def _warc_record(number: int, source: bytes) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + source
    return (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <{number}>\r\nContent-Length: {len(block)}\r\n"
        "Content-Type: application/http; msgtype=response\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n\r\n"
    ).encode() + block + b"\r\n\r\n"  # fmt: skip


def archive(chance: random.Random, folder: Path) -> None:
    """Read a damaged archive to its end: every page has an id, and what can't be read a reason."""
    name = chance.choice(sorted(_archives()))
    path = folder / name
    path.write_bytes(mutated(_archives()[name], chance, (b"WARC/1.0\r\n", b"\r\n\r\n", b"\x1f\x8b\x08", b"\n", b"{")))
    try:
        for item in read_items(find_inputs([str(path)])):
            assert isinstance(item.id, str)
            assert item.error is None or item.error
            try:
                source = item.read()
            except OSError:
                continue
            assert isinstance(source, bytes | str)
    except BlockmlError:
        return


#: The functions by name.
TARGETS: Mapping[str, Callable[[random.Random, Path], None]] = {
    "page": page,
    "kernel": kernel,
    "model": model,
    "archive": archive,
    "calls": calls,
}
#: Executions of an input of the targets whose executions take too little time to be numbered.
EXECUTIONS: Mapping[str, int] = {"calls": CALLS}
