"""Fuzzing guided by coverage of the C extension, the outputs and the loader of models, by atheris.

``make fuzz-guided`` builds the extension with clang's instrumentation and runs each target:

    python -m research.fuzz.guided parsing -max_total_time=300

Options after the target are libFuzzer's. Seeds are the pages of ``data/`` and a model of one small tree. Most inputs
reach the compiled functions directly, because the Python code around them takes longer than they do; a small share
goes through the public functions.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import atheris
import numpy as np

import blockml
from blockml import _kernel
from blockml.errors import ModelError, UsageError
from blockml.extract import extract_page
from blockml.extractors import Extractor, TrainedExtractor, resolve
from blockml.features.page_matrix import matrix
from blockml.model.model_file import load_model, save_model
from blockml.page import Page, Status
from blockml.parsing import BACKENDS, PROFILES, build, parse, segment
from blockml.predictors import TreeEnsemble, Trees
from blockml.text.words import TOKENIZERS

# Modules imported above are not instrumented, because that would cost more than it finds.
with atheris.instrument_imports(include=["blockml.document", "blockml.writers", "blockml.labelling"]):
    from blockml.labelling import sanitised as shown_page
    from blockml.writers import html as html_output
    from tests.rendered import render_html, render_markdown

from blockml.page.bounds import MAX_RATIO, page_size
from blockml.reports.pageview import VIEW_SPARE, write_view
from research.fuzz.mutations import HTML_TOKENS
from research.fuzz.rendered import check_outputs, foreign

ROOT = Path(__file__).parents[2]
_LIMITS = blockml.Limits(bytes=4_096, nodes=100, depth=20)
_BACKENDS = [name for name in BACKENDS if name != "html5lib"]
_PROFILES, _TOKENIZERS = list(PROFILES), list(TOKENIZERS)
#: Maximum lengths of inputs: small, because few bytes suffice to reach the states of parsers and loops.
_LENGTHS = {"parsing": 256, "features": 256, "rendering": 128, "trees": 400, "model": 16_384}
#: Separator between the members of a model in an input.
_MARK = b"\xff\xfe\xfd\xfc"
#: One in so many inputs goes through the public functions, has all outputs checked, or is repeated to a larger page.
_WHOLE, _CHECKED, _REPEATED = 256, 512, 16_384
_FOLDER = tempfile.TemporaryDirectory()
_MODEL, _VIEW = Path(_FOLDER.name, "m.blockml"), Path(_FOLDER.name, "view.html")


def parsing(data: bytes) -> None:
    """Parse a page, and read the input as UTF-8 and as a JSON string."""
    compiled, page = _compiled(), data[1:]
    _built(data)
    assert compiled.is_utf8(page) == _is_utf8(page)
    line = b'"' + page
    text, end = compiled.json_string(line, 1)
    if text is not None and _is_utf8(text):
        assert json.loads(line[: end + 1]) == text.decode()
    if _number(data) % _WHOLE == 0:
        parse(page, backend=_BACKENDS[data[0] % len(_BACKENDS)] if data else "lxml", limits=_LIMITS)


def features(data: bytes) -> None:
    """Compute the features of a page, and sometimes extract it with the default model."""
    page = _built(data)
    found = matrix(page, "page")
    assert np.isfinite(found.values).all()
    assert len(found.ancestor_words.bag) == len(found.block_groups[0]) == len(page.blocks)
    page.nodes.with_words((b"cat", data[2:6]) if len(data) > 3 else (b"cat",))
    if _number(data) % _WHOLE == 0:
        result = extract_page(page, _default())
        assert np.isfinite(result.scores).all()
        assert len(result.kept) == len(page.blocks)


def rendering(data: bytes) -> None:
    """Write one output of a page, and sometimes check all of them and the view, or those of a repeated page."""
    page, number = _built(data), _number(data)
    if number % _REPEATED == 0 and len(data) > 1:
        repeated = data[1:] * (20_000 // len(data))
        _check(parse(repeated, backend=page.backend, url="https://a.example/b/"))
    elif number % _CHECKED == 0:
        _check(page)
    elif number % 4 == 0:
        written = render_html(page, page.blocks.n_words >= 0)
        assert not (found := foreign(written, html_output.WRITTEN_ELEMENTS, html_output.WRITTEN_ATTRIBUTES)), found
    elif number % 4 == 1:
        written = shown_page.sanitised(page)
        allowed = frozenset().union(*shown_page.SHOWN_ATTRIBUTES.values())
        assert not (found := foreign(written, shown_page.SHOWN_ELEMENTS, allowed)), found
    else:
        render_markdown(page, page.blocks.n_words >= 0)


def _check(page: Page) -> None:
    """Check all outputs of a page, and the size of its view."""
    result = extract_page(page, _plain())
    check_outputs(result)
    size = write_view(result, _VIEW, extractor=_plain()).stat().st_size
    assert size <= MAX_RATIO * page_size(page) + VIEW_SPARE


def _built(data: bytes) -> Page:
    """Build a page of all bytes but the first, which selects the back end, profile and tokenizer."""
    choice, source = data[0] if data else 0, data[1:].decode("utf-8", "replace").encode()
    backend, choice = _BACKENDS[choice % len(_BACKENDS)], choice // len(_BACKENDS)
    profile, choice = _PROFILES[choice % len(_PROFILES)], choice // len(_PROFILES)
    nodes = build(source, backend, _LIMITS).nodes()
    blocks = segment(nodes, profile=profile, tokenizer=_TOKENIZERS[choice % len(_TOKENIZERS)])
    assert len(blocks) <= len(nodes) <= _LIMITS.nodes
    title = blocks.texts[0][:40] if len(blocks) else ""
    return Page("https://a.example/b/", title, "utf-8", "", backend, profile, (), Status.OK, nodes, blocks, source)


def _number(data: bytes) -> int:
    """Return a number that is evenly distributed over inputs."""
    return zlib.crc32(data)


def _is_utf8(data: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        data.decode()
        return True
    return False


def _compiled() -> _kernel.Compiled:
    if _kernel.compiled is None:
        raise SystemExit("the C extension is missing")
    return _kernel.compiled


def trees(data: bytes) -> None:
    """Build trees of arbitrary numbers; those that pass the checks must give finite sums."""
    held = atheris.FuzzedDataProvider(data)
    n_nodes, n_trees = held.ConsumeIntInRange(0, 12), held.ConsumeIntInRange(0, 4)

    def numbers(count: int) -> np.ndarray:
        return np.array([_integer(held) for _ in range(count)], np.int64).astype(np.int32)

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


def _integer(held: atheris.FuzzedDataProvider) -> int:
    """Return a small integer in most cases, else any 32-bit one."""
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
def _plain() -> Extractor:
    return resolve("plain")


@cache
def _some_page() -> blockml.Page:
    return parse(b"<h1>Cats</h1><p>Cats <a href=/>rule</a> the world.<p>Nobody asked.")


@cache
def _small_members() -> Mapping[str, bytes]:
    """Return the members of a model file with one tree of two leaves."""
    left, right = np.array([1, -1, -1], np.int32), np.array([2, -1, -1], np.int32)
    tree = Trees(np.array([0, -1, -1], np.int32), np.array([0.5, 0, 0]), left, right,
                 np.array([0, -1.0, 1.0]), np.array([0], np.int32))  # fmt: skip
    held = load_model(ROOT / "models" / "kim2013.blockml")
    path = Path(_FOLDER.name, "small.blockml")
    save_model(replace(held, predictors={"trees": TreeEnsemble(tree)}, weights={"trees": 1.0}), path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _page_seeds() -> Iterable[bytes]:
    size = _LENGTHS["parsing"] - 1
    for path in sorted((ROOT / "data").glob("*/*/page.html")):
        content = path.read_bytes()
        for number, start in enumerate(range(0, len(content), 8 * size)):
            yield bytes([number % 256]) + content[start : start + size]


def _dictionary() -> Path:
    """Write the pieces of markup that libFuzzer may insert; return the file."""
    path = Path(_FOLDER.name, "markup.dict")
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in token) + '"' for token in HTML_TOKENS]
    path.write_text("\n".join(lines), encoding="ascii")
    return path


TARGETS: Mapping[str, tuple[Callable[[bytes], None], Callable[[], Iterable[bytes]]]] = {
    "parsing": (parsing, _page_seeds),
    "features": (features, _page_seeds),
    "rendering": (rendering, _page_seeds),
    "trees": (trees, lambda: [bytes(range(200))]),
    "model": (model, lambda: [_MARK.join(_small_members().values())]),
}


def main() -> None:
    """Write the seeds and fuzz; ends the process."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        raise SystemExit(f"usage: python -m research.fuzz.guided {{{','.join(TARGETS)}}} [libFuzzer options]")
    _compiled()
    target, seeds = TARGETS[name]
    warnings.simplefilter("ignore")
    corpus = Path(os.environ.get("FUZZ_CORPUS", _FOLDER.name), name)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    if name == "model":
        atheris.instrument_all()
    options = [f"-max_len={_LENGTHS[name]}"]
    if seeds is _page_seeds:
        options.append(f"-dict={_dictionary()}")
    atheris.Setup([sys.argv[0], *options, *sys.argv[2:], str(corpus)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
