"""Training of block types, and the selection of its rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from blockml.datasets import Dataset, open_dataset
from blockml.errors import DatasetError, UsageError
from blockml.features.structure import FAR
from blockml.page import Label
from blockml.predictors import BlockTypes
from blockml.training import BlockTypeRows, block_type_rows, fit_block_types
from blockml.training.block_types import BLANKED, BLOCK_TYPES, MAX_ROWS, blanked
from blockml.training.boosted_trees import Boosting

DATA = Path(__file__).parents[2] / "data"
QUICK: Boosting = {"n_trees": 4, "leaves": 8, "rate": 0.5, "min_leaf": 5}


@pytest.fixture(scope="module")
def own() -> Dataset:
    """Return the synthetic sites."""
    return open_dataset(DATA / "sites")


@pytest.fixture(scope="module")
def rows(own: Dataset) -> BlockTypeRows:
    """Return rows of the synthetic sites."""
    return block_type_rows([own], seed=1)


def written(folder: Path, html: str, content: str, page_type: str = "article") -> Dataset:
    """Return a page whose gold is only its content."""
    page = folder / "one"
    page.mkdir()
    (page / "page.html").write_text(html, encoding="utf-8")
    (page / "expected.txt").write_text(content, encoding="utf-8")
    (page / "meta.json").write_text(json.dumps({"page_type": page_type}), encoding="utf-8")
    return open_dataset(f"small={folder}")


def labels_of(rows: BlockTypeRows) -> list[tuple[str, bool]]:
    """Return the label of each row, and whether only "not main" is known."""
    return [(str(BLOCK_TYPES[i]), rest) for i, rest in zip(rows.label.tolist(), rows.rest.tolist(), strict=True)]


def test_each_page_gives_a_few_rows_of_each_label(rows: BlockTypeRows, own: Dataset) -> None:
    """Each page gives at most a few rows of each label, so that a long menu does not outweigh other labels."""
    counts = np.zeros((len(own), len(BLOCK_TYPES)), dtype=int)
    np.add.at(counts, (rows.page, rows.label), 1)
    assert counts.max() == MAX_ROWS
    assert (counts.sum(axis=0) > 0).all()
    assert not rows.weak.any()
    assert not rows.rest.any()
    assert (np.diff(rows.page) >= 0).all()


def test_all_rows_can_be_taken(own: Dataset) -> None:
    """Without a maximum every labelled block is a row, and results do not depend on the number of jobs."""
    few = Dataset("few", own.path, own.format, own.pages[:3])
    everything, some = block_type_rows([few], most=None), block_type_rows([few])
    assert len(everything.label) > len(some.label)
    assert everything.sites == tuple(f"few/{page.site}" for page in few.pages)
    assert np.array_equal(everything.matrix, block_type_rows([few], most=None, seed=5, jobs=2).matrix)
    assert np.array_equal(some.matrix, block_type_rows([few], jobs=2).matrix)


HTML = "<h1>Cats rule</h1><p>They do.<div class=comments><p>They don't, though.</div><p>What else"


@pytest.mark.parametrize(
    ("page_type", "expected"),
    [
        ("article", [("heading", False), ("main", False), ("comment", False), ("other", True)]),
        ("forum", [("heading", False), ("main", False)]),
    ],
)
def test_weak_labels_replace_missing_ones(tmp_path: Path, page_type: str, expected: list[tuple[str, bool]]) -> None:
    """Weak labels are used if the gold has only content; blocks of forums outside the content get no label."""
    found = block_type_rows([written(tmp_path, HTML, "Cats rule They do.", page_type)])
    assert labels_of(found) == expected
    assert found.weak.all()


def test_pages_without_labels_are_refused(tmp_path: Path) -> None:
    """A data set of pages without labelled blocks is refused."""
    with pytest.raises(DatasetError, match="no page has labelled blocks"):
        block_type_rows([written(tmp_path, "<title>x</title>", "")])


def of_pages(rows: BlockTypeRows, wanted: NDArray[np.bool_]) -> BlockTypeRows:
    """Return the rows of pages selected by ``wanted``, (n_pages,)."""
    chosen = wanted[rows.page]
    names = ("matrix", "label", "rest", "weak", "page")
    return replace(rows, **{name: getattr(rows, name)[chosen] for name in names})


def test_block_types_are_learnt(rows: BlockTypeRows) -> None:
    """Most blocks of a held-out synthetic site are predicted correctly."""
    held = np.array(rows.sites) == "sites/patient-crumb"
    learnt = fit_block_types(of_pages(rows, ~held), growth=QUICK)
    assert learnt is not None
    BlockTypes.from_arrays(learnt.to_arrays(), rows.matrix.shape[1])
    left = of_pages(rows, held)
    said = learnt.label(left.matrix)
    assert np.mean([label is BLOCK_TYPES[i] for label, i in zip(said, left.label.tolist(), strict=True)]) > 0.5


def test_names_are_hidden_on_weak_pages_only(rows: BlockTypeRows) -> None:
    """On weakly labelled pages exactly the columns from which weak labels derive are hidden."""
    weak = rows.page % 2 == 0
    half = replace(rows, weak=weak)
    hidden = blanked(half, weak & (rows.page % 4 == 0))
    columns = np.array([name.rpartition("_")[0] in BLANKED for name in rows.columns])
    touched = rows.page % 4 == 0
    assert columns.sum() > 40
    assert (hidden[np.ix_(touched, columns)] == FAR).all()
    assert np.array_equal(hidden[:, ~columns], rows.matrix[:, ~columns])
    assert np.array_equal(hidden[~touched], rows.matrix[~touched])


def test_types_that_occur_are_learnt(rows: BlockTypeRows) -> None:
    """Only types that occur are learnt, with a message about others; only main content, or none, gives no model."""
    names = ("matrix", "label", "rest", "weak", "page")

    def only(keep: NDArray[np.bool_]) -> BlockTypeRows:
        return replace(rows, **{name: getattr(rows, name)[keep] for name in names})

    said: list[str] = []
    without_footers = only(rows.label != BLOCK_TYPES.index(Label.FOOTER))
    learnt = fit_block_types(without_footers, growth=QUICK, report=said.append)
    assert said == ["no block is labelled footer: the model will not predict these types"]
    assert learnt is not None
    assert learnt.labels == tuple(label for label in BLOCK_TYPES if label is not Label.FOOTER)
    assert learnt.predict(rows.matrix).shape == (len(rows.matrix), len(BLOCK_TYPES) - 1)
    main = rows.label == BLOCK_TYPES.index(Label.MAIN)
    for few in (only(main), only(~main)):
        assert fit_block_types(few, growth=QUICK, report=said.append) is None
        assert said[-1] == "the model will not predict block types"
    with pytest.raises(UsageError, match="between 0 and 1"):
        fit_block_types(rows, blank=1.5)
