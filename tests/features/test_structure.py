"""Elements above a block, by hand and by walking up from each block."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import blockml
from blockml.features.page_context import REACH, PageContext
from blockml.features.structure import ANCESTOR_LEVELS, FAR, LANDMARKS, TAGS, ancestors, path
from tests.strategies import messy_html, path_of


def columns(html: str) -> dict[str, list[float]]:
    """Return the columns of both families by name."""
    view = PageContext(blockml.parse(html))
    return {name: values.astype(float).tolist() for name, values in {**path(view), **ancestors(view)}.items()}


def test_tags_and_landmarks_by_hand() -> None:
    """Blocks in a list in an article have the expected tags and distances to landmarks."""
    found = columns("<article><ul><li>one<li><em>two</em></ul></article><custom-tag>three</custom-tag>")
    names = [[TAGS[int(found[f"tag{k}"][block])] for k in range(4)] for block in range(3)]
    assert names == [["li", "ul", "article", "body"], ["em", "li", "ul", "article"], ["other", "body", "other", "none"]]
    assert found["depth"] == [4, 5, 2]
    expected: dict[str, list[float]] = {
        "toli": [0, 1, FAR], "tolist": [1, 2, FAR], "toarticle": [2, 3, FAR], "toemphasis": [FAR, 0, FAR],
    }  # fmt: skip
    for name in LANDMARKS:
        assert found[f"to{name}"] == expected.get(f"to{name}", [FAR] * 3), name


def test_flags() -> None:
    """Flags are those of the first text of a block."""
    found = columns("<p hidden>one<pre>two</pre><noscript>three</noscript><p>four")
    assert [found[name] for name in ("hidden", "preformatted", "noscript")] == [
        [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0],
    ]  # fmt: skip


@given(html=messy_html)
def test_landmarks_equal_those_found_by_walking_up(html: str) -> None:
    """The nearest landmark up to the maximum level counts."""
    view = PageContext(blockml.parse(html))
    found: dict[str, Any] = dict(path(view))
    for block, parent in enumerate(view.blocks.parent.tolist()):
        way = path_of(view.nodes, parent)
        above = [view.nodes.name(node) for node in way[::-1][:REACH]]
        assert found["depth"][block] == len(way) - 1
        for name, group in LANDMARKS.items():
            levels = [level for level, tag in enumerate(above) if tag in group]
            assert found[f"to{name}"][block] == min(levels, default=FAR)
        for k in range(4):
            wanted = above[k] if k < len(above) else "none"
            assert TAGS[int(found[f"tag{k}"][block])] == (wanted if wanted in TAGS else "other")


def test_amounts_in_ancestors_by_hand() -> None:
    """A section with a paragraph of twelve words and a link, next to two words, has the expected amounts."""
    found = columns(f"<div><section><p>{'Word. ' * 12}</p><a>one two three</a></section>four five</div>")
    assert found["words0up"] == [12, 3, 17]
    assert found["words1up"] == [15, 15, 17]
    assert found["share1up"] == pytest.approx([15 / 17, 15 / 17, 1])
    assert found["links1up"] == pytest.approx([3 / 15, 3 / 15, 3 / 17])
    assert found["prose1up"] == found["inp1up"] == pytest.approx([12 / 15, 12 / 15, 12 / 17])
    assert found["blocks1up"] == [2, 2, 3]
    assert found["density1up"] == pytest.approx([15 / 2, 15 / 2, 17 / 3])
    assert found["sentences1up"] == pytest.approx([12 / 15, 12 / 15, 12 / 17])
    assert found["inp0up"] == pytest.approx([1, 0, 12 / 17])
    for k in ANCESTOR_LEVELS[-2:]:  # levels above the outermost element have its values
        assert found[f"words{k}up"] == [17, 17, 17]


def test_words_in_paragraphs_are_not_always_running_text() -> None:
    """Words in paragraphs need not be running text, and quotes and preformatted text count as paragraphs."""
    found = columns(f"<div><p>a b<pre>c</pre><blockquote>d</blockquote><div>{'w ' * 12}</div></div>")
    assert found["inp1up"][:3] == pytest.approx([4 / 16] * 3)
    assert found["prose1up"][:3] == pytest.approx([12 / 16] * 3)


@given(html=messy_html)
def test_amounts_grow_towards_the_root(html: str) -> None:
    """An ancestor has at least the words of the block and of the ancestors below it."""
    view = PageContext(blockml.parse(html))
    found: dict[str, Any] = dict(ancestors(view))
    before = view.words
    for k in ANCESTOR_LEVELS:
        assert (found[f"words{k}up"] >= before).all()
        before = found[f"words{k}up"]
        assert (found[f"blocks{k}up"] >= 1).all()


def test_no_element_is_in_two_groups_of_landmarks() -> None:
    """Each tag is in at most one group of landmarks."""
    grouped = [tag for group in LANDMARKS.values() for tag in group]
    assert len(grouped) == len(set(grouped))
    assert len(TAGS) == len(set(TAGS))
