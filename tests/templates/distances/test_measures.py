"""The six distances: worked examples, edge cases, and comparison with plain Python."""

from __future__ import annotations

from math import sqrt
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.parsing import Limits
from blockml.templates.distances import METRICS, distance, distance_matrix, rtdm, sketch
from blockml.templates.distances.sets import ELEMENTS
from tests.strategies import messy_html
from tests.templates.distances import naive

pytestmark = pytest.mark.exhaustive

A = blockml.parse("<html><head></head><body><div><p>a</p><p>b</p></div><ul><li>x</li></ul></body></html>")
B = blockml.parse("<html><head></head><body><div><p>a</p></div><div><a>z</a></div></body></html>")
EMPTY = blockml.parse("")

#: Elements that may be nested in any way, so that the parsed tree is the one written.
_names = st.sampled_from(["x-a", "x-b", "x-c"])
_trees = st.recursive(
    st.just(""),
    lambda below: st.lists(st.builds(lambda name, inner: f"<{name}>{inner}</{name}>", _names, below), max_size=5).map(
        "".join
    ),
    max_leaves=8,
)
_pages = st.one_of(_trees, messy_html).map(blockml.parse)


class TestWorkedExamples:
    """The numbers of the specification, computed by hand or by other programs."""

    def test_tree_distance(self) -> None:
        """The tree distance is three edits: a p is deleted, ul becomes div, and li becomes a."""
        assert (len(sketch(A)), len(sketch(B))) == (8, 7)
        assert distance(A, B, "rtdm", norm=None) == 3
        assert distance(A, B, "rtdm") == distance(A, B, "rtdm", norm="sum") == pytest.approx(0.2)
        assert distance(A, B, "rtdm", norm="max") == pytest.approx(0.375)
        assert distance(A, A, "rtdm") == 0

    @pytest.mark.parametrize(
        ("a", "b", "cost"),
        [
            ("<r><a></a><b></b></r>", "<r><b></b></r>", 1),
            ("<r><a><d></d></a></r>", "<r><c><d></d></c></r>", 1),
            ("<r><a><d></d></a></r>", "<r><b></b></r>", 2),
        ],
    )
    def test_tree_distance_of_small_trees(self, a: str, b: str, cost: int) -> None:
        """Ancestors that are mapped to each other cost nothing."""
        first, second = (
            blockml.parse(html.replace("</", "</x-").replace("<", "<x-").replace("<x-/x-", "</x-")) for html in (a, b)
        )
        assert distance(first, second, "rtdm", norm=None) == distance(second, first, "rtdm", norm=None) == cost

    def test_common_paths(self) -> None:
        """Two of three paths are shared."""
        assert distance(A, B, "cp") == distance(A, B) == pytest.approx(1 / 3)
        assert len(METRICS["cp"].prepare(sketch(A))) == len(METRICS["cp"].prepare(sketch(B))) == 3

    @pytest.mark.parametrize(("q", "sizes", "expected"), [(2, (6, 5), 1 / 3), (3, (5, 4), 0.4)])
    def test_path_shingles(self, q: int, sizes: tuple[int, int], expected: float) -> None:
        """Four of six, and three of five, path shingles are shared."""
        assert distance(A, B, "cps", q=q) == pytest.approx(expected)
        metric = METRICS["cps"].using(q=q)
        assert (len(metric.prepare(sketch(A))), len(metric.prepare(sketch(B)))) == sizes

    def test_default_length_of_path_shingles(self) -> None:
        """By default a path shingle has three names."""
        assert distance(A, B, "cps") == distance(A, B, "cps", q=3)

    def test_tag_vector(self) -> None:
        """The tag vectors differ by one in five counts."""
        assert distance(A, B, "tv") == pytest.approx(sqrt(5))

    def test_tag_sequence(self) -> None:
        """Ten of 16 tags are common."""
        assert [len(METRICS["lcts"].prepare(sketch(page))) for page in (A, B)] == [16, 14]
        assert distance(A, B, "lcts") == pytest.approx(0.375)

    @pytest.mark.parametrize(("q", "sizes", "common"), [(2, (14, 13), 8), (3, (14, 12), 6)])
    def test_tag_shingles(self, q: int, sizes: tuple[int, int], common: int) -> None:
        """Eight of 14, and six of 14, tag shingles are shared."""
        metric = METRICS["ctss"].using(q=q)
        assert (len(metric.prepare(sketch(A))), len(metric.prepare(sketch(B)))) == sizes
        assert distance(A, B, "ctss", q=q) == pytest.approx(1 - common / 14)

    def test_default_length_of_tag_shingles(self) -> None:
        """By default a tag shingle has eight tags."""
        assert distance(A, B, "ctss") == distance(A, B, "ctss", q=8)


@settings(max_examples=80)
@given(_pages, _pages, st.integers(1, 12))
def test_distances_equal_plain_python(a: blockml.Page, b: blockml.Page, q: int) -> None:
    """Distances equal those computed with sets of tuples, counters and the textbook algorithm."""
    assert distance(a, b, "cp") == naive.set_distance(naive.paths(a), naive.paths(b))
    assert distance(a, b, "cps", q=q) == naive.set_distance(naive.path_shingles(a, q), naive.path_shingles(b, q))
    assert distance(a, b, "ctss", q=q) == naive.set_distance(naive.tag_shingles(a, q), naive.tag_shingles(b, q))
    assert distance(a, b, "tv") == pytest.approx(naive.vector_distance(a, b, ELEMENTS))
    assert distance(a, b, "lcts") == pytest.approx(naive.sequence_distance(a, b))


@settings(max_examples=150)
@given(_pages, _pages, st.sampled_from([1, 3, 80]))
def test_tree_distance_equals_trying_all(a: blockml.Page, b: blockml.Page, wide: int) -> None:
    """The tree distance equals that of trying all mappings, when computed by rows and by arrays."""
    with patch.object(rtdm, "_WIDE", wide):
        assert distance(a, b, "rtdm") == naive.tree_distance(a, b)


@settings(max_examples=40)
@given(st.lists(_pages, min_size=2, max_size=6))
def test_all_distances_are_distances(pages: list[blockml.Page]) -> None:
    """All distances are symmetric, 0 for the same page and in range, and the matrix equals single calls."""
    for name in METRICS:
        matrix = distance_matrix(pages, name)
        assert (matrix == matrix.T).all()
        assert (matrix >= 0).all()
        if name != "tv":
            assert (matrix <= 1).all()
        for i, a in enumerate(pages):
            assert matrix[i, i] == distance(a, a, name) == 0
            for j, b in enumerate(pages):
                assert matrix[i, j] == distance(a, b, name)


@pytest.mark.parametrize("wide", [1, 80])
def test_known_costs_are_reused(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs are the same in either order, and kept costs may be discarded."""
    monkeypatch.setattr(rtdm, "_WIDE", wide)
    known = rtdm.Mappings()
    first = known.add([1, 2, 3], [11, 12, 13], [1, 1, 3], [[], [], [0, 1]])
    second = known.add([2, 4, 5], [12, 14, 13], [1, 1, 3], [[], [], [0, 1]])
    assert first == [0, 1, 2]
    assert second == [1, 3, 4]
    root, other = (2,), (4,)
    for most in (rtdm._MAX_COSTS, 0):
        monkeypatch.setattr(rtdm, "_MAX_COSTS", most)
        assert known.cost(root, other) == known.cost(other, root) == 2


@pytest.mark.parametrize("metric", METRICS)
def test_empty_pages(metric: str) -> None:
    """Two empty pages have distance 0; an empty page and another one have the maximum distance."""
    assert len(sketch(EMPTY)) == 0
    assert distance(EMPTY, blockml.parse(b""), metric) == 0
    far = distance(EMPTY, A, metric)
    assert far == (sqrt(sum(n * n for n in (1, 1, 1, 1, 2, 1, 1))) if metric == "tv" else 1)
    minimal = blockml.parse("<html><head></head><body></body></html>")
    assert distance(minimal, minimal, metric) == 0
    assert distance(minimal, A, metric) > 0


def test_pages_shorter_than_a_shingle() -> None:
    """A path shorter than a shingle is one as a whole; a page with fewer tags than a shingle has none."""
    short, other = blockml.parse("<body></body>"), blockml.parse("<body><br></body>")
    assert distance(short, other, "cps", q=50) == distance(short, other, "cp") == 0.5
    assert distance(short, other, "ctss") == 0
    assert distance(short, A, "ctss") == 1


def test_tag_vectors_ignore_unknown_elements() -> None:
    """Elements unknown to HTML are ignored by tag vectors, but not by the other distances."""
    plain, other = blockml.parse("<p>a</p>"), blockml.parse("<p><x-y>a</x-y></p>")
    assert {metric for metric in METRICS if distance(plain, other, metric) == 0} == {"tv"}


def test_content_after_the_end() -> None:
    """Several roots are mapped like the children of one node."""
    one, two = blockml.parse("<p>a"), blockml.parse("<p>a</html><div>b</div>")
    assert (sketch(two).parent == -1).sum() == 2
    assert distance(one, two, "rtdm", norm=None) == 2  # html and div
    assert naive.edits(naive.forest(one), naive.forest(two)) == 2


def test_classes_distinguish_equal_names() -> None:
    """With classes, pages whose classes differ in more than digits have a distance above 0."""
    one, two, three = (blockml.parse(f"<div class='{name}'><p>x</p></div>") for name in ("post-1", "post-2", "list"))
    for metric in METRICS:
        assert distance(one, three, metric) == 0
        a, b, c = (sketch(page, classes=True) for page in (one, two, three))
        assert distance(a, b, metric) == 0
        assert distance(a, c, metric) > 0
    with pytest.raises(UsageError, match="with classes"):
        distance(sketch(one, classes=True), two)


def test_fifty_thousand_levels() -> None:
    """Pages of fifty thousand levels are compared without recursion and without time quadratic in depth."""
    limits = Limits(depth=100_000)
    deep, deeper = (sketch(blockml.parse("<div>" * n + "x", limits=limits)) for n in (50_000, 50_001))
    assert len(deep) == 50_003
    assert distance(deep, deeper, "cp") == 0.5
    assert distance(deep, deeper, "cps") == distance(deep, deeper, "ctss") == 0
    assert distance(deep, deeper, "cps", q=50_002) == pytest.approx(1 / 3)
    assert distance(deep, deeper, "tv") == 1
    for metric in ("rtdm", "lcts"):
        with pytest.raises(UsageError, match="max_nodes=50,000"):
            distance(deep, deeper, metric)
    assert distance(deep, deeper, "rtdm", max_nodes=60_000, norm=None) == 1
    assert distance(deep, deeper, "lcts", max_nodes=60_000) == pytest.approx(1 / 50_004)
    # p becomes div; another p, ul and li are deleted; everything below the second div is inserted.
    assert distance(deep, sketch(A), "rtdm", max_nodes=60_000, norm=None) == 1 + 3 + 49_998


def test_large_pages_are_refused_even_if_equal() -> None:
    """A page over max_nodes is refused, even in comparison with itself."""
    for metric in ("rtdm", "lcts"):
        with pytest.raises(UsageError, match="max_nodes=7"):
            distance(A, A, metric, max_nodes=7)
        assert distance(A, A, metric, max_nodes=8) == 0


@pytest.mark.parametrize(
    ("metric", "wrong", "message"),
    [
        ("cps", {"q": 0}, "q must be a positive integer, got 0"),
        ("ctss", {"q": 2.5}, "q must be a positive integer"),
        ("ctss", {"q": True}, "q must be a positive integer"),
        ("cps", {"k": 3}, "choose one of: q"),
        ("cp", {"q": 3}, "none is available"),
        ("lcts", {"norm": "sum"}, "choose one of: max_nodes"),
        ("rtdm", {"q": 3}, "choose one of: max_nodes, norm"),
        ("rtdm", {"norm": "mean"}, "unknown norm 'mean'; choose one of: None, max, sum"),
        ("rtdm", {"max_nodes": 0}, "max_nodes must be a positive integer"),
        ("lcts", {"max_nodes": "many"}, "max_nodes must be a positive integer"),
        ("cosine", {}, "choose one of: cp, cps, ctss, lcts, rtdm, tv"),
    ],
)
def test_wrong_settings_name_the_legal_ones(metric: str, wrong: dict[str, object], message: str) -> None:
    """Wrong settings are refused by both functions with the legal names or values."""
    with pytest.raises(UsageError, match=message):
        distance(A, A, metric, **wrong)
    with pytest.raises(UsageError, match=message):
        distance_matrix([], metric, **wrong)  # type: ignore[arg-type]


def test_unknown_names_raise_an_error_with_the_legal_names() -> None:
    """An unknown name raises UnknownNameError, which lists the legal names."""
    with pytest.raises(UnknownNameError) as caught:
        distance(A, B, "euclid")
    assert caught.value.legal == tuple(sorted(METRICS))
