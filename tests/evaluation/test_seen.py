"""Pages and sites seen in training are recognised in other folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.cli import main
from blockml.datasets import Dataset, open_dataset
from blockml.evaluation import Seen, find_seen
from blockml.evaluation.page_results import page_hashes, training_records
from blockml.extractors import Plain, Route, TrainedExtractor, write_routed
from blockml.model import Model, TrainingHashes, load_model, render_card, save_model
from blockml.predictors import Correction
from blockml.training import recipe, train_model

SITES = Path(__file__).parents[2] / "data" / "sites"
N_TRAINING = 30


@pytest.fixture(scope="module")
def pages() -> Dataset:
    """Return all pages of the example sites."""
    return open_dataset(SITES)


@pytest.fixture(scope="module")
def model_file(pages: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model that was trained on the first pages."""
    path = tmp_path_factory.mktemp("model") / "mine.blockml"
    save_model(train_model([replace(pages, pages=pages.pages[:N_TRAINING])], recipe("kim2013"), protocols=[]), path)
    return path


def copied(pages: Dataset, folder: Path, change: Callable[[str], str] = str) -> Path:
    """Write pages under other names, with their text as gold next to them."""
    folder.mkdir()
    for number, page in enumerate(pages.pages):
        html, gold = page.load()
        assert gold is not None
        (folder / f"p{number:02}.html").write_text(change(html.decode()), encoding="utf-8", newline="")
        (folder / f"p{number:02}.txt").write_text(gold.text() or "", encoding="utf-8")
    return folder


def wider(html: str) -> str:
    """Add white space between the words and the tags of a page."""
    return html.replace(" ", "  ").replace("\n", "\r\n\t")


@pytest.mark.parametrize("change", [str, wider])
def test_copies_of_training_pages_are_found(
    change: Callable[[str], str], pages: Dataset, model_file: Path, tmp_path: Path
) -> None:
    """Copies of all training pages are recognised, even if their white space was changed."""
    folder = copied(replace(pages, pages=pages.pages[:N_TRAINING]), tmp_path / "elsewhere", change)
    scores = blockml.evaluate(model_file, folder)
    sites = {page.site for page in pages.pages[:N_TRAINING]}
    assert str(scores.seen) == f"30 of 30 pages, {len(sites)} of {len(sites)} sites seen in training"
    assert [page["seen"] for page in scores.pages] == [True] * N_TRAINING
    assert list(scores.by("seen")) == ["seen"]
    assert str(scores.seen) in repr(scores)
    assert str(scores.seen) in scores._repr_html_()
    assert blockml.evaluate("plain", folder).seen == Seen((), N_TRAINING)


def test_other_pages_of_a_training_site_are_not_seen(pages: Dataset, model_file: Path) -> None:
    """Other pages of a site in the training data aren't seen, but their site is."""
    known = {page.site for page in pages.pages[:N_TRAINING]}
    rest = [page for page in pages.pages[N_TRAINING:] if page.site in known]
    others = [page for page in pages.pages if page.site not in known]
    assert rest
    assert others
    found = blockml.evaluate(model_file, replace(pages, pages=(*rest, *others))).seen
    assert found.pages == ()
    assert (found.sites, found.n_sites) == (
        len({page.site for page in rest}),
        len({page.site for page in (*rest, *others)}),
    )
    assert found.worth_telling


def test_a_comparison_leaves_out_seen_pages(
    pages: Dataset, model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output marks the model with a dagger, and differences only cover pages that it hasn't seen."""
    chosen = (*pages.pages[: N_TRAINING // 3], *pages.pages[N_TRAINING : N_TRAINING + 6])
    folder, out = copied(replace(pages, pages=chosen), tmp_path / "mixed"), tmp_path / "out"
    assert main(["compare", str(model_file), "plain", "--dataset", f"own={folder}", "-o", str(out), "--quiet"]) == 0
    printed, err = capsys.readouterr()
    assert "mine†" in printed
    assert "plain†" not in printed
    assert "own: mine†, 10 of 16 pages, " in err
    again = blockml.compare([model_file, "plain"], f"own={folder}", output=out)
    [row] = again.differences
    assert (row["seen_pages"], row["wins"] + row["losses"] + row["ties"]) == (10, 6)
    assert [row["seen_pages"] for row in again.means if row["system"] == "mine"] == [10]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "own: mine†, 10 of 16 pages" in report
    main(["evaluate", str(model_file), "plain", "--dataset", f"own={folder}", "--metric", "bag_f1"])
    printed, err = capsys.readouterr()
    assert f"{model_file}†" in printed
    assert "leaves out 10 pages seen in training" in err


def test_a_file_without_hashes_recognises_whole_data_sets(pages: Dataset, model_file: Path, tmp_path: Path) -> None:
    """A model file of an earlier version recognises its whole training set, and anything else is unknown."""
    model = replace(load_model(model_file), training_hashes=None)
    save_model(model, tmp_path / "old.blockml")
    old = load_model(tmp_path / "old.blockml")
    assert old.training_hashes is None
    assert "has no hashes" in render_card(old)
    training = replace(pages, pages=pages.pages[:N_TRAINING])
    assert seen(old, training) == Seen(tuple(sorted(page.id for page in training.pages)), N_TRAINING, 2, 2)
    assert str(seen(old, pages)) == "unknown whether pages were seen in training"
    assert str(len(training)) in render_card(load_model(model_file)).partition("recognise")[2]


def seen(model: Model, dataset: Dataset) -> Seen:
    """Find the pages of a data set that a model has seen."""
    return find_seen(training_records(TrainedExtractor(model)), dataset, dataset.checksum(), page_hashes(dataset))


def test_untrained_extractors_have_seen_nothing(pages: Dataset) -> None:
    """Extractors that aren't trained have seen no page and need no hashes."""
    assert training_records(Plain()) == ()
    assert find_seen((), pages, "", {}) == Seen((), len(pages))


def test_a_folder_of_models_has_seen_what_its_models_have(
    pages: Dataset, model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pages that models of sites were adapted to count like those of a single model."""
    model = load_model(model_file)
    base = replace(model, name="base", training_hashes=TrainingHashes.of([]))
    nothing = Correction(np.zeros(0, dtype=np.uint64), np.zeros(0), 0.0)
    adapted = replace(model, correction=nothing, recipe={**model.recipe, "base": base.id})
    routes = {"mine": Route("harbour-courier.example", adapted)}
    write_routed(tmp_path / "models", base, routes, [], {"mine": {}})
    scores = blockml.evaluate(tmp_path / "models", pages)
    assert set(scores.seen.pages or ()) == {page.id for page in pages.pages[:N_TRAINING]}
    small = copied(replace(pages, pages=pages.pages[:2]), tmp_path / "two")
    assert main(["evaluate", str(tmp_path / "models"), "--dataset", str(small), "--metric", "bag_f1"]) == 0
    told = capsys.readouterr()
    assert f"{tmp_path / 'models'}†" in told.out
    assert "2 of 2 pages" in told.err
