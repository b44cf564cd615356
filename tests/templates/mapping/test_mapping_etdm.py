"""Mapping trees, compared with looking at all pairs and with brute force, and on deep and wide pages."""

from __future__ import annotations

import tracemalloc
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UnknownNameError
from blockml.templates.mapping import EQUALITIES, MATCHINGS, NodeEquality, Tree, etdm, map_trees, tree_of
from blockml.templates.mapping.similarity import NodeComparison
from tests.strategies import messy_html
from tests.templates.mapping.made_trees import DOGS, KEY, slow_mapping, slow_similarity

presets = st.sampled_from(sorted(EQUALITIES))
matchings = st.sampled_from(MATCHINGS)

#: Two pages that share some parts, in the same or another order.
parts = st.lists(messy_html, min_size=1, max_size=4)
related = parts.flatmap(
    lambda pieces: st.tuples(st.just("<hr>".join(pieces)), st.permutations([*pieces, "<p>new"]).map("".join))
)


def trees_of(*pages: str) -> list[Tree]:
    """Return the trees of some pages."""
    return [tree_of(blockml.parse(html)) for html in pages]


@settings(max_examples=60)
@given(related, presets, st.booleans())
def test_greedy_mapping_against_all_pairs(pages: tuple[str, str], preset: str, text_equality: bool) -> None:  # noqa: FBT001
    """Repeatedly choosing the best of all pairs of children gives the same mapping."""
    equality = EQUALITIES[preset]
    if not text_equality:
        equality = NodeEquality(text_equality=False, att=0.2)
    a, b = trees_of(*pages)
    assert map_trees(a, b, equality).tolist() == slow_mapping(a, b, equality)


@settings(max_examples=100)
@given(related, presets, matchings)
def test_mappings_are_equal_top_down(pages: tuple[str, str], preset: str, matching: str) -> None:
    """Mappings are one-to-one, parents of mapped nodes are mapped to each other, and mapped nodes are equal."""
    a, b = trees_of(*pages)
    partner = map_trees(a, b, preset, matching=matching)
    mapped = np.flatnonzero(partner >= 0)
    assert partner.dtype == np.int32
    assert len(set(partner[mapped].tolist())) == len(mapped)
    for row in mapped.tolist():
        assert (
            slow_similarity(a, row, b, int(partner[row]), EQUALITIES[preset])[0] >= EQUALITIES[preset].threshold - 1e-9
        )
        if a.parent[row] >= 0 or b.parent[partner[row]] >= 0:
            assert partner[a.parent[row]] == b.parent[partner[row]]


@settings(max_examples=30)
@given(messy_html, presets, matchings)
def test_pages_map_to_themselves(html: str, preset: str, matching: str) -> None:
    """With every equality, each node of a page is mapped to itself."""
    tree = tree_of(blockml.parse(html))
    assert map_trees(tree, tree, preset, matching=matching).tolist() == list(range(len(tree)))


@settings(max_examples=40)
@given(related, presets)
def test_identical_subtrees_are_mapped_without_comparing(pages: tuple[str, str], preset: str) -> None:
    """The shortcut for identical subtrees gives the same mapping as comparing their children."""
    a, b = trees_of(*pages)
    expected = map_trees(a, b, preset).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(etdm._SameBelow, "__call__", lambda *_: False)
        assert map_trees(a, b, preset).tolist() == expected


def _below_body(tree: Tree) -> list[int]:
    body = next(row for row in range(len(tree)) if tree.name(row) == "body")
    return [row for row in range(len(tree)) if tree.parent[row] == body]


@settings(max_examples=60)
@given(related, presets)
def test_optimal_is_no_worse_than_greedy(pages: tuple[str, str], preset: str) -> None:
    """The sum of similarities of the body's children is at least as large as with greedy matching."""
    a, b = trees_of("<body>" + pages[0], "<body>" + pages[1])
    comparison = NodeComparison(a, b, preset)
    sums = []
    for matching in MATCHINGS:
        partner = map_trees(a, b, preset, matching=matching)
        rows = [row for row in _below_body(a) if partner[row] >= 0]
        sums.append(comparison.scores(np.array(rows, int), partner[rows].astype(int)).sum())
    assert sums[1] >= sums[0] - 1e-6


small = st.lists(st.sampled_from(["<p>", "<p class=a>", "<p class='a b'>x", "<ul>", "<b></b>", "x"]), max_size=5)


@settings(max_examples=60)
@given(small, small, presets)
def test_optimal_by_brute_force(one: list[str], two: list[str], preset: str) -> None:
    """No pairing of the body's children has a larger sum of similarities than the optimal one."""
    a, b = trees_of("<body>" + "".join(one), "<body>" + "".join(two))
    comparison = NodeComparison(a, b, preset)
    own, others = _below_body(a), _below_body(b)
    pairs = list(product(own, others))
    known = dict(zip(pairs, comparison.scores(*np.array(pairs, int).reshape(-1, 2).T), strict=True))
    best = 0.0
    places = [*others, *[-1] * len(own)]
    for order in set(permutations(places, len(own))):
        scores = [known[x, y] for x, y in zip(own, order, strict=True) if y >= 0]
        if all(score >= comparison.limit for score in scores):
            best = max(best, sum(scores))
    for matching in MATCHINGS if preset in {"label", "strict"} else ["optimal"]:
        partner = map_trees(a, b, preset, matching=matching)
        assert sum(known[x, int(partner[x])] for x in own if partner[x] >= 0) == pytest.approx(best)


def test_optimal_beats_greedy_if_the_best_pair_costs_two() -> None:
    """The first child gets its second-best match, because its best one is the only match of the second child."""
    equality = NodeEquality(cls=1, pos=0, chd=0, threshold=0.3)
    a, b = trees_of(
        "<p class='a b c d'></p><p class='a b c'></p>", "<p class='a b c d e'></p><p class='b c d e f'></p>"
    )
    # .8 and .5; .6 and .333
    greedy, optimal = (map_trees(a, b, equality, matching=matching) for matching in MATCHINGS)
    assert greedy.tolist() == [0, 1, 2, 3, 4]
    assert optimal.tolist() == [0, 1, 2, 3, 4]
    strict = NodeEquality(cls=1, pos=0, chd=0, threshold=0.4)
    greedy, optimal = (map_trees(a, b, strict, matching=matching) for matching in MATCHINGS)
    assert greedy.tolist() == [0, 1, 2, 3, -1]
    assert optimal.tolist() == [0, 1, 2, 4, 3]


def test_ties_go_to_the_first() -> None:
    """The first of equally similar children is chosen."""
    a, b = trees_of("<i></i>" * 2, "<i></i>" * 4)
    assert map_trees(a, b).tolist() == [0, 1, 2, 3, 4]
    assert map_trees(b, a).tolist() == [0, 1, 2, 3, 4, -1, -1]


def test_ids_win_over_looks_and_looks_in_place_over_others() -> None:
    """Among pairs that every weighting treats as equal, ids come first, then appearance in place, then others."""
    a, b = trees_of("<i id=x title=t></i><i title=t></i>", "<i title=t></i><i id=x></i><i></i>")
    assert map_trees(a, b).tolist() == [0, 1, 2, 4, 3]
    a, b = trees_of("<i title=t></i><b></b>", "<i title=t></i><b></b><i title=t></i>")
    assert map_trees(b, a).tolist() == [0, 1, 2, 3, 4, -1]
    # In place are only those at the end: two of one list, but not the first of the other.
    a, b = trees_of("<b></b><i title=t></i>", "<i title=t></i><i title=t></i>")
    assert map_trees(a, b).tolist() == [0, 1, 2, -1, 4]


def test_bodies_are_always_equal() -> None:
    """Bodies are equal even with different classes and numbers of children; else only the root would be mapped."""
    a, b = trees_of(
        f"<body class=home>{'<i></i>' * 6}<p id=foot>end</p></body>",
        f"<body class='page id-7'>{'<u></u>' * 9}<p id=foot>end</p></body>",
    )
    for preset in EQUALITIES:
        partner = map_trees(a, b, preset)
        assert partner[2] == 2
        assert partner[-1] == len(b) - 1


def test_roots_with_different_names_are_not_mapped() -> None:
    """Roots with different names are not mapped."""
    a, b = trees_of("text", "text")
    other = Tree.from_arrays(b.arrays()[0], {**b.arrays()[1], "names": ["#text", "svg", *b.names[2:]]})
    assert map_trees(a, other).tolist() == [-1] * 4


def test_content_after_the_root_is_mapped_too() -> None:
    """Later roots are mapped like children."""
    a, b = trees_of("<html><body>a</html><div>late</div>", "<html><body>b</html><div>late</div>")
    assert (a.parent == -1).sum() == 2
    assert map_trees(a, b).tolist() == [0, 1, 2, -1, 4, 5, 6]


def wide_trees() -> list[Tree]:
    """Return two trees with five thousand items each."""
    return trees_of(
        *("<ul>" + "".join(f"<li class='c{i % 7}'><a>item {key}{i}</a>" for i in range(5000)) for key in "ab")
    )


@pytest.mark.parametrize("preset", sorted(EQUALITIES))
def test_very_wide_lists(preset: str) -> None:
    """All items of very wide lists are mapped in place, except for their texts."""
    a, b = wide_trees()
    expected = np.arange(len(a), dtype=np.int32)
    expected[np.flatnonzero(a.tag == 0)] = -1
    assert map_trees(a, b, preset).tolist() == expected.tolist()


def test_very_wide_lists_take_little_memory() -> None:
    """Mapping very wide lists takes far less than the 200 megabytes of a matrix of all 25 million pairs."""
    a, b = wide_trees()
    tracemalloc.start()
    map_trees(a, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_long_lists_match_equal_ids_and_looks_far_apart() -> None:
    """In long lists, where not all pairs are compared, equal ids and equal looks are still found far apart."""
    n = 400
    marked = ["<i id=x></i>", "<i title=t class=c></i>"]
    a, b = trees_of(
        "<i></i>" * n + "".join(marked) + "<i></i>" * n, "<b></b>" * 20 + "".join(marked) + "<i></i>" * 2 * n
    )
    partner = map_trees(a, b)
    assert partner[3 + n : 5 + n].tolist() == [23, 24]


def test_long_lists_with_a_new_middle() -> None:
    """Both ends of a long list with a new middle are mapped, by passes from the front and from the back."""
    n = 350
    items = [f"<i class=c{k}></i>" for k in range(n)]
    a, b = trees_of("".join(items), "".join(items[:200]) + "<i class=new></i>" * 120 + "".join(items[200:]))
    shift = [3 + k + 120 * (k >= 200) for k in range(n)]
    assert map_trees(a, b).tolist()[3:] == shift


@pytest.mark.exhaustive
def test_deep_pages_are_mapped() -> None:
    """Pages of fifty thousand nested elements are mapped."""
    limits = blockml.Limits(depth=60_000)
    a, b = (tree_of(blockml.parse("<div>" * 50_000 + text, limits=limits)) for text in ("one", "two"))
    assert len(a) > 50_000
    assert map_trees(a, b).tolist() == [*range(len(a) - 1), -1]


def test_worked_example_is_mapped() -> None:
    """The menu and the footer of the worked example are mapped, and nothing of the article."""
    a, b = trees_of(KEY, DOGS)
    partner = map_trees(a, b)
    assert [a.name(row) for row in np.flatnonzero(partner < 0).tolist()] == [
        "div",
        "h1",
        "#text",
        "p",
        "#text",
        "p",
        "#text",
    ]


def test_wrong_mappings_are_refused() -> None:
    """Unknown names and impossible numbers are refused."""
    tree = tree_of(blockml.parse("x"))
    with pytest.raises(UnknownNameError, match="greedy, optimal"):
        map_trees(tree, tree, matching="best")
    with pytest.raises(UnknownNameError, match="hybex-old"):
        map_trees(tree, tree, "best")
