"""scikit-learn's tools applied to pages: cross-validation as in ``blockml train``, checks, pipelines and types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score, log_loss, recall_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks

import blockml
from blockml.datasets import Dataset, open_dataset
from blockml.errors import UnknownNameError, UsageError
from blockml.estimators import (
    BlockClassifier,
    BlockFeatures,
    GroupFolds,
    block_rows,
    block_scorer,
    page_groups,
    prepare_pages,
)
from blockml.features import FEATURE_SETS
from blockml.training import RECIPES, PageRows, recipe, train_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sites() -> Dataset:
    """Return synthetic pages of six sites."""
    return open_dataset(ROOT / "data" / "sites")


@pytest.fixture(scope="module")
def pages(sites: Dataset) -> list[PageRows]:
    """Return the synthetic pages, prepared for kim2013."""
    return prepare_pages(sites.pages, "kim2013")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["kim2013", "kim2013-site", "boosted"])
@pytest.mark.parametrize("by", ["page", "site"])
def test_cross_val_score_reproduces_training(sites: Dataset, name: str, by: str) -> None:
    """Page F1 over all folds equals that of ``blockml train`` to four digits."""
    if name == "boosted":
        pytest.importorskip("lightgbm")
    pages = prepare_pages(sites.pages, name)
    groups, folds = page_groups(pages, by), GroupFolds(3, seed=4)
    scores = cross_val_score(BlockClassifier(name, seed=4), pages, groups=groups, cv=folds)
    sizes = [len(test) for _, test in folds.split(pages, groups=groups)]
    model = train_model([sites], recipe(name), protocols=[by], n_folds=3, seed=4)
    assert round(float(np.average(scores, weights=sizes)), 4) == model.metrics[by]["page_bag_f1"]["mean"]


def test_prepared_and_labelled_pages_give_the_same(sites: Dataset, pages: list[PageRows]) -> None:
    """Training and prediction give the same results for prepared and for labelled pages."""
    a, b = BlockClassifier().fit(pages), BlockClassifier().fit(sites.pages)
    assert a.score(pages) == b.score(sites.pages)
    for prepared, raw in zip(a.predict(pages), b.predict(sites.pages), strict=True):
        assert prepared.tolist() == raw.tolist()
    for prepared, raw in zip(a.predict_proba(pages[:9]), b.predict_proba(sites.pages[:9]), strict=True):
        assert prepared.tolist() == raw.tolist()
        assert np.allclose(raw.sum(axis=1), 1)


def test_a_fitted_classifier_is_a_model(sites: Dataset, tmp_path: Path) -> None:
    """Extraction accepts a fitted classifier and gives the same result as with its file."""
    classifier = BlockClassifier("kim2013").fit(sites.pages)
    html = sites.pages[3].load()[0]
    path = tmp_path / "mine.blockml"
    blockml.save(classifier, path)
    result = blockml.extract(html, model=classifier)
    assert result.text
    assert result.text == blockml.extract(html, model=path).text
    assert result.kept.tolist() == classifier.predict([html])[0].tolist()


def test_other_classifiers_can_learn(sites: Dataset, pages: list[PageRows], tmp_path: Path) -> None:
    """A scikit-learn pipeline can be trained, saved and loaded, and an unsupported classifier is refused."""
    learner = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier = BlockClassifier(estimator=learner).fit(pages)
    assert classifier.score(pages) > 0.7
    html = sites.pages[0].load()[0]
    blockml.save(classifier, tmp_path / "linear.blockml")
    result = blockml.extract(html, model=tmp_path / "linear.blockml")
    assert result.scores.tolist() == blockml.extract(html, model=classifier).scores.tolist()
    with pytest.raises(UsageError, match="GaussianNB can't be written into a model file"):
        BlockClassifier(estimator=GaussianNB()).fit([])
    for prepared, raw in zip(classifier.predict(pages[:5]), classifier.predict(sites.pages[:5]), strict=True):
        assert prepared.tolist() == raw.tolist()


def test_grid_search_and_cross_val_predict(pages: list[PageRows]) -> None:
    """Parameters of the inner learner can be searched, and every page gets a held-out prediction."""
    learner = LogisticRegression(max_iter=2000)
    search = GridSearchCV(
        BlockClassifier(estimator=make_pipeline(StandardScaler(), learner)),
        {"estimator__logisticregression__C": [1e-6, 1.0]}, cv=GroupKFold(3),
    )  # fmt: skip
    search.fit(pages, groups=page_groups(pages))
    assert search.best_params_ == {"estimator__logisticregression__C": 1.0}
    found = cross_val_predict(search.best_estimator_, pages, groups=page_groups(pages), cv=GroupKFold(3))
    assert [len(kept) for kept in found] == [len(page.main) for page in pages]


def test_features_of_blocks(sites: Dataset, pages: list[PageRows]) -> None:
    """Features have one named row per block in page order, equal for all kinds of samples."""
    features = BlockFeatures("kim2013-onehot", recipe("kim2013").parsing)
    from_files, prepared = features.fit_transform(sites.pages[:4]), features.transform(pages[:4])
    assert from_files.tolist() == prepared.tolist()
    assert from_files.shape == (len(features.page_index(pages[:4])), len(features.get_feature_names_out()))
    assert make_pipeline(features, StandardScaler()).fit_transform(pages[:4]).shape == from_files.shape
    assert features.transform([]).shape == (0, from_files.shape[1])


def test_features_as_data_frames() -> None:
    """``set_output`` gives data frames with the names of the columns."""
    pytest.importorskip("pandas")
    frame = BlockFeatures("boilerpipe6").set_output(transform="pandas").fit_transform(["<p>one</p>"])
    assert list(frame.columns) == ["wd_m1", "ld_m1", "wd_0", "ld_0", "wd_p1", "ld_p1"]


def test_blocks_as_samples(pages: list[PageRows]) -> None:
    """Blocks can be rows for any classifier, grouped by page."""
    rows, main, groups = block_rows(pages)
    scores = cross_val_score(LogisticRegression(max_iter=5000), rows, main, groups=groups, cv=GroupKFold(2))
    assert scores.min() > 0.8
    assert set(groups.tolist()) <= set(range(len(pages)))


def test_parameters_of_a_recipe_can_be_searched(sites: Dataset) -> None:
    """A grid search tunes boosted trees by the parameters of the recipe, on pages and by any scorer."""
    pytest.importorskip("lightgbm")
    classifier = BlockClassifier("boosted")
    deep = classifier.get_params()
    assert (deep["recipe__rate"], deep["recipe__learner"], deep["recipe"]) == (0.07, "lightgbm", "boosted")
    rows = prepare_pages(sites.pages[::2], "boosted")
    searched = {"recipe__learning_rate": [1e-6, 0.3], "recipe__n_trees": [10]}
    scorers = {"page F1": None, "AUC": block_scorer("roc_auc"), "F1": block_scorer("f1")}
    for metric, scorer in scorers.items():
        search = GridSearchCV(classifier, searched, cv=GroupKFold(2), scoring=scorer, error_score="raise")
        search.fit(rows, groups=page_groups(rows))
        assert np.isfinite(search.cv_results_["mean_test_score"]).all(), metric
    assert search.best_params_ == {"recipe__learning_rate": 0.3, "recipe__n_trees": 10}
    assert search.best_estimator_.model_.recipe["rate"] == 0.3
    assert len(search.best_estimator_.model_.ensembles[0].trees.roots) == 10
    assert clone(search.best_estimator_).get_params()["recipe__rate"] == 0.3
    assert classifier.get_params()["recipe__rate"] == 0.07


def test_every_metric_of_blocks_gives_a_number_for_pages(sites: Dataset) -> None:
    """Scorers agree with scikit-learn's metrics of the pooled blocks, and find nothing kept without a warning."""
    pages = prepare_pages(sites.pages[::3], "kim2013")
    fitted = BlockClassifier("kim2013").fit(pages[::2])
    truth = np.concatenate([page.main for page in pages[1::2]])
    likely = np.concatenate([column[:, 1] for column in fitted.predict_proba(pages[1::2])])
    kept = likely >= np.float32(fitted.model_.policy.threshold)
    expected = {
        "f1": f1_score(truth, kept), "recall": recall_score(truth, kept), "roc_auc": roc_auc_score(truth, likely),
        "f1_macro": f1_score(truth, kept, average="macro"), "neg_log_loss": -log_loss(truth, likely),
    }  # fmt: skip
    for metric, value in expected.items():
        assert block_scorer(metric)(fitted, pages[1::2], None) == pytest.approx(value), metric
    for metric in ("precision", "average_precision", "balanced_accuracy", "matthews_corrcoef", "neg_brier_score"):
        found = cross_val_score(
            BlockClassifier("kim2013"), pages, groups=page_groups(pages), cv=GroupFolds(2),
            scoring=block_scorer(metric), error_score="raise",
        )  # fmt: skip
        assert np.isfinite(found).all(), metric
    never = BlockClassifier(recipe("kim2013").but(threshold=1.0, shrinkage=1e6)).fit(pages)
    assert block_scorer("precision")(never, pages, None) == 0
    with pytest.raises(UnknownNameError, match="unknown metric 'r2'"):
        block_scorer("r2")


@pytest.mark.parametrize("name", ["kim2013", "boosted"])
def test_blocks_are_samples_for_any_metric(sites: Dataset, name: str, tmp_path: Path) -> None:
    """On a matrix of blocks every metric of scikit-learn gives a number, and the fitted model can be saved."""
    classifier = BlockClassifier(name)
    if name == "boosted":
        pytest.importorskip("lightgbm")
        classifier.set_params(recipe__n_trees=20)
    rows, main, groups = block_rows(sites.pages[::2], name)
    metrics = ["f1", "precision", "roc_auc", "average_precision"]
    found = cross_validate(
        classifier, rows, main, groups=groups, cv=GroupKFold(2), error_score="raise", scoring=metrics
    )
    assert all(0.8 < value <= 1 for metric in ("f1", "roc_auc") for value in found[f"test_{metric}"])
    classifier.fit(rows, main)
    assert classifier.predict(rows).shape == main.shape
    assert np.allclose(classifier.predict_proba(rows).sum(axis=1), 1)
    assert classifier.score(rows, main) == f1_score(main, classifier.predict(rows))
    blockml.save(classifier, tmp_path / "blocks.blockml")
    html = sites.pages[0].load()[0]
    kept = blockml.extract(html, model=tmp_path / "blocks.blockml").kept
    assert kept.tolist() == classifier.predict([html])[0].tolist()
    for call, message in (
        (lambda: classifier.fit(rows), "need their labels y"),
        (lambda: classifier.score(rows), "need their labels y"),
        (lambda: classifier.fit(rows[:, :3], main), "columns, as block_rows returns them"),
        (lambda: classifier.predict(rows[:, :3]), "the matrix has 3 columns"),
        (lambda: BlockClassifier("default").fit(*block_rows(sites.pages[:3], "default")[:2]), "has MLPs"),
    ):
        with pytest.raises(UsageError, match=message):
            call()
    linear = BlockClassifier("kim2013", make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)))
    if name == "kim2013":
        assert linear.fit(rows, main).score(rows, main) > 0.8


@pytest.mark.parametrize("name", [*RECIPES, *FEATURE_SETS])
def test_feature_names_are_those_of_the_columns(sites: Dataset, name: str) -> None:
    """A recipe or feature set has as many names as columns, and a recipe takes the pages prepared for it."""
    features = BlockFeatures(name)
    names = features.get_feature_names_out()
    page = sites.pages[0]
    if name != "votes":  # slow
        assert features.transform([page]).shape[1] == len(names)
    if name in RECIPES and name != "stacking":
        rows = block_rows([page], name)[0]
        assert rows.shape[1] == len(names)
        assert features.transform(prepare_pages([page], name)).shape[1] == len(names)
    if name == "kim2013":
        assert len(names) == 140


@pytest.mark.parametrize("estimator", [BlockFeatures(), BlockClassifier()], ids=["features", "classifier"])
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
)
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: Callable[[str, BaseEstimator], None]) -> None:
    """The checks that don't need a matrix as input pass (those of parameters, cloning, tags and representation).

    ``check_estimator`` only runs one check, because the tags say that samples are not matrices.
    """
    check(type(estimator).__name__, estimator)


def test_wrong_calls(sites: Dataset) -> None:
    """Each wrong call is an error that says what is wrong."""
    with pytest.raises(NotFittedError):
        BlockClassifier().predict(["<p>one</p>"])
    with pytest.raises(UsageError, match="fitted BlockClassifier"):
        blockml.extract("<p>one</p>", model=BlockClassifier())
    with pytest.raises(UsageError, match="need pages with gold"):
        BlockClassifier().fit(["<p>one</p>"])
    with pytest.raises(UsageError, match="groups=page_groups"):
        next(GroupFolds(2).split([1, 2]))
    with pytest.raises(UsageError, match="unknown recipe 'kim'"):
        BlockClassifier("kim").fit(sites.pages)
    with pytest.raises(UsageError, match="by must be"):
        page_groups([], "block")
    shallow = clone(BlockClassifier(seed=3)).get_params(deep=False)
    assert shallow == {"recipe": "kim2013", "estimator": None, "seed": 3}
    for wrong in ("recipe__leaf", "recipe__leaves"):
        with pytest.raises(UsageError, match="unknown recipe parameter 'lea"):
            BlockClassifier().set_params(**{wrong: 3})
    with pytest.raises(UsageError, match="'rate' must be a number from 1e-06 to 1, got 2"):
        BlockClassifier("boosted").set_params(recipe__learning_rate=2)
    with pytest.raises(UsageError, match="choose one of: accuracy, average_precision, "):
        block_scorer("f2")


USER = """
import blockml
from blockml.datasets import open_dataset
from blockml.estimators import BlockClassifier, GroupFolds, page_groups, prepare_pages
from blockml.extractors import Extractor
from blockml.training import recipe, train_model

dataset = open_dataset("my-pages")
pages = prepare_pages(dataset.pages, "kim2013")
classifier: BlockClassifier = BlockClassifier("kim2013").fit(pages)
f1: float = classifier.score(pages)
result: blockml.Extraction = blockml.extract(b"<p>one</p>", model=classifier)
text: str = result.text
kept: list[bool] = result.kept.tolist()
model = train_model([dataset], recipe("kim2013"), protocols=["page"])
blockml.save(model, "mine.blockml")
extractor: Extractor = blockml.load("mine.blockml")
folds = list(GroupFolds(2).split(pages, groups=page_groups(pages)))
"""


@pytest.mark.exhaustive
def test_a_strictly_typed_file_of_a_user_passes(tmp_path: Path) -> None:
    """``mypy --strict`` accepts a file that trains, fits, extracts and saves, and finds a wrong type in another."""
    pytest.importorskip("mypy")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\n[mypy-blockml.*]\nfollow_imports = silent\n")
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(USER)
    bad.write_text(USER + "\nwrong: int = result.text\n")
    # mypy runs in a separate process because it changes the recursion limit.
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    run = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    found = run([*command, str(good)])
    assert (found.stdout, found.returncode) == ("Success: no issues found in 1 source file\n", 0)
    found = run([*command, str(bad)])
    assert found.returncode == 1
    assert "bad.py" in found.stdout
    assert "Incompatible types" in found.stdout


@pytest.mark.parametrize("page", ["<p>x", b"<p>x", None])
def test_a_single_page_is_not_a_sequence_of_pages(pages: list[PageRows], page: Any) -> None:
    """A single page is refused, because a string would be read as one page per character."""
    fitted, features = BlockClassifier("kim2013").fit(pages), BlockFeatures("boilerpipe6")
    for function in (fitted.predict, fitted.predict_proba, fitted.fit, features.transform, features.page_index):
        with pytest.raises(UsageError, match=f"sequence of pages, got {type(page).__name__}"):
            function(page)


def test_groups_of_pages_in_an_array(sites: Dataset, pages: list[PageRows]) -> None:
    """Arrays of pages are accepted, and unprepared pages and groups of other pages are refused."""
    held = np.empty(len(pages), dtype=object)
    held[:] = pages
    groups = page_groups(held)  # type: ignore[arg-type]  # scikit-learn splits arrays
    assert (groups == page_groups(pages)).all()
    with pytest.raises(UsageError, match="prepare_pages"):
        page_groups(sites.pages)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="inconsistent numbers"):
        cross_val_score(BlockClassifier("kim2013"), pages, groups=groups[:-1], cv=GroupFolds(3))


@pytest.mark.parametrize(
    ("prepared", "fitted"), [("kim2013", "boosted"), ("boosted", "kim2013"), ("boosted", "default")]
)
def test_pages_prepared_for_another_recipe(sites: Dataset, prepared: str, fitted: str) -> None:
    """Pages prepared for another recipe are refused in training and in prediction."""
    rows = prepare_pages(sites.pages[:3], prepared)
    with pytest.raises(UsageError, match="pages were prepared for another recipe"):
        BlockClassifier(fitted).fit(rows)
    with pytest.raises(UsageError, match="pages were prepared for another recipe"):
        block_rows(rows, fitted)
    with pytest.raises(UsageError, match=r"prepared for the feature set .*, not for boilerpipe6"):
        BlockFeatures("boilerpipe6").transform(rows)
    small = BlockClassifier("boilerpipe6").fit(prepare_pages(sites.pages, "boilerpipe6"))
    for call in (small.predict, small.predict_proba, small.score):
        with pytest.raises(UsageError, match="pages were prepared for another recipe"):
            call(rows)


def test_classifiers_that_a_model_file_cannot_hold(pages: list[PageRows]) -> None:
    """A classifier that can't be saved is refused before training."""
    with pytest.raises(UsageError, match="LinearSVC can't be written into a model file"):
        BlockClassifier("kim2013", LinearSVC()).fit(pages)
