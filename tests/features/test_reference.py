"""Compiled features equal the Python reference bit by bit."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml import _kernel
from blockml.extractors import trained
from blockml.features import COLUMNS, FEATURE_SETS, FeatureSet, kernel_tables, keywords, matrix
from blockml.features.density import word_density
from blockml.features.keywords import ATTRIBUTES, KEYWORDS, keyword_bits
from blockml.features.page_context import PageContext
from blockml.features.structure import FAR
from blockml.features.vocabulary import ROLE_BITS, ROLES, role_bits
from blockml.page import Blocks, Nodes, Page
from blockml.page.attributes import Attributes
from tests.reference import python_reference
from tests.strategies import messy_html

pytestmark = pytest.mark.skipif(_kernel.compiled is None, reason="needs the C extension")

#: Characters whose lower case is several, depends on neighbours or is ASCII; signs in and between words; lone
#: surrogates.
ODD = (
    "aZzBk09_-. \t\x00\x1c\x1f\x7f\x85\xa0\u2028éßİıſKΣςǅŉ١²Ⓐⓐ你カ\u0301\u200d"
    "\U00010400\U0001e900😀\ud800\udfff\U0010ffff"
)
texts = st.text(st.sampled_from(ODD) | st.characters(), max_size=60)
names = st.lists(
    st.sampled_from([word for words in KEYWORDS.values() for word in words]) | texts | st.sampled_from("aB1-_ İK"),
    max_size=8,
).map("".join)


def compiled() -> _kernel.Compiled:
    """Return the C extension."""
    assert _kernel.compiled is not None
    return _kernel.compiled


@cache
def compiled_columns() -> FeatureSet:
    """Return a set of all columns that the C extension writes; released sets do not have new ones."""
    return FeatureSet("compiled", 1, tuple(f"{name}_0" for name in kernel_tables.kernel_columns(compiled())), "test")


def everything(page: Page) -> list[tuple[str, bytes]]:
    """Return all features of a page as bytes, by name."""
    found = matrix(page, "page")
    words = found.ancestor_words
    matrices = (found, matrix(page, "kim2013-onehot"), matrix(page, compiled_columns()))
    arrays = {
        **{name: values for made in matrices for name, values in zip(made.columns, made.values.T, strict=True)},
        **{f"groups {number}": groups for number, groups in enumerate(found.block_groups)},
        "starts": words.starts, "words": words.hashed_words, "bag": words.bag, "prose": found.amounts.prose,
    }  # fmt: skip
    return [(f"{name} {values.dtype}", values.tobytes()) for name, values in arrays.items()]


def assert_equal_to_reference(page: Page) -> None:
    """Compare all features with those that Python computes."""
    found = everything(page)
    with python_reference():
        expected = everything(page)
    assert [name for (name, one), (_, other) in zip(found, expected, strict=True) if one != other] == []
    assert [name for name, _ in found] == [name for name, _ in expected]


@given(html=messy_html)
def test_messy_pages(html: str) -> None:
    """All features equal the reference for malformed markup."""
    assert_equal_to_reference(blockml.parse(html))


@example(title="", description="0\x08\xb2", blocks=[("", "", "", "0")])
@example(title="Gar\xadten", description="", blocks=[("", "", "", "Garten")])
@given(title=texts, description=texts, blocks=st.lists(st.tuples(names, names, names, texts), min_size=1, max_size=6))
def test_odd_attributes_and_texts(title: str, description: str, blocks: list[tuple[str, str, str, str]]) -> None:
    """All features equal the reference if attributes, texts and titles contain any characters."""

    def quoted(value: str) -> str:
        return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")

    html = f'<title>{quoted(title)}</title><meta name=description content="{quoted(description)}">' + "".join(
        f'<div class="{quoted(style)}" id="{quoted(name)}"><p role="{quoted(role)}">{quoted(text)}</p></div>'
        for style, name, role, text in blocks
    )
    assert_equal_to_reference(blockml.parse(html.encode("utf-8", "replace").decode()))


@pytest.mark.parametrize("folder", ["wcxb", "cleaneval", "l3s-gn1", "dataset-popular"])
def test_pages_of_corpora(corpora: Path, folder: str) -> None:
    """All features equal the reference for a dozen pages of each corpus."""
    files = sorted(path for path in (corpora / folder).rglob("*") if path.name.endswith((".html", ".html.gz")))
    for path in files[:: max(1, len(files) // 12)]:
        raw = path.read_bytes()
        assert_equal_to_reference(blockml.parse(gzip.decompress(raw) if path.suffix == ".gz" else raw))


# --- sets of columns --------------------------------------------------------------------------------------------------

HTML = (
    "<title>Cats sleep</title><ul class=nav><li>one<li><a href=x>two</a></ul><article class=post><h1>Cats sleep</h1>"
    f"{'<p>Cats rule the world, and they sleep by day.' * 3}</article>"
)


def test_every_compiled_column_is_compared() -> None:
    """The tests above compare each column that the C extension writes, whether or not a released set has it."""
    compared = {name.partition(" ")[0] for name, _ in everything(blockml.parse(HTML))}
    assert {f"{name}_0" for name in kernel_tables.kernel_columns(compiled())} <= compared


def test_every_compiled_column_is_in_the_catalogue() -> None:
    """Compiled columns are in the catalogue and include the set ``page``, except for declared metadata."""
    known = kernel_tables.kernel_columns(compiled())
    assert [column.place for column in known.values()] == list(range(len(known)))
    declared = {name.partition("_")[0] for name in FEATURE_SETS["page"].columns} - set(known)
    assert all(name.startswith(("is", "url")) for name in declared)
    assert set(known) < set(COLUMNS)


def everything_by_column(page: Page) -> dict[str, bytes]:
    """Return the values of the columns of the set ``page`` and of all compiled ones."""
    return {
        name: values.tobytes()
        for made in (matrix(page, compiled_columns()), matrix(page, "page"))
        for name, values in zip(made.columns, made.values.T, strict=True)
    }


@given(st.data())
def test_any_columns_in_any_order(data: st.DataObject) -> None:
    """The values of a column don't depend on the other columns of the set."""
    page = blockml.parse(HTML)
    known = everything_by_column(page)
    columns = data.draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=30, unique=True))
    found = matrix(page, FeatureSet("made up", 1, tuple(columns), "test"))
    for name, values in zip(columns, found.values.T, strict=True):
        assert values.tobytes() == known[name], name


def test_a_family_may_have_columns_that_only_python_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new column changes no released set, and the others of its family stay compiled."""

    def wider(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
        return {"vowels": np.array([sum(map("aeiou".count, text)) for text in context.blocks.texts])}

    page = blockml.parse(HTML)
    before, model = matrix(page, "page").values, trained("default")
    monkeypatch.setitem(COLUMNS, "vowels", replace(COLUMNS["words"], name="vowels", family=wider))
    assert "vowels_0" not in {name for known in FEATURE_SETS.values() for name in known.columns}
    made = FeatureSet("made up", 1, ("chars_0", "vowels_p1", "words_0", "vowels_0"), "test")
    expected = [[21, 1, 7, 6], [3, 0, 1, 1]]
    assert matrix(blockml.parse("<p>on a an by cat dog ok<p>two"), made).values.tolist() == expected
    assert np.array_equal(matrix(page, "page").values, before)
    assert model.model.features == "page"
    assert len(model.score(page)) == len(page.blocks)


# --- attributes -------------------------------------------------------------------------------------------------------


def page_of(attributes: Sequence[Mapping[str, str]]) -> Page:
    """Return a page with one block for each set of attributes, in paragraphs side by side."""
    n = len(attributes)
    rows, ones, flags = np.arange(n, dtype=np.int32), np.ones(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    nodes = Nodes(("#text", "p"), ones, -ones, 0 * ones, rows + 1, ones.astype(np.uint8), attributes, ("",) * n)
    blocks = Blocks(("x",) * n, ones, 0 * ones, ones, ones, rows, rows, rows, flags, flags, ones, ("p",) * n)
    return replace(blockml.parse("<p>x"), nodes=nodes, blocks=blocks)


def named(values: Sequence[str]) -> Page:
    """Return a page with one block for each attribute value."""
    return page_of([{ATTRIBUTES[place % len(ATTRIBUTES)]: value} for place, value in enumerate(values)])


def levels(page: Page, names: Sequence[str]) -> list[list[float]]:
    """Return the values of columns of a page, as a list per column."""
    columns = tuple([f"{name}_0" for name in names])
    found: list[list[float]] = matrix(page, FeatureSet("made up", 1, columns, "test")).values.T.tolist()
    return found


@given(st.lists(names, min_size=1, max_size=6))
def test_keywords_of_any_value(values: list[str]) -> None:
    """Keywords in any value equal those of the reference and those found for a single value."""
    assert_equal_to_reference(named(values))
    rows = levels(page_of([{"class": value} for value in values]), [f"cls{group}" for group in KEYWORDS])
    for number, row in enumerate(rows):
        assert row == [0 if keyword_bits(value) >> number & 1 else FAR for value in values]


@pytest.mark.parametrize("name", ["role", "itemprop", "property"])
@given(st.lists(st.sampled_from([*ROLE_BITS, "MAIN", "main\x1fx", "x", "é", "K", "search" * 9]), max_size=4))
def test_roles_of_any_value(name: str, words: list[str]) -> None:
    """Roles may have several words in any case."""
    value = " ".join(words)
    expected = [[0 if role_bits(value) >> bit & 1 else FAR] for bit in range(len(ROLES))]
    assert levels(page_of([{name: value}]), list(ROLES)) == expected


@pytest.mark.parametrize(
    "values",
    [
        *[[value, value[::-1]] for value in ("aB" * 5000, "a1" * 5000, "x " * 5000, "é" * 5000, "." * 5000, "\0a")],
        [
            f"{'x' * length}{part}_{part}-{'y' * 9}"
            for length in (*range(70), *range(498, 515))
            for part in ("Nav", "7")
        ],
        [f"{sign}navX" * number for number in (8, 9, 32, 33, 40, 200) for sign in ("", " ", "-", "\t")],
        [f"name{number:x}" for number in range(3000)],
    ],
)
def test_long_values_and_many(values: list[str]) -> None:
    """Values are cut off at 512 characters, and the numbers of names and words are limited."""
    assert_equal_to_reference(named(values))


def test_attributes_of_any_mapping() -> None:
    """Attributes may be dicts, read-only mappings or not yet decoded, and a value of None is ignored."""
    held: list[Any] = [
        None, {"class": "nav", "id": "nav"}, MappingProxyType({"class": "foot", "role": "nav"}), {"class": None},
    ]  # fmt: skip
    pairs = b"class\0nav\0id\0\xc3\xa9\0class\0foot\0"
    ends = np.array([0, 0, 0, 0, len(pairs)])
    lazy = Attributes(np.array([1, 2, 3, 0, 4, 4], dtype=np.int32), [*held, None], pairs, ends)
    for attributes in (lazy, list(lazy), tuple(lazy)):
        page = page_of(attributes)
        assert_equal_to_reference(page)
        expected = [[0, FAR, FAR, FAR, FAR, FAR], [FAR, 0, FAR, FAR, 0, 0]]
        assert levels(page, ["clsnavigation", "clsfoot"]) == expected
    with pytest.raises(TypeError):
        levels(page_of([{}, {"role": b"main"}]), ["rolemain"])  # type: ignore[dict-item]


def test_values_and_words_chosen_to_collide() -> None:
    """Values whose hashes collide (as in ``kernel.h`` and ``features_title_overlap.c``) give equal features."""
    letters = np.array(np.meshgrid(*[np.arange(97, 123, dtype=np.uint64)] * 4)).reshape(4, -1)
    word = sum((letter << np.uint64(8 * place) for place, letter in enumerate(letters)), np.uint64(0))
    factor, half = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
    of_values = (np.uint64(4) ^ word << half ^ word) * factor >> half
    of_words = ((word * factor ^ word * factor >> half) * factor) >> half
    for hashes in (of_values, of_words):
        found = ["".join(map(chr, item)) for item in letters[:, hashes % np.uint64(1024) == 7].T.tolist()][:150]
        assert len(found) == 150
        text = "-".join(found[:45] * 2)
        blocks = "".join(f"<p class={value} id=main>one {text}" for value in [*found, *found])
        assert_equal_to_reference(blockml.parse(f"<title>{found[3]} cat</title>{blocks}<p>{text}-cat"))


def test_thousands_of_words_in_a_short_block() -> None:
    """Words joined by punctuation are one word of the block, but separate words for the overlap with the title."""
    many = "-".join(f"w{number}" for number in range(20_000))
    assert_equal_to_reference(blockml.parse(f"<title>cat w7</title><p>{many}<p>cat {many}"))


@given(st.lists(st.lists(st.integers(0, 100) | st.just(2**30), max_size=60), max_size=5))
def test_word_densities(lengths: list[list[int]]) -> None:
    """Densities equal the reference for words of any length."""
    none = np.zeros(len(lengths), dtype=np.int32)
    blocks = Blocks(
        ("",) * len(lengths), np.array([len(words) for words in lengths], dtype=np.int32), none, none, none, none, none,
        none, none.astype(np.uint8), none.astype(np.uint8),
        np.array([length for words in lengths for length in words], dtype=np.int32), ("",) * len(lengths),
    )  # fmt: skip
    found = word_density(blocks)
    with python_reference():
        assert found.tobytes() == word_density(blocks).tobytes()


# --- invalid arguments -----------------------------------------------------------------------------------------------

#: A page of two elements and a text, with one block; and changes that make it an invalid tree.
A_TREE: dict[str, Any] = {
    "reach": 32, "names": ("#text", "p"), "texts": ("x",), "given": [None, {"class": "a"}], "pairs": b"",
    "tag": [1, 1, 0], "parent": [-1, 0, 1], "depth": [0, 1, 2], "end": [3, 3, 3], "attribute_set": [0, 1, 0],
    "block_parent": [1], "block_node": [2], "block_flags": [0], "set_ends": [0, 0], "n_words": [1], "n_linked": [0],
}  # fmt: skip
NO_TREES: list[tuple[str, Any]] = [
    ("reach", 0), ("reach", -1), ("reach", 2**40), ("names", ("p",)), ("names", ()), ("names", (1, 2)),
    ("names", ["#text", "p"]), ("texts", ()), ("texts", ("x", "y")), ("texts", (b"x",)), ("texts", ["x"]),
    ("given", [None]), ("given", []), ("given", (None, None)), ("pairs", "x"), ("tag", [1, -1, 0]), ("tag", [1, 2, 0]),
    ("tag", [1]), ("parent", [0, 0, 1]), ("parent", [-1, -2, 1]), ("parent", [-1, 2, 1]), ("parent", [-1]),
    ("depth", [0]), ("end", [4, 3, 3]), ("end", [-1, 3, 3]), ("end", [3]), ("attribute_set", [0, 2, 0]),
    ("attribute_set", [0, -1, 0]), ("attribute_set", [0]), ("block_parent", [3]), ("block_parent", [-2]),
    ("block_parent", []), ("block_node", [3]), ("block_node", [-1]), ("block_node", [2, 2]), ("block_flags", [0, 0]),
    ("block_flags", []), ("set_ends", [0]), ("set_ends", []), ("set_ends", [0, 1]), ("set_ends", [1, 0]),
    ("set_ends", [0, -1]), ("n_words", [1, 0]), ("n_words", []), ("n_linked", [1, 0]),
]  # fmt: skip
TYPES = {"block_flags": np.uint8, "set_ends": np.int64}


def a_tree(**changes: object) -> object:
    """Return the tree of these columns."""
    given = A_TREE | changes
    reach, names, texts, mappings, pairs = [given.pop(name) for name in ("reach", "names", "texts", "given", "pairs")]
    columns = {name: np.array(held, TYPES.get(name, np.int32)) for name, held in given.items()}
    return compiled().new_page_tree(reach, names, texts, mappings, pairs, columns)


@pytest.mark.parametrize(("name", "wrong"), NO_TREES)
def test_wrong_trees_are_refused(name: str, wrong: object) -> None:
    """An invalid tree is refused, because other functions trust its numbers."""
    a_tree()
    with pytest.raises((IndexError, TypeError, ValueError)):
        a_tree(**{name: wrong})


@pytest.mark.parametrize("pairs", [b"class\0", b"class\0nav", b"class\0\xff\0", b"class"])
@pytest.mark.parametrize("ends", [[0, 7], [0, 6], [0, 12], [0, -1], [7, 0], [0], []])
def test_wrong_sets_of_attributes_are_refused(pairs: bytes, ends: list[int]) -> None:
    """Attribute sets with invalid ends are refused, unless they end after a name, whose value is then what follows."""
    page = page_of(Attributes(np.array([1], dtype=np.int32), [None] * len(ends), pairs, np.array(ends, dtype=np.int64)))
    if ends == [0, 6] and pairs in {b"class\0", b"class\0nav"}:
        assert levels(page, ["clsnavigation"]) == [[0 if pairs.endswith(b"nav") else FAR]]
        return
    with pytest.raises((IndexError, ValueError)):
        levels(page, ["clsnavigation"])


class Recorded:
    """The C extension, which records the arguments of the first call of each function."""

    def __init__(self, compiled: _kernel.Compiled) -> None:
        self.compiled = compiled
        self.arguments: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.compiled, name)

        def call(*arguments: Any) -> Any:
            self.arguments.setdefault(name, arguments)
            return function(*arguments)

        return call


def recorded(monkeypatch: pytest.MonkeyPatch, html: str) -> dict[str, tuple[Any, ...]]:
    """Return the arguments of each feature function for a page."""
    kernel = Recorded(compiled())
    monkeypatch.setattr(_kernel, "compiled", kernel)
    found = matrix(blockml.parse(html), "page")
    assert found.ancestor_words.starts.size
    assert found.block_groups
    matrix(found.context.page, "kim2013")
    monkeypatch.undo()
    chosen = (
        "new_tables",
        "new_page_tree",
        "new_attribute_values",
        "block_groups",
        "write_columns",
        "ancestor_words",
        "word_densities",
    )
    return {name: kernel.arguments[name] for name in chosen}


def test_other_capsules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other objects, capsules of another type, and attribute values of another tree are refused."""
    calls = recorded(monkeypatch, HTML)
    others: list[Any] = ["tree", dt.datetime_CAPI, *calls["write_columns"][:3], a_tree()]
    for name in ("new_attribute_values", "block_groups", "write_columns", "ancestor_words"):
        function, arguments = getattr(compiled(), name), calls[name]
        for place, taken in enumerate(arguments):
            if type(taken) is not type(dt.datetime_CAPI):
                continue
            function(*arguments)
            for other in others:
                alone = sum(type(held) is type(taken) for held in arguments) == 1 or name == "new_attribute_values"
                if other is taken or (other is others[-1] and alone):  # no argument depends on the tree
                    continue
                with pytest.raises((TypeError, ValueError)):
                    function(*[*arguments[:place], other, *arguments[place + 1 :]])


def test_wrong_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows outside of the matrix, wrong numbers of columns, and missing inputs of a column are refused."""
    tree, names, tables, titles, (row_of, found) = recorded(monkeypatch, HTML)["write_columns"]
    rows, none = np.zeros((2, found.shape[1]), dtype=np.float32), np.full_like(row_of, -1)
    compiled().write_columns(tree, None, tables, None, (none, rows))
    place = kernel_tables.kernel_columns(compiled())
    for column, row in (("words", 2), ("words", -2), ("words", 2**62), ("clsnavigation", 0), ("intitle", 0)):
        wrong = none.copy()
        wrong[place[column].place] = row
        with pytest.raises(ValueError, match="rows"):
            compiled().write_columns(tree, None, tables, None, (wrong, rows))
    for other in (none[:-1], np.append(none, -1), none[:0]):
        with pytest.raises(ValueError, match="rows"):
            compiled().write_columns(tree, names, tables, titles, (other, rows))
    with pytest.raises(ValueError, match="rows"):
        compiled().write_columns(tree, names, tables, titles, (none, rows[:, :-1].copy()))


#: Invalid tables by name.
WRONG_TABLES: list[tuple[str, Any]] = [
    *[(name, np.zeros(1, np.uint8)) for name in ("character_classes", "counted_classes", "in_word", "is_cased")],
    ("tag_code", np.zeros(1, np.int64)), ("sum_bits", np.zeros(0, np.int64)),
    ("keyword_letters", keywords.words()["keyword_letters"][1:].copy()),
    ("keyword_lengths", keywords.words()["keyword_lengths"][::-1].copy()),
    ("keyword_lengths", np.clip(keywords.words()["keyword_lengths"], 0, 2)),
    ("keyword_groups", keywords.words()["keyword_groups"] + np.int8(60)),
    ("keyword_groups", keywords.words()["keyword_groups"] - np.int8(1)),
    ("smoothing_weights", np.zeros(2)), ("grouping_levels", np.array([-1, 3])), ("grouping_levels", np.zeros(3, int)),
    ("flags", np.zeros(4, np.uint8)), ("far", np.zeros(2, np.int64)), ("far", np.array(-1)),
    ("n_landmarks", np.array(65)), ("n_keywords", np.array(60)), ("n_roles", np.array(2**62)),
    ("max_names", np.array(60)), ("max_parts", np.array(2**62)),
]  # fmt: skip


def test_wrong_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of wrong sizes, types or contents, and writable ones, are refused."""
    kernel_tables.kernel_tables.cache_clear()
    arrays, *rest = recorded(monkeypatch, "<p>one")["new_tables"]
    compiled().new_tables(arrays, *rest)
    for name, wrong in WRONG_TABLES:
        wrong.flags.writeable = False
        with pytest.raises(ValueError, match="wrong sizes"):
            compiled().new_tables(arrays | {name: wrong}, *rest)
    for name, array in arrays.items():
        with pytest.raises(ValueError, match="writable"):
            compiled().new_tables(arrays | {name: array.copy()}, *rest)
        with pytest.raises(TypeError, match="items of type"):
            compiled().new_tables(arrays | {name: array.astype(np.uint32)}, *rest)
        with pytest.raises(ValueError, match=f"array {name} is missing"):
            compiled().new_tables({other: held for other, held in arrays.items() if other != name}, *rest)
    with pytest.raises(TypeError):
        compiled().new_tables(tuple(arrays.values()), *rest)  # type: ignore[arg-type]


def test_no_array_is_read_or_written_beyond_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that are too short, of another type, or full of wrong indices are refused or give wrong numbers."""
    refused = 0
    for name, arguments in recorded(monkeypatch, HTML).items():
        for place, held in enumerate(arguments):
            for key, array in items_of(held):
                others = [array.ravel()[:-1].copy(), array.ravel()[:0].copy(), np.zeros(array.shape, np.complex128)]
                if array.dtype.kind == "i":
                    others += [np.full_like(array, value) for value in (-7, np.iinfo(array.dtype).max // 2)]
                for other in others:
                    copies: list[Any] = [copied(item) for item in arguments]
                    copies[place] = (
                        copies[place] | {key: other}
                        if isinstance(held, dict)
                        else (*held[:key], other, *held[key + 1 :])
                    )
                    try:
                        getattr(compiled(), name)(*copies)
                    except (IndexError, TypeError, ValueError):
                        refused += 1
    assert refused > 40


def items_of(held: Any) -> list[tuple[Any, Any]]:
    """Return the arrays in a dict or a tuple, with their keys or indices."""
    pairs = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, tuple) else ()
    return [(key, item) for key, item in pairs if isinstance(item, np.ndarray)]


def copied(held: Any) -> Any:
    """Copy the arrays in a dict or a tuple."""
    if isinstance(held, dict):
        return {key: item.copy() if isinstance(item, np.ndarray) else item for key, item in held.items()}
    if isinstance(held, tuple):
        return tuple([item.copy() if isinstance(item, np.ndarray) else item for item in held])
    return held
