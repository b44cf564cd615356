"""Compiled functions of the features against their twins in Python: the same to the last bit, whatever comes in."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml import features, kernel
from blockml.attributes import Attributes
from blockml.features.density import word_density
from blockml.features.keywords import KEYWORDS, all_bits, keyword_bits
from blockml.features.metadata import resemblance
from blockml.features.names import numbered
from blockml.features.ranks import ranked
from blockml.features.repetition import alike
from blockml.features.structure import FAR, nearest_levels
from blockml.features.tokens import _of_elements, bags
from blockml.features.view import View
from blockml.keys import text_keys
from blockml.page import Blocks, Nodes, Page
from tests.strategies import messy_html

pytestmark = pytest.mark.skipif(kernel.compiled is None, reason="needs the compiled kernel")

Result = TypeVar("Result")

#: Characters whose small ones are several, depend on their neighbours or are ASCII; signs in and between words; what is
#: no character at all.
ODD = (
    "aZzBk09_-. \t\x00\x1c\x1f\x7f\x85\xa0\u2028éßİıſKΣςǅŉ١²Ⓐⓐ你カ\u0301\u200d"
    "\U00010400\U0001e900😀\ud800\udfff\U0010ffff"
)
texts = st.text(st.sampled_from(ODD) | st.characters(), max_size=60)
names = st.lists(
    st.sampled_from([word for words in KEYWORDS.values() for word in words]) | texts | st.sampled_from("aB1-_ İK"),
    max_size=8,
).map("".join)


def compiled() -> kernel.Compiled:
    """The kernel."""
    assert kernel.compiled is not None
    return kernel.compiled


def both(function: Callable[[], Result]) -> tuple[Result, Result]:
    """What comes out compiled, and in Python."""
    with pytest.MonkeyPatch.context() as patch:
        fast = function()
        patch.setattr(kernel, "compiled", None)
        return fast, function()


def same(fast: Any, slow: Any) -> bool:
    """Whether two results are equal in types, shapes and bits."""
    if isinstance(slow, dict | MappingProxyType):
        return list(fast) == list(slow) and all(same(fast[key], slow[key]) for key in slow)
    if isinstance(slow, tuple):
        return len(fast) == len(slow) and all(map(same, fast, slow))
    if isinstance(slow, np.ndarray):
        return fast.dtype == slow.dtype and fast.shape == slow.shape and bool(fast.tobytes() == slow.tobytes())
    return bool(fast == slow)


def everything(page: Page) -> tuple[Any, ...]:
    """All that features make of a page."""
    view = View(page)
    found = bags(view)
    matrix = features.build(page, "page", view=view)
    return matrix, alike(view), found.starts, found.buckets, found.bag, features.build(page, "kim2013-onehot")


@given(html=messy_html)
def test_messy_pages_give_the_same(html: str) -> None:
    """All features, bags and groups."""
    assert same(*both(lambda: everything(blockml.parse(html))))


@given(
    title=texts,
    description=texts,
    blocks=st.lists(st.tuples(names, names, names, texts), min_size=1, max_size=6),
)
def test_odd_names_and_words_give_the_same(
    title: str, description: str, blocks: list[tuple[str, str, str, str]]
) -> None:
    """In classes, ids, roles, texts, titles, as far as the parser lets them pass."""

    def quoted(value: str) -> str:
        return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")

    html = f'<title>{quoted(title)}</title><meta name=description content="{quoted(description)}">' + "".join(
        f'<div class="{quoted(style)}" id="{quoted(name)}"><p role="{quoted(role)}">{quoted(text)}</p></div>'
        for style, name, role, text in blocks
    )
    assert same(*both(lambda: everything(blockml.parse(html.encode("utf-8", "replace").decode()))))


@pytest.mark.parametrize("folder", ["wcxb", "cleaneval", "l3s-gn1", "dataset-popular"])
def test_pages_of_corpora_give_the_same(corpora: Path, folder: str) -> None:
    """Some of each."""
    files = sorted(path for path in (corpora / folder).rglob("*") if path.name.endswith((".html", ".html.gz")))
    for path in files[:: max(1, len(files) // 12)]:
        raw = path.read_bytes()
        page = blockml.parse(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        assert same(*both(lambda page=page: everything(page))), path.name  # type: ignore[misc]


@given(st.lists(texts, max_size=5))
def test_keys_are_those_of_hashlib(values: list[str]) -> None:
    """Of anything that is a str."""
    assert same(*both(lambda: text_keys(iter(values))))


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 255, 256, 257, 100_000])
def test_keys_of_all_lengths(length: int) -> None:
    """Blocks of the hash have 128 bytes; the last one is special."""
    digest = hashlib.blake2b(b"x" * length, digest_size=8).digest()
    assert text_keys(["x" * length]).tolist() == [int.from_bytes(digest, "little")]


@given(st.lists(names, max_size=6))
def test_bits_of_names(values: list[str]) -> None:
    """One value at a time is the third witness."""
    fast, slow = both(lambda: all_bits(values))
    assert same(fast, slow)
    assert fast.tolist() == [keyword_bits(value) for value in values]


def words_of(values: list[str]) -> tuple[Any, ...]:
    """Bags of one block for each value of an attribute."""
    n = len(values)
    above, numbers = np.full((4, n), -1, dtype=np.int64), np.zeros((4, n + 1), dtype=np.int32)
    above[0], numbers[n % 4, :n] = np.arange(n), np.arange(1, n + 1)
    found = _of_elements(above, np.zeros(n, np.int32), numbers, np.ones(1, np.uint32), ("", *values))
    return found.starts, found.buckets, found.bag


@given(st.lists(names, max_size=6))
def test_words_of_names(values: list[str]) -> None:
    """Whole, and in parts."""
    assert same(*both(lambda: words_of(values)))


@pytest.mark.parametrize(
    "value", ["aB" * 5000, "a1" * 5000, "x " * 5000, "é" * 5000, "." * 5000, "A" * 511 + "bC", "\0a"]
)
def test_long_names(value: str) -> None:
    """They are cut at the same place; and many different words are all kept."""
    assert same(*both(lambda: (words_of([value, value[::-1]]), all_bits([value]))))
    assert same(*both(lambda: words_of([f"{value[:9]}{number:x}" for number in range(3000)])))


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=40))
def test_ranks(keys: list[int]) -> None:
    """Against sorting."""
    column = np.array(keys, dtype=np.uint64)
    fast, slow = both(lambda: ranked(column))
    assert same(fast, slow)
    order, starts, which = (found.tolist() for found in fast)
    assert order == sorted(range(len(keys)), key=lambda place: keys[place])
    assert which == [sorted(set(keys)).index(key) for key in keys]
    assert [order[start] for start in starts] == [keys.index(key) for key in sorted(set(keys))]


@pytest.mark.parametrize("step", [1, pow(0x9E3779B97F4A7C15, -1, 2**64)])  # the other one's products are small numbers
def test_ranks_of_keys_that_share_a_hash(step: int) -> None:
    """They are sorted."""
    column = np.arange(3000, dtype=np.uint64).repeat(2) * np.uint64(step)
    assert same(*both(lambda: ranked(column)))


@given(html=messy_html, data=st.data())
def test_levels_to_any_group(html: str, data: st.DataObject) -> None:
    """Up to 64 of them, and of what is no node."""
    view = View(blockml.parse(html))
    if not len(view):
        return
    n_groups = data.draw(st.sampled_from([1, 2, 44, 63, 64]))
    size = len(view.nodes) + 1
    drawn = data.draw(st.lists(st.integers(0, 2**n_groups - 1), min_size=size, max_size=size))
    bits = np.array(drawn, dtype=np.uint64)

    fast, slow = (np.empty((n_groups, len(view)), dtype=np.float32) for _ in range(2))
    nearest_levels(view, bits, slow)
    numbers, table = np.arange(size, dtype=np.int32), np.zeros(1, dtype=np.int64)
    compiled().named_rows(view.tree, numbers, bits.view(np.int64), table, FAR, fast)
    assert same(fast, slow)
    for group in (0, n_groups - 1):
        for block in range(len(view)):
            found = [level for level, node in enumerate(view.chain[:, block]) if drawn[node] >> group & 1]
            assert fast[group, block] == min(found, default=FAR)


@given(
    st.lists(st.lists(st.integers(0, 100) | st.just(2**30), max_size=60), max_size=5),
)
def test_word_densities(lengths: list[list[int]]) -> None:
    """Of words of any length."""
    none = np.zeros(len(lengths), dtype=np.int32)
    blocks = Blocks(
        ("",) * len(lengths), np.array([len(words) for words in lengths], dtype=np.int32), none, none, none, none, none,
        none, none.astype(np.uint8), none.astype(np.uint8),
        np.array([length for words in lengths for length in words], dtype=np.int32), ("",) * len(lengths),
    )  # fmt: skip
    assert same(*both(lambda: word_density(blocks)))


def nodes_with(attributes: Sequence[Mapping[str, str]]) -> Nodes:
    """As many paragraphs side by side."""
    column = np.ones(len(attributes), dtype=np.int32)
    return Nodes(
        ("#text", "p"), column, column, column, column, column.astype(np.uint8), attributes, ("",) * len(attributes)
    )


def test_attributes_of_any_mapping() -> None:
    """Read-only mappings as well as dicts, and sets that are none yet; None is no value."""
    given: list[Any] = [None, {"class": "a", "id": "a"}, MappingProxyType({"class": "b", "role": "a"}), {"class": None}]
    pairs = b"class\0a\0id\0\xc3\xa9\0class\0b\0"
    ends = np.array([0, 0, 0, 0, len(pairs)])
    lazy = Attributes(np.array([1, 2, 3, 0, 4, 4], dtype=np.int32), [*given, None], pairs, ends)
    expected = ("", "a", "b", "é")
    for attributes in (lazy, list(lazy), tuple(lazy)):
        fast, slow = both(lambda held=attributes: numbered(nodes_with(held), np.arange(5)))  # type: ignore[misc]
        assert fast.values == slow.values == expected
        assert same((fast.of, fast.holders), (slow.of, slow.holders))
        assert fast.of["id"].tolist() == [1, 0, 0, 0, 3, 0, 0]
        assert fast.of["class"].tolist() == [1, 2, 0, 0, 2, 0, 0]


@pytest.mark.parametrize("pairs", [b"class\0", b"class\0a", b"class\0\xff\0", b"class"])
@pytest.mark.parametrize("ends", [[0, 7], [0, 6], [0, 9], [0, -1], [7, 0], [0], []])
def test_sets_of_attributes_that_are_none(pairs: bytes, ends: list[int]) -> None:
    """They are refused, unless they end behind a name: its value is then what follows, and all of it is there."""
    held = Attributes(np.array([1], dtype=np.int32), [None] * len(ends), pairs, np.array(ends, dtype=np.int64))
    nodes, chosen = nodes_with(held), np.zeros(1, dtype=np.int64)
    if ends != [0, 6] or pairs not in {b"class\0", b"class\0a"}:
        with pytest.raises((IndexError, ValueError)):
            numbered(nodes, chosen)
        return
    found = numbered(nodes, chosen)
    assert found.values == (("", "a") if pairs.endswith(b"a") else ("",))
    assert found.of["class"].tolist() == [len(found.values) - 1, 0]


def likenesses(view: View) -> dict[str, Any]:
    """What blocks have in common with the title, as the matrix will hold it."""
    return {name: values.astype(np.float32) for name, values in resemblance(view).items()}


def test_thousands_of_words_in_a_short_block() -> None:
    """They are counted as one at a time."""
    many = "-".join(f"w{number}" for number in range(20_000))
    view = View(blockml.parse(f"<title>cat w7</title><p>{many}<p>cat {many}"))
    fast, slow = both(lambda: likenesses(view))
    assert same(fast, slow)
    assert fast["oftitle"].tolist() == [0.5, 1]


def colliding(n_slots: int) -> list[str]:
    """Words of four letters that hash to the same slot (FNV-1a)."""
    letters = np.array(np.meshgrid(*[np.arange(97, 123, dtype=np.uint64)] * 4)).reshape(4, -1)
    hashes = np.full(letters.shape[1], 0xCBF29CE484222325, dtype=np.uint64)
    for letter in letters:
        hashes = (hashes ^ letter) * np.uint64(0x100000001B3)
    chosen = ((hashes ^ hashes >> np.uint64(32)) & np.uint64(n_slots - 1)) == 7
    return ["".join(map(chr, word)) for word in letters[:, chosen].T.tolist()]


def test_words_made_up_to_collide() -> None:
    """They cost more, and nothing else."""
    words = colliding(1024)
    assert len(words) > 200
    text = "-".join(words[:120] * 2)
    view = View(blockml.parse(f"<title>{words[3]} cat</title><p>{text}<p>{text}-cat"))
    fast, slow = both(lambda: likenesses(view))
    assert same(fast, slow)
    assert fast["oftitle"].tolist() == [0.5, 1]


ZEROS, ONES, LONGS = np.zeros(2, np.int32), np.ones(2, np.int32), np.zeros(5, np.int64)
#: Arguments of ``bags_above``, for four blocks and one node: of which each is wrong in its place.
WRONG: list[tuple[int, Any]] = [
    (0, np.array([0, 99, -2, 1] * 4)),
    (1, ONES[:1]),
    (1, ZEROS),
    (2, ONES.repeat(4)),
    (2, ZEROS),
    (3, np.zeros(0, np.uint32)),
    (4, [""]),
    (6, 64),
    (11, LONGS[:3]),
    (12, LONGS[:4]),
]


def bags_with(place: int, argument: object) -> object:
    """Bags with one argument replaced."""
    tag_sums = np.zeros(1, np.uint32)
    arguments: list[Any] = [LONGS[:1].repeat(16), ZEROS[:1], ZEROS.repeat(4), tag_sums, ("",), bytes, 8, 32, 2, 1, 1]
    arguments += [LONGS.copy(), LONGS.copy()]
    arguments[place] = argument
    assert kernel.compiled is not None
    return kernel.compiled.bags_above(*arguments)


def test_wrong_arrays_are_refused() -> None:
    """Nothing is read or written beyond an array."""
    longs, few = np.zeros(4, dtype=np.int64), np.zeros(1, dtype=np.uint64)
    outside = np.array([0, 99, -2, 1])
    calls: list[Callable[[], object]] = [
        lambda: compiled().text_keys(["a"], longs.view(np.uint64)),
        lambda: compiled().ranked(longs.view(np.uint64), longs.copy(), longs[:1].copy(), longs.copy()),
        lambda: compiled().class_counts(np.zeros(2, np.uint8), outside, np.ones(1, np.uint8), np.zeros(4)),
        lambda: compiled().numbered(ZEROS, [None], b"", LONGS[:1], ("a",), LONGS[:1], {}, ZEROS),
        lambda: compiled().numbered(ZEROS, [None], b"", LONGS[:1], ("a",), LONGS[:1] + 2, {}, ZEROS.repeat(2)),
        lambda: compiled().numbered(ONES, [None], b"", LONGS[:1], ("a",), LONGS[:1], {}, ZEROS.repeat(2)),
        lambda: compiled().numbered(ZEROS, [], b"", LONGS[:1], ("a",), LONGS[:1], {}, ZEROS.repeat(2)),
        lambda: compiled().line_densities(np.ones(1, np.int32), np.full(1, 2, np.int32), 80, np.zeros(1, np.float32)),
        lambda: compiled().keyword_bits(["a"], few.view(np.uint8), few.view(np.int16), few.view(np.int8), few, longs),
        *[lambda place=place, array=array: bags_with(place, array) for place, array in WRONG],
    ]
    for call in calls:
        with pytest.raises((IndexError, TypeError, ValueError)):
            call()


#: A page of two elements and a text, of one block; and what no tree is.
A_TREE: dict[str, Any] = {
    "n_tags": 2, "tag": [1, 1, 0], "parent": [-1, 0, 1], "depth": [0, 1, 2], "end": [3, 3, 3], "holder": [1],
    "first": [2], "chain": (32, 1), "reached": (3,), "started": (4,),
}  # fmt: skip
NO_TREES: list[tuple[str, Any]] = [
    ("n_tags", 1), ("n_tags", -1), ("n_tags", 2**40), ("tag", [1, -1, 0]), ("tag", [1]), ("parent", [0, 0, 1]),
    ("parent", [-1, -2, 1]), ("parent", [-1, 2, 1]), ("depth", [0]), ("end", [4, 3, 3]), ("end", [-1, 3, 3]),
    ("holder", [3]), ("holder", [-2]), ("holder", []), ("first", [3]), ("first", [-1]), ("first", [2, 2]),
    ("chain", (0, 1)), ("reached", (2,)), ("started", (3,)),
]  # fmt: skip


def a_tree(**changes: object) -> tuple[object, int, int]:
    """What the kernel makes of these columns."""
    given = A_TREE | changes
    columns: list[Any] = [
        held
        if name == "n_tags"
        else np.full(held, -7)
        if name in ("chain", "reached", "started")
        else np.array(held, dtype=np.int32)
        for name, held in given.items()
    ]
    return compiled().tree_above(*columns)


@pytest.mark.parametrize(("name", "wrong"), NO_TREES)
def test_what_is_no_tree_is_refused(name: str, wrong: object) -> None:
    """Whoever takes a tree trusts all its numbers."""
    assert a_tree()[1:] == (2, 2)
    assert a_tree(chain=(1, 1))[1:] == (1, 1)
    with pytest.raises((IndexError, ValueError)):
        a_tree(**{name: wrong})


def test_only_trees_are_taken_for_trees() -> None:
    """Not other objects, nor capsules of others."""
    longs, rows = np.zeros(3, np.int64), np.zeros((20, 1), np.float32)
    rest = longs, longs, np.zeros(1, np.uint8), np.zeros(3, np.uint8), 99.0, rows
    compiled().path_rows(a_tree()[0], *rest)
    for other in (None, "tree", dt.datetime_CAPI):
        with pytest.raises((TypeError, ValueError)):
            compiled().path_rows(other, *rest)


class Recorded:
    """The kernel, with the arguments of the first call of each function kept."""

    def __init__(self, compiled: kernel.Compiled) -> None:
        self.compiled = compiled
        self.arguments: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.compiled, name)

        def call(*arguments: Any) -> Any:
            self.arguments.setdefault(name, arguments)
            return function(*arguments)

        return call


#: Whose arguments were checked when a model was loaded, or a page parsed.
TRUSTED = {"small_trees", "tree_sums", "row_means", "nodes_builder"}


def spoilt(array: object) -> list[Any]:
    """The array too short, of other items, and full of what is no index."""
    if not isinstance(array, np.ndarray):
        return []
    found = [array.ravel()[:-1].copy(), array.ravel()[:0].copy(), np.zeros(array.shape, np.complex128)]
    if array.dtype.kind == "i" and array.dtype.itemsize > 2:  # smaller ones are tables of ours
        found += [np.full_like(array, value) for value in (-7, 2**30)]
    return found


def test_no_wrong_array_is_read_or_written_beyond_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any function that the way of a page calls: it refuses the array, or does nothing worse than be wrong."""
    assert kernel.compiled is not None
    recorded = Recorded(kernel.compiled)
    monkeypatch.setattr(kernel, "compiled", recorded)
    article = f"<article class=a><h1>Cats</h1>{'<p>Cats rule the world, and they sleep by day.' * 9}</article>"
    blockml.extract(f"<title>Cats</title><ul class=b><li>one<li><a href=x>two</a></ul>{article}")
    monkeypatch.undo()
    assert {"text_rows", "container_rows", "page_numbers", "bags_above"} < set(recorded.arguments)
    refused = 0
    for name, arguments in recorded.arguments.items():
        for place, argument in enumerate(arguments):
            if name in TRUSTED:
                continue
            for wrong in spoilt(argument):
                given = [item.copy() if isinstance(item, np.ndarray) else item for item in arguments]
                given[place] = wrong
                try:
                    getattr(kernel.compiled, name)(*given)
                except (IndexError, TypeError, ValueError):
                    refused += 1
    assert refused > 100


def test_a_small_set_leaves_the_rest_of_the_view_alone() -> None:
    """What a feature set doesn't use isn't computed."""
    view = View(blockml.parse("<div class=a><p>one two<p>three"))
    kept = set(view.__dict__)
    features.build(view.page, "kim2013", view=view)
    assert set(view.__dict__) == kept
