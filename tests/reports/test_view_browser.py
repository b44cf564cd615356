"""Page views in headless Chromium: threshold, search, labels, reasons, and pages that try to break out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("nh3")

import blockml
from blockml.cli import main
from blockml.datasets import open_dataset
from tests.browser import SIZES, Watched, chromium, watched
from tests.hostile import HOSTILE

pytestmark = pytest.mark.exhaustive

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DATA = Path(__file__).parents[2] / "data"
CODE = (
    "<main><h1>Code</h1><p>" + "A paragraph about programs that is long enough to be kept by any model. " * 4 + "</p>"
    "<pre>for <b>x</b> in y:\n    <i>print</i>(x)\n</pre><table><tr><td>One<td><td>Three<tr><td>Four<td>Five</table>"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Provide Chromium for all tests."""
    with chromium() as found:
        yield found


def five_pages() -> list[bytes]:
    """Return five real pages of WCXB if the corpora are available, else synthetic ones."""
    corpora = os.environ.get("BLOCKML_CORPORA")
    pages = open_dataset(Path(corpora) / "wcxb" if corpora else DATA / "sites").pages
    return [page.load()[0] for page in pages[:: len(pages) // 5][:5]]


def view_of(content: bytes, folder: Path, *options: str) -> str:
    """Write the view of a page and return its address."""
    page, view = folder / "page.html", folder / "view.html"
    page.write_bytes(content)
    assert main(["view", str(page), "-o", str(view), *options]) == 0
    return view.as_uri()


def slide(found: Watched, value: float) -> None:
    """Move the slider of the threshold."""
    code = "t => { $slider.value = t; $slider.dispatchEvent(new Event('input')); }".replace(
        "$slider", "document.getElementById('threshold')"
    )
    found.page.evaluate(code, value)


@pytest.mark.parametrize("size", SIZES)
def test_the_threshold_changes_decisions_and_text(browser: Browser, size: str, tmp_path: Path) -> None:
    """At each position of the slider, text and decisions are those of an extraction, and no request leaves the file."""
    for content in [*five_pages(), CODE.encode()]:
        with watched(browser, size) as found:
            address = view_of(content, tmp_path)
            found.page.goto(address)
            for threshold in (0.0, 0.05, 0.3, 0.5, 0.72, 1.0):
                slide(found, threshold)
                expected = blockml.extract(content, threshold=threshold)
                assert found.page.evaluate("document.querySelector('.extract').textContent") == expected.text
                assert found.page.locator(".block.kept").count() == int(expected.kept.sum())
                tinted = "new Set([...document.querySelectorAll('.is-kept')].map(span => span.dataset.block)).size"
                assert found.page.evaluate(tinted) == int(expected.kept.sum())
            assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert found.problems == []
            assert found.leaving(address) == []


def test_keyboard_moves_the_slider(browser: Browser, tmp_path: Path) -> None:
    """An arrow key moves the slider by one hundredth."""
    with watched(browser, "desktop") as found:
        found.page.goto(view_of(five_pages()[0], tmp_path))
        found.page.focus("#threshold")
        found.page.keyboard.press("ArrowRight")
        assert found.page.text_content("#threshold-value") == "0.51"
        found.page.keyboard.press("Home")
        assert found.page.text_content("#threshold-value") == "0.00"


def test_search_and_labels_filter(browser: Browser, tmp_path: Path) -> None:
    """Only blocks that match the search and the label are shown, together with their number."""
    content = five_pages()[0]
    result = blockml.extract(content)
    assert result.labels is not None
    with watched(browser, "desktop") as found:
        found.page.goto(view_of(content, tmp_path))
        word = result.page.blocks.texts[len(result.kept) // 2].split()[0].lower()
        found.page.fill("#search", word)
        expected = [word in text.lower() for text in result.page.blocks.texts]
        assert found.page.locator(".block:visible").count() == sum(expected)
        assert found.page.text_content("#found") == f"{sum(expected)} blocks"
        label = str(result.labels[0])
        found.page.fill("#search", "")
        found.page.select_option("#label-filter", label)
        assert found.page.locator(".block:visible").count() == sum(str(item) == label for item in result.labels)


def test_reasons_of_a_block(browser: Browser, tmp_path: Path) -> None:
    """Each family of features has a bar, and clicks lead from the page to the block and back."""
    with watched(browser, "desktop") as found:
        found.page.goto(view_of(five_pages()[1], tmp_path))
        found.page.locator(".why summary").nth(3).click()
        rows = found.page.locator(".why").nth(3).locator(".families > div")
        names = {str(row.locator("b").text_content()) for row in rows.all()}
        assert names == {
            "ancestor words", "container", "metadata", "position", "repetition", "structure", "text", "vocabulary",
        }  # fmt: skip
        found.page.locator(".rendered [data-block='3']").first.click()
        assert found.page.locator(".block.current").get_attribute("data-block") == "3"
        assert "before the policy" in (found.page.locator(".block.current .facts-line").text_content() or "")
        assert found.problems == []


@pytest.mark.parametrize("size", SIZES)
def test_the_document_beside_the_page(browser: Browser, size: str, tmp_path: Path) -> None:
    """Each node is a row with its blocks; clicks lead from a node to the page and from the page to a node."""
    content = (DATA / "pages" / "code-documentation" / "page.html").read_bytes()
    nodes = [*blockml.extract(content).document.walk()]
    with watched(browser, size) as found:
        found.page.goto(view_of(content, tmp_path))
        assert not found.page.locator(".node:visible").count()
        found.page.check("#as-document")
        assert not found.page.locator(".block:visible").count()
        rows = found.page.locator(".node:visible")
        kinds = Counter(str(row.text_content()).split()[0] for row in rows.locator(".kind").all())
        names = Counter(type(node).__name__.lower() for node in nodes)
        assert all(kinds[name] == names[name] for name in ("heading", "table", "row", "list", "item", "code"))
        row = rows.filter(has_text="how many harmonic terms").last
        assert "kept" in str(row.text_content()) or "above threshold" in str(row.text_content())
        row.click()
        assert "harmonic terms" in str(found.page.locator(".rendered .current").first.text_content())
        found.page.locator(".rendered [data-block].is-kept").first.click()
        assert found.page.locator(".node.current:visible").count() == 1
        assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        row.locator("a").click()
        assert found.page.locator(".block:visible").count()
        assert found.problems == []


@pytest.mark.parametrize("size", SIZES)
def test_a_hostile_page_does_nothing(browser: Browser, size: str, tmp_path: Path) -> None:
    """Nothing in the view of a hostile page runs, loads, navigates away or stays hidden."""
    with watched(browser, size) as found:
        address = view_of(HOSTILE.encode(), tmp_path)
        found.page.goto(address)
        found.page.wait_for_timeout(300)
        assert found.page.url == address
        assert found.page.evaluate("typeof window.HACKED") == "undefined"
        assert found.page.locator(".rendered").get_by_text("Hidden text that stays readable").is_visible()
        assert found.problems == []
        assert found.leaving(address) == []


def test_gold_follows_the_threshold(browser: Browser, tmp_path: Path) -> None:
    """Marks of errors are those of the decisions at the slider's threshold."""
    gold = tmp_path / "gold.txt"
    gold.write_text("Code")
    with watched(browser, "desktop") as found:
        found.page.goto(view_of(CODE.encode(), tmp_path, "--gold", str(gold)))
        slide(found, 0.0)
        n_blocks = found.page.locator(".block").count()
        assert found.page.locator(".block.superfluous").count() == n_blocks - 1
        slide(found, 1.0)
        n_kept = int(blockml.extract(CODE.encode(), threshold=1.0).kept.sum())  # the best block stays
        assert found.page.locator(".block.superfluous").count() == n_kept
        assert found.page.locator(".block.missed").count() == 1
