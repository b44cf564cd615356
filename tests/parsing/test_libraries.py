"""The C extension calls libraries directly only where that was tested and gives the same nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import blockml
from blockml import _kernel
from blockml.page import Nodes
from blockml.parsing import backends, lexbor
from blockml.parsing.libraries import SAMPLE, are_equal, usable_addresses

pytestmark = pytest.mark.skipif(_kernel.compiled is None, reason="needs the C extension")
BACKENDS = ["lxml", *(["lexbor"] if find_spec("selectolax") else [])]
every_backend = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Libraries are tested again by each test, and after it."""
    backends._libxml2.cache_clear()
    lexbor._functions.cache_clear()
    yield
    backends._libxml2.cache_clear()
    lexbor._functions.cache_clear()


def addresses_of(backend: str) -> object:
    """What the extension may call."""
    if backend == "lxml":
        return backends._libxml2()
    from selectolax import lexbor as module

    return lexbor._functions(module)


@every_backend
def test_tested_versions_are_called_directly(backend: str) -> None:
    """So are those of the constraints, where the packages export their functions."""
    found = addresses_of(backend)
    if found is None:
        pytest.skip("this build of the package hides its functions, or is of another version")
    assert backends.reads_libxml2() or backend != "lxml"


@every_backend
@pytest.mark.parametrize("tested", [((0, 0), (0, 1)), ((99, 0), (100, 0))])
def test_other_versions_go_through_the_public_interface(
    backend: str, tested: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same nodes."""
    before = blockml.parse(SAMPLE, backend=backend).nodes
    backends._libxml2.cache_clear()
    lexbor._functions.cache_clear()
    monkeypatch.setattr(backends, "_TESTED_LIBXML2", tested)
    monkeypatch.setattr(lexbor, "_TESTED_SELECTOLAX", tested)
    assert addresses_of(backend) is None
    assert are_equal(blockml.parse(SAMPLE, backend=backend).nodes, before)


def changed(nodes: Nodes) -> list[Nodes]:
    """Trees that differ from another one in one thing each."""
    return [
        replace(nodes, names=(*nodes.names[:-1], "other")),
        replace(nodes, texts=[*nodes.texts[:-1], "other"]),
        replace(nodes, attributes=[{"other": ""}] * len(nodes)),
        replace(nodes, tag=np.append(nodes.tag[1:], 0)),
        replace(nodes, parent=np.append(nodes.parent[1:], 0)),
    ]


def one_of(nodes: Nodes, _: object) -> Nodes:
    """Nodes, whatever is asked for."""
    return nodes


def test_libraries_that_give_other_nodes_are_not_called() -> None:
    """Whatever differs."""
    from lxml import etree

    nodes = blockml.parse(SAMPLE).nodes
    versions: dict[str, Any] = {"version": (2, 14, 6), "tested": ((2, 14), (2, 15))}
    names = ["htmlNewSAXParserCtxt"]
    same = usable_addresses(etree, names, **versions, direct=lambda _: nodes, public=lambda: nodes)
    assert (same is None) == (backends._libxml2() is None)
    for other in changed(nodes):
        assert not are_equal(nodes, other)
        found = usable_addresses(etree, names, **versions, direct=partial(one_of, other), public=lambda: nodes)
        assert found is None
