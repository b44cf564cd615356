"""Bound on open elements: text stays, ordinary pages don't change, hostile ones end in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.parsing.nesting import flattened
from research.benchmarks.hostile.shapes import SHAPES

NAMES = st.sampled_from(["div", "b", "span", "p", "li", "br", "script", "h1", "a", "template"])
TAGS = st.builds(lambda close, name: f"<{'/' if close else ''}{name}>", st.booleans(), NAMES)
MARKUP = st.lists(st.one_of(TAGS, st.sampled_from(["one ", "two ", "< ", "<!-- x -->", "<B class='>'>"])), max_size=60)


@given(MARKUP, st.integers(1, 8))
def test_pages_within_the_limit_stay_as_they_are(pieces: list[str], depth: int) -> None:
    """Only tags are taken out; the rest nests no deeper, and nothing more is taken out of it."""
    source = "".join(pieces).encode()
    left, changed = flattened(source, depth)
    assert changed == (left != source)
    assert len(left) <= len(source)
    assert left.count(b"one") == source.count(b"one")
    if len(pieces) <= depth:
        assert not changed


@pytest.mark.parametrize("backend", ["lxml", "lexbor", "html5lib"])
def test_text_of_deep_pages_is_kept(backend: str) -> None:
    """The page is truncated, and no word is lost."""
    pytest.importorskip({"lexbor": "selectolax", "html5lib": "html5lib", "lxml": "lxml"}[backend])
    depth = 50
    html = "<div>before" + "<div><b>" * 200 + "inside" + "</i></b></div>" * 200 + "after"
    page = blockml.parse(html, backend=backend, limits=blockml.Limits(depth=depth))
    assert page.status == "truncated"
    assert "flattened" in page.warnings[0]
    assert " ".join(block.text for block in page.blocks).split() == ["before", "inside", "after"]


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_pages_have_a_result(shape: str) -> None:
    """Each is extracted, rendered and described; what took minutes once would reach the time limit of tests."""
    result = blockml.extract(SHAPES[shape](400_000))
    assert result.status in {"ok", "no_content", "empty_page", "truncated"}
    assert isinstance(blockml.render(result, "markdown"), str)
    assert result.metadata.title is None or isinstance(result.metadata.title, str)
