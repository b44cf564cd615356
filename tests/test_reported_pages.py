"""Small pages modelled on public bug reports of extractors, with their correct Markdown and metadata (CC0)."""

from importlib.util import find_spec
from pathlib import Path

import pytest

import blockml

FOLDER = Path(__file__).parent / "reported_pages"
BACKENDS = ["lxml", "html5lib", *(["lexbor"] if find_spec("selectolax") else [])]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["03-declarative-shadow", "43-soft-hyphens"])
def test_reported_page(name: str, backend: str) -> None:
    """The page has the Markdown and metadata that a reader sees, with every back end."""
    path = FOLDER / f"{name}.html"
    expected = path.with_suffix(".expected.txt").read_text("utf-8")
    declared, _, markdown = expected.partition("MARKDOWN\n")
    result = blockml.extract(path.read_bytes(), backend=backend)
    assert blockml.render(result, "markdown").strip() == markdown.strip()
    for line in declared.splitlines():
        name, _, value = line.removeprefix("METADATA ").partition(": ")
        assert getattr(result.metadata, name) == value
