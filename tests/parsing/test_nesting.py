"""The bound on open elements keeps all text, leaves ordinary pages unchanged, and makes hostile ones end in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.parsing import Limits
from blockml.parsing.backends import libxml2_addresses, parse_lxml
from blockml.parsing.builder import flattened, new_builder
from blockml.parsing.lexbor import are_equal
from research.benchmarks.hostile.shapes import SHAPES
from tests.reference import python_reference

NAMES = st.sampled_from(["div", "b", "span", "p", "li", "br", "script", "h1", "a", "template"])
TAGS = st.builds(lambda close, name: f"<{'/' if close else ''}{name}>", st.booleans(), NAMES)
MARKUP = st.lists(st.one_of(TAGS, st.sampled_from(["one ", "two ", "< ", "<!-- x -->", "<B class='>'>"])), max_size=60)


@given(MARKUP, st.integers(1, 8))
def test_pages_within_the_limit_are_unchanged(pieces: list[str], depth: int) -> None:
    """Only tags of elements beyond the bound are removed, and a page within it is unchanged."""
    source = "".join(pieces).encode()
    left, changed = flattened(source, depth)
    assert changed == (left != source)
    assert len(left) <= len(source)
    assert left.count(b"one") == source.count(b"one")
    if len(pieces) <= depth:
        assert not changed


@pytest.mark.parametrize("backend", ["lxml", "lexbor", "html5lib"])
def test_text_of_deep_pages_is_kept(backend: str) -> None:
    """A page that is too deep is truncated with a warning, and no word is lost."""
    pytest.importorskip({"lexbor": "selectolax", "html5lib": "html5lib", "lxml": "lxml"}[backend])
    depth = 50
    html = "<div>before" + "<div><b>" * 200 + "inside" + "</i></b></div>" * 200 + "after"
    page = blockml.parse(html, backend=backend, limits=blockml.Limits(depth=depth))
    assert page.status == "truncated"
    assert "flattened" in page.warnings[0]
    assert " ".join(block.text for block in page.blocks).split() == ["before", "inside", "after"]


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_pages_have_a_result(shape: str) -> None:
    """Hostile pages are extracted, rendered and described within the time limit of tests."""
    result = blockml.extract(SHAPES[shape](400_000))
    assert result.status in {"ok", "no_content", "empty_page", "truncated"}
    assert isinstance(blockml.render(result, "markdown"), str)
    assert result.metadata.title is None or isinstance(result.metadata.title, str)


COSTLY = ("end tags that close nothing, deep", "unclosed word breaks", "links across tables", "end tags in comments")


@pytest.mark.parametrize("shape", COSTLY)
def test_parsing_stops_when_the_steps_are_spent(shape: str) -> None:
    """When the steps are spent, the page is truncated, and its start equals that of the reference."""
    html = "<p>first</p>" + SHAPES[shape](400_000).decode()
    page = blockml.parse(html)
    assert page.status == "truncated"
    assert any("too many elements are open" in warning or "flattened" in warning for warning in page.warnings)
    assert page.blocks[0].text == "first"
    with python_reference():
        other = blockml.parse(html)
    assert are_equal(page.nodes, other.nodes)
    assert (page.status, page.warnings) == (other.status, other.warnings)


def test_both_interfaces_stop_at_the_same_place() -> None:
    """libxml2 stops at the same place through lxml as when called directly, whatever the budget."""
    source = SHAPES["unclosed word breaks"](60_000)
    sizes = set()
    for steps in (1, 500_000, 1_000_000, 3_333_333, 10_000_000):
        public = new_builder(Limits(), steps)
        parse_lxml(source, public)
        assert public.limits_hit()[2]
        sizes.add(len(public.nodes()))
        functions = libxml2_addresses()
        if functions is None:
            continue
        direct = new_builder(Limits(), steps)
        assert direct.parse_libxml2 is not None
        direct.parse_libxml2(source, functions)
        direct.close()
        assert direct.limits_hit() == public.limits_hit()
        assert are_equal(direct.nodes(), public.nodes())
    assert len(sizes) == 5


@pytest.mark.parametrize("n", [0, 1, 3_999, 4_000, 4_001, 8_000, 8_001])
def test_pages_of_any_length_are_read_to_their_end(n: int) -> None:
    """Pages of any length are read to their end, at all sizes around the pieces that libxml2 reads."""
    assert blockml.parse("x" * n).blocks.texts == (("x" * n,) if n else ())


def test_steps_are_tags_times_open_elements() -> None:
    """Each tag costs a step for every open element, including void and dropped ones while they are open."""

    def work() -> list[bool]:
        builder = new_builder(Limits(), 10)
        builder.start("div", {})
        builder.start("wbr", {})
        builder.start("script", {})
        builder.start("p", {})
        found = [builder.spend(2), builder.limits_hit()[2]]  # 8
        builder.end("p")
        builder.end("script")
        builder.end("wbr")
        found += [builder.spend(0), builder.spend(2), builder.limits_hit()[2]]  # 10
        return [*found, builder.spend(1), builder.limits_hit()[2]]

    assert work() == [True, False, True, True, False, False, True]
    with python_reference():
        assert work() == [True, False, True, True, False, False, True]


@pytest.mark.parametrize("shape", ["text beside cells", "end tags that close nothing, deep", "void elements in SVG"])
def test_html5lib_gives_costly_pages_to_libxml2(shape: str) -> None:
    """A page that costs too many steps is parsed by libxml2 instead of html5lib."""
    pytest.importorskip("html5lib")
    page = blockml.parse(SHAPES[shape](300_000), backend="html5lib")
    assert page.warnings[0] == "parsed by lxml: its elements are nested too deeply for html5lib"


def test_control_characters_cost_html5lib_nothing() -> None:
    """Control characters do not count towards the cost of html5lib."""
    pytest.importorskip("html5lib")
    assert blockml.parse("<p>x" + "\x01\x80\ufdd0" * 50_000, backend="html5lib").warnings == ()
