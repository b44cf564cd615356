"""Nearly valid JSON: valid JSON is read as ``json`` reads it, and small mistakes are repaired in linear time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.metadata.json_ld import _mended, json_ld_objects, lenient_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_json_is_read_as_json_reads_it(value: Any, ascii_only: bool, indent: int | None) -> None:  # noqa: FBT001
    """Valid JSON is read as ``json`` reads it, and repairing it changes nothing."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert lenient_json(text) == value
    assert json.JSONDecoder(strict=False).decode(_mended(text)) == [value]


@given(st.text(alphabet="{}[]:,;\"'\\/* \n“”ab1", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text is read or raises ValueError."""
    try:
        lenient_json(text)
    except ValueError:
        return


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,,],; "b": 2}', {"a": [1, 2], "b": 2}),
        ('{"a": "x"\n "b": 2}', {"a": "x", "b": 2}),
        ('{"a": 1 // not "b"\n, /* nor "c" */ "d": 2}', {"a": 1, "d": 2}),
        ('{"url": "https://cat.example/a", // x\n}', {"url": "https://cat.example/a"}),
        ('{"a": "James "Jim" Lee", "b": "<a href="/b">b</a>"}', {"a": 'James "Jim" Lee', "b": '<a href="/b">b</a>'}),
        (r'{"a": "it\'s", "b": "\x"}', {"a": "it's", "b": "x"}),
        ("{'a': 'b', c: “d”}", {"a": "b", "c": "d"}),
        ("{&quot;a&quot;: &quot;b&quot;}", {"a": "b"}),
        (r"{\"a\": \"b\"}", {"a": "b"}),
        ('<!-- {"a": 1} -->', {"a": 1}),
        ('/*<![CDATA[*/ {"a": 1} /*]]>*/', {"a": 1}),
        ("//<![CDATA[\n[1, {}]\n//]]>", [1, {}]),
        ('{"a": {"b": 1}}}}', {"a": {"b": 1}}),
        ('{"a": {"b": [1', {"a": {"b": [1]}}),
        ('{"a": , "b": }', {"a": None, "b": None}),
        ('{"a": 1}{"a": 2},', [{"a": 1}, {"a": 2}]),
    ],
)
def test_small_mistakes_are_repaired(text: str, expected: object) -> None:
    """Mistakes in commas, comments, quotes, escapes, wrappers and brackets are repaired."""
    assert lenient_json(text) == expected


@pytest.mark.parametrize("text", ["", "none", '{"a" "b" "c"}', '"a'])
def test_other_texts_are_refused(text: str) -> None:
    """A text without an object or a list is refused."""
    with pytest.raises(ValueError, match=r"no object|delimiter|double quotes"):
        lenient_json(text)


@pytest.mark.parametrize("piece", ['"a', '{"a":"b"c"', '[{"a":1,', "/*", "<!--", '"\\', "“ ", '" ,', "/ ", "'\n"])
def test_each_character_is_read_a_bounded_number_of_times(piece: str) -> None:
    """The repaired text is at most four times as long as the source, so hostile texts don't take long."""
    text = piece * (200_000 // len(piece))
    assert len(_mended(text)) <= 4 * len(text)


def test_nearly_right_scripts_describe_the_page() -> None:
    """Several objects in one script are read, each with a different mistake."""
    page = (
        b'<script type="application/ld+json">{"@type": "Article", "headline": "Cats",}\n{"name": "x" /* y */}</script>'
    )
    assert [item.get("headline") or item.get("name") for item in json_ld_objects(page, 1)] == ["Cats", "x"]


@pytest.mark.parametrize("field", ["author", "publisher", "image", "headline", "keywords", "datePublished", "@type"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"name":', "}"), ('[{"name":', "}]"), ('{"url":', "}")])
def test_deep_values_have_no_text(field: str, opening: str, closing: str) -> None:
    """Lists and objects nested almost as deep as json reads them: what is within six levels is read."""
    for depth, is_read in ((2, True), (100, False), (880, False), (100_000, False)):
        value = opening * depth + '"https://a.example/cats.jpg"' + closing * depth
        script = f'{{"headline": "Mat", "@type": "NewsArticle", "{field}": {value}}}'
        found = blockml.extract(f'<script type="application/ld+json">{script}</script><h1>Dogs</h1>').metadata
        if field == "image" and opening in {"[", '{"url":'}:
            assert (found.image == "https://a.example/cats.jpg") is (is_read and opening == "[")
        if field == "headline":
            assert found.title != "Mat"
