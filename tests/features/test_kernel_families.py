"""Compiled functions of the features against their twins in Python: the same to the last bit, whatever comes in."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml import _kernel, features
from blockml.extractors.matrix import page_matrix
from blockml.features import kernel_page, keywords
from blockml.features.ancestor_words import bags
from blockml.features.attribute_values import NAMES
from blockml.features.density import word_density
from blockml.features.factorize import factorize
from blockml.features.kernel_families import computed
from blockml.features.keywords import KEYWORDS, keyword_bits
from blockml.features.metadata import resemblance
from blockml.features.page_context import PageContext
from blockml.features.repetition import alike
from blockml.features.structure import FAR, nearest_levels
from blockml.features.vocabulary import ROLE_BITS, ROLES, called, role_bits
from blockml.model import score_page
from blockml.page import Blocks, Nodes, Page
from blockml.page.attributes import Attributes
from blockml.text.hashing import stable_hash64
from tests.strategies import messy_html

pytestmark = pytest.mark.skipif(_kernel.compiled is None, reason="needs the compiled kernel")

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


def compiled() -> _kernel.Compiled:
    """The kernel."""
    assert _kernel.compiled is not None
    return _kernel.compiled


def both(function: Callable[[], Result]) -> tuple[Result, Result]:
    """What comes out compiled, and in Python."""
    with pytest.MonkeyPatch.context() as patch:
        fast = function()
        patch.setattr(_kernel, "compiled", None)
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
    view = PageContext(page)
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
    assert same(*both(lambda: stable_hash64(iter(values))))


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 255, 256, 257, 100_000])
def test_keys_of_all_lengths(length: int) -> None:
    """Blocks of the hash have 128 bytes; the last one is special."""
    digest = hashlib.blake2b(b"x" * length, digest_size=8).digest()
    assert stable_hash64(["x" * length]).tolist() == [int.from_bytes(digest, "little")]


def page_of(nodes: Nodes) -> Page:
    """A page with a block in each node."""
    n = len(nodes)
    rows, flags = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    ones = np.ones(n, dtype=np.int32)
    blocks = Blocks(("x",) * n, ones, 0 * ones, ones, ones, rows, rows, rows, flags, flags, ones, ("p",) * n)
    return replace(blockml.parse("<p>x"), nodes=nodes, blocks=blocks)


def nodes_with(attributes: Sequence[Mapping[str, str]]) -> Nodes:
    """As many paragraphs side by side."""
    n = len(attributes)
    column = np.ones(n, dtype=np.int32)
    ends = np.arange(1, n + 1, dtype=np.int32)
    return Nodes(("#text", "p"), column, -column, 0 * column, ends, column.astype(np.uint8), attributes, ("",) * n)


def named(values: Sequence[str]) -> Page:
    """A page of one block for each value of an attribute."""
    return page_of(nodes_with([{NAMES[place % len(NAMES)]: value} for place, value in enumerate(values)]))


def levels(page: Page) -> dict[str, Any]:
    """How far above each block words of keywords and roles are."""
    return dict(computed(called, PageContext(page)))


def told(page: Page) -> tuple[Any, ...]:
    """What a page's attributes tell: words of keywords and roles, groups and bags."""
    view = PageContext(page)
    found = bags(view)
    return levels(page), alike(view), found.starts, found.buckets, found.bag


@given(st.lists(names, min_size=1, max_size=6))
def test_what_names_tell(values: list[str]) -> None:
    """Whole, and in parts. One value at a time is the third witness."""
    assert same(*both(lambda: told(named(values))))
    rows = levels(page_of(nodes_with([{"class": value} for value in values])))
    for number, group in enumerate(KEYWORDS):
        holds = [0 if keyword_bits(value) >> number & 1 else FAR for value in values]
        assert rows[f"cls{group}"].tolist() == holds


@pytest.mark.parametrize("name", ["role", "itemprop", "property"])
@given(st.lists(st.sampled_from([*ROLE_BITS, "MAIN", "main\x1fx", "x", "é", "K", "search" * 9]), max_size=4))
def test_what_roles_tell(name: str, words: list[str]) -> None:
    """Any of several words, whatever their case."""
    value = " ".join(words)
    rows = both(lambda: levels(page_of(nodes_with([{name: value}]))))
    for found in rows:
        assert [0 if role_bits(value) >> bit & 1 else FAR for bit in range(len(ROLES))] == [
            found[role][0] for role in ROLES
        ]


@pytest.mark.parametrize(
    "value", ["aB" * 5000, "a1" * 5000, "x " * 5000, "é" * 5000, "." * 5000, "A" * 511 + "bC", "\0a"]
)
def test_long_names(value: str) -> None:
    """They are cut at the same place; and many different words are all kept."""
    assert same(*both(lambda: told(named([value, value[::-1]]))))
    assert same(*both(lambda: told(named([f"{value[:9]}{number:x}" for number in range(3000)]))))


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=40))
def test_ranks(keys: list[int]) -> None:
    """Against sorting."""
    column = np.array(keys, dtype=np.uint64)
    fast, slow = both(lambda: factorize(column))
    assert same(fast, slow)
    order, starts, which = (found.tolist() for found in fast)
    assert order == sorted(range(len(keys)), key=lambda place: keys[place])
    assert which == [sorted(set(keys)).index(key) for key in keys]
    assert [order[start] for start in starts] == [keys.index(key) for key in sorted(set(keys))]


@pytest.mark.parametrize("step", [1, pow(0x9E3779B97F4A7C15, -1, 2**64)])  # the other one's products are small numbers
def test_ranks_of_keys_that_share_a_hash(step: int) -> None:
    """They are sorted."""
    column = np.arange(3000, dtype=np.uint64).repeat(2) * np.uint64(step)
    assert same(*both(lambda: factorize(column)))


def test_ranks_of_keys_that_differ_in_lower_bits() -> None:
    """They fall, and a single one far off makes the upper bits look worth sorting by."""
    column = np.append(np.arange(3000, 0, -1, dtype=np.uint64), np.uint64(2**60))
    assert same(*both(lambda: factorize(column)))


@given(html=messy_html, data=st.data())
def test_levels_to_any_group(html: str, data: st.DataObject) -> None:
    """Up to 64 of them, and of what is no node."""
    view = PageContext(blockml.parse(html))
    if not len(view):
        return
    n_groups = data.draw(st.sampled_from([1, 2, 44, 63, 64]))
    size = len(view.nodes) + 1
    drawn = data.draw(st.lists(st.integers(0, 2**n_groups - 1), min_size=size, max_size=size))
    bits = np.array(drawn, dtype=np.uint64)

    found_levels = np.empty((n_groups, len(view)), dtype=np.float32)
    nearest_levels(view, bits, found_levels)
    for group in (0, n_groups - 1):
        for block in range(len(view)):
            found = [level for level, node in enumerate(view.chain[:, block]) if drawn[node] >> group & 1]
            assert found_levels[group, block] == min(found, default=FAR)


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


def test_attributes_of_any_mapping() -> None:
    """Read-only mappings as well as dicts, and sets that are none yet; None is no value."""
    given: list[Any] = [
        None, {"class": "nav", "id": "nav"}, MappingProxyType({"class": "foot", "role": "nav"}), {"class": None},
    ]  # fmt: skip
    pairs = b"class\0nav\0id\0\xc3\xa9\0class\0foot\0"
    ends = np.array([0, 0, 0, 0, len(pairs)])
    lazy = Attributes(np.array([1, 2, 3, 0, 4, 4], dtype=np.int32), [*given, None], pairs, ends)
    for attributes in (lazy, list(lazy), tuple(lazy)):
        page = page_of(nodes_with(attributes))
        fast, slow = both(lambda page=page: told(page))  # type: ignore[misc]
        assert same(fast, slow)
        rows = levels(page)
        assert rows["clsnavigation"].tolist() == [0, FAR, FAR, FAR, FAR, FAR]
        assert rows["clsfoot"].tolist() == [FAR, 0, FAR, FAR, 0, 0]
        names = PageContext(page).names
        assert names.values == ("", "nav", "foot", "é")
        assert names.of["id"].tolist() == [1, 0, 0, 0, 3, 3, 0]


@pytest.mark.parametrize("sign", ["", " ", "-", "  ", "\t", "_x"])
def test_names_that_end_anywhere(sign: str) -> None:
    """Characters are looked at 64 at a time, and 512 at most."""
    values = [
        f"{'x' * length}{part}{sign}{part}{sign}{'y' * 9}"
        for length in (*range(10), *range(54, 68), *range(120, 130), *range(500, 515))
        for part in ("Nav", "nav7", "NAV", "7")
    ]
    assert same(*both(lambda: told(named(values))))
    assert same(*both(lambda: told(named([f"navX{sign}" * number for number in (8, 9, 32, 33, 40, 200)]))))


def values_sharing_a_slot(n_slots: int) -> list[str]:
    """Values of four letters whose hashes are the same by this number."""
    letters = np.array(np.meshgrid(*[np.arange(97, 123, dtype=np.uint64)] * 4)).reshape(4, -1)
    word = sum((letter << np.uint64(8 * place) for place, letter in enumerate(letters)), np.uint64(0))
    hashes = (np.uint64(4) ^ word << np.uint64(32) ^ word) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
    return ["".join(map(chr, found)) for found in letters[:, hashes % np.uint64(n_slots) == 7].T.tolist()]


def test_values_made_up_to_collide() -> None:
    """They cost more, and nothing else."""
    values = values_sharing_a_slot(2048)[:150]
    assert len(values) == 150
    page = blockml.parse("".join(f"<p class={value} id=main>one" for value in [*values, *values]))
    fast, slow = both(lambda: told(page))
    assert same(fast, slow)


def names_sharing_a_slot(tags: tuple[str, ...], n_values: int, n_slots: int) -> list[tuple[int, int]]:
    """Numbers of a class and an id of a paragraph in a body whose hashes are the same by this number."""
    prime, factor, shift = np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15), np.uint64(32)

    def node(tag: int, *numbers: Any) -> Any:
        found: Any = np.uint64(0xCBF29CE484222325)
        for number in (tag, *numbers):
            found = (found ^ np.asarray(number, dtype=np.uint64)) * prime
        return found ^ found >> shift

    of_class, of_id = np.meshgrid(*[np.arange(1, n_values + 1)] * 2)
    with np.errstate(over="ignore"):
        hashes = node(tags.index("p"), of_class.ravel(), 0, of_id.ravel(), 0) * factor
        for tag in (tags.index("body"), tags.index("html"), len(tags)):
            hashes = (hashes ^ node(tag, 0, 0, 0, 0)) * factor
    chosen = np.flatnonzero(hashes >> shift & np.uint64(n_slots - 1) == 7)
    return list(zip(of_class.ravel()[chosen].tolist(), of_id.ravel()[chosen].tolist(), strict=True))


def test_names_made_up_to_collide() -> None:
    """Blocks below such elements cost more, and nothing else."""
    every = "".join(f"<p class=v{number}>x" for number in range(1, 601))
    pairs = names_sharing_a_slot(("#text", "html", "head", "body", "p"), 600, 2048)[:150]
    assert len(pairs) == 150
    some = "".join(f"<p class=v{one} id=v{other}>x" for one, other in pairs)
    page = blockml.parse(f"<body>{every}{some}<ul><li>x</ul>{some}", backend="lxml")
    assert page.nodes.names[:5] == ("#text", "html", "head", "body", "p")
    fast, slow = both(lambda: told(page))
    assert same(fast, slow)
    assert fast[-1].max() == 600 + 150


def test_values_of_attributes_are_texts() -> None:
    """Whoever makes a page by hand is told."""
    page = page_of(nodes_with([{}, {"role": b"main"}]))  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        computed(called, PageContext(page))


@pytest.mark.parametrize("pairs", [b"class\0", b"class\0nav", b"class\0\xff\0", b"class"])
@pytest.mark.parametrize("ends", [[0, 7], [0, 6], [0, 12], [0, -1], [7, 0], [0], []])
def test_sets_of_attributes_that_are_none(pairs: bytes, ends: list[int]) -> None:
    """They are refused, unless they end behind a name: its value is then what follows, and all of it is there."""
    held = Attributes(np.array([1], dtype=np.int32), [None] * len(ends), pairs, np.array(ends, dtype=np.int64))
    view = PageContext(page_of(nodes_with(held)))
    if ends != [0, 6] or pairs not in {b"class\0", b"class\0nav"}:
        with pytest.raises((IndexError, ValueError)):
            computed(called, view)
        return
    assert levels(view.page)["clsnavigation"].tolist() == [0 if pairs.endswith(b"nav") else FAR]


def likenesses(page: Page) -> dict[str, Any]:
    """What blocks have in common with the title, as the matrix will hold it."""
    return {name: np.float32(values) for name, values in computed(resemblance, PageContext(page)).items()}


def test_thousands_of_words_in_a_short_block() -> None:
    """They are counted as one at a time."""
    many = "-".join(f"w{number}" for number in range(20_000))
    page = blockml.parse(f"<title>cat w7</title><p>{many}<p>cat {many}")
    fast, slow = both(lambda: likenesses(page))
    assert same(fast, slow)
    assert fast["oftitle"].tolist() == [0.5, 1]


FACTOR = np.uint64(0x9E3779B97F4A7C15)


def hashed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What the kernel makes of eight bytes of a word."""
    product = words * FACTOR
    return product ^ product >> np.uint64(32)


def colliding(n_slots: int) -> list[str]:
    """Words of four letters that hash to the same slot."""
    letters = np.array(np.meshgrid(*[np.arange(97, 123, dtype=np.uint64)] * 4)).reshape(4, -1)
    words = (letters << np.array([[0], [8], [16], [24]], dtype=np.uint64)).sum(axis=0, dtype=np.uint64)
    chosen = (hashed(words) * FACTOR >> np.uint64(32) & np.uint64(n_slots - 1)) == 7
    return ["".join(map(chr, word)) for word in letters[:, chosen].T.tolist()]


def test_words_made_up_to_collide() -> None:
    """They cost more, and nothing else."""
    words = colliding(1024)
    assert len(words) > 200
    text = "-".join(words[:120] * 2)
    page = blockml.parse(f"<title>{words[3]} cat</title><p>{text}<p>{text}-cat")
    fast, slow = both(lambda: likenesses(page))
    assert same(fast, slow)
    assert fast["oftitle"].tolist() == [0.5, 1]


def of_one_hash() -> tuple[str, str]:
    """Two words of sixteen letters: the second eight undo what the hashes of the first eight differ by."""
    begins = np.random.default_rng(1).integers(97, 123, (20_000, 8)).astype(np.uint8)
    hashes = hashed(begins.view("<u8").ravel().astype(np.uint64))
    rough = hashes & np.uint64(0xE0E0E0E0E0E0E0E0)  # letters differ in the lower five bits
    order = np.argsort(rough)
    first = int(np.flatnonzero(np.diff(rough[order]) == 0)[0])
    one, other = order[first : first + 2].tolist()
    pairs = {a ^ b: (a, b) for a in range(97, 123) for b in range(97, 123)}
    ends = [pairs[byte] for byte in int(hashes[one] ^ hashes[other]).to_bytes(8, "little")]
    return tuple(  # type: ignore[return-value]
        (bytes(begins[word]) + bytes(pair[k] for pair in ends)).decode() for k, word in enumerate((one, other))
    )


def test_words_of_one_hash() -> None:
    """They are two all the same."""
    one, other = of_one_hash()
    assert one != other
    for title in (one, f"{one} {other}", f"{other} cat"):
        page = blockml.parse(f"<title>{title}</title><p>{one} x<p>{other} x<p>{other} {one} x<p>cat x")
        fast, slow = both(lambda page=page: likenesses(page))  # type: ignore[misc]
        assert same(fast, slow)
        assert fast["oftitle"].any()


def test_wrong_arrays_are_refused() -> None:
    """Nothing is read or written beyond an array."""
    longs = np.zeros(4, dtype=np.int64)
    calls: list[Callable[[], object]] = [
        lambda: compiled().stable_hash64(["a"], longs.view(np.uint64)),
        lambda: compiled().factorize(longs.view(np.uint64), longs.copy(), longs[:1].copy(), longs.copy()),
        lambda: compiled().line_densities(np.ones(1, np.int32), np.full(1, 2, np.int32), 80, np.zeros(1, np.float32)),
    ]
    for call in calls:
        with pytest.raises((IndexError, TypeError, ValueError)):
            call()


#: A page of two elements and a text, of one block; and what no tree is.
A_TREE: dict[str, Any] = {
    "reach": 32, "names": ("#text", "p"), "texts": ("x",), "given": [None, {"class": "a"}], "pairs": b"",
    "tag": [1, 1, 0], "parent": [-1, 0, 1], "depth": [0, 1, 2], "end": [3, 3, 3], "number": [0, 1, 0], "holder": [1],
    "first": [2], "flags": [0], "ends": [0, 0], "n_words": [1], "n_linked": [0],
}  # fmt: skip
NO_TREES: list[tuple[str, Any]] = [
    ("reach", 0), ("reach", -1), ("reach", 2**40), ("names", ("p",)), ("names", ()), ("names", (1, 2)),
    ("names", ["#text", "p"]), ("texts", ()), ("texts", ("x", "y")), ("texts", (b"x",)), ("texts", ["x"]),
    ("given", [None]), ("given", []), ("given", (None, None)), ("pairs", "x"),
    ("tag", [1, -1, 0]), ("tag", [1, 2, 0]), ("tag", [1]), ("parent", [0, 0, 1]), ("parent", [-1, -2, 1]),
    ("parent", [-1, 2, 1]), ("parent", [-1]), ("depth", [0]), ("end", [4, 3, 3]), ("end", [-1, 3, 3]), ("end", [3]),
    ("number", [0, 2, 0]), ("number", [0, -1, 0]), ("number", [0]), ("holder", [3]), ("holder", [-2]), ("holder", []),
    ("first", [3]), ("first", [-1]), ("first", [2, 2]), ("flags", [0, 0]), ("flags", []), ("ends", [0]), ("ends", []),
    ("ends", [0, 1]), ("ends", [1, 0]), ("ends", [0, -1]), ("n_words", [1, 0]), ("n_words", []), ("n_linked", [1, 0]),
]  # fmt: skip
TYPES = {"flags": np.uint8, "ends": np.int64}


def a_tree(**changes: object) -> object:
    """What the kernel makes of these columns."""
    whole = {"names", "texts", "given", "pairs"}
    arguments: list[Any] = [
        held if name in whole or not isinstance(held, list) else np.array(held, TYPES.get(name, np.int32))
        for name, held in (A_TREE | changes).items()
    ]
    return compiled().page_tree(*arguments)


def no_address(address: str) -> tuple[float, ...]:
    """Not called."""
    raise AssertionError(address)


@pytest.mark.parametrize(("name", "wrong"), NO_TREES)
def test_what_is_no_tree_is_refused(name: str, wrong: object) -> None:
    """Whoever takes a tree trusts all its numbers."""
    told = compiled().page_claims(a_tree(), "x", b"", {}, 0, b"", no_address)
    assert told == ("x ", "", (-1, 0, 0))
    with pytest.raises((IndexError, TypeError, ValueError)):
        a_tree(**{name: wrong})


class Recorded:
    """The kernel, with the arguments of the first call of each function kept."""

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
    """Arguments of each function that the way of a page calls, in one go or step by step."""
    found = Recorded(compiled())
    monkeypatch.setattr(_kernel, "compiled", found)
    monkeypatch.setattr(kernel_page, "_made", None)
    model = blockml.load("default").model
    score_page(model, page_matrix(blockml.parse(html), model.features))
    blockml.extract(html)
    monkeypatch.undo()
    return found.arguments


def test_only_trees_names_and_tables_are_taken_for_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not other objects, nor capsules of others; and names are those of the tree."""
    calls = recorded(monkeypatch, "<title>x</title><p class=a>one two")
    others: list[Any] = ["tree", dt.datetime_CAPI, *calls["page_rows"][:3], a_tree()]
    for name in ("page_names", "page_groups", "page_claims", "page_rows", "page_bags"):
        function, arguments = getattr(compiled(), name), calls[name]
        for place, taken in enumerate(arguments):
            if type(taken) is not type(dt.datetime_CAPI):
                continue
            function(*arguments)
            for other in others:
                alone = sum(type(held) is type(taken) for held in arguments) == 1 or name == "page_names"
                if other is taken or (other is others[-1] and alone):  # another tree, and nothing that is of one
                    continue
                with pytest.raises((TypeError, ValueError)):
                    function(*[*arguments[:place], other, *arguments[place + 1 :]])


@pytest.mark.parametrize(
    "step",
    [
        (-2, 0, 19, 0, 0), (13, 0, 19, 0, 0), (0, 0, 18, 0, 0), (0, 0, 20, 0, 0), (0, 1, 19, 0, 0), (0, -1, 19, 0, 0),
        (0, 2**62, 19, 0, 0), (0, 0, -1, 0, 0), (5, 0, 19, 0, 0), (11, 0, 4, 0, 0), (12, 0, 19, 0, 0),
        (-1, 19, 0, 1, 0), (-1, 0, 19, 1, 0), (-1, -1, 0, 1, 0), (-1, 0, -1, 1, 0),
    ],
)  # fmt: skip
def test_steps_beyond_the_matrix_are_refused(monkeypatch: pytest.MonkeyPatch, step: tuple[int, ...]) -> None:
    """So are unknown families, other numbers of rows, and such that need what is not given."""
    tree, _, tables, *_ = recorded(monkeypatch, "<p>one two")["page_rows"]
    rows = np.zeros((19, 1), dtype=np.float32)
    for offset in (-(2**63), -1, 1, 2**63 - 1):
        compiled().page_rows(tree, None, tables, None, np.array([[-1, 1, 0, offset, 7]]), rows)
        assert rows[1] == 7
    with pytest.raises(ValueError, match="no such"):
        compiled().page_rows(tree, None, tables, None, np.array([step]), rows)


#: Tables of which each is wrong in its place.
NO_TABLES: list[tuple[int, Any]] = [
    *[(place, np.zeros(3, np.complex128)) for place in range(15)],
    *[(place, np.zeros(1, dtype))
      for place, dtype in enumerate("BBBBqBBbdqqqqBq") if place not in {8, 9, 10, 11, 13}],
    (4, np.zeros(0, np.int64)), (5, keywords.words()[0][1:].copy()), (6, keywords.words()[1][::-1].copy()),
    (6, np.clip(keywords.words()[1], 0, 2)), (7, keywords.words()[2] + np.int8(60)),
    (7, keywords.words()[2] - np.int8(1)), (8, np.zeros(2)), (12, np.array([-1, 3])),
    (14, np.array([99, 40, 60, 30, 0, 65, 1, 1])),
    (14, np.array([99, 40, 60, 30, 0, 1, 60, 9])),
]  # fmt: skip


def test_wrong_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also such that someone may change."""
    arrays, *rest = recorded(monkeypatch, "<p>one")["held_tables"]
    compiled().held_tables(arrays, *rest)
    for place, wrong in NO_TABLES:
        wrong.flags.writeable = False
        with pytest.raises((TypeError, ValueError)):
            compiled().held_tables((*arrays[:place], wrong, *arrays[place + 1 :]), *rest)
    for place, array in enumerate(arrays):
        with pytest.raises(ValueError, match="can be written"):
            compiled().held_tables((*arrays[:place], array.copy(), *arrays[place + 1 :]), *rest)
    few: list[Any] = [arrays[:-1], (), list(arrays)]
    for some in few:
        with pytest.raises((IndexError, TypeError)):
            compiled().held_tables(some, *rest)


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
    article = f"<article class=a><h1>Cats</h1>{'<p>Cats rule the world, and they sleep by day.' * 9}</article>"
    html = f"<title>Cats</title><ul class=b><li>one<li><a href=x>two</a></ul>{article}"
    calls = recorded(monkeypatch, html)
    assert {"page_tree", "page_rows", "page_bags", "word_amounts"} < set(calls)
    refused = 0
    for name, arguments in calls.items():
        for place, argument in enumerate(arguments):
            if name in TRUSTED:
                continue
            for wrong in spoilt(argument):
                given = [item.copy() if isinstance(item, np.ndarray) else item for item in arguments]
                given[place] = wrong
                try:
                    getattr(compiled(), name)(*given)
                except (IndexError, TypeError, ValueError):
                    refused += 1
    assert refused > 100


def test_a_small_set_leaves_the_rest_of_the_view_alone() -> None:
    """What a feature set doesn't use isn't computed."""
    view = PageContext(blockml.parse("<div class=a><p>one two<p>three"))
    kept = set(view.__dict__)
    features.build(view.page, "kim2013", view=view)
    assert set(view.__dict__) == kept
