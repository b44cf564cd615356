"""Direct calls of the functions of the C extension with damaged arguments.

The arguments are those of the extraction of small pages, most of them with damage in one place. A function may refuse
them by an error of :data:`REFUSED`; any other error is a failure. Requirements that the extension leaves to its
callers are met: trees pass :meth:`~blockml.predictors.tree_ensemble.Trees.check`, and pages are valid UTF-8.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

import blockml
from blockml import _kernel
from blockml._kernel.protocol import Addresses
from blockml.errors import ModelFormatError
from blockml.extract import extract_page
from blockml.extractors import TrainedExtractor
from blockml.features.density import word_density
from blockml.metadata.metadata import page_metadata
from blockml.model.model_file import load_model
from blockml.parsing import segment
from blockml.parsing.backends import libxml2_addresses
from blockml.parsing.builder import LimitReached, new_builder
from blockml.parsing.lexbor import lexbor_addresses
from blockml.predictors import TreeEnsemble
from blockml.predictors.mlp import quantize
from blockml.predictors.tree_ensemble import TREE_ARRAYS
from research.fuzz.damage import damaged, damaged_array
from research.fuzz.mutations import HTML_TOKENS, mutated

__all__ = ["CALLS", "calls", "ensembles"]

#: Number of chains of calls in one input.
CALLS = 200
#: Errors that refuse damaged arguments.
REFUSED = (TypeError, ValueError, IndexError, OverflowError, BufferError, LimitReached)
#: Bytes of a page, and its nodes and levels: few, so that many pages are processed in a second.
_BYTES, _LIMITS = 500, blockml.Limits(nodes=60, depth=12)

ROOT = Path(__file__).parents[2]
Arguments = tuple[Any, ...]


class _Recorder:
    """Replaces the C extension and records the arguments of each call."""

    def __init__(self, compiled: _kernel.Compiled) -> None:
        self._compiled = compiled
        self.arguments: dict[str, list[Arguments]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._compiled, name)

        def call(*arguments: Any) -> Any:  # noqa: ANN401
            self.arguments.setdefault(name, []).append(_copied(arguments))
            return function(*arguments)

        return call


def _copied(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return value.copy() if isinstance(value, np.ndarray) and value.flags.writeable else value


@cache
def _compiled() -> _kernel.Compiled:
    if _kernel.compiled is None:
        raise SystemExit("the C extension is missing")
    return _kernel.compiled


@cache
def _sources() -> tuple[bytes, ...]:
    """Return pieces of pages that start with a tag."""
    chance = random.Random(0)  # noqa: S311 (no secret)
    found = [b"<h1>Cats</h1><p class=a>Cats <a href=/ id=x>rule</a> the world.<ul role=menu><li>One<li>Two</ul>"]
    for path in sorted((ROOT / "data").rglob("*.html")):
        page = path.read_bytes()
        start = page.rfind(b"<", 0, chance.randrange(len(page)) + 1)
        found.append(page[max(0, start) :][:_BYTES])
    return tuple(found)


@cache
def _recorded() -> Mapping[str, list[Arguments]]:
    """Return the arguments of each function in the extraction of small pages."""
    held, recorder = _kernel.compiled, _Recorder(_compiled())
    models = [TrainedExtractor(load_model(ROOT / "models" / f"{name}.blockml")) for name in ("default", "kim2013")]
    _kernel.compiled = cast("_kernel.Compiled", recorder)
    try:
        for source in _sources()[:40]:
            for extractor in models:
                page = blockml.parse(source, profile=extractor.model.parsing.profile)
                extract_page(page, extractor)
                word_density(page.blocks)
                page_metadata(page)
    finally:
        _kernel.compiled = held
    return recorder.arguments


def _some(name: str, chance: random.Random) -> Arguments:
    return chance.choice(_recorded()[name])


def _attempt(function: Callable[..., Any], arguments: Arguments) -> Any:  # noqa: ANN401
    """Call a function; return None if it refuses the arguments."""
    with suppress(*REFUSED):
        return function(*arguments)
    return None


def _one(name: str) -> Callable[[random.Random], None]:
    """Return a function that calls one function with damaged arguments."""

    def call(chance: random.Random) -> None:
        _attempt(getattr(_compiled(), name), damaged(_some(name, chance), chance))

    return call


def _parse(chance: random.Random) -> None:
    """Parse and segment a damaged page."""
    source = mutated(chance.choice(_sources()), chance, HTML_TOKENS, most=3)[: 2 * _BYTES]
    builder = new_builder(_LIMITS)
    parse, functions = chance.choice(
        ((builder.parse_libxml2, libxml2_addresses()), (builder.parse_lexbor, lexbor_addresses()))
    )
    with suppress(LimitReached):
        cast("Callable[[bytes, Addresses], None]", parse)(source.decode(errors="replace").encode(), functions or ())
    with suppress(LimitReached):
        builder.close()
    nodes = builder.nodes()
    blocks = segment(nodes, profile=chance.choice(("anchor", "boilerpipe")), tokenizer=chance.choice(("space", "cjk")))
    assert len(blocks) <= len(nodes) <= _LIMITS.nodes


def _events(chance: random.Random) -> None:
    """Send events of a parser in any order to a builder."""
    builder = new_builder(_LIMITS)
    names = ("p", "a", "body", "head", "pre", "script", "br", "title", "svg", "\ud800", "x" * 300, "")
    with suppress(*REFUSED):
        for _ in range(chance.randint(1, 30)):
            kind, name = chance.randrange(8), chance.choice(names)
            if kind < 3:
                builder.start(name, {damaged("", chance): damaged("", chance)} if kind else {})
            elif kind < 5:
                builder.end(name)
            elif kind < 7:
                builder.data(damaged("", chance))
            else:
                builder.close()
    with suppress(LimitReached):
        builder.close()
    segment(builder.nodes())


def _features(chance: random.Random) -> None:
    """Compute the features of a page whose columns are damaged, or into damaged arrays."""
    compiled, number = _compiled(), chance.randrange(len(_recorded()["write_columns"]))
    arguments = _recorded()["new_page_tree"][number]
    tree = _attempt(compiled.new_page_tree, damaged(arguments, chance) if chance.random() < 0.7 else arguments)
    _, _, tables, titles, (row_of, matrix) = _recorded()["write_columns"][number]
    values = None if tree is None else _attempt(compiled.new_attribute_values, (tree, tables))
    if values is None:
        return
    compiled.block_groups(values)
    rows = np.where(np.random.default_rng(chance.getrandbits(32)).random(len(row_of)) < 0.1, row_of, -1)
    rest = (titles, (rows, matrix.copy()))
    if chance.random() < 0.3:
        rest = damaged(rest, chance)
    _attempt(compiled.write_columns, (tree, values, tables, *rest))
    words = _recorded()["ancestor_words"][number][3:]
    if chance.random() < 0.3:
        words = damaged(words, chance)
    _attempt(compiled.ancestor_words, (tree, values, tables, *words))


@cache
def ensembles() -> tuple[Mapping[str, np.ndarray[Any, Any]], ...]:
    """Return the arrays of small ensembles, whose trees have one, few or more than 32 leaves."""
    chance, found = random.Random(0), list[Mapping[str, np.ndarray[Any, Any]]]()  # noqa: S311 (no secret)
    for n_trees, n_inner in ((1, 0), (1, 1), (3, 4), (2, 30), (5, 9), (1, 50)):
        made: dict[str, list[float]] = {name: [] for name in TREE_ARRAYS}
        for _ in range(n_trees):
            start = len(made["feature"])
            made["roots"].append(start)
            for node in range(2 * n_inner + 1):  # inner node k has the children 2 k + 1 and 2 k + 2
                inner = node < n_inner
                made["feature"].append(chance.randrange(5) if inner else -1)
                made["threshold"].append(chance.gauss(0, 2))
                made["left"].append(start + 2 * node + 1 if inner else -1)
                made["right"].append(start + 2 * node + 2 if inner else -1)
                made["value"].append(chance.gauss(0, 1))
        found.append({name: np.array(made[name], dtype) for name, dtype in TREE_ARRAYS.items()})
    return tuple(found)


def _trees(chance: random.Random) -> None:
    """Sum the leaves of trees that passed the checks, over any numbers."""
    arrays = dict(chance.choice(ensembles()))
    for name in chance.sample(sorted(arrays), k=chance.randrange(3)):
        arrays[name] = damaged_array(arrays[name], chance)
    try:
        trees = TreeEnsemble.from_arrays(arrays, 5).trees
    except ModelFormatError:
        return
    n_rows, n_classes = chance.choice((0, 1, 2, 40)), chance.randint(1, 3)
    matrix = damaged_array(np.random.default_rng(n_rows).normal(size=(5, n_rows)).astype(np.float32), chance)
    if matrix.dtype != np.float32 or matrix.shape != (5, n_rows):
        return  # the matrix must have the columns that the trees read
    classes = damaged_array(np.arange(len(trees.roots), dtype=np.int32) % n_classes, chance)
    by_column = chance.randrange(2)
    total = np.zeros((n_rows, n_classes))
    columns = (classes, matrix if by_column else matrix.T.copy(), total)
    _attempt(_compiled().tree_sums, (trees._packed, by_column, columns))  # noqa: SLF001 (as Trees.sums)
    assert np.isfinite(total).all()


@cache
def _mlps() -> tuple[tuple[int, Mapping[str, np.ndarray[Any, Any]]], ...]:
    """Return groupings and arrays of small MLPs, with and without words, groupings and a second factor."""
    rng, found = np.random.default_rng(0), []
    all_sizes = (1, 3, 2, 2, 2, 0), (2, 5, 3, 0, 1, 2), (3, 17, 9, 4, 2, 3), (1, 1, 1, 1, 0, 0)
    for m, h, k, d, n_groupings, rank in all_sizes:
        n_words = 20 if d else 0
        shapes = {
            "center": (5,), "scale": (5,), "input_u": (5, rank or m * h), "input_v": (rank, m * h if rank else 0),
            "input_bias": (m * h,), "word_vectors": (n_words, m * d), "word_projection": (m, d, h),
            "self_weights": (m, h, k), "page_weights": (m, 2 * h, k), "group_weights": (m, n_groupings * h, k),
            "hidden_bias": (m, 1, k), "output_weights": (m, k, 1), "output_bias": (m, 1, 1),
        }  # fmt: skip
        arrays = quantize({name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})
        found.append((n_groupings, {name: np.ascontiguousarray(item) for name, item in arrays._asdict().items()}))
    return tuple(found)


def _mlp(chance: random.Random) -> None:
    """Pack an MLP and score a page, with damage in one of them."""
    n_groupings, arrays = chance.choice(_mlps())
    in_mlp = chance.random() < 0.5
    packed = _attempt(_compiled().pack_mlp, (damaged(arrays, chance) if in_mlp else arrays,))
    if packed is None:
        return
    n, rng = chance.choice((1, 2, 7, 40)), np.random.default_rng(chance.getrandbits(32))
    starts = np.arange(0, 2 * n + 2, 2)
    inputs = {
        "columns": rng.normal(scale=20, size=(5, n)).astype(np.float32),
        "starts": starts,
        "hashed_words": rng.integers(0, 20, starts[-1]).astype(np.int32),
        "bag": rng.integers(0, n, n),
        "groups": rng.integers(0, n, (n_groupings, n)),
        "n_words": rng.integers(0, 30, n).astype(np.float64),
        "probabilities": np.zeros(n, np.float32),
    }
    _attempt(_compiled().mlp_probabilities, (packed, inputs if in_mlp else damaged(inputs, chance)))


def _line(chance: random.Random) -> None:
    """Read a JSON string from any position of a damaged line."""
    page = chance.choice(_sources()).decode(errors="replace")
    record = json.dumps({"html": page}, ensure_ascii=chance.random() < 0.2)
    line = mutated(record.encode(errors="replace"), chance, HTML_TOKENS, most=3)[: 2 * _BYTES]
    text, end = _compiled().json_string(line, chance.choice((10, chance.randrange(-2, len(line) + 3))))
    assert text is None or line[end : end + 1] == b'"'


#: Chains of calls, and functions that are called separately, each a third as often.
_CHAINS: tuple[Callable[[random.Random], None], ...] = (
    *(_parse, _events, _features, _trees, _mlp) * 3, _line,
    *map(_one, ("segment_nodes", "new_page_tree", "page_features", "policy_scores", "sigmoid", "log_odds",
                "word_densities", "attribute_words", "is_utf8")),
)  # fmt: skip


def calls(chance: random.Random, folder: Path) -> None:  # noqa: ARG001 (all targets get a folder)
    """Call functions of the C extension :data:`CALLS` times."""
    with np.errstate(all="ignore"):
        for _ in range(CALLS):
            chance.choice(_CHAINS)(chance)
