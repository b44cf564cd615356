"""The C extension calls a library directly only if its version is tested and its nodes are equal."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
from lxml import etree

import blockml
from blockml import _kernel
from blockml.page import Nodes
from blockml.parsing import lexbor
from blockml.parsing.backends import libxml2_addresses, parse_lxml
from blockml.parsing.builder import NodesBuilder
from blockml.parsing.lexbor import SAMPLE, addresses, are_equal, usable_addresses

pytestmark = pytest.mark.skipif(_kernel.compiled is None, reason="needs the C extension")


LIBXML2 = [
    "htmlNewSAXParserCtxt", "htmlCtxtReadIO", "htmlFreeParserCtxt", "xmlFreeDoc", "xmlSAX2StartDocument",
    "xmlSAX2InternalSubset", "xmlCtxtGetLastError",
]  # fmt: skip


def usable(names: list[str], **changes: Any) -> object:
    """Look for functions of libxml2 as if its version were a tested one."""
    arguments: dict[str, Any] = {
        "version": (2, 14, 6), "tested": ((2, 14), (2, 15)), "parse": "parse_libxml2", "parse_public": parse_lxml
    }  # fmt: skip
    return usable_addresses(etree, names, **(arguments | changes))


def test_libxml2_is_called_directly() -> None:
    """A tested version of libxml2 with visible functions passes the test on a sample page and is called directly."""
    if not (2, 14) <= etree.LIBXML_VERSION < (2, 15) or addresses(etree, LIBXML2) is None:
        pytest.skip("lxml has another version of libxml2, or hides its functions")
    assert libxml2_addresses() is not None


def test_lexbor_is_called_directly() -> None:
    """A tested version of lexbor, such as that of the constraints, is called directly."""
    selectolax = pytest.importorskip("selectolax.lexbor")
    if not version("selectolax").startswith("1.0.") or addresses(selectolax, ["lxb_html_document_parse"]) is None:
        pytest.skip("another version of selectolax, or one that hides its functions")
    assert lexbor.lexbor_addresses() is not None


@pytest.mark.parametrize("tested", [((0, 0), (0, 1)), ((2, 13), (2, 14)), ((2, 15), (2, 16)), ((99, 0), (100, 0))])
def test_other_versions_are_not_called(tested: Any) -> None:
    """Other versions are not called even if they have the functions, because their data structures may differ."""
    assert usable(LIBXML2, tested=tested) is None


def test_missing_functions() -> None:
    """One missing function makes all unusable."""
    assert usable([*LIBXML2[:-1], "htmlNoSuchFunction"]) is None


def changed(nodes: Nodes) -> list[Nodes]:
    """Return trees with one column changed each."""
    return [
        replace(nodes, names=(*nodes.names[:-1], "other")),
        replace(nodes, texts=[*nodes.texts[:-1], "other"]),
        replace(nodes, attributes=[{"other": ""}] * len(nodes)),
        replace(nodes, tag=np.append(nodes.tag[1:], 0)),
        replace(nodes, parent=np.append(nodes.parent[1:], 0)),
    ]


def test_libraries_that_give_other_nodes_are_not_called() -> None:
    """A library that gives other nodes in any column is not called."""
    nodes = blockml.parse(SAMPLE).nodes
    assert are_equal(nodes, blockml.parse(SAMPLE).nodes)
    for other in changed(nodes):
        assert not are_equal(nodes, other)

    def parse_another(source: bytes, builder: NodesBuilder) -> None:
        parse_lxml(source.replace(b"bold", b"fat"), builder)

    if libxml2_addresses() is None:
        pytest.skip("needs libxml2's functions")
    assert usable(LIBXML2) == libxml2_addresses()
    assert usable(LIBXML2, parse_public=parse_another) is None
