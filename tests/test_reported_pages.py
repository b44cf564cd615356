"""Small pages modelled on public bug reports of extractors, with their correct Markdown and metadata (CC0)."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import blockml

FOLDER = Path(__file__).parent / "reported_pages"
BACKENDS = ["lxml", "html5lib", *(["lexbor"] if find_spec("selectolax") else [])]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["03-declarative-shadow", "31-stackoverflow", "43-soft-hyphens"])
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


#: Pages of which single facts are expected: a text that the plain text or Markdown has or does not have.
WITH_FACTS = (
    "110-div-display-inline", "119-hidden-error", "126-footnotes-br", "148-word-lists", "184-key-points",
    "187-template-srcdoc",
    "102-q-quotes", "108-table-spans", "113-emoji-img", "115-icon-ligatures", "177-results-table", "180-split-spans",
    "181-split-code", "195-linked-first-column", "196-recipe-groups", "198-repeated-bus",
)  # fmt: skip
FACT = re.compile(r'(TEXT|MARKDOWN) (has|has not): (".*")')


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WITH_FACTS)
def test_facts_of_a_reported_page(name: str, backend: str) -> None:
    """Facts that other extractors lose, or texts that they should leave out."""
    path = FOLDER / f"{name}.html"
    result = blockml.extract(path.read_bytes(), backend=backend, url="https://valley.example/mill")
    outputs = {"TEXT": result.text, "MARKDOWN": blockml.render(result, "markdown")}
    facts = FACT.findall(path.with_suffix(".expected.txt").read_text("utf-8"))
    assert facts
    wrong = [(kind, has, text) for kind, has, text in facts if (json.loads(text) in outputs[kind]) != (has == "has")]
    assert not wrong


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
