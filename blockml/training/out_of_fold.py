"""Models of folds: each is trained like a given model, without the pages that it is tested on.

A model scores better on its training pages than on others. To compare it with other systems on the pages that it was
trained on, each page is extracted by a model of the same recipe, or adaptation, that has not seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset
from blockml.datasets.gold import block_tokens
from blockml.datasets.validation import content_hash, filtered
from blockml.errors import BlockmlError, UsageError
from blockml.evaluation.page_results import training_hashes
from blockml.extractors import trained
from blockml.model import Model
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.text.sketches import token_sketch
from blockml.training.adaptation import PageForAdaptation, different_pages, fit_correction
from blockml.training.block_types import LabelledTypes, fit_block_types, select_rows
from blockml.training.cross_validation import CrossValidation, cross_validate
from blockml.training.prepare import PageKey, PreparedData, pages_with_gold, prepare_data
from blockml.training.recipes import RECIPES, Recipe
from blockml.training.splits import duplicate_groups, fold_pages, n_groups

__all__ = ["FoldModel", "OutOfFold", "fold_models", "has_training_pages", "not_trainable", "out_of_fold", "recipe_of"]


#: Maximum number of folds of an adaptation.
_ADAPTATION_FOLDS = 10


@dataclass(frozen=True, slots=True)
class _Fingerprint:
    """Fingerprints of the text of a page, by which near duplicates stay in one fold."""

    hash: str
    sketch: frozenset[int]


def not_trainable(model: Model, datasets: Sequence[Dataset]) -> str:
    """Return why a model cannot be trained again from data sets; empty if it can.

    All pages that it was trained on, or adapted to, have to be in the data sets.
    """
    known = _checksums(datasets)
    others = [entry["name"] for entry in model.training if entry["checksum"] not in known]
    if model.correction is not None:
        n_own = len(model.training) - len(others)
        return "" if n_own else f"it was not adapted to these pages, but to {model.training[-1]['name']}"
    if others:
        return f"it was trained on {', '.join(others)}; give all of its data sets, unchanged"
    return "" if recipe_of(model) is not None else f"there is no recipe named {model.recipe.get('name')!r}"


def has_training_pages(model: Model, datasets: Sequence[Dataset]) -> bool:
    """Return whether one of the data sets is one that a model was trained on or adapted to."""
    known = _checksums(datasets)
    return any(entry["checksum"] in known for entry in model.training)


def _checksums(datasets: Sequence[Dataset]) -> set[str]:
    """Return the checksums of data sets as they are, and as training sees them."""
    with_gold = [found for dataset in datasets for found in _trained_on(dataset)]
    return {dataset.checksum() for dataset in (*datasets, *with_gold)}


def _trained_on(dataset: Dataset) -> list[Dataset]:
    """Return the pages of a data set with gold, and those with gold for the whole text; empty without any."""
    found = []
    for whole_text in (False, True):
        try:
            found += pages_with_gold([dataset], whole_text=whole_text)
        except BlockmlError:
            continue
    return [item for item in found if len(item) < len(dataset)]


def recipe_of(model: Model) -> Recipe | None:
    """Return the recipe of a model, with its features and parameters; None if its recipe is not one of blockml."""
    name = model.recipe.get("name")
    if name not in RECIPES:
        return None
    named = RECIPES[str(name)]
    learner = str(model.recipe["learner"])
    chosen = named if learner == named.learner else named.but(learner=learner)
    parameters = {key: model.recipe[key] for key in chosen.parameters if key in model.recipe}
    chosen = chosen.but(features=model.features, **parameters)
    n_mlps = model.recipe.get("n_mlps", chosen.n_mlps)
    return replace(chosen, parsing=model.parsing, n_mlps=int(n_mlps))


def out_of_fold(
    model: Model,
    datasets: Sequence[Dataset],
    *,
    n_folds: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[str], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
) -> OutOfFold:
    """Train a model for each fold, by the recipe of a model or like its adaptation.

    Folds keep the pages of a site together if there are several sites, or else near duplicates. An adaptation is for
    the sites of its pages, so its folds are over pages, and its penalty is the model's.

    Parameters
    ----------
    model
        The model, trained on or adapted to pages of the data sets.
    datasets
        All data sets that it was trained on.
    n_folds
        Maximum number of folds; that of the recipe, or 10 for an adaptation, if None.
    seed
        Seed of folds and training.
    jobs
        Number of processes; does not affect the result.
    report
        Called with lines about findings.
    progress
        Called with the name of a stage, how many of its steps are done, and how many there are.

    Raises
    ------
    UsageError
        The model cannot be trained from these pages (see :func:`not_trainable`), or there are too few of them.
    DatasetError
        A page can't be read.
    """
    if reason := not_trainable(model, datasets):
        raise UsageError(f"{model.name} can't be cross-validated: {reason}")
    if n_folds is not None and n_folds < 2:
        raise UsageError(f"cross-validation needs at least 2 folds, got {n_folds}")
    if model.correction is not None:
        return _adapted(model, datasets, n_folds or _ADAPTATION_FOLDS, seed, progress)
    recipe = recipe_of(model)
    assert recipe is not None  # noqa: S101 (checked above)
    datasets = _as_in_training(model, datasets)
    data = prepare_data(datasets, recipe, accept_defects=True, jobs=jobs, report=report, progress=progress)
    protocols = (
        ("site", "page") if any(page.site_known for dataset in datasets for page in dataset.pages) else ("page",)
    )
    protocol = next((name for name in protocols if n_groups(data.table, name) > 1), "page")
    k = min(n_folds or recipe.n_folds, n_groups(data.table, protocol))
    if k < 2:
        raise UsageError("cross-validation needs at least 2 pages that are not copies of each other")
    result = cross_validate(data.table, recipe, protocol, n_folds=k, seed=seed, jobs=jobs, progress=progress)
    return fold_models(data, result, name=model.name, seed=seed)


def _as_in_training(model: Model, datasets: Sequence[Dataset]) -> list[Dataset]:
    """Return the data sets, marked as supplementary like those that the model was trained on."""
    marked = {entry["checksum"] for entry in model.training if entry.get("supplementary") is True}
    return [replace(dataset, supplementary=not marked.isdisjoint(_checksums([dataset]))) for dataset in datasets]


def _fingerprint(html: bytes, charset: str | None, parsing: ParsingOptions) -> _Fingerprint:
    page = parse(html, charset=charset, **parsing.options())
    return _Fingerprint(content_hash(page), token_sketch(block_tokens(page)[1]))


def _folds(keys: Sequence[PageKey], groups: NDArray[np.int64], n_folds: int, seed: int) -> list[frozenset[PageKey]]:
    """Distribute pages over folds of groups."""
    k = min(n_folds, len(np.unique(groups)))
    if k < 2:
        raise UsageError("cross-validation needs at least 2 pages that are not copies of each other")
    fold = fold_pages(groups, k, seed)
    return [frozenset(keys[i] for i in np.flatnonzero(fold == number).tolist()) for number in range(k)]


def _without(dataset: Dataset, tested: frozenset[PageKey]) -> Dataset:
    return replace(dataset, pages=tuple(page for page in dataset.pages if (dataset.name, page.id) not in tested))


def _adapted(
    model: Model, datasets: Sequence[Dataset], n_folds: int, seed: int, progress: ProgressCallback
) -> OutOfFold:
    """Adapt the base of a model to the pages outside of each fold."""
    base = _base(model, datasets)
    checked = [filtered(dataset, progress=progress) for dataset in pages_with_gold(datasets, whole_text=True)]
    usable: dict[PageKey, PageForAdaptation] = {
        (dataset.name, page.id): page
        for dataset, pages in zip(checked, different_pages(base, checked), strict=True)
        for page in pages
    }
    pages = [(dataset.name, page) for dataset in datasets for page in dataset.pages]
    prints = [_fingerprint(page.load()[0], page.charset, base.parsing) for _, page in pages]
    keys = [(name, page.id) for name, page in pages]
    folds = _folds(keys, duplicate_groups(prints, ["/".join(key) for key in keys]), n_folds, seed)
    found = []
    for tested in tracked(folds, progress, "folds by page", len(folds)):
        rest = [page for key, page in usable.items() if key not in tested]
        if not rest:
            raise UsageError("no page is left to adapt to outside of a fold")
        correction = fit_correction(rest, float(model.recipe["penalty"]))
        hashes = None
        if base.training_hashes is not None:
            hashes = base.training_hashes | training_hashes([_without(dataset, tested) for dataset in checked])
        made = replace(base, name=model.name, correction=correction, recipe=model.recipe, training_hashes=hashes)
        found.append(FoldModel(tested, made))
    return OutOfFold("page", tuple(found))


def _base(model: Model, datasets: Sequence[Dataset]) -> Model:
    """Return the base of an adapted model: the released one, or what is left of the model without its correction."""
    name = str(model.recipe.get("base"))
    try:
        released = trained(name.split(" ", maxsplit=1)[0]).model
    except BlockmlError:
        released = None
    if released is not None and released.id == name:
        return released
    known = _checksums(datasets)
    training = tuple(entry for entry in model.training if entry["checksum"] not in known)
    # The hashes of its own training pages can't be told from those of the pages that it was adapted to.
    return replace(model, correction=None, training=training, training_hashes=None)


@dataclass(frozen=True, slots=True, eq=False)
class FoldModel:
    """A model, and the pages of the fold that it has not been trained on."""

    pages: frozenset[PageKey]  #: Data set and id of each page.
    model: Model


@dataclass(frozen=True, slots=True, eq=False)
class OutOfFold:
    """Models of all folds, which together test every page."""

    protocol: str  #: ``site`` or ``page``: what the folds keep together.
    folds: tuple[FoldModel, ...]

    def __str__(self) -> str:
        return f"out of fold, by {self.protocol}, {len(self.folds)} folds"


def fold_models(
    data: PreparedData, result: CrossValidation, *, name: str, more_types: Sequence[LabelledTypes] = (), seed: int = 0
) -> OutOfFold:
    """Complete the models of a cross-validation over pages or sites by P(article), block types and hashes.

    Parameters
    ----------
    data, result
        The pages, and their cross-validation.
    name
        Name of the models.
    more_types
        Pages of other data sets with the types of their blocks.
    seed
        Seed of training.
    """
    page_fold = result.page_fold
    assert page_fold is not None  # noqa: S101 (folds are over pages)
    keys, labelled = data.keys, [*more_types, *data.labelled_types()] if data.recipe.block_types else []
    folds = []
    for number, model in enumerate(result.models):
        tested = frozenset(keys[page] for page in np.flatnonzero(page_fold == number).tolist())
        types = None
        if labelled:
            types = fit_block_types(select_rows(data.recipe.features, labelled, seed=seed).without(tested), seed=seed)
        article = None if result.page_policy is None else result.page_policy.article_by_fold.get(number)
        hashes = data.training_hashes(without=tested)
        made = replace(model, name=name, article=article, block_types=types, training_hashes=hashes)
        folds.append(FoldModel(tested, made))
    return OutOfFold(result.protocol, tuple(folds))
