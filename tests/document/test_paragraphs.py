"""Paragraphs and chunks of an extraction, and the JSON Schema of its records."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import blockml
from blockml import render
from blockml.errors import UsageError
from blockml.page import Extraction, ParagraphKind
from blockml.records import json_schema

HTML = (
    "<nav><a href=/>Home</a></nav><h1>Cats</h1><p>They <b>sleep</b> well.<br>A lot.<br><br>And eat.</p><h2>Food</h2>"
    "<ul><li>Fish<li>Mice <i>raw</i><ul><li>grey</ul></ul><table><tr><th>a<th>b<tr><td>1<td>2</table>"
    "<h3>Code</h3><pre>\nx = 1\n  y</pre><h2>End</h2><blockquote><p>said</blockquote>"
)
PAGES = sorted((Path(__file__).parents[2] / "data" / "pages").glob("*/page.html"))


def without_menu() -> Extraction:
    """Extract everything except the menu."""
    from blockml.extractors import Plain

    class Rest(Plain):
        """Keeps all blocks except the first."""

        def score(self, page: blockml.Page) -> Any:
            scores = super().score(page).copy()
            scores[0] = 0
            return scores

    return blockml.extract(HTML, model=Rest())


def test_kinds_and_texts() -> None:
    """Inline elements are joined, two line breaks separate paragraphs, and a list or table is one paragraph."""
    found = [(str(paragraph.kind), paragraph.text) for paragraph in without_menu().paragraphs]
    assert found == [
        ("heading", "Cats"),
        ("paragraph", "They sleep well.\nA lot."),
        ("paragraph", "And eat."),
        ("heading", "Food"),
        ("list", "Fish\nMice raw\ngrey"),
        ("table", "a\tb\n1\t2"),
        ("heading", "Code"),
        ("code", "x = 1\n  y"),
        ("heading", "End"),
        ("quotation", "said"),
    ]


def test_heading_paths_and_xpaths() -> None:
    """The heading path has the open headings, and the XPath is of the element with all blocks."""
    by_text = {paragraph.text: paragraph for paragraph in without_menu().paragraphs}
    assert by_text["x = 1\n  y"].headings == ("Cats", "Food", "Code")
    assert by_text["Code"].headings == ("Cats", "Food")
    assert by_text["said"].headings == ("Cats", "End")
    assert by_text["They sleep well.\nA lot."].xpath == "/html/body/p"
    assert by_text["Fish\nMice raw\ngrey"].xpath == "/html/body/ul"


def test_thousands_of_blocks_below_thousands_of_levels() -> None:
    """Thousands of blocks below thousands of levels take time in proportion to the page, not to all their levels."""
    outer = "<blockquote>Cats</blockquote>" + "<b>" * 3000
    html = f"{'<div>' * 900}{outer}<div>{'<p>x y</p>' * 2000}<blockquote>{'<p>x y</p>' * 2000}"
    start = time.process_time()
    kinds = [paragraph.kind for paragraph in blockml.extract(html, model="plain").paragraphs]
    assert time.process_time() - start < 4
    assert kinds == ["quotation", *["paragraph"] * 2000, *["quotation"] * 2000]


def test_a_heading_as_long_as_a_page_is_not_repeated() -> None:
    """A very long heading is cut in the paths of the paragraphs below it, so that JSON stays small."""
    result = blockml.extract(f"<h1>{'cats rule ' * 5000}</h1>{'<p>They do.</p>' * 100}", model="plain")
    assert [len(paragraph.headings[0]) for paragraph in result.paragraphs[1:]] == [500] * 100
    assert len(render(result, "json")) < 500_000


def test_removed_blocks_are_paragraphs_too() -> None:
    """Removed blocks are paragraphs without a place in the text."""
    (removed,) = without_menu().removed
    assert (removed.text, removed.start, removed.xpath, removed.score) == ("Home", None, "/html/body/nav/a", 0)


def test_a_list_around_sections_is_not_a_paragraph() -> None:
    """Posts in list items, and cells of a layout table, are separate paragraphs."""
    posts = blockml.extract("<ul><li><h2>A</h2><p>one</p><li><h2>B</h2><p>two</p></ul>", model="plain")
    assert [paragraph.text for paragraph in posts.paragraphs] == ["A", "one", "B", "two"]
    layout = blockml.extract("<table><tr><td><h2>A</h2><p>one</p><td>side</table>", model="plain")
    assert [paragraph.text for paragraph in layout.paragraphs] == ["A", "one", "side"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_every_word_is_in_one_paragraph(path: Path) -> None:
    """Spans are in order, contain the paragraph's text, and leave only white space between them."""
    result = blockml.extract(path.read_bytes())
    end = 0
    for paragraph in result.paragraphs:
        assert paragraph.start is not None
        assert paragraph.end is not None
        assert not result.text[end : paragraph.start].strip()
        assert result.text[paragraph.start : paragraph.end] == paragraph.text
        end = paragraph.end
    assert not result.text[end:].strip()
    blocks = [block for part in (result.paragraphs, result.removed) for paragraph in part for block in paragraph.blocks]
    assert len(blocks) == len(set(blocks))
    assert {i for i, n in enumerate(result.page.blocks.n_words.tolist()) if n} <= set(blocks)


def matches(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> None:
    """Check a value against the few keywords of JSON Schema that the schema uses."""
    if not schema:  # any value
        return
    if "$ref" in schema:
        target: Any = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        matches(value, target, root)
        return
    if "anyOf" in schema:
        schema = schema["anyOf"][value is None]  # a type, or null
        matches(value, schema, root)
        return
    assert "const" not in schema or value == schema["const"]
    assert "enum" not in schema or value in schema["enum"]
    kinds: dict[str, Any] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "object": dict,
        "array": list,
        "boolean": bool,
    }
    kinds["null"] = type(None)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    assert not names or any(isinstance(value, kinds[name]) for name in names), (value, names)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value)
        for name, inner in value.items():
            assert name in schema.get("properties", {}) or "additionalProperties" in schema, name
            matches(inner, schema.get("properties", {}).get(name) or schema["additionalProperties"], root)
    if isinstance(value, list):
        for inner in value:
            matches(inner, schema["items"], root)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_records_follow_the_schema(path: Path) -> None:
    """Every field of a record is in the published schema, with its type and range."""
    result = blockml.extract(path.read_bytes(), url="https://a.example/")
    matches(json.loads(render(result, "json", chunk_size=500)), json_schema(), json_schema())


def test_lists_of_records_follow_the_schema() -> None:
    """The parts that ordinary pages may lack, such as posts, pictures and hidden blocks, have their types too."""
    post = (
        "<div class=post><b class=author>{}</b> <time>2026-01-02</time><div class=content><p>Mills grind rye and oats."
        "</p><p style='display:none'>Old text.</p><img src=/mill{}.jpg width=400 height=300 alt=Mill></div></div>"
    )
    html = f"<h1>Mills</h1>{post.format('Ann', 1)}{post.format('Bo', 2)}"
    record = json.loads(render(blockml.extract(html), "json", chunk_size=500))
    lists = [record[name] for name in ("paragraphs", "removed", "posts", "images", "blocks", "chunks")]
    assert all([*lists, record["chunks"][0]["posts"]])
    assert any(block["hidden"] for block in record["blocks"])
    matches(record, json_schema(), json_schema())


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("status",), "fine"),
        (("confidence",), 1.5),
        (("metadata", "title"), 5),
        (("blocks", 0, "label"), "luck"),
        (("blocks", 0, "unknown"), None),
        (("paragraphs", 0, "blocks"), ["0"]),
        (("chunks", 0), {}),
    ],
)
def test_other_records_do_not_follow_the_schema(place: tuple[str | int, ...], value: object) -> None:
    """A value of another type or range, an unknown field and a missing one are found, wherever they are."""
    record = json.loads(render(blockml.extract(HTML), "json", chunk_size=500))
    matches(record, json_schema(), json_schema())
    part: Any = record
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    with pytest.raises(AssertionError):
        matches(record, json_schema(), json_schema())


def test_other_extractors_and_statuses_follow_the_schema() -> None:
    """Records without labels or blocks follow the schema, which has all kinds of paragraphs."""
    for html in (HTML, "", b"%PDF-1.4"):
        matches(json.loads(render(blockml.extract(html, model="bte"), "json")), json_schema(), json_schema())
    assert json_schema()["$defs"]["paragraph"]["properties"]["kind"]["enum"] == [str(kind) for kind in ParagraphKind]
    with pytest.raises(UsageError, match="chunk_size only has an effect in json, not in text"):
        render(without_menu(), "text", chunk_size=5)
