"""Outputs are at most 8 times as large as their page and grow in proportion to it, even if the page repeats itself."""

from __future__ import annotations

import pytest

import blockml
from blockml import render
from blockml.page.bounds import MAX_RATIO, SPARE
from research.benchmarks.hostile.outputs import OUTPUTS, extraction
from research.benchmarks.hostile.shapes import OUTPUT_SHAPES

pytestmark = pytest.mark.exhaustive

SIZE = 15_000
BOUNDED = [name for name in OUTPUTS if name != "view"]


@pytest.mark.parametrize("backend", ["lxml", "html5lib", "lexbor"])
@pytest.mark.parametrize("shape", OUTPUT_SHAPES)
def test_outputs_are_bounded(shape: str, backend: str) -> None:
    """The outputs of a page twice as large are about twice as large, and at most 8 times the page."""
    (small, n_small), (large, n_large) = (extraction(shape, size, backend) for size in (SIZE, 2 * SIZE))
    for name in BOUNDED:
        first, last = (len(str(OUTPUTS[name](result)).encode()) for result in (small, large))
        assert last <= MAX_RATIO * n_large + SPARE, name
        assert last <= first * (n_large / n_small) ** 1.2 + SPARE, name


@pytest.mark.parametrize(
    ("shape", "output", "what"),
    [
        ("base of 2,000 characters", "markdown", "addresses"),
        ("wide and long table", "markdown", "empty cells of tables"),
        ("paragraphs in nested quotations", "markdown", "indents of lists and quotations"),
        ("paragraphs in open emphasis", "markdown", "links and emphasis"),
        ("short paragraphs of a page", "json", "blocks"),
        ("long headings", "json", "headings above paragraphs"),
    ],
)
def test_parts_that_are_left_out_have_a_warning(shape: str, output: str, what: str) -> None:
    """Parts that are left out are named by a warning of the extraction after rendering, and in the JSON."""
    result, _ = extraction(shape, 2 * SIZE)
    text = render(result, output)
    warning = f"some {what} are left out: the output would be more than 8 times as large as the page"
    assert warning in result.warnings
    if output == "json":
        assert f'"{warning}"' in text


@pytest.mark.parametrize("shape", ["long base, many links", "base of 1,000 directories"])
@pytest.mark.parametrize("output", ["markdown", "html", "json"])
def test_a_base_that_is_ignored_has_a_warning_with_its_reason(shape: str, output: str) -> None:
    """A base that is too long is ignored for that reason, whatever the size of the output."""
    result, _ = extraction(shape, 2 * SIZE)
    render(result, output)
    reason = "the page's base has more than 2,048 characters or 64 slashes"
    found = [warning for warning in result.warnings if "base addresses" in warning]
    assert found == [f"some base addresses of links are left out: {reason}"]


def test_ordinary_pages_have_no_warning() -> None:
    """Pages with spans, nested lists and links but little repetition are written completely and without a warning."""
    page = (
        "<base href=https://a.example/b/c/>"
        + "<ul><li>a<ul><li><a href=x>b</a><table><tr><td colspan=3>c<td>d</table>" * 5
    )
    result = blockml.extract(page, model="plain")
    for output in ("text", "markdown", "html", "json"):
        render(result, output)
    assert not result.warnings
