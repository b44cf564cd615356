"""Small pages modelled on public bug reports of extractors, with their correct Markdown and metadata (CC0)."""

import json
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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name", ["108-table-spans", "177-results-table", "195-linked-first-column", "196-recipe-groups", "198-repeated-bus"]
)
def test_reported_facts(name: str, backend: str) -> None:
    """Text and Markdown have each fact that a reader needs."""
    path = FOLDER / f"{name}.html"
    result = blockml.extract(path.read_bytes(), backend=backend, url="https://valley.example/mill")
    outputs = {"TEXT": result.text, "MARKDOWN": result.markdown}
    for line in path.with_suffix(".expected.txt").read_text("utf-8").splitlines():
        output, _, fact = line.partition(" has: ")
        assert json.loads(fact) in outputs[output]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_reported_line_needs(backend: str) -> None:
    """A listing with a hidden copy is kept once, links stay with the line that announces them, and posts stay."""
    listing, links, posts = (
        blockml.extract((FOLDER / f"{name}.html").read_bytes(), backend=backend).text
        for name in ("213-hidden-copy", "203-link-list", "205-quoted-post")
    )
    assert listing.count("- name: Update mills\n  hosts: valley") == 1
    assert "access to the database:\nNorthwing\nand\nSouthwing\n" in links
    assert posts.index("The ferry left the harbour") < posts.index("Quote by Lark\nI am curious")
