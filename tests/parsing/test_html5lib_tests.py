"""The pages of html5lib-tests, which test the parsers of browsers, as inputs.

``html5lib-tests.zip`` has the files of the source archive of html5lib 1.1, with their licence (MIT).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import webencodings

import blockml
from blockml.page import Metadata, Status
from blockml.parsing.builder import DROPPED
from blockml.parsing.decoding import decode
from tests.reference import python_reference

pytestmark = pytest.mark.exhaustive

ARCHIVE = Path(__file__).with_name("html5lib-tests.zip")
CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+")
#: Elements whose text is not text of the page.
SILENT = {*DROPPED, "head", "title", "content"}


class Case(NamedTuple):
    """A page and its expected tree."""

    html: str
    tree: str
    is_document: bool  #: whether it is a whole page, parsed with scripts off


def parts_of(folder: str) -> Iterator[bytes]:
    """Yield the cases of the files of a folder."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        for name in archive.namelist():
            if name.startswith(f"{folder}/"):
                yield from re.split(rb"(?:^|\n)#data\n", archive.read(name))[1:]


def cases() -> list[Case]:
    """Return the cases of tree construction."""
    found = []
    for part in parts_of("tree-construction"):
        html, _, rest = part.decode("utf-8", "surrogatepass").partition("#errors\n")
        tree = rest.partition("#document\n")[2]
        is_document = "#document-fragment\n" not in rest and "#script-on\n" not in rest
        found.append(Case(html.removesuffix("\n"), tree, is_document))
    return found


CASES = cases()


def text_of(tree: str) -> str:
    """Return the text of a tree as the tests write it, without white space.

    That of head, scripts and templates is left out, and readings of ruby without brackets, which are shown above it.
    """
    texts: list[str] = []
    silent_level = None
    lines = re.split(r"\n(?=\| )", tree)
    has_brackets = any(line.endswith("<rp>") for line in lines)
    ruby_levels: set[int] = set()
    for line in lines:
        content = line[2:].lstrip(" ")
        level = len(line) - len(content)
        if silent_level is not None and level > silent_level:
            continue
        silent_level = None
        tag = re.fullmatch(r"<(?:svg |math )?([^>\s]+)>", content)
        is_reading = tag is not None and tag[1] == "rt" and level - 2 in ruby_levels and not has_brackets
        ruby_levels = {other for other in ruby_levels if other < level}
        if tag is not None and tag[1] in {"ruby", "rb", "rbc", "rtc"}:
            ruby_levels.add(level)
        if tag is not None and (tag[1] in SILENT or is_reading):
            silent_level = level
        elif content.startswith('"'):
            texts.append(content.strip()[1:-1])
    return CONTROLS.sub("", "".join("".join(texts).split()))


def test_number_of_cases() -> None:
    """The archive has the expected number of cases."""
    assert len(CASES) == 1_700
    assert sum(case.is_document for case in CASES) > 1_400


@pytest.mark.parametrize(
    ("backend", "n_others"),
    # lexbor: an unclosed title is closed, scripts are off, and plaintext in select is markup by the newer standard.
    # html5lib 1.1: the same, and the element isindex. lxml: libxml2 moves no text out of tables, and has no CDATA.
    [("lexbor", 11), ("html5lib", 18), ("lxml", 72)],
)
def test_text_is_that_of_the_standard(backend: str, n_others: int) -> None:
    """All but a few pages have the text of the standard's tree, in its order."""
    pytest.importorskip({"lexbor": "selectolax"}.get(backend, backend))
    others = [
        case.html
        for case in CASES
        if case.is_document
        and "".join("".join(blockml.parse(case.html, backend=backend).blocks.texts).split()) != text_of(case.tree)
    ]
    assert len(others) <= n_others, others


@pytest.mark.parametrize("backend", ["lexbor", "lxml"])
def test_implementations_are_equal(backend: str) -> None:
    """The C extension and the reference give equal nodes and blocks for each page."""
    pytest.importorskip({"lexbor": "selectolax"}.get(backend, backend))
    for case in CASES:
        one = blockml.parse(case.html, backend=backend)
        with python_reference():
            other = blockml.parse(case.html, backend=backend)
        assert list(one.blocks) == list(other.blocks), case.html
        assert (one.status, one.title, list(one.nodes.texts)) == (other.status, other.title, list(other.nodes.texts))
        for column in ("parent", "depth", "end", "flags"):
            assert np.array_equal(getattr(one.nodes, column), getattr(other.nodes, column)), case.html


def test_extraction() -> None:
    """Each page is extracted, described and rendered in every format."""
    for case in CASES:
        result = blockml.extract(case.html)
        assert result.status in set(Status)
        assert np.isfinite(result.scores).all()
        assert isinstance(result.metadata, Metadata)
        for name in ("markdown", "html", "json"):
            assert isinstance(blockml.render(result, name), str)


def test_encodings() -> None:
    """Encodings are the standard's, unless the page is valid UTF-8 or has a declaration in broken markup."""
    lenient = []
    for part in parts_of("encoding"):
        html, _, rest = part.partition(b"\n#encoding\n")
        expected, found = rest.split(b"\n")[0].decode(), decode(html)
        if found.source == "valid utf-8":
            assert html.decode("utf-8")
        elif webencodings.lookup(found.encoding) != webencodings.lookup(expected):
            assert (found.source, expected.lower()) == ("meta", "windows-1252")
            lenient.append(html)
    assert len(lenient) <= 12
