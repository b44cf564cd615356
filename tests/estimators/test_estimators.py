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
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks

import blockml
from blockml.datasets import Dataset, open_dataset
from blockml.errors import UsageError
from blockml.estimators import BlockClassifier, BlockFeatures, GroupFolds, block_rows, page_groups, prepare_pages
from blockml.training.recipes import recipe
from blockml.training.table import PageRows
from blockml.training.train import train_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sites() -> Dataset:
    """Return synthetic pages of six sites."""
    return open_dataset(ROOT / "data" / "sites")


@pytest.fixture(scope="module")
def pages(sites: Dataset) -> list[PageRows]:
    """Return the synthetic pages, prepared for kim2013."""
    return prepare_pages(sites.pages, "kim2013")


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
    assert clone(BlockClassifier(seed=3)).get_params() == {"recipe": "kim2013", "estimator": None, "seed": 3}


USER = """
import blockml
from blockml.datasets import open_dataset
from blockml.estimators import BlockClassifier, GroupFolds, page_groups, prepare_pages
from blockml.extractors import Extractor
from blockml.training.recipes import recipe
from blockml.training.train import train_model

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
    with pytest.raises(UsageError, match="prepared for a feature set other than boilerpipe6"):
        BlockFeatures("boilerpipe6").transform(rows)
    small = BlockClassifier("boilerpipe6").fit(prepare_pages(sites.pages, "boilerpipe6"))
    for call in (small.predict, small.predict_proba, small.score):
        with pytest.raises(UsageError, match="pages were prepared for another recipe"):
            call(rows)


def test_classifiers_that_a_model_file_cannot_hold(pages: list[PageRows]) -> None:
    """A classifier that can't be saved is refused before training."""
    with pytest.raises(UsageError, match="LinearSVC can't be written into a model file"):
        BlockClassifier("kim2013", LinearSVC()).fit(pages)
