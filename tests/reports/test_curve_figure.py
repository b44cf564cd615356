"""The figure of a curve along a page, and the curves of extractors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.extractors import resolve
from blockml.extractors.heuristics.ccb import blur
from blockml.extractors.heuristics.dsc import flat_sections
from blockml.extractors.heuristics.token_stream import token_stream
from blockml.reports import curve_svg
from tests.strategies import messy_html

MENU = "<ul>" + "<li><a href=/>Home</a></li>" * 20 + "</ul>"
PAGE = blockml.parse(f"{MENU}<p>{'word ' * 99}</p>{MENU}")


@pytest.mark.parametrize("name", ["ccb", "accb", "tccb", "wccb", "dccb"])
def test_ratios_are_those_of_the_scores(name: str) -> None:
    """A block's score is the largest ratio of its entries, except for dccb, which also uses the tree around it."""
    extractor = resolve(name)
    curve = extractor.curve(PAGE)
    assert curve is not None
    assert len(curve.values) == len(curve.is_content) == len(curve.block)
    radius = extractor.get_params()["radius"]
    blurred, _ = blur(curve.is_content.astype(float), radius, radius / 3, 0.01, 100)
    assert curve.values.tolist() == np.clip(blurred, 0, 1).tolist()
    assert "rounds of blurring" in curve.facts
    if name != "dccb":
        largest = [float(curve.values[(curve.block == block) & curve.is_content].max()) for block in range(3)]
        assert extractor.score(PAGE)[:3].tolist() == pytest.approx(largest, abs=1e-6)


def test_slopes_are_those_of_the_windows() -> None:
    """Tokens outside of sections have slopes above the threshold on average, and the total curve ends at one."""
    extractor = resolve("dsc")
    curve = extractor.curve(PAGE)
    assert curve is not None
    tokens = token_stream(PAGE).tokens()
    chosen = flat_sections(tokens.is_tag)
    assert curve.total is not None
    assert curve.total[-1] == 1
    assert curve.values[chosen & ~tokens.is_tag].max() <= curve.values.max()
    assert curve.values[chosen].mean() < curve.threshold < curve.values[~chosen].mean()


@settings(max_examples=30)
@given(messy_html, st.sampled_from(["ccb", "tccb", "dsc"]))
def test_any_page_can_be_drawn(html: str, name: str) -> None:
    """Curves of empty pages, and of pages of only tags or only text, can be drawn."""
    page = blockml.parse(html)
    curve = resolve(name).curve(page)
    assert curve is not None
    svg = curve_svg(curve, np.ones(len(page.blocks), dtype=bool), "<title>")
    assert svg.startswith("<svg")
    assert "&lt;title&gt;" in svg
    assert "nan" not in svg
