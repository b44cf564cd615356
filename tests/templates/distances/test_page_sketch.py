"""Sketches of pages, and codes of names, runs, paths and subtrees, compared with walking from node to node."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.page import Nodes
from blockml.templates.distances import METRICS, PageSketch, sketch
from blockml.templates.distances.page_sketch import path_codes, run_codes, tag_sequence
from blockml.text.sketches import stable_hash64
from tests.strategies import messy_html, path_of
from tests.templates.distances import naive

PAGE = """<body class="page page-12"><div class="b  a"><br class="c"><p>one <b>two</b> three</p></div><ul><li>x</ul>
<div class="a b">end</div>"""


@settings(max_examples=40)
@given(messy_html)
def test_columns_are_those_of_the_elements(html: str) -> None:
    """Names, parents and ends are those of the nodes."""
    nodes = blockml.parse(html).nodes
    page = sketch(blockml.parse(html))
    kept = naive.elements(nodes)
    assert [page.names[tag] for tag in page.tag] == [nodes.name(node) for node in kept]
    assert [kept[p] if p >= 0 else -1 for p in page.parent.tolist()] == nodes.parent[kept].tolist()
    for number, node in enumerate(kept):
        below = [other for other in kept if node in path_of(nodes, other)]
        assert page.end[number] - number == len(below)
    assert page.depths().tolist() == [len(path_of(nodes, node)) - 1 for node in kept]
    for column in (page.tag, page.parent, page.end):
        assert column.dtype == np.int32


@settings(max_examples=60)
@given(messy_html, st.integers(1, 9))
def test_equal_codes_are_equal_runs(html: str, q: int) -> None:
    """Two elements have the same path code exactly if their paths are equal, up to the requested length."""
    page = blockml.parse(html)
    kept = naive.elements(page.nodes)
    paths = [tuple(page.nodes.name(above) for above in path_of(page.nodes, node)) for node in kept]
    for runs, codes in (
        (paths, path_codes(sketch(page))),
        ([path[-q:] for path in paths], path_codes(sketch(page), q)),
        (naive.tags(page), tag_sequence(sketch(page))),
    ):
        assert len(runs) == len(codes)
        assert len(set(runs)) == len(set(codes.tolist())) == len(set(zip(runs, codes.tolist(), strict=True)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), max_size=24))
def test_run_codes_distinguish_sequences(letters: list[tuple[int, int]]) -> None:
    """Two runs of a sequence have the same code exactly if they are equal."""
    n = len(letters)
    names = [letter for letter, _ in letters]
    lengths = [min(length, n - start) for start, (_, length) in enumerate(letters)]
    step = np.array([*range(1, n), -1][:n], dtype=np.int64)
    codes = run_codes(stable_hash64(map(str, names)), step, np.array(lengths, dtype=np.int64)).tolist()
    runs = [tuple(names[start : start + length]) for start, length in enumerate(lengths)]
    assert len(set(runs)) == len(set(codes)) == len(set(zip(runs, codes, strict=True)))


def test_codes_are_not_polynomials() -> None:
    """Thue-Morse words, which every polynomial modulo 2⁶⁴ confuses from 2,048 letters, have different codes."""
    word = [number.bit_count() % 2 for number in range(4096)]
    opposite = [1 - letter for letter in word]
    codes = [
        run_codes(stable_hash64("ab")[letters], np.append(np.arange(1, 4096), -1), np.arange(4096, 0, -1))[0]
        for letters in (word, opposite)
    ]
    assert codes[0] != codes[1]


def test_codes_are_the_same_in_every_process() -> None:
    """A process with another seed for the hashes of strings has the same codes."""
    program = (
        "import blockml, sys; from blockml.templates.distances import METRICS, sketch;"
        "page = sketch(blockml.parse(sys.argv[1]));"
        "print(page.fingerprint.hex(), *(METRICS[m].prepare(page).tolist() for m in ('cp', 'cps', 'ctss')))"
    )
    page = sketch(blockml.parse(PAGE))
    here = [page.fingerprint.hex(), *(METRICS[metric].prepare(page).tolist() for metric in ("cp", "cps", "ctss"))]
    for seed in ("1", "2"):
        done = subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", program, PAGE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == " ".join(map(str, here)).split()


def test_sketches_can_be_pickled() -> None:
    """A pickled sketch is equal and small, and has no dict to be changed."""
    page = sketch(blockml.parse(PAGE * 200))
    data = pickle.dumps(page)
    again = pickle.loads(data)  # noqa: S301 (made here)
    assert isinstance(again, PageSketch)
    assert again.fingerprint == page.fingerprint
    assert again.end.tolist() == page.end.tolist()
    assert len(data) < 20 * len(blockml.parse(PAGE * 200).nodes)
    assert not hasattr(page, "__dict__")


def test_fingerprints_distinguish_structures() -> None:
    """Fingerprints ignore texts, their places and attributes, but not names and nesting."""
    prints = [
        sketch(blockml.parse(html)).fingerprint
        for html in (
            "<p>a<b>c</b></p>",
            "<p id=x>other<b>text</b></p>",
            "<p><b>c</b>a</p>",
            "<p>a<i>c</i></p>",
            "<p></p><b></b>",
        )
    ]
    assert prints[0] == prints[1] == prints[2]
    assert len(set(prints)) == 3


def test_names_with_classes() -> None:
    """Class tokens in names are sorted, unique and without digits, and the elements are unchanged."""
    page = sketch(blockml.parse(PAGE), classes=True)
    names = [page.names[tag] for tag in page.tag]
    assert names == ["html", "head", "body page page-0", "div a b", "br c", "p", "b", "ul", "li", "div a b"]
    assert page.elements()[page.tag[4]] == "br"
    assert len(tag_sequence(page)) == 2 * len(page) - 1  # the void element has one tag
    assert METRICS["tv"].prepare(page).counts.sum() == len(page)
    plain = sketch(blockml.parse(PAGE))
    assert page.parent.tolist() == plain.parent.tolist()
    assert page.fingerprint != plain.fingerprint


@settings(max_examples=25)
@given(messy_html)
def test_pages_without_classes_are_the_same_either_way(html: str) -> None:
    """On pages without classes, names with classes are the plain names."""
    page = blockml.parse(html.replace("class", "title"))
    named, plain = sketch(page, classes=True), sketch(page)
    assert [named.names[tag] for tag in named.tag] == [plain.names[tag] for tag in plain.tag]


def test_a_page_of_only_texts() -> None:
    """A page whose nodes are only texts, made by hand, has an empty sketch."""
    column = np.zeros(2, dtype=np.int32)
    page = blockml.parse("")
    nodes = Nodes(
        ("#text",),
        column,
        column - 1,
        column,
        column + np.array([1, 2], np.int32),
        column.astype(np.uint8),
        [{}, {}],
        ["a", "b"],
    )
    text_only = sketch(type(page)(**{name: getattr(page, name) for name in page.__slots__} | {"nodes": nodes}))
    assert len(text_only) == 0
    for metric in METRICS.values():
        metric.prepare(text_only)
