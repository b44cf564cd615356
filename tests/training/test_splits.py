"""Splits do not leak, tables contain what learners see, and training is deterministic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.datasets import Dataset, LabelledPage, TextGold, open_dataset
from blockml.errors import DatasetError, UnknownNameError, UsageError
from blockml.evaluation import bag_scores
from blockml.model import Model, load_model, render_card, save_model
from blockml.training import (
    PROTOCOLS,
    RECIPES,
    BlockTable,
    build_table,
    cross_validate,
    duplicate_groups,
    fit_tree,
    fold_pages,
    folds,
    recipe,
    to_trees,
    train_model,
    tune,
)
from blockml.training.cross_validation import gaps
from blockml.training.single_tree import shrink

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Return every third page of the synthetic sites."""
    whole = open_dataset(DATA / "sites")
    return replace(whole, pages=whole.pages[::3])


@pytest.fixture(scope="module")
def table(dataset: Dataset) -> BlockTable:
    """Return the block table of the data set."""
    return build_table([dataset], recipe("kim2013"))


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Model:
    """Return a model trained on the data set."""
    return train_model([dataset], recipe("kim2013"), n_folds=3, command="a test")


def test_table_stacks_pages(table: BlockTable, dataset: Dataset) -> None:
    """Rows, pages and labels of the table agree with each other."""
    assert len(table.pages) == len(dataset)
    assert table.starts[-1] == len(table.main) == len(table.matrix) == len(table.page_of_row)
    for number, page in enumerate(table.pages):
        rows = table.rows_of(number)
        assert (table.page_of_row[rows] == number).all()
        assert np.array_equal(table.main[rows], page.main)


def test_page_f1_is_the_bag_metric(table: BlockTable) -> None:
    """The fast F1 from token numbers equals the metric on joined block texts."""
    random = np.random.default_rng(3)
    for page, labelled in zip(table.pages[:5], open_dataset(DATA / "sites").pages[::3], strict=False):
        html, gold = labelled.load()
        parsed = blockml.parse(html, url=labelled.url)
        kept = random.random(len(page.main)) < 0.5
        text = "\n".join(text for text, keep in zip(parsed.blocks.texts, kept, strict=True) if keep)
        assert gold is not None
        assert page.bag_f1(kept) == pytest.approx(bag_scores(gold.text() or "", text).f1)


@pytest.mark.parametrize("protocol", ["page", "site"])
def test_pages_and_sites_are_in_one_fold(table: BlockTable, protocol: str) -> None:
    """No page or site has rows in two folds, and every fold has rows."""
    fold = folds(table, protocol, 3)
    keys = np.array([page.site if protocol == "site" else page.id for page in table.pages])[table.page_of_row]
    assert all(len(np.unique(fold[keys == key])) == 1 for key in np.unique(keys))
    assert set(fold.tolist()) == {0, 1, 2}


def test_folds_over_blocks_leak(table: BlockTable) -> None:
    """Folds over blocks have rows of one page on both sides, so they are only for comparison."""
    fold = folds(table, "block", 10)
    assert any(len(np.unique(fold[table.page_of_row == page])) > 1 for page in range(len(table.pages)))
    shares = [table.main[fold == number].mean() for number in range(10)]
    assert max(shares) - min(shares) < 0.01  # stratified


def test_unknown_protocol_names_the_legal_ones(table: BlockTable) -> None:
    """An unknown protocol is refused with the legal ones."""
    with pytest.raises(UnknownNameError, match="choose one of: block, page, site"):
        folds(table, "line", 3)
    assert list(PROTOCOLS) == ["block", "page", "site"]


def test_fold_sizes_are_even_and_seeded() -> None:
    """Folds have even sizes, and another seed gives other folds."""
    groups = np.repeat(np.arange(30), [3, 1] * 15)
    fold = fold_pages(groups, 5, seed=0)
    assert np.bincount(fold).tolist() == [12] * 5
    assert np.array_equal(fold, fold_pages(groups, 5, seed=0))
    assert not np.array_equal(fold, fold_pages(groups, 5, seed=1))
    with pytest.raises(UsageError, match="the number of folds must be between 2 and the number of groups, 30; got 31"):
        fold_pages(groups, 31, seed=0)


def make_page(folder: Path, name: str, html: str, site: str, flags: tuple[str, ...] = ()) -> LabelledPage:
    """Write a page and give it gold."""
    path = folder / f"{name}.html"
    path.write_text(html, encoding="utf-8")
    return LabelledPage(id=name, site=site, path=path, gold=TextGold(html[3:40]), flags=flags)


def test_duplicates_form_a_group_and_are_learnt_once(tmp_path: Path) -> None:
    """Equal and nearly equal pages form a group; an equal one is trained on once, and a flagged one never."""
    body = " ".join(f"word{i}" for i in range(300))
    pages = [
        make_page(tmp_path, "a", f"<p>{body}", "one"),
        make_page(tmp_path, "b", f"<p>{body}", "two"),
        make_page(tmp_path, "c", f"<p>{body} and a little more", "three"),
        make_page(tmp_path, "d", "<p>" + " ".join(f"other{i}" for i in range(300)), "four"),
        make_page(tmp_path, "e", "<p>short", "four", flags=("bad",)),
    ]
    rows = build_table([Dataset("x", tmp_path, "folders", tuple(pages))], recipe("kim2013")).pages
    assert duplicate_groups(rows, [page.site for page in rows]).tolist() == [0, 0, 0, 3, 3]
    assert duplicate_groups(rows, [page.id for page in rows]).tolist() == [0, 0, 0, 3, 4]
    table = BlockTable.stack(rows)
    assert table.trainable.tolist() == [True, False, True, True, False]


def test_pages_without_gold_or_blocks_are_refused(tmp_path: Path) -> None:
    """Pages without gold or blocks are refused, because nothing could be learnt."""
    (tmp_path / "x.html").write_text("<p>x</p>", encoding="utf-8")
    page = LabelledPage(id="x", site="s", path=tmp_path / "x.html")
    with pytest.raises(DatasetError, match="page 'x' has no gold"):
        build_table([Dataset("x", tmp_path, "folders", (page,))], recipe("kim2013"))
    with pytest.raises(DatasetError, match="no text blocks"):
        BlockTable.stack([])


def test_inner_tuning_sees_training_rows_only(table: BlockTable) -> None:
    """Changing labels and gold of test pages does not change the tuned thresholds."""
    training = (folds(table, "site", 3) != 0) & table.trainable
    chosen = recipe("boilerpipe6").but(features="kim2013-onehot")
    before = tune(table, chosen, training)
    test_pages = set(np.unique(table.page_of_row[~training]).tolist())
    spoilt = replace(
        table,
        main=np.where(training, table.main, ~table.main),
        pages=tuple(
            replace(page, gold_counts=np.zeros_like(page.gold_counts)) if number in test_pages else page
            for number, page in enumerate(table.pages)
        ),
    )
    assert tune(spoilt, chosen, training) == before


def test_cross_validation_is_out_of_fold(table: BlockTable) -> None:
    """A model that memorises shuffled labels is no better than chance."""
    random = np.random.default_rng(0)
    shuffled = replace(table, main=random.permutation(table.main))
    memorising = recipe("kim2013").but(min_leaf=1, threshold=0.5, shrinkage=0.0)
    result = cross_validate(shuffled, memorising, "page", n_folds=3)
    share = shuffled.main.mean()
    assert result.block_scores(shuffled).precision == pytest.approx(share, abs=0.05)


def test_jobs_do_not_change_results(table: BlockTable) -> None:
    """One process and two give the same scores and thresholds."""
    one = cross_validate(table, recipe("boilerpipe6").but(features="kim2013-onehot"), "page", n_folds=2)
    two = cross_validate(table, recipe("boilerpipe6").but(features="kim2013-onehot"), "page", n_folds=2, jobs=2)
    assert np.array_equal(one.scores, two.scores)
    assert one.tunings == two.tunings


def test_gaps_are_differences_of_block_f1(table: BlockTable) -> None:
    """The gap between two protocols is the difference of their block F1."""
    chosen = recipe("kim2013").but(threshold=0.5, shrinkage=0.0)
    results = {name: cross_validate(table, chosen, name, n_folds=3) for name in ("block", "page")}
    f1 = {name: result.block_scores(table).f1 for name, result in results.items()}
    assert gaps(results, table) == {"block - page": pytest.approx(f1["block"] - f1["page"], abs=1e-4)}


@pytest.mark.parametrize("name", sorted(name for name, item in RECIPES.items() if not item.is_boosted))
def test_every_recipe_learns(name: str, dataset: Dataset) -> None:
    """The trees of each recipe separate content from boilerplate on their training pages."""
    chosen = recipe(name)
    table = build_table([dataset], chosen)
    trees = to_trees(fit_tree(chosen, table.matrix, table.main))
    trees.check(table.matrix.shape[1])
    right = (trees.predict(table.matrix) >= 0.5) == table.main
    assert right.mean() > 0.85


def test_leaves_have_ten_rows(table: BlockTable) -> None:
    """Leaves have at least ten rows, which is J48's minNumObj in Kim et al. 2013, section 4.3."""
    trees = to_trees(fit_tree(recipe("kim2013"), table.matrix, table.main))
    values, counts = np.unique(trees.predict(table.matrix), return_counts=True)
    assert counts.min() >= 10
    assert len(values) > 10


def test_recipe_parameters_are_checked() -> None:
    """A misspelt parameter is refused instead of silently using the default."""
    with pytest.raises(UnknownNameError, match="unknown recipe parameter 'leaf'; choose one of: features, learner"):
        recipe("kim2013").but(leaf=3)
    with pytest.raises(UsageError, match="'min_leaf'"):
        recipe("kim2013").but(min_leaf="many")
    with pytest.raises(UnknownNameError, match="choose one of: boilerpipe6"):
        recipe("kim")


def test_another_learner_starts_with_its_own_parameters() -> None:
    """Another learner starts with its default parameters instead of those of the recipe's learner."""
    boosted = recipe("default").but(learner="boosted", leaves=5)
    assert boosted.parameters == {**recipe("boosted").parameters, "leaves": 5}
    assert recipe("boosted").but(learner="cart").parameters == recipe("kim2013").parameters
    with pytest.raises(UnknownNameError, match="unknown learner 'svm'; choose one of: boosted, cart, lightgbm"):
        recipe("kim2013").but(learner="svm")


def test_training_needs_both_kinds_of_blocks(table: BlockTable) -> None:
    """Only content, or only boilerplate, is refused."""
    with pytest.raises(UsageError, match="both classes"):
        fit_tree(recipe("kim2013"), table.matrix, np.ones_like(table.main))


def test_training_is_deterministic_to_the_byte(dataset: Dataset, model: Model, tmp_path: Path) -> None:
    """Equal pages, recipe and seed give equal files."""
    again = train_model([dataset], recipe("kim2013"), n_folds=3, command="a test")
    save_model(model, tmp_path / "a.blockml")
    save_model(again, tmp_path / "b.blockml")
    assert (tmp_path / "a.blockml").read_bytes() == (tmp_path / "b.blockml").read_bytes()
    assert load_model(tmp_path / "a.blockml").metrics == model.metrics


def test_card_has_the_important_facts(model: Model) -> None:
    """The card has data, licence, command, numbers and limits."""
    card = render_card(model)
    for words in ("CC0-1.0", "a test", "by site, 3 folds", "page bag F1", "## Limits", "kim2013-onehot"):
        assert words in card
    assert model.training[0]["checksum"]
    bare = replace(model, metrics={})
    assert "Nothing was measured." in render_card(bare)


def test_shrinkage_draws_leaves_to_their_ancestors(table: BlockTable) -> None:
    """No shrinkage changes nothing; ever more gives all leaves the overall share; tests of the tree stay the same."""
    tree = fit_tree(recipe("kim2013"), table.matrix, table.main)
    assert shrink(tree, 0) is tree
    far = shrink(tree, 1e12)
    assert np.allclose(far.value, table.main.mean(), atol=1e-6)
    some = shrink(tree, 100)
    assert np.ptp(some.value) < np.ptp(tree.value)
    assert np.array_equal(some.threshold, tree.threshold)


def test_shrinkage_against_the_sum_over_the_path(table: BlockTable) -> None:
    """A shrunk leaf is the root's value plus damped steps, summed along the path."""
    tree = fit_tree(recipe("kim2013"), table.matrix, table.main)
    shrunk = shrink(tree, 50)
    parent = {int(child): node for node in range(len(tree.left)) for child in (tree.left[node], tree.right[node])}
    for leaf in np.flatnonzero(tree.feature < 0)[:20].tolist():
        path = [leaf]
        while path[-1]:
            path.append(parent[path[-1]])
        value = tree.value[0]
        for above, below in zip(path[::-1], path[-2::-1], strict=False):
            value += (tree.value[below] - tree.value[above]) / (1 + 50 / tree.weight[above])
        assert shrunk.value[leaf] == pytest.approx(value)


def test_snippet_gold_is_not_an_empty_text(tmp_path: Path) -> None:
    """Pages whose gold is only snippets are learnt from, without scores that need a whole text."""
    for number in range(12):
        folder = tmp_path / f"p{number}"
        folder.mkdir()
        menu = "".join(f"<li><a href='/{i}'>menu entry {i}</a></li>" for i in range(4))
        body = f"<p>The story number {number} has many words that nobody has linked to anything at all.</p>"
        (folder / "page.html").write_text(f"<ul>{menu}</ul>{body}" * 3, encoding="utf-8")
        (folder / "meta.json").write_text('{"with": ["The story number"], "without": ["menu entry"]}', encoding="utf-8")
    trained = train_model([open_dataset(tmp_path)], recipe("kim2013"), n_folds=3)
    assert trained.policy.threshold == 0.5
    assert "page_bag_f1" not in trained.metrics["page"]
    assert trained.metrics["page"]["block"]["f1"] > 0.9


def test_equal_ids_of_two_data_sets_are_different_pages(dataset: Dataset) -> None:
    """Equal ids in two data sets denote different pages."""
    twice = build_table([dataset, replace(dataset, name="other")], recipe("boilerpipe6").but(features="kim2013-onehot"))
    assert len({page.id for page in twice.pages}) == 2 * len(dataset)


def test_few_pages_mean_fewer_folds(dataset: Dataset) -> None:
    """With six pages there are six folds instead of the default ten."""
    said: list[str] = []
    few = replace(dataset, pages=dataset.pages[:12:2])
    trained = train_model(
        [few], recipe("kim2013").but(threshold=0.5, shrinkage=0.0), protocols=("page",), report=said.append
    )
    assert trained.metrics["page"]["folds"] == 6
    assert any("6 folds" in line for line in said)
    with pytest.raises(UsageError, match="at least 2 folds"):
        train_model([few], recipe("kim2013"), n_folds=1)


@pytest.mark.parametrize(
    "parameters", [{"threshold": 0}, {"threshold": "abc"}, {"shrinkage": -5}, {"min_leaf": 0}, {"features": "kim2013"}]
)
def test_values_outside_their_range_are_refused(parameters: dict[str, object]) -> None:
    """Values out of range are refused before training."""
    with pytest.raises(UsageError):
        recipe("kim2013").but(**parameters)
