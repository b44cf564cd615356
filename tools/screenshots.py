"""Screenshots of the page view, the labelling page and a comparison for the documentation, by headless Chromium.

``python -m tools.screenshots`` writes ``docs/view.png``, ``label.png`` and ``report.png`` from synthetic pages.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path

import blockml
from blockml.extract import extract_page
from blockml.labelling.server import LabelServer
from blockml.labelling.store import LabelStore
from blockml.parsing import parse
from blockml.reports import write_view

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "data" / "sites" / "harbour-courier" / "courier-article-03"
SIZE = {"width": 1200, "height": 640}


def main() -> int:
    """Write the screenshots."""
    from playwright.sync_api import ViewportSize, sync_playwright

    model = blockml.load("default")
    page = parse((PAGE / "page.html").read_bytes(), **model.parsing.options())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        view = write_view(extract_page(page, model), Path(folder, "view.html"), threshold=0.5, extractor=model)
        store = LabelStore(PAGE, Path(folder, "labelled"), model)
        store.rank()
        server = LabelServer(store)
        threading.Thread(target=server.serve, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport=ViewportSize(width=SIZE["width"], height=SIZE["height"]))
        shown.goto(view.as_uri())
        shown.evaluate("document.querySelector('.sides').scrollIntoView()")
        shown.evaluate("document.querySelectorAll('.block.kept .why')[1].open = true")
        shown.evaluate("document.querySelectorAll('.block.kept')[1].scrollIntoView({block: 'center'})")
        shown.evaluate("document.querySelector('.rendered .is-kept').scrollIntoView({block: 'center'})")
        shown.wait_for_timeout(300)
        shown.screenshot(path=ROOT / "docs" / "view.png")
        shown.goto(server.url)
        shown.wait_for_selector("#page [data-block]")
        shown.evaluate("document.querySelector('#page [data-label=main]').scrollIntoView({block: 'center'})")
        shown.screenshot(path=ROOT / "docs" / "label.png")
        comparison = blockml.compare(
            ["default", "dsc", "bte", "plain"], PAGE.parents[1], output=Path(folder, "comparison")
        )
        shown.goto(comparison.write_report().as_uri())
        shown.wait_for_timeout(300)
        shown.screenshot(path=ROOT / "docs" / "report.png")
        browser.close()
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
