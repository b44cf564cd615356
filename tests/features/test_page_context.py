"""Inputs of feature families compared with loops over nodes and characters, and the feature set of all families."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml import features
from blockml.features import (
    container,
    describe_columns,
    feature_set,
    metadata,
    position,
    repetition,
    structure,
    text,
    vocabulary,
)
from blockml.features.ancestor_words import ancestor_words
from blockml.features.column import Family
from blockml.features.feature_sets import COLUMNS as CATALOGUE
from blockml.features.keywords import KEYWORDS, keyword_bits
from blockml.features.page_context import REACH, PageContext
from blockml.page import Page
from blockml.parsing import BACKENDS
from blockml.text.words import ALNUM, DIGIT, SPACE, TOKENIZERS, UPPER
from tests.strategies import messy_html, path_of

COLUMNS = feature_set("page").columns
FAMILIES: tuple[Family, ...] = (
    text.text,
    position.position,
    position.around,
    structure.path,
    structure.ancestors,
    container.container,
    container.more_candidates,
    vocabulary.vocabulary_distance,
    repetition.same_path,
    repetition.repetition,
    repetition.like_siblings,
    metadata.title_overlap,
    metadata.page_stats,
    metadata.declared_metadata,
)
#: Pages with little to count.
BARE = ("<p>one", "<p>*", "only text", "<h1>one", "<p><a>one</a>", "<p>a</p></html>b<p>c", "<main>x</main></html><b>y")


def deep(levels: int) -> str:
    """Return a page with text at the bottom of nested elements, and some on the way down."""
    return "<p>top</p>" + "<div class=c>" * levels + "<p>" + "word " * 20 + "</p>" + "</div>x" * 9


# --- the page context -------------------------------------------------------------------------------------------------


@given(html=messy_html)
def test_chains_contain_the_ancestors(html: str) -> None:
    """The chain of a block contains its ancestors up to the maximum level, and then -1."""
    view = PageContext(blockml.parse(html))
    nodes = view.nodes
    assert view.chain.shape[1] == len(view)
    for block, parent in enumerate(view.blocks.parent.tolist()):
        above = path_of(nodes, parent)[::-1][:REACH]
        assert view.chain[:, block].tolist() == (above + [-1] * len(view.chain))[: len(view.chain)]
        for k in (0, 1, 5):
            assert view.levels((k,))[0][block] == above[min(k, len(above) - 1)]
            assert view.levels((k,))[0, block] == above[min(k, len(above) - 1)]


@given(html=messy_html)
def test_totals_are_sums_over_blocks_that_start_inside_an_element(html: str) -> None:
    """The total of an element is the sum over the blocks that start inside it."""
    view = PageContext(blockml.parse(html))
    total = view.total_of(np.arange(len(view.nodes)), view.words)
    starts = list(zip(view.blocks.node.tolist(), view.words.tolist(), strict=True))
    for node, end in enumerate(view.nodes.end.tolist()):
        assert total[node] == sum(words for start, words in starts if node <= start < end)
    assert view.n_words == max(1, sum(words for _, words in starts))


@given(html=messy_html, tokenizer=st.sampled_from(sorted(TOKENIZERS)))
def test_characters_equal_those_counted_text_by_text(html: str, tokenizer: str) -> None:
    """Counts equal those of Python's string methods, where the line break after each text counts as a space."""
    view = PageContext(blockml.parse(html, tokenizer=tokenizer))
    if not len(view):
        return
    texts = view.blocks.texts
    assert view.lengths.tolist() == [len(item) for item in texts]
    tests = {ALNUM: str.isalnum, DIGIT: str.isdecimal}
    for bit, test in tests.items():
        assert view.characters(bit).tolist() == [sum(map(test, item)) for item in texts]
    letters = [[c for c in item if c.isalnum()] for item in texts]
    assert view.characters(UPPER | ALNUM).tolist() == [sum(map(str.isupper, item)) for item in letters]
    assert view.characters(SPACE).tolist() == [sum(map(str.isspace, item)) + 1 for item in texts]


@pytest.mark.parametrize(
    ("html", "prose"),
    [
        ("<p>" + "a " * 9, 0),
        ("<p>" + "a " * 10, 10),
        ("<p>" + "a " * 7 + "<a>b b b", 10),
        ("<p>" + "a " * 6 + "<a>b b b b", 0),
        ("<p>" + "* " * 99, 0),
    ],
)
def test_running_text_has_ten_words_and_few_links(html: str, prose: float) -> None:
    """A block of at least ten words is running text if at most three in ten are linked."""
    assert PageContext(blockml.parse(html)).prose.tolist() == [prose]


def test_classes_and_ids_are_read_once_per_element() -> None:
    """Equal classes have one number, and a missing or empty class has 0."""
    view = PageContext(blockml.parse("<p class=a>x<p class=b>x<p class=a>x<p class=''>x<p>x<div class=a id=footer>x"))
    parents = view.blocks.parent
    classes = view.attribute_values.of["class"][parents].tolist()
    assert classes[0] == classes[2] == classes[5] != classes[1]
    assert classes[3] == classes[4] == view.attribute_values.of["class"][-1] == 0
    of_all = view.attribute_values.more_classes(view.nodes, np.arange(len(view.nodes)))
    assert of_all[parents].tolist() == classes
    assert view.keywords[parents].tolist() == [0] * 5 + [keyword_bits("footer")]
    assert view.keywords[-1] == 0


@pytest.mark.parametrize("group", KEYWORDS)
def test_each_keyword_belongs_to_one_group(group: str) -> None:
    """A keyword is found by itself, in capitals and among other words."""
    bit = 1 << list(KEYWORDS).index(group)
    for word in KEYWORDS[group]:
        assert keyword_bits(word) & bit
        assert keyword_bits(f"zz {word.upper()} zz") == keyword_bits(word)


def test_longer_keywords_come_first() -> None:
    """A keyword inside a longer keyword does not count."""
    names = list(KEYWORDS)

    def told(value: str) -> set[str]:
        return {name for number, name in enumerate(names) if keyword_bits(value) >> number & 1}

    assert told("topic") == {"tags"}
    assert told("topic-17") == {"thread"}
    assert told("item-detail item") == {"product", "list"}
    assert told("") == told("zzz") == set()


# --- the set of all families ------------------------------------------------------------------------------------------


def test_the_catalogue_lists_the_columns_of_all_families() -> None:
    """Every column of a family is in the catalogue once, under the same name."""
    view = PageContext(blockml.parse("<p>one"))
    given_names = [name for family in FAMILIES for name in family(view)]
    assert len(given_names) == len(set(given_names))
    assert sorted(given_names) == sorted(name for name, column in CATALOGUE.items() if column.family is not None)


def assert_promises_kept(page: Page) -> None:
    """Check that values are finite, in the declared range, and equal to those of each family and its neighbours."""
    matrix = features.matrix(page, "page").values
    assert matrix.shape == (len(page.blocks), len(COLUMNS))
    assert matrix.dtype == np.float32
    assert np.isfinite(matrix).all()
    for number, row in enumerate(describe_columns(COLUMNS)):
        values = matrix[:, number]
        assert (values >= float(str(row["low"]))).all(), row["name"]
        assert (values <= float(str(row["high"]))).all(), row["name"]
    if not len(page.blocks):
        return
    bases = {name: column for family in FAMILIES for name, column in family(PageContext(page)).items()}
    for number, written in enumerate(COLUMNS):
        base, _, where = written.partition("_")
        column = np.broadcast_to(bases[base], len(page.blocks)).astype(np.float32)
        shifted = {"0": column, "m1": np.append(0, column[:-1]), "p1": np.append(column[1:], 0)}[where]
        assert np.array_equal(matrix[:, number], shifted), written


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@settings(max_examples=50)
@given(html=messy_html, tokenizer=st.sampled_from(sorted(TOKENIZERS)), keep_wordless=st.booleans())
def test_any_page_gives_valid_features(backend: str, html: str, tokenizer: str, keep_wordless: bool) -> None:  # noqa: FBT001
    """Malformed pages give valid features."""
    assert_promises_kept(blockml.parse(html, backend=backend, tokenizer=tokenizer, keep_wordless=keep_wordless))


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@pytest.mark.parametrize("html", [*BARE, "", "<p></p>", "<title>one</title>", deep(100)])
def test_pages_with_little_content_give_valid_features(backend: str, html: str) -> None:
    """Pages with one block, no block, several roots or very deep nesting give valid features."""
    assert_promises_kept(blockml.parse(html, backend=backend))


@pytest.mark.parametrize("sign", ["Ⓐ", "🅰", "สวัสดี", "・", "ー", "²", "١", "ǅ", "\u0301", "\u200d"])
def test_odd_characters_give_valid_features(sign: str) -> None:
    """Capitals that are not letters, combining marks and digits of other scripts give valid features."""
    for tokenizer in TOKENIZERS:
        assert_promises_kept(blockml.parse(f"<p>{sign * 5}<p>a{sign}b<p>{sign} c", tokenizer=tokenizer))


def test_a_given_context_is_used() -> None:
    """The matrix is computed from the given context."""
    page = blockml.parse("<h1>One</h1><p>two three")
    view = PageContext(page)
    assert np.array_equal(features.matrix(page, "page", context=view).values, features.matrix(page, "page").values)
    assert "kernel_page" in view.__dict__


def test_a_context_is_freed_immediately() -> None:
    """A context is freed without the cyclic garbage collector, because it holds a page."""
    view = PageContext(blockml.parse("<p class=a>one two"))
    features.matrix(view.page, "page", context=view)
    ancestor_words(view)
    assert view.block_groups
    gone = weakref.ref(view)
    gc.disable()
    try:
        del view
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "html",
    [
        deep(5_000),
        "<div>a" * 5_000,
        "<p><a class=x id=y>w</a>" * 5_000,
        "<article><h1>x</h1><p>" + "word " * 12 + "</p>" + "<section><div role=main>x " * 3_000,
        "<p class='" + "nav-" * 50_000 + "'>one",
        '<script>"@type":' + " " * 200_000 + "x</script><p>one",
        "<p>" + "Ab, c. " * 50_000,
    ],
    ids=["deep", "deeper", "wide", "containers", "classes", "blanks", "long"],
)
def test_time_does_not_explode(html: str) -> None:
    """Hostile pages, on which a quadratic step would take minutes, give finite features in time."""
    assert np.isfinite(features.matrix(blockml.parse(html), "page").values).all()


_NAMES = st.sampled_from(["Description", "og:TYPE", "og:url", "description", "oescription", "OG:Title", "x"])
_METAS = st.lists(st.tuples(st.sampled_from(["name", "property", "description", "class"]), _NAMES, _NAMES), max_size=6)


@settings(max_examples=60)
@given(_METAS, st.sampled_from(["canonical", "Canonical", "canonical x", "icon"]))
def test_declarations_are_found_without_decoding_all_attributes(metas: list[tuple[str, str, str]], rel: str) -> None:
    """Decoding only ``meta`` and ``link`` elements that are selected by their bytes gives the same declarations."""
    html = "".join(f"<meta {key}='{value}' content='{content}'>" for key, value, content in metas)
    page = blockml.parse(f"<p class=a>{html}<link rel='{rel}' href=/a><p>x")
    decoded = replace(page, nodes=replace(page.nodes, attributes=list(page.nodes.attributes)))
    one, other = PageContext(page), PageContext(decoded)
    assert (one.meta, one.canonical) == (other.meta, other.canonical)
