"""Combinations count votes or pass pages on, and the rest of a page is a valid page."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.extractors import Extractor, Intersection, Majority, Plain, Serial, Traits, Union, resolve
from blockml.extractors.combinations import Combination, without_blocks
from blockml.extractors.heuristics.boilerpipe import BoilerpipeArticle, Density, NumWords
from blockml.extractors.heuristics.lqf import LQF
from blockml.page import Page, Separator, Status
from tests.refined import refined_lines
from tests.strategies import messy_html, path_of, visible

CLASSES: tuple[Any, ...] = (Union, Intersection, Majority, Serial)
every_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.name)


def kept_by(member: Extractor, page: Page) -> NDArray[np.bool_]:
    """Return the blocks that an extractor keeps."""
    return member.decide(page).kept


class Fixed(Extractor):
    """Returns the given scores, repeated for all blocks."""

    name: ClassVar[str] = "fixed"
    traits: ClassVar[Traits] = Plain.traits

    def __init__(self, scores: Sequence[float] = (1,), threshold: float | None = None) -> None:
        self.scores = scores
        self.threshold = threshold

    def score(self, page: Page) -> NDArray[np.float32]:
        """Repeat the scores as often as needed."""
        return np.resize(np.array(self.scores, dtype=np.float32), len(page.blocks))


class Holds(Extractor):
    """Keeps blocks that contain a letter."""

    name: ClassVar[str] = "holds"
    traits: ClassVar[Traits] = Plain.traits

    def __init__(self, letter: str = "a") -> None:
        self.letter = letter

    def score(self, page: Page) -> NDArray[np.float32]:
        """Look for the letter, and check that the texts of blocks and nodes are equal."""
        blocks, nodes = page.blocks, page.nodes
        for text, first, last in zip(blocks.texts, blocks.node, blocks.last_node, strict=True):
            assert visible(text) == visible("".join(nodes.texts[first : last + 1]))
        return np.array([self.letter in text for text in blocks.texts], dtype=np.float32)


PAGE = blockml.parse("<p>one</p><p>two</p><p>three</p><p>four</p>")


# --- votes ------------------------------------------------------------------------------------------------------------


def test_majority_of_three_votes() -> None:
    """Two of three votes keep a block, and one of three doesn't."""
    voters = [Fixed([1, 1]), Fixed([0, 0]), Fixed([1, 0])]
    page = blockml.parse("<p>one</p><p>two</p>")
    assert kept_by(Majority(voters), page).tolist() == [True, False]
    assert kept_by(Union(voters), page).tolist() == [True, True]
    assert kept_by(Intersection(voters), page).tolist() == [False, False]


@given(
    st.lists(st.tuples(st.lists(st.booleans(), min_size=4, max_size=4), st.integers(0, 30)), min_size=1, max_size=6)
    .filter(lambda voters: any(weight for _, weight in voters)),
)  # fmt: skip
def test_votes_are_counted(voters: list[tuple[list[bool], int]]) -> None:
    """A block is kept if at least half of the total weight votes for it, without errors by rounding."""
    members = [Fixed([float(vote) for vote in votes]) for votes, _ in voters]
    combination = Majority(members, weights=[weight / 10 for _, weight in voters])
    total = sum(weight for _, weight in voters)
    share = [Fraction(sum(weight for votes, weight in voters if votes[i]), total) for i in range(4)]
    assert combination.score(PAGE).tolist() == pytest.approx([float(value) for value in share])
    assert kept_by(combination, PAGE).tolist() == [value >= Fraction(1, 2) for value in share]
    assert kept_by(Union(members), PAGE).tolist() == [any(votes[i] for votes, _ in voters) for i in range(4)]
    assert kept_by(Intersection(members), PAGE).tolist() == [all(votes[i] for votes, _ in voters) for i in range(4)]


def test_members_vote_at_their_thresholds() -> None:
    """A member votes for a block whose score reaches the threshold of the object, or else that of the method."""
    scores = [0.2, 0.4, 0.5, 0.9]
    assert Union([Fixed(scores)]).score(PAGE).tolist() == [0, 0, 1, 1]
    assert Union([Fixed(scores, threshold=0.4)]).score(PAGE).tolist() == [0, 1, 1, 1]
    assert Union([Fixed(scores, threshold=0.95), Fixed(scores, threshold=0.9)]).score(PAGE).tolist() == [0, 0, 0, 1]


def test_members_see_the_page_of_the_combination() -> None:
    """Boilerpipe's rules join inline texts if used directly, but in a combination they get the combination's blocks."""
    html = "<p>one <b>two</b> three</p>"
    assert len(blockml.extract(html, model=NumWords()).page.blocks) == 1
    assert len(blockml.extract(html, model=Union(["numwords"])).page.blocks) == 3


def test_combinations_can_be_nested() -> None:
    """Members may be combinations, given as objects or by name."""
    inner = Intersection([Fixed([1, 1, 0, 0]), Fixed([1, 0, 1, 0])])
    assert Union([inner, Fixed([0, 0, 0, 1])]).score(PAGE).tolist() == [1, 0, 0, 1]
    assert Serial([Union([inner]), "plain"]).score(PAGE).tolist() == [1, 0, 0, 0]
    assert resolve("majority", {"members": ["majority", "plain", "kim2013"]}).score(PAGE).shape == (4,)
    with pytest.raises(UnknownNameError, match="unknown member 'majority'"):
        Majority(["majority"]).score(PAGE)


@every_class
def test_a_combination_cannot_contain_itself(kind: Any) -> None:
    """The name of a combination means the default one, and an object inside itself is an error at any depth."""
    by_name = resolve(kind.name, {"members": [kind.name]})
    assert kept_by(by_name, PAGE).tolist() == kept_by(kind(), PAGE).tolist()
    combination = kind()
    for knot in (combination, Union(["plain", Serial([combination])])):
        combination.members = ["plain", knot]
        with pytest.raises(UsageError, match="can't be a member of itself"):
            combination.score(PAGE)
        with pytest.raises(UsageError, match="can't be a member of itself"):
            _ = combination.id


@every_class
@pytest.mark.parametrize("members", ["plain", [], (), None, [1], ["plain", Plain], {"plain": 1}])
def test_members_are_a_list_of_names_and_extractors(kind: Any, members: Any) -> None:
    """Members that aren't a list of names and extractors are an error."""
    with pytest.raises(UsageError, match=r"'members'.*list of one or more names or extractors"):
        kind(members).score(PAGE)


@every_class
def test_unknown_and_illegal_members(kind: Any) -> None:
    """An unknown name lists the known ones, and an illegal parameter of a member is found before a page is scored."""
    with pytest.raises(UnknownNameError, match="numwords, plain"):
        resolve(kind.name, {"members": ["plain", "nothing"]})
    with pytest.raises(UsageError, match="nine, twelve"):
        kind([BoilerpipeArticle("ten")]).check()


@pytest.mark.parametrize(
    "weights", [[1], [1, 2, 3], [1, -1], [0, 0], ["1", 2], [1, float("nan")], [1, float("inf")], "12", 2, []]
)
def test_weights_are_checked(weights: Any) -> None:
    """Weights must be finite and not negative, not all 0, and as many as there are members."""
    with pytest.raises(UsageError, match=r"'weights'.*2 members"):
        Majority(["plain", "numwords"], weights=weights).score(PAGE)


@every_class
def test_scikit_learn_can_clone_it(kind: Any) -> None:
    """Members that are objects are cloned as well."""
    copy = clone(kind(["numwords", Fixed([0.3], threshold=0.2)]))
    assert copy.members[0] == "numwords"
    assert copy.members[1].get_params() == {"scores": [0.3], "threshold": 0.2}
    assert copy.score(PAGE).shape == (4,)
    assert kind().set_params(members=["plain"]).members == ["plain"]


def test_ids_name_members() -> None:
    """The id names members and weights that differ from the default."""
    assert Union().id == "union"
    assert Union(list(Union().members)).id == "union"
    assert (
        Union([Majority(["plain"], weights=[2]), "density"]).id
        == "union(members=majority(members=plain, weights=[2])+density)"
    )
    assert Serial(["plain"]).id == "serial(members=plain)"


def test_explanations_name_voters() -> None:
    """The explanation names the members that keep a block, or in a chain the one that removed it."""
    voters = [Fixed([1, 0, 1, 0]), Plain()]
    first = voters[0].id
    assert Union(voters).explain(PAGE) == (f"{first}, plain", "plain", f"{first}, plain", "plain")
    assert Serial([*voters, "numwords"]).explain(PAGE) == ("", f"removed by {first}", "", f"removed by {first}")


# --- chains -----------------------------------------------------------------------------------------------------------


def test_blocks_removed_in_a_chain_stay_removed() -> None:
    """The last member of a chain does not restore blocks."""
    page = blockml.parse("<p>abc</p><p>bc</p>")
    assert kept_by(Serial([Holds("a"), LQF(quota=1.0)]), page).tolist() == [True, False]


def test_preformatted_text_is_decided_like_elsewhere() -> None:
    """A union with one member decides like this member, also about code."""
    page = blockml.parse(f"<p>{'word ' * 60}</p><pre>one <b>two</b> {'three ' * 30}<i>four</i></pre><p>Home</p>")
    for name in ("dsc", "accb", "cetr-tm", "numwords"):
        member = resolve(name)
        assert kept_by(Union([name]), page).tolist() == kept_by(member, page).tolist()


def test_members_of_a_chain_get_the_remaining_page() -> None:
    """Each member gets the blocks that all earlier members kept, and removed blocks score 0."""
    page = blockml.parse("".join(f"<p>{word}</p>" for word in ("abc", "ab", "bc", "ca", "a", "b", "c")))
    assert Serial([Holds("a"), Holds("b"), Holds("c")]).score(page).tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert Serial([Holds("a"), Holds("b")]).score(page).tolist() == [1, 1, 0, 0, 0, 0, 0]
    assert Serial([Holds("a"), Fixed([0.2, 0.8])]).score(page).tolist() == pytest.approx([0.2, 0.8, 0, 0.2, 0.8, 0, 0])
    assert Serial([Holds("x"), "plain"]).score(page).tolist() == [0] * 7


def test_a_chain_of_one_equals_its_member() -> None:
    """Scores and threshold are those of the last member."""
    assert Serial([Fixed([0.2, 0.8])]).score(PAGE).tolist() == Fixed([0.2, 0.8]).score(PAGE).tolist()
    assert Serial([Plain(), Fixed(threshold=0.9)]).default_threshold == 0.9
    assert Serial(["plain", "numwords"]).default_threshold == 0.5


def test_removal_changes_neighbours() -> None:
    """A short text after links isn't content, but it is if the links have been removed."""
    page = blockml.parse(f"<ul><li><a href=/>Home</a></ul><p>{'word ' * 20}</p><p>End</p>")
    assert kept_by(NumWords(), page).tolist() == [False, False, True]
    assert kept_by(Serial([Fixed([0, 1, 1]), NumWords()]), page).tolist() == [False, True, True]


def test_a_chain_renders_the_whole_page() -> None:
    """Extraction renders the original page and not the remaining one."""
    result = blockml.extract("<p>axe</p><p>box</p><pre>a  x</pre>", model=Serial([Holds("a"), Holds("x")]))
    assert result.text == "axe\na  x"
    assert result.page.source is not None


# --- the rest of a page -----------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(messy_html, st.randoms(use_true_random=False), st.sampled_from(["anchor", "boilerpipe"]), st.booleans())
def test_the_rest_of_a_page_is_a_page(html: str, random: Any, profile: str, wordless: bool) -> None:  # noqa: FBT001
    """Remaining nodes and blocks keep their relations, and line numbers are those of the remaining page."""
    page = blockml.parse(html, profile=profile, keep_wordless=wordless)
    removed = np.array([random.random() < 0.5 for _ in page.blocks.texts], dtype=bool)
    left = without_blocks(page, removed)
    gone = {
        node
        for block in np.flatnonzero(removed).tolist()
        for node in range(page.blocks.node[block], page.blocks.last_node[block] + 1)
        if page.nodes.name(node) == "#text"
    }
    stays = [node for node in range(len(page.nodes)) if node not in gone]
    assert [left.nodes.name(node) for node in range(len(left.nodes))] == [page.nodes.name(node) for node in stays]
    assert list(left.nodes.texts) == [page.nodes.texts[node] for node in stays]
    assert list(left.nodes.attributes) == [page.nodes.attributes[node] for node in stays]
    assert left.nodes.flags.tolist() == page.nodes.flags[stays].tolist()
    for number, node in enumerate(stays):
        path = [stays.index(above) for above in path_of(page.nodes, node)]
        assert path_of(left.nodes, number) == path
        assert left.nodes.depth[number] == len(path) - 1
        below = [other for other in stays if node <= other < page.nodes.end[node]]
        assert left.nodes.end[number] == number + len(below)

    rows = np.flatnonzero(~removed).tolist()
    lines = {line.node: line.number for line in refined_lines(left.nodes)}
    assert left.blocks.texts == tuple(page.blocks.texts[row] for row in rows)
    for row, block in zip(rows, left.blocks, strict=True):
        old = page.blocks[row]
        assert (block.n_words, block.n_linked, block.parent, block.flags) == (
            old.n_words,
            old.n_linked,
            old.parent,
            old.flags,
        )
        assert (stays[block.node], stays[block.last_node]) == (old.node, old.last_node)
        assert (block.first_line, block.last_line) == (lines[block.node], lines[block.last_node])
    parents = [-1 if node < 0 else stays.index(node) for node in page.blocks.parent[rows].tolist()]
    assert left.blocks.parent.tolist() == parents
    words = np.split(page.blocks.word_lengths, np.cumsum(page.blocks.n_words)[:-1]) if len(page.blocks) else []
    assert left.blocks.word_lengths.tolist() == [length for row in rows for length in words[row].tolist()]
    for name in ("tag", "parent", "depth", "end", "flags"):
        assert getattr(left.nodes, name).dtype == getattr(page.nodes, name).dtype
    for name in (
        "node",
        "last_node",
        "first_line",
        "last_line",
        "parent",
        "separators",
        "flags",
        "word_lengths",
        "n_words",
    ):
        assert getattr(left.blocks, name).dtype == getattr(page.blocks, name).dtype


def test_properties_of_the_rest_of_a_page() -> None:
    """The rest of a page has no source, is the same page if nothing is removed, and is empty if everything is."""
    assert without_blocks(PAGE, np.zeros(4, dtype=bool)) is PAGE
    left = without_blocks(PAGE, np.array([True, False, False, True]))
    assert (left.source, left.status, left.title) == (None, Status.OK, "")
    nothing = without_blocks(PAGE, np.ones(4, dtype=bool))
    assert (nothing.status, len(nothing.blocks)) == (Status.EMPTY_PAGE, 0)
    assert [nothing.nodes.name(node) for node in range(len(nothing.nodes))] == ["html", "head", "body", *["p"] * 4]


def test_removed_blocks_still_separate_their_neighbours() -> None:
    """A removed cell leaves a paragraph break, and a removed inline text at least a space."""
    page = blockml.parse("<p>a<b>b</b>c</p><table><tr><td>d<td>e</table>")
    assert page.blocks.texts == ("a", "b", "c", "d", "e")
    left = without_blocks(page, np.array([False, True, False, True, False]))
    assert left.blocks.separators.tolist() == [Separator.PARAGRAPH, Separator.SPACE, Separator.PARAGRAPH]


# --- any page ---------------------------------------------------------------------------------------------------------


@every_class
@settings(max_examples=30)
@given(html=messy_html)
def test_any_page_gets_scores(kind: Any, html: str) -> None:
    """Scores are reproducible float32 values in [0, 1], with an explanation for each block."""
    extractor = kind(["numwords", Density(), "boilerpipe-article"])
    page = blockml.parse(html)
    scores = extractor.score(page)
    assert (scores.dtype, scores.shape) == (np.float32, (len(page.blocks),))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, extractor.score(page))
    assert len(extractor.explain(page)) == len(page.blocks)


def test_registered_combinations_are_subclasses() -> None:
    """The registry contains the subclasses of ``Combination`` but not the base class."""
    assert all(issubclass(kind, Combination) and resolve(kind.name).__class__ is kind for kind in CLASSES)
