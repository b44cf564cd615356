"""Preparation of labelled pages: each is loaded once, and flags are those of the checks of gold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from blockml.datasets import Dataset, Gold, LabelledPage, filtered, open_dataset
from blockml.errors import UsageError
from blockml.evaluation.page_results import training_hashes
from blockml.training import block_type_rows, recipe, train_model
from blockml.training.block_types import select_rows
from blockml.training.prepare import prepare_data

DATA = Path(__file__).parents[2] / "data"


def counting(dataset: Dataset, loads: Counter[str]) -> Dataset:
    """Return a data set that counts how often each page is loaded."""

    def load(page: LabelledPage, _: Path) -> tuple[bytes, Gold | None]:
        loads[page.id] += 1
        return page.load()

    pages = tuple(replace(page, gold=None, reader=partial(load, page)) for page in dataset.pages)
    return replace(dataset, pages=pages)


@pytest.mark.parametrize("name", ["kim2013", "kim2013-site", "default"])
def test_each_page_is_loaded_once(name: str) -> None:
    """Checks, features, block types, fingerprints and hashes share one load of each page, and so do its folds."""
    loads = Counter[str]()
    dataset = counting(open_dataset(DATA / "pages"), loads)
    chosen = recipe(name)
    if name == "default":
        pytest.importorskip("lightgbm")
        chosen = replace(chosen.but(n_trees=5), n_mlps=0)
    train_model([dataset], chosen, protocols=())
    assert set(loads.values()) == {1}
    assert loads.keys() == {page.id for page in dataset.pages}


def test_what_is_prepared_equals_what_each_step_computes() -> None:
    """Flags, hashes and rows for block types are those of the functions that load the pages by themselves."""
    dataset = open_dataset(DATA / "sites")
    gold = dataset.pages[3].load()[1]
    damaged = replace(dataset.pages[3], gold=None, reader=lambda _: (b"<p>Other words", gold))
    dataset = replace(dataset, pages=(*dataset.pages[:3], damaged, *dataset.pages[4:20]))
    data = prepare_data([dataset], recipe("default"))
    checked = filtered(dataset)
    assert [page.flags for page in data.datasets[0].pages] == [page.flags for page in checked.pages]
    assert [page.usable for page in data.table.pages] == [number != 3 for number in range(20)]
    expected = training_hashes([dataset]).to_arrays()
    assert all(np.array_equal(values, expected[name]) for name, values in data.training_hashes().to_arrays().items())
    rows, own = block_type_rows([checked]), select_rows("page", data.labelled_types())
    assert np.array_equal(rows.matrix, own.matrix)
    assert rows.label.tolist() == own.label.tolist()
    assert rows.keys == own.keys
    part = own.without({rows.keys[0]})
    assert 0 < len(part.label) < len(own.label)
    assert set(part.page.tolist()) == set(own.page.tolist()) - {0}


def test_many_defects_stop_training_unless_they_are_accepted() -> None:
    """The recipe decides whether defective pages are left out; many of them are an error in either case."""
    dataset = open_dataset(DATA / "pages")
    empty = tuple(replace(page, gold=None, reader=lambda _: (b"<p>x", dataset.pages[0].gold)) for page in dataset.pages)
    some = replace(dataset, pages=(*dataset.pages[:6], *empty[6:12]))
    for name in ("kim2013", "default"):
        with pytest.raises(UsageError, match="6 of 12 pages of pages is defective"):
            prepare_data([some], recipe(name))
        data = prepare_data([some], recipe(name), accept_defects=True)
        assert sum(page.usable for page in data.table.pages) == (6 if name == "default" else 12)
