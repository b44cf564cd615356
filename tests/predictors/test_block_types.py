"""Block types: prediction by trees, arrays in model files, and labels of an extraction."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml.batch import Item, Options, predict_items
from blockml.decision import DecisionPolicy, Prediction
from blockml.decision.decide import decide, label_names
from blockml.errors import ModelFormatError, UnknownNameError, UsageError
from blockml.extract import extract_page
from blockml.extractors import Extractor, Plain, Traits
from blockml.page import Label, Page, Reason
from blockml.predictors import BlockTypes, Trees
from blockml.predictors.tree_ensemble import TREE_ARRAYS
from blockml.training import fit_boosted_classes

LABELS = (Label.MAIN, Label.COMMENT, Label.FOOTER)


def rows(seed: int, n_rows: int) -> NDArray[np.float32]:
    """Return rows with two columns of whole numbers and two of real numbers."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 9, (n_rows, 2)).astype(np.float32)
    return np.hstack([whole, rng.normal(size=(n_rows, 2)).astype(np.float32)])


@pytest.fixture(scope="module")
def learnt() -> BlockTypes:
    """Return block types trained on synthetic rows."""
    matrix = rows(1, 600)
    y = (matrix[:, 0] > 5) + (matrix[:, 2] > 0.3).astype(int)
    return BlockTypes(LABELS, fit_boosted_classes(matrix, y, n_trees=7, leaves=6, min_leaf=5))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(0, 40))
def test_prediction_is_the_softmax_of_the_trees(learnt: BlockTypes, seed: int, n_rows: int) -> None:
    """Sums computed for all types together are bit-identical to those of each type by itself."""
    matrix = rows(seed, n_rows)
    sums, shares = learnt.sums(matrix), learnt.predict(matrix)
    assert np.array_equal(sums, np.stack([trees.predict(matrix) for trees in learnt.trees], axis=1))
    expected = np.exp(sums) / np.exp(sums).sum(axis=1, keepdims=True)
    assert shares.dtype == np.float32
    assert shares.shape == (n_rows, 3)
    assert np.allclose(shares, expected, atol=1e-6)
    assert learnt.label(matrix) == tuple(LABELS[i] for i in expected.argmax(axis=1))


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(0, 40))
def test_comments_are_found_by_few_of_the_trees(learnt: BlockTypes, seed: int, n_rows: int) -> None:
    """Comments found with few of the trees are those of all trees, even if main content or comments are not labels."""
    matrix, among = rows(seed, n_rows), np.random.default_rng(seed).random(n_rows) < 0.7
    without_main = dataclasses.replace(learnt, labels=(Label.OTHER, Label.COMMENT, Label.FOOTER))
    for types in (learnt, without_main):
        for least in (np.array(0.5, np.float32), np.linspace(0.2, 0.5, n_rows, dtype=np.float32)):
            found = types.comment_probabilities(matrix, among, least) >= least
            assert np.array_equal(found, among & (types.predict(matrix)[:, 1] >= least))
            assert n_rows < 40 or found.any()
    without_comments = dataclasses.replace(learnt, labels=(Label.MAIN, Label.OTHER, Label.FOOTER))
    assert (without_comments.comment_probabilities(matrix, among, np.zeros(n_rows, np.float32)) < 0).all()


def test_large_sums_do_not_overflow() -> None:
    """Softmax of very large sums does not overflow, which would be a warning and thus an error."""
    end = np.array([-1], np.int32)
    far = [Trees(end, np.zeros(1), end, end, np.array([value]), np.array([0], np.int32)) for value in (-1e4, 1e4)]
    assert BlockTypes((Label.MAIN, Label.OTHER), tuple(far)).predict(rows(0, 2)).tolist() == [[0, 1], [0, 1]]


def test_arrays_survive_a_round_trip(learnt: BlockTypes) -> None:
    """Block types read from arrays equal the ones that were written."""
    again = BlockTypes.from_arrays(learnt.to_arrays(), 4)
    assert again.labels == learnt.labels
    for one, other in zip(again.trees, learnt.trees, strict=True):
        for item in dataclasses.fields(Trees):
            assert np.array_equal(getattr(one, item.name), getattr(other, item.name))


def changed(arrays: dict[str, NDArray[Any]], name: str, place: int, value: float) -> dict[str, NDArray[Any]]:
    """Return arrays with one number replaced."""
    column = arrays[name].copy()
    column[place] = value
    return arrays | {name: column}


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("roots", 0, 1), ("roots", 3, 0), ("roots", -1, 10**6), ("roots", 1, -5), ("label", 0, 1), ("label", -1, 1),
        ("label", -1, 3), ("label", 4, 2), ("label", 4, -1), ("feature", 0, 4), ("feature", 0, -2), ("left", 0, 0),
        ("left", 0, -7), ("right", 0, 10**6), ("left", 0, -(2**31)), ("right", 0, 2**31 - 1), ("threshold", 0, np.nan),
        ("value", -1, np.inf),
    ],
)  # fmt: skip
def test_damaged_arrays_are_refused(learnt: BlockTypes, name: str, place: int, value: float) -> None:
    """Arrays with a damaged number are refused."""
    arrays: dict[str, NDArray[Any]] = dict(learnt.to_arrays())
    with pytest.raises(ModelFormatError):
        BlockTypes.from_arrays(changed(arrays, name, place, value), 4)


@pytest.mark.parametrize("name", [*TREE_ARRAYS, "label", "names"])
def test_missing_arrays_wrong_types_and_lengths_are_refused(learnt: BlockTypes, name: str) -> None:
    """A missing array, or one of a wrong type or length, is refused."""
    arrays: dict[str, NDArray[Any]] = dict(learnt.to_arrays())
    without = {key: column for key, column in arrays.items() if key != name}
    wrong = np.zeros(len(arrays[name]), np.float16)
    for column in (None, wrong, arrays[name][:0], arrays[name][:-1], arrays[name][None]):
        with pytest.raises(ModelFormatError):
            BlockTypes.from_arrays(without if column is None else without | {name: column}, 4)


@pytest.mark.parametrize("labels", [["main", "comment"], ["main", "comment", "foot"], ["main", "main", "footer"], []])
def test_wrong_labels_are_refused(learnt: BlockTypes, labels: list[str]) -> None:
    """Too few, unknown and repeated labels are refused."""
    names = np.array([label.encode() for label in labels], dtype="S9")
    with pytest.raises(ModelFormatError):
        BlockTypes.from_arrays(learnt.to_arrays() | {"names": names}, 4)


def test_narrow_matrices_are_refused(learnt: BlockTypes) -> None:
    """A matrix with too few columns is refused, instead of reading values of the next row."""
    with pytest.raises(UsageError, match="the matrix has 2"):
        learnt.predict(rows(0, 3)[:, :2])
    with pytest.raises(UsageError, match="the matrix has 2"):
        learnt.comment_probabilities(rows(0, 3)[:, :2], np.ones(3, bool), np.zeros(3, np.float32))


class Named(Extractor):
    """Labels each block by its first word and scores it by the digit at its end."""

    name: ClassVar[str] = "named"
    traits: ClassVar[Traits] = Traits(
        needs_training=False, uses_site=False, gives_probabilities=True, source="these tests"
    )

    @property
    def gives_labels(self) -> bool:
        """Return that predictions have labels."""
        return True

    def score(self, page: Page) -> NDArray[np.float32]:
        """Return scores by the digits."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Return scores and labels."""
        words = [text.split() for text in page.blocks.texts]
        scores = np.array([int(last) / 10 for _, last in words], np.float32)
        return Prediction(scores, labels=tuple(Label(first) for first, _ in words))


PAGE = "<p>main 9<p>comment 2<p>comment 8<p>heading 7<p>footer 1"


@pytest.mark.parametrize(
    ("include", "exclude", "text"),
    [
        ((), (), ["main 9", "comment 8", "heading 7"]),
        ("comment", (), ["main 9", "comment 2", "comment 8", "heading 7"]),
        (["footer"], ["comment"], ["main 9", "heading 7", "footer 1"]),
        ((), (Label.COMMENT, "heading"), ["main 9"]),
        ((), ["main", "comment", "heading"], []),
    ],
)
def test_labels_are_included_and_excluded(include: Any, exclude: Any, text: list[str]) -> None:
    """Included labels are kept and excluded ones removed, whatever their score."""
    result = blockml.extract(PAGE, model=Named(), include=include, exclude=exclude)
    assert result.text.split("\n") == (text or [""])
    assert result.labels == (Label.MAIN, Label.COMMENT, Label.COMMENT, Label.HEADING, Label.FOOTER)
    assert (result.status is blockml.Status.OK) == bool(text)
    assert result.confidence == blockml.extract(PAGE, model=Named()).confidence


def test_reasons_name_the_label_only_where_it_changed_something() -> None:
    """A block whose score keeps it has that reason even if its label is included."""
    result = blockml.extract(PAGE, model=Named(), include=["comment"], exclude=["heading", "footer"])
    assert result.reasons == (
        Reason.ABOVE_THRESHOLD,
        Reason.ASKED_FOR,
        Reason.ABOVE_THRESHOLD,
        Reason.EXCLUDED,
        Reason.BELOW_THRESHOLD,
    )


@given(st.lists(st.tuples(st.sampled_from(list(Label)), st.floats(0, 1, width=32)), max_size=20), st.data())
def test_labels_outside_both_sets_change_nothing(blocks: list[tuple[Label, float]], data: st.DataObject) -> None:
    """Blocks with a label in neither set are decided as before."""
    include = data.draw(st.sets(st.sampled_from(list(Label))))
    exclude = data.draw(st.sets(st.sampled_from(list(Label)))) - include
    page = blockml.parse("".join(f"<p>block {number}" for number in range(len(blocks))))
    labels = [label for label, _ in blocks]
    prediction = Prediction(np.array([score for _, score in blocks], np.float32), labels=labels)
    decision = decide(DecisionPolicy(), page, prediction)
    changed_one = decide(DecisionPolicy(), page, prediction, include=include, exclude=exclude)
    for label, before, after in zip(labels, decision.kept.tolist(), changed_one.kept.tolist(), strict=True):
        assert after == (label in include or (before and label not in exclude))


def test_json_has_labels() -> None:
    """JSON has the labels of blocks, or null for extractors without block types."""
    for model, expected in ((Named(), "main"), ("plain", None)):
        record = json.loads(blockml.render(blockml.extract(PAGE, model=model), "json"))
        assert record["blocks"][0]["label"] == expected


@pytest.mark.parametrize("arguments", [{"include": "comment"}, {"exclude": ["comment"]}])
def test_extractors_without_block_types_refuse_labels(arguments: dict[str, Any]) -> None:
    """Extractors without block types raise an error instead of ignoring labels, for one page and for many."""
    with pytest.raises(UsageError, match="plain has no block labels"):
        blockml.extract(PAGE, model="plain", **arguments)
    with pytest.raises(UsageError, match="has no block labels"):
        extract_page(blockml.parse(PAGE), Plain(), Options(**arguments))
    with pytest.raises(UsageError, match="has no block labels"):
        list(predict_items([Item("a", html=PAGE)], Plain(), Options(**arguments)))


def test_many_pages_accept_labels() -> None:
    """Pages extracted in bulk take the same labels as single ones."""
    (record,) = predict_items(
        [Item("a", html=PAGE)], Named(), Options(include=["footer"], exclude="comment"), isolation="none"
    )
    assert (record["error"], record["text"].split("\n")) == (None, ["main 9", "heading 7", "footer 1"])


def test_names_of_labels() -> None:
    """An unknown label is refused with a list of the legal ones, and so is a label in both sets."""
    assert label_names("comment", ()) == (frozenset({Label.COMMENT}), frozenset())
    with pytest.raises(UnknownNameError, match=r"did you mean 'comment'\? Or choose one of: advertisement, comment,"):
        label_names(["comments"], ())
    with pytest.raises(UsageError, match="both included and excluded: heading"):
        label_names(["heading", "main"], ["heading"])
