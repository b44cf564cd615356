"""Feature matrices: the vectors of the paper, edge cases, and slow implementations."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml import features
from blockml.errors import UnknownNameError, UsageError
from blockml.features import COLUMNS, FEATURE_SETS, FeatureSet, describe_columns
from blockml.features.kim2013 import PARENT_VALUES
from blockml.features.page_context import PageContext
from blockml.page import Blocks, Page
from blockml.parsing import BACKENDS
from tests.parsing.test_lines import EXAMPLE
from tests.refined import refined_lines
from tests.strategies import is_dropped, messy_html

OFFSETS = ("m2", "m1", "0", "p1", "p2")
FIVE = ("wd", "ld", "parent", "distprev", "distnext")


def computed(name: str, blocks: Blocks) -> NDArray[np.float32]:
    """Return the values of a base column that is computed from blocks."""
    compute = COLUMNS[name].compute
    assert compute is not None
    return compute(blocks)


def vector(page: Page, block: int) -> list[object]:
    """Return the 25 attributes of a block, with the parent's name instead of its code."""
    row: list[object] = features.matrix(page).values[block].tolist()
    for column in range(2, 25, 5):
        row[column] = PARENT_VALUES[int(str(row[column]).removesuffix(".0"))]
    return [round(value, 6) if isinstance(value, float) else value for value in row]


def column(html: str, name: str) -> list[float]:
    """Return one base column of a page."""
    values: list[float] = computed(name, blockml.parse(html).blocks).tolist()
    return values


@pytest.mark.parametrize(
    ("n", "density"), [(5, 5), (15, 15), (16, 16), (17, 16), (20, 16), (32, 16), (33, 16), (100, 16)]
)
def test_density_of_words_of_four_letters(n: int, density: float) -> None:
    """Sixteen words of four letters fill a line of 80 characters, and the last line doesn't count."""
    assert column("<p>" + "word " * n, "wd") == [density]


@pytest.mark.parametrize(("n", "density"), [(40, 40), (41, 40), (81, 40)])
def test_density_of_words_of_one_letter(n: int, density: float) -> None:
    """Forty words of one letter fill a line of 80 characters."""
    assert column("<p>" + "a " * n, "wd") == [density]


def test_density_of_a_sentence() -> None:
    """The density of a sentence of more than one line is the number of words on its full lines."""
    text = "The quick brown fox jumps over the lazy dog and then it goes back home to sleep for a while before dinner"
    assert column(f"<p>{text}</p>", "wd") == [17]


@pytest.mark.parametrize(
    ("n", "density"), [(0, 0), (1, 1), (20, 20), (80, 80), (81, 40.5), (100, 50), (160, 80), (161, 161 / 3)]
)
def test_density_by_lines_of_80_words(n: int, density: float) -> None:
    """Read literally, the density is n / ceil(n / 80)."""
    assert column("<p>*" + " word" * n, "wd80w") == pytest.approx([density])


@pytest.mark.parametrize(
    ("text", "density"),
    [
        ("no end of a sentence", 5),
        ("One two. Three four five six.", 3),
        ("One two! Three? Four…", 4 / 3),
        ("Version 2.5 is out... really", 2.5),
        ("One two. Three four", 2),
        ("ждём. 你好。 再见。", 1),
        ("**", 0),
    ],
)
def test_words_per_sentence(text: str, density: float) -> None:
    """A sentence ends at its mark before white space, and the text after the last mark is a sentence too."""
    assert column(f"<p>{text}</p>", "wdsent") == pytest.approx([density])


@pytest.mark.timeout(5)
def test_time_is_linear_for_runs_of_punctuation() -> None:
    """A row of dots, as in tables of contents, is scanned once."""
    assert column("<p>" + "." * 50_000 + "a", "wdsent") == [1]


@pytest.mark.parametrize("length", [79, 80, 81, 200])
def test_word_longer_than_a_line(length: int) -> None:
    """Boilerpipe wraps before a word that is longer than a line, so it is on the last line, which doesn't count."""
    word = "x" * length
    assert column(f"<p>{word}</p>", "wd") == [1 if length <= 80 else 0]
    assert column(f"<p>{word} {word}</p>", "wd") == [1 if length <= 80 else 0.5]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_link_density(backend: str) -> None:
    """Link density is the share of linked words, and 0 for blocks without words."""
    page = blockml.parse(EXAMPLE, backend=backend)
    assert computed("ld", page.blocks).tolist() == pytest.approx([1, 1, 0, 0.2, 0, 0])
    assert column("<a>*</a>", "ld") == [0]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_distances(backend: str) -> None:
    """Distances are the numbers of lines strictly between blocks, and 0 at the ends."""
    page = blockml.parse(EXAMPLE, backend=backend)
    assert computed("distprev", page.blocks).tolist() == [0, 4, 4, 2, 2, 1]
    assert computed("distnext", page.blocks).tolist() == [4, 4, 2, 2, 1, 0]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_whole_vectors(backend: str) -> None:
    """The first and the fourth block of the worked example have the expected 25 attributes."""
    page = blockml.parse(EXAMPLE, backend=backend)
    nothing = [0, 0, "none", 0, 0]
    assert vector(page, 0) == [*nothing, *nothing, 1, 1, "a", 0, 4, 1, 1, "a", 4, 4, 2, 0, "h1", 4, 2]
    assert vector(page, 3) == [1, 1, "a", 4, 4, 2, 0, "h1", 4, 2, 5, 0.2, "p", 2, 2, 2, 0, "p", 2, 1, 2, 0, "p", 1, 0]


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_page_without_blocks(name: str) -> None:
    """A page without blocks gives a matrix with all columns and no rows."""
    matrix = features.matrix(blockml.parse(""), name).values
    assert matrix.shape == (0, len(FEATURE_SETS[name].columns))
    assert matrix.dtype == np.float32
    assert features.matrix(blockml.parse("<p></p>")).values.shape == (0, 25)


def test_one_block() -> None:
    """The neighbours of a single block are missing, and both distances are 0."""
    nothing = [0, 0, "none", 0, 0]
    assert vector(blockml.parse("<p>one two"), 0) == [*nothing, *nothing, 2, 0, "p", 0, 0, *nothing, *nothing]
    matrix = features.matrix(blockml.parse("<p>one two"), "kim2013-onehot").values
    names = FEATURE_SETS["kim2013-onehot"].columns
    assert {name: value for name, value in zip(names, matrix[0].tolist(), strict=True) if value} == {
        "parent_m2=none": 1, "parent_m1=none": 1, "wd_0": 2, "parent_0=p": 1, "parent_p1=none": 1, "parent_p2=none": 1,
    }  # fmt: skip


def test_text_without_tags() -> None:
    """The parent is the implied body, which has no separate code."""
    assert vector(blockml.parse("only text"), 0)[12] == "other"


def test_parents_of_the_paper() -> None:
    """Each tag in the paper's table has a separate code in table order, and all other tags share one."""
    assert len(PARENT_VALUES) == 24
    html = "".join(
        f"<{tag}>x</{tag}>" for tag in ("b", "blockquote", "h6", "li", "pre", "q", "div", "strong", "custom-tag")
    )
    codes = computed("parent", blockml.parse(f"<body>{html}").blocks)
    assert [PARENT_VALUES[int(code)] for code in codes] == [
        "b", "blockquote", "h6", "li", "pre", "q", "other", "other", "other",
    ]  # fmt: skip
    assert PARENT_VALUES[:22] == tuple(
        "a b blockquote br dd dl dt font h1 h2 h3 h4 h5 h6 img li ol p pre q table ul".split()
    )


@pytest.mark.parametrize("name", ["kim2014", "", "page kim2013"])
def test_unknown_feature_set(name: str) -> None:
    """The error lists all feature sets."""
    with pytest.raises(UnknownNameError) as caught:
        features.matrix(blockml.parse(""), name)
    assert set(caught.value.legal) == set(FEATURE_SETS)


# --- any page ---------------------------------------------------------------------------------------------------------


def slow_density(lengths: list[int]) -> float:
    """Compute the density by wrapping one word at a time, like boilerpipe."""
    column, n_lines, on_line = -1, 0, 0
    for length in lengths:
        column += length + 1
        if column > 80:
            n_lines += 1
            column = length
            on_line = 1
        else:
            on_line += 1
    return (len(lengths) - on_line) / n_lines if n_lines else len(lengths)


word_lengths = st.lists(
    st.one_of(st.integers(1, 12), st.integers(70, 90), st.just(80), st.integers(150, 170)), max_size=60
)


@given(st.lists(word_lengths, max_size=5))
def test_word_density_equals_the_slow_loop(blocks: list[list[int]]) -> None:
    """Bisection over running widths gives the same density as wrapping one word at a time."""
    html = "".join("<p>*" + "".join(" " + "w" * length for length in lengths) + "</p>" for lengths in blocks)
    assert column(html, "wd") == pytest.approx([slow_density(lengths) for lengths in blocks], rel=1e-6)


#: Sets whose columns are all computed from blocks.
OF_BLOCKS = sorted(
    name
    for name, chosen in FEATURE_SETS.items()
    if all(COLUMNS[column.partition("_")[0]].compute for column in chosen.columns)
)


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@pytest.mark.parametrize("name", OF_BLOCKS)
@settings(max_examples=25)
@given(html=messy_html, profile=st.sampled_from(["anchor", "boilerpipe"]), keep_wordless=st.booleans())
def test_matrices_are_consistent_with_the_catalogue(
    backend: str,
    name: str,
    html: str,
    profile: str,
    keep_wordless: bool,  # noqa: FBT001
) -> None:
    """Values are finite, in the declared range, and equal to those looked up for each neighbour."""
    page = blockml.parse(html, backend=backend, profile=profile, keep_wordless=keep_wordless)
    matrix = features.matrix(page, name).values
    columns = FEATURE_SETS[name].columns
    assert matrix.shape == (len(page.blocks), len(columns))
    assert matrix.dtype == np.float32
    assert np.isfinite(matrix).all()
    rows = describe_columns(columns)
    assert (matrix >= np.array([row["low"] for row in rows], dtype=np.float64)).all()
    assert (matrix <= np.array([row["high"] for row in rows], dtype=np.float64)).all()
    bases = {base: column.compute(page.blocks).tolist() for base, column in COLUMNS.items() if column.compute}
    for position, written in enumerate(columns):
        base, _, rest = written.partition("_")
        offset_name, _, value = rest.partition("=")
        offset = OFFSETS.index(offset_name) - 2
        for block in range(len(page.blocks)):
            neighbour = block + offset
            inside = 0 <= neighbour < len(page.blocks)
            expected = bases[base][neighbour] if inside else COLUMNS[base].empty
            if value:
                expected = float(PARENT_VALUES[int(expected)] == value)
            assert matrix[block, position] == expected


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@given(html=messy_html)
def test_distances_are_lines_strictly_between(backend: str, html: str) -> None:
    """Neighbouring blocks have a distance of at least 1, unless only a dropped element separates them."""
    page = blockml.parse(html, backend=backend)
    blocks = page.blocks
    before, after = computed("distprev", blocks), computed("distnext", blocks)
    lines = refined_lines(page.nodes)
    for i in range(1, len(blocks)):
        between = [line for line in lines if blocks[i - 1].last_line < line.number < blocks[i].first_line]
        assert before[i] == after[i - 1] == len(between)
        pruned = any(is_dropped(page.nodes, node) for node in range(blocks[i - 1].last_node, blocks[i].node))
        assert between or pruned
    if len(blocks):
        assert before[0] == after[-1] == 0


def test_a_removed_script_does_not_increase_the_distance() -> None:
    """A removed script separates blocks, but isn't a line."""
    assert column("<body>a<script></script>b", "distprev")[1] == 0


def test_page_features_of_neighbours() -> None:
    """Page features have the page's value for existing neighbours, and 0 beyond the ends."""
    page = blockml.parse("<p>one<p>two<p>three<p>four")
    names = tuple([f"pageblocks_{offset}" for offset in ("m1", "0", "p1", "p2")])
    found = features.matrix(page, FeatureSet("made", 1, names, "made up")).values
    assert found.T.tolist() == [[0, 4, 4, 4], [4] * 4, [4, 4, 4, 0], [4, 4, 0, 0]]


def test_threads_may_share_a_page_context() -> None:
    """Threads that share a context compute the same matrix, and an error leaves no state behind."""
    page = blockml.parse("<ul class=a>" + "<li><p>one two <a href=x>three</a>" * 40)
    expected, view = features.matrix(page, "page").values.tobytes(), PageContext(page)
    with pytest.raises(UsageError):
        features.matrix(page, FeatureSet("made", 1, ("words_0", "sitepages_0"), "made up"), context=view)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: features.matrix(page, "page", context=view).values.tobytes(), range(60)))
    finally:
        sys.setswitchinterval(before)
    assert set(found) == {expected}
