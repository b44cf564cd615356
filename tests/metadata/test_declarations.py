"""Declarations of ``meta`` elements: the extension reads what Python reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml import _kernel
from blockml.metadata.declarations import declarations
from blockml.page import Attributes
from tests.reference import python_reference

KNOWN = {"og:title": 1, "author": 2, "k": 3, "": 4, "n" * 63: 5, "n" * 64: 6}
NAMES = st.sampled_from(["content", "property", "name", "http-equiv", "itemprop", "contents"])
VALUES = st.sampled_from(["", "OG:Title", "author", "AUTHOR ", "K", "\u212a", "é", "n" * 63, "N" * 64, "other"])


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=6))
def test_equal_to_the_reference(elements: list[dict[str, str]]) -> None:
    """In any order of attributes and in any case; names of more than 63 bytes and without ASCII letters are unknown."""
    known = {key: value for key, value in KNOWN.items() if len(key) < 64}
    metas = "".join("<meta " + " ".join(f'{name}="{value}"' for name, value in item.items()) + ">" for item in elements)
    nodes = blockml.parse(f"<head>{metas}</head><p>x").nodes
    found = declarations(nodes, known)
    with python_reference():
        assert declarations(nodes, known) == found
    assert declarations(replace(nodes, attributes=list(nodes.attributes)), known) == found


def test_sets_given_as_mappings_are_read() -> None:
    """Pairs and mappings give the same."""
    nodes = blockml.parse("<meta name=author content=Ann><meta name=k content=b><p>x").nodes
    if _kernel.compiled is not None:
        held = nodes.attributes
        assert isinstance(held, Attributes)
        begins, ends = held.spans(nodes.indices("meta"))
        assert (begins < ends).any()
    assert declarations(nodes, KNOWN) == [(2, "Ann"), (3, "b")]


_BOUNDS = [(-5, 99), (0, 10**12), (50, 3), (3, 4), (19, 19), (-(2**62), 2**62), (0, -(2**63))]


@pytest.mark.parametrize(("begin", "end"), _BOUNDS)
def test_wrong_bounds(compiled: _kernel.Compiled, begin: int, end: int) -> None:
    """Nothing is read beyond the pairs."""
    pairs, bounds = b"name\0author\0content\0Ann\0", (np.array([begin, 0]), np.array([end, 0]))
    for held in (pairs, pairs[:-1]):
        assert compiled.declarations(held, KNOWN, *bounds) in ([], [(2, "Ann")])
        assert compiled.declarations(held, KNOWN, bounds[0], np.zeros(0, np.int64)) == []


def test_wrong_types(compiled: _kernel.Compiled) -> None:
    """Only bytes and a dictionary are accepted, and contents must be UTF-8."""
    begins, ends = np.array([0]), np.array([22])
    with pytest.raises(TypeError):
        compiled.declarations("name", KNOWN, begins, ends)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        compiled.declarations(b"name", [], begins, ends)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="items of 8 bytes"):
        compiled.declarations(b"name", KNOWN, begins, ends.astype(np.int32))
    with pytest.raises(UnicodeDecodeError):
        compiled.declarations(b"name\0author\0content\0\xff\0", KNOWN, begins, ends)
