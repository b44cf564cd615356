"""Files of blockml with damage: model files, site templates, comparison stores, archives and data sets.

A loader may refuse a file with a :class:`~blockml.errors.BlockmlError`. A file that it accepts is used, and must give
finite numbers.
"""

from __future__ import annotations

import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import open_dataset
from blockml.errors import BlockmlError
from blockml.evaluation.comparison.reference import PageScore
from blockml.evaluation.comparison.result_store import Store
from blockml.evaluation.comparison.running import load_descriptions, load_scores
from blockml.extract import extract_page
from blockml.extractors import TrainedExtractor
from blockml.features import FEATURE_SETS
from blockml.features.ancestor_words import N_HASHED_WORDS
from blockml.features.page_context import GROUPINGS
from blockml.features.page_matrix import matrix
from blockml.model.model_file import load_model, save_model
from blockml.page import Label
from blockml.predictors import MLP, PREDICTORS, BlockTypes, Correction, MeanTrees, Predictor, TreeEnsemble
from blockml.templates.frequency import SiteCounts, measure
from blockml.templates.mapping import Tree, membership
from blockml.templates.site import EQUALITY, SiteTemplate
from research.fuzz.archives import small_archive
from research.fuzz.calls import ensembles
from research.fuzz.damage import damaged_array, damaged_json
from research.fuzz.mutations import mutated

__all__ = ["LOADS", "loaders"]

#: Number of files, or sets of arrays, in one input.
LOADS = 25

ROOT = Path(__file__).parents[2]
Arrays = Mapping[str, NDArray[Any]]
_PAGES = (
    b"<title>Cats</title><nav><a href=/>Home</a> <a href=/b>Blog</a></nav><h1>Cats</h1><p>Cats rule the world.<p>One.",
    b"<title>Dogs</title><nav><a href=/>Home</a> <a href=/b>Blog</a></nav><h1>Dogs</h1><p>Dogs bark at night.<p>Two.",
    b"<title>Birds</title><nav><a href=/>Home</a> <a href=/b>Blog</a></nav><h1>Birds</h1><p>Birds sing early.",
)


@cache
def _pages() -> tuple[blockml.Page, ...]:
    return tuple(map(blockml.parse, _PAGES))


def _some_damaged(arrays: Arrays, chance: random.Random) -> Arrays:
    """Return arrays with one or two of them damaged or missing."""
    made = dict(arrays)
    for name in chance.sample(sorted(made), k=min(len(made), chance.choice((1, 1, 2)))):
        if chance.random() < 0.03:
            del made[name]
        else:
            made[name] = damaged_array(made[name], chance)
    return made


@cache
def _small_mlp(vector: int, rank: int) -> MLP:
    rng, (m, h, k) = np.random.default_rng(0), (2, 3, 2)
    shapes = {
        "center": (6,), "scale": (6,), "input_u": (6, rank or m * h), "input_v": (rank, m * h if rank else 0),
        "input_bias": (m * h,), "word_vectors": (N_HASHED_WORDS if vector else 0, m * vector),
        "word_projection": (m, vector, h), "self_weights": (m, h, k), "page_weights": (m, 2 * h, k),
        "group_weights": (m, len(GROUPINGS) * h, k), "hidden_bias": (m, 1, k), "output_weights": (m, k, 1),
        "output_bias": (m, 1, 1),
    }  # fmt: skip
    found = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return MLP(**found | {"scale": np.abs(found["scale"])}).rounded()


@cache
def _predictors() -> tuple[tuple[str, Arrays], ...]:
    """Return kinds and arrays of small predictors."""
    trees = [TreeEnsemble.from_arrays(arrays, 6).trees for arrays in ensembles()]
    means = [MeanTrees(replace(tree, value=1 / (1 + np.exp(-tree.value)))) for tree in trees]
    mlps = [_small_mlp(0, 0), _small_mlp(0, 2), _small_mlp(1, 0)]
    types = BlockTypes((Label.MAIN, Label.COMMENT, Label.OTHER), (trees[1], trees[2], trees[4]))
    correction = Correction(np.arange(3, 40, 5, dtype=np.uint64), np.linspace(-2, 2, 8), 0.5)
    found: list[Predictor] = [*map(TreeEnsemble, trees), *means, *mlps, types, types, correction, correction]
    return tuple((made.kind, made.to_arrays()) for made in found)


def _predictor(chance: random.Random, folder: Path) -> None:  # noqa: ARG001 (all loaders get a folder)
    """Build a predictor of damaged arrays."""
    kind, arrays = chance.choice(_predictors())
    found = PREDICTORS[kind].from_arrays(_some_damaged(arrays, chance), 6)
    values = matrix(chance.choice(_pages()), "boilerpipe6")
    if isinstance(found, MLP) and found.n_groupings != len(GROUPINGS):
        return  # the loader of models refuses it
    assert np.isfinite(found.log_odds(values)).all()
    assert np.isfinite(found.probabilities(values)).all()


@cache
def _model_members() -> Mapping[str, bytes]:
    """Return the members of a small model's file."""
    held, features = load_model(ROOT / "models" / "kim2013.blockml"), FEATURE_SETS["boilerpipe6"]
    small = replace(
        held,
        features=features.name,
        features_hash=features.hash,
        predictors={"trees": TreeEnsemble.from_arrays(ensembles()[2], len(features.columns))},
        weights={"trees": 1.0},
        correction=Correction(np.arange(3, 40, 5, dtype=np.uint64), np.linspace(-2, 2, 8), 0.5),
    )
    return _members_of(lambda path: save_model(small, path))


@cache
def _site_members() -> Mapping[str, bytes]:
    """Return the members of a small site template's file."""
    template = SiteTemplate.learn(_pages(), name="animals.example")
    assert template.layouts
    assert template.layouts[0].tree is not None
    return _members_of(template.save)


def _members_of(save: Callable[[Path], None]) -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        save(path)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def _write_damaged(path: Path, members: Mapping[str, bytes], chance: random.Random) -> None:
    """Write a zip file with a damaged header, array, member or container."""
    made, kind = dict(members), chance.randrange(8)
    name = "header.json" if kind < 4 else chance.choice([name for name in made if name != "header.json"])
    if kind < 3:
        made[name] = json.dumps(damaged_json(json.loads(made[name]), chance)).encode()
    elif kind < 6:
        made[name] = mutated(made[name], chance, (b"NaN", b"1e999", b"[" * 2_000), most=2)
    elif kind < 7:
        stream = io.BytesIO()
        array = damaged_array(np.load(io.BytesIO(made[name]), allow_pickle=False), chance)
        np.save(stream, array, allow_pickle=False)
        made[name] = stream.getvalue()
    with zipfile.ZipFile(path, "w") as archive:  # uncompressed: compression would take most of the time
        for member, content in made.items():
            archive.writestr(member, content)
    if kind == 7:
        path.write_bytes(mutated(path.read_bytes(), chance, (b"PK\x01\x02", b"PK\x03\x04", b"\xff" * 4), most=3))


def _model(chance: random.Random, folder: Path) -> None:
    """Load a damaged model file."""
    path = folder / "m.blockml"
    _write_damaged(path, _model_members(), chance)
    result = extract_page(chance.choice(_pages()), TrainedExtractor(load_model(path)))
    assert np.isfinite(result.scores).all()


def _template(chance: random.Random, folder: Path) -> None:  # noqa: ARG001
    """Build the counts and the tree of a site template of damaged arrays."""
    counts, (columns, strings) = _template_parts()
    page = chance.choice(_pages())
    if chance.random() < 0.5:
        assert (measure(page, SiteCounts.from_arrays(_some_damaged(counts, chance))).text_share >= 0).all()
        return
    tree = Tree.from_arrays(_some_damaged(columns, chance), strings)
    assert len(membership(page, tree, EQUALITY)) == len(page.nodes)


@cache
def _template_parts() -> tuple[Arrays, tuple[Arrays, Mapping[str, Any]]]:
    template = SiteTemplate.learn(_pages())
    tree = template.layouts[0].tree
    assert tree is not None
    return template.counts.arrays(), tree.arrays()


def _site(chance: random.Random, folder: Path) -> None:
    """Load a damaged site template."""
    path = folder / "s.template"
    _write_damaged(path, _site_members(), chance)
    template, page = SiteTemplate.load(path), chance.choice(_pages())
    template.check(page)
    inside = template.in_tree(page)
    assert inside is None or len(inside) == len(page.nodes)
    assert (measure(page, template.counts).text_share >= 0).all()


@cache
def _comparison_files() -> Mapping[str, bytes]:
    """Return the files of a small comparison, by their paths."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        score: Any = dict.fromkeys(PageScore.__dataclass_fields__, 1)
        rows = [asdict(PageScore(**score | {"id": name, "outcome": "ok"})) for name in ("a", "b")]
        store.write("outputs", "news", "plain", [{"id": "a", "text": "x"}, {"id": "b", "text": ""}], {"version": "1"})
        store.write("scores", "news", "plain", rows, {"version": "1"})
        store.write_contents(["news"], ["plain"])
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*.*") if path.is_file()
        }


def _comparison(chance: random.Random, folder: Path) -> None:
    """Read a comparison with one damaged file."""
    top = folder / "comparison"
    name = chance.choice(sorted(_comparison_files()))
    for other, content in _comparison_files().items():
        path = top / other
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_damaged_text(content, chance) if other == name else content)
    store = Store(top)
    for kind in ("outputs", "scores"):
        store.stale(kind, "news", "plain", {"version": "1"})
    load_descriptions(top)
    load_scores(top)


def _damaged_text(content: bytes, chance: random.Random) -> bytes:
    """Return JSON, JSON lines or another text with damage to values or bytes."""
    try:
        lines = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        lines = []
    if not lines or chance.random() < 0.5:
        return mutated(content, chance, (b"\n", b"{", b"[" * 2_000, b"null", b"\xff"), most=2)
    lines[chance.randrange(len(lines))] = damaged_json(chance.choice(lines), chance)
    return b"\n".join(json.dumps(line).encode() for line in lines)


_LABELS = b"""{"text": "Cats", "label": "heading"}\n{"text": "Cats rule.", "label": "main"}\n"""
_GOLD = b"""{"id": "a", "url": "http://a.example/", "main_content": "Cats", "with": ["Cats"], "flags": ["x"]}
{"id": "b", "encoding": "latin-1", "blocks": [{"xpath": "/html/body/p", "type": "Article"}], "has_text_wrapper": 1}
"""
_META = b'{"id": "a", "site": "s", "flags": ["x"]}'
#: Files of data sets by layout; the last one is damaged.
_DATASETS: Mapping[str, Mapping[str, bytes]] = {
    "labels": {"a/page.html": _PAGES[0], "a/labels.jsonl": _LABELS},
    "meta": {
        "a/page.html": _PAGES[0],
        "a/expected.txt": b"Cats",
        "a/meta.json": b'{"id": "a", "site": "s", "flags": ["x"]}',
    },
    "corpus": {"pages/a.html": _PAGES[0], "pages/b.html": _PAGES[1], "gold.jsonl": _GOLD},
    "flat": {"a.html": _PAGES[0], "a.jsonl": _LABELS},
    "text": {"a.html": _PAGES[0], "a.txt": b"Cats rule."},
    "annotated": {"a.html": b"<p><span class=x-nc-sel2>Cats <span class=x-nc-sel5>rule</span></span></p><p>No</p>"},
}


def _dataset(chance: random.Random, folder: Path) -> None:
    """Open a data set with one damaged file, and read its pages and gold."""
    layout = chance.choice(sorted(_DATASETS))
    files = _DATASETS[layout]
    for name, content in files.items():
        path = folder / layout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_damaged_text(content, chance) if name == list(files)[-1] else content)
    for page in open_dataset(folder / layout).pages:
        source, gold = page.load()
        if gold is not None:
            gold.label(blockml.parse(source, url=page.url, charset=page.charset))


_LOADERS: tuple[Callable[[random.Random, Path], None], ...] = (
    *(_predictor, _template) * 4, _model, _model, _site, _comparison, _dataset, small_archive,
)  # fmt: skip


def loaders(chance: random.Random, folder: Path) -> None:
    """Load :data:`LOADS` damaged files or sets of arrays."""
    with np.errstate(all="ignore"):
        for _ in range(LOADS):
            with suppress(BlockmlError):
                chance.choice(_LOADERS)(chance, folder)
