"""Training of a model on labelled pages, with cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from blockml.datasets import AnyData, Dataset, open_datasets
from blockml.datasets.labelled import check_names
from blockml.errors import ModelError, UnknownNameError, UsageError, check_type
from blockml.extractors import AnyModel, Extractor, TrainedExtractor, resolve, trained
from blockml.model import Model
from blockml.progress import ProgressCallback, ignore_progress
from blockml.text.words import counted
from blockml.training.baseline import compare_with_baseline, unseen_pages
from blockml.training.block_types import LabelledTypes, fit_block_types, labelled_types, select_rows
from blockml.training.boosted_trees import check_lightgbm
from blockml.training.cross_validation import CrossValidation, check_protocols, cross_validate, gaps
from blockml.training.ensemble import check_splits, fit_model
from blockml.training.out_of_fold import fold_models
from blockml.training.page_policy import PagePolicy
from blockml.training.prepare import check_classes, prepare_data, provenance
from blockml.training.recipes import Recipe, best_recipe
from blockml.training.recipes import recipe as named_recipe
from blockml.training.splits import PROTOCOLS, n_groups
from blockml.training.table import BlockTable

#: Model that a cross-validated recipe is compared with.
_RELEASED = "default"


def train(
    data: AnyData,
    *,
    recipe: str | Recipe | None = None,
    base: AnyModel | None = None,
    block_type_datasets: AnyData = (),
    name: str | None = None,
    protocols: Sequence[str] | str | None = None,
    n_folds: int | None = None,
    backend: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    accept_defects: bool = False,
    command: str = "",
    report: Callable[[str], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
    **parameters: Any,  # noqa: ANN401 (values of any recipe parameter)
) -> TrainedExtractor:
    """Train a model on labelled pages and cross-validate it, or adapt a model to them.

    Parameters
    ----------
    data
        Labelled pages: a data set from :func:`blockml.open_dataset`, anything that it opens, or a list of several.
    recipe
        A recipe or its name; by default the best that the installed libraries can train.
    base
        Model to adapt to the pages (at least four of one site or kind) instead of training a new one.
    block_type_datasets
        Further pages with labelled blocks, for recipes that learn block types.
    name
        Name of the model; the recipe's by default, or ``adapted``.
    protocols
        Cross-validation protocols: any of ``block``, ``page``, ``site``, or none; those of the recipe by default.
    n_folds
        Maximum number of folds of each protocol; that of the recipe by default.
    backend
        HTML parser to use instead of the recipe's.
    seed
        Seed of folds and training: equal pages, recipe and seed give equal models.
    jobs
        Number of processes; the result does not depend on it.
    accept_defects
        Train even if more than a quarter of the finished pages of a data set have defective gold.
    command
        Command line, for the model's card.
    report
        Called with lines about findings and measurements.
    progress
        Called with the name of a stage, how many of its steps are done, and how many there are.
    **parameters
        Fields of the recipe (``features``, ``learner``) and parameters of its learner, such as ``n_trees``.

    Returns
    -------
    TrainedExtractor
        The model, for use with every function that takes a model; :func:`blockml.save` writes it. Its attribute
        ``adaptation`` is the :class:`~blockml.training.Adaptation` to ``base``; unless that is ``accepted``, the
        model is ``base``.

    Raises
    ------
    UsageError
        All or none of the blocks are content; the learner finds no split; the gold of many pages is defective; two
        data sets have the same name; the recipe can't be cross-validated with the protocols or number of folds; its
        learner is not installed; only folds by site are requested, but no page's site is known; or an argument has no
        effect together with ``base``.
    DatasetError
        No page of a data set has gold, or a page can't be read. Single pages without gold are left out, and reported.
    UnknownNameError
        No such recipe, parameter or protocol.

    Examples
    --------
    >>> import blockml
    >>> model = blockml.train("data/pages", recipe="kim2013", protocols="page", min_leaf=5)
    >>> model, sorted(model.model.metrics)
    (<TrainedExtractor kim2013 0.1.0>, ['page'])
    >>> blockml.extract("<p>One line</p>", model=model).status
    <Status.NO_CONTENT: 'no_content'>
    """
    datasets = open_datasets(data)
    if base is not None:
        given = {
            "recipe": recipe, "block_type_datasets": block_type_datasets, "protocols": protocols, "n_folds": n_folds,
            "backend": backend, "seed": seed, **parameters,
        }  # fmt: skip
        if useless := [key for key, value in given.items() if value]:
            raise UsageError(f"{' and '.join(useless)} can't be combined with base, which adapts an existing model")
        return _adapted(
            trained(base), datasets, name=name or "adapted", command=command, report=report,
            accept_defects=accept_defects, progress=progress,
        )  # fmt: skip
    chosen = best_recipe() if recipe is None else recipe if isinstance(recipe, Recipe) else named_recipe(recipe)
    chosen = chosen.but(**parameters) if parameters else chosen
    if backend is not None:
        chosen = replace(chosen, parsing=replace(chosen.parsing, backend=backend))
    model = train_model(
        datasets,
        chosen,
        block_type_datasets=open_datasets(block_type_datasets),
        name=name,
        protocols=chosen.protocols if protocols is None else protocols,
        n_folds=n_folds or chosen.n_folds,
        seed=seed,
        jobs=jobs,
        command=command,
        report=report,
        progress=progress,
        accept_defects=accept_defects,
    )
    return TrainedExtractor(model)


def _adapted(base: TrainedExtractor, datasets: Sequence[Dataset], **options: Any) -> TrainedExtractor:  # noqa: ANN401
    """Adapt a model; return it unchanged if adaptation would not help."""
    from blockml.training.adaptation import adapt

    found = adapt(base.model, datasets, **options)
    extractor = TrainedExtractor(found.model or base.model, threshold=base.threshold)
    extractor.adaptation = found
    return extractor


def train_model(
    datasets: Sequence[Dataset],
    recipe: Recipe,
    *,
    block_type_datasets: Sequence[Dataset] = (),
    name: str | None = None,
    protocols: Sequence[str] = ("page", "site"),
    n_folds: int = 10,
    seed: int = 0,
    jobs: int = 1,
    command: str = "",
    report: Callable[[str], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
    accept_defects: bool = False,
) -> Model:
    """Train a model with a recipe and cross-validate it; see :func:`train`, which fills in the defaults."""
    check_names(datasets)
    if not datasets:
        raise UsageError("training needs at least one data set")
    check_type("recipe", recipe, Recipe, legal="a recipe, for example from blockml.training.recipe")
    protocols = [protocols] if isinstance(protocols, str) else protocols
    check_protocols(recipe, protocols, n_folds)
    if recipe.learner == "lightgbm":
        check_lightgbm()
    protocols = _with_sites(datasets, protocols, report)
    data = prepare_data(datasets, recipe, accept_defects=accept_defects, jobs=jobs, report=report, progress=progress)
    table = data.table
    check_classes(table.main[table.trainable])
    report(
        f"{counted(len(table.pages), 'page')}, {counted(len(table.main), 'block')}, {table.main.mean():.2%} content; "
        f"{counted(int(table.trainable.sum()), 'block')} to train on"
    )
    more_types: list[LabelledTypes] = []
    if recipe.block_types:
        more_types = labelled_types(
            block_type_datasets, features=recipe.features, parsing=recipe.parsing, jobs=jobs, progress=progress
        )
    metrics, page_policy, strictest = cross_validated(
        table, recipe, protocols, n_folds=n_folds, seed=seed, jobs=jobs, report=report, progress=progress
    )
    if strictest is not None and strictest.protocol != "block":
        released = _readable_release(report)
        if released is not None and len(unseen_pages(released, data)) > 1:
            folds = fold_models(data, strictest, name=name or recipe.name, more_types=more_types, seed=seed)
            report(str(compare_with_baseline(released, data, folds, jobs=jobs, progress=progress)))
    model = fit_model(table, recipe, seed, jobs, report, progress)
    for ensemble in model.ensembles:
        check_splits(ensemble.trees, table)
    block_types = None
    if recipe.block_types:
        report("block types")
        rows = select_rows(recipe.features, [*more_types, *data.labelled_types()], seed=seed)
        block_types = fit_block_types(rows, seed=seed, report=report)
    pages = iter(table.pages)  # in the order of the data sets
    return replace(
        model,
        name=name or recipe.name,
        article=None if page_policy is None else page_policy.article,
        block_types=block_types,
        training=tuple(
            provenance(dataset, [page.main for page in islice(pages, len(dataset))]) for dataset in data.datasets
        ),
        training_hashes=data.training_hashes(),
        metrics=metrics,
        notes=recipe.notes,
        command=command,
    )


def _readable_release(report: Callable[[str], None]) -> Extractor | None:
    """Return the released model; None, with a report, if this version has none or can't read its file."""
    try:
        return resolve(_RELEASED)
    except (ModelError, UnknownNameError) as error:
        report(f"not compared with {_RELEASED}: {error}")
        return None


def _with_sites(datasets: Sequence[Dataset], protocols: Sequence[str], report: Callable[[str], None]) -> Sequence[str]:
    """Return the protocols, without ``site`` if no page's site is known.

    Raises UsageError if no protocol is left.
    """
    if "site" not in protocols or any(page.site_known for dataset in datasets for page in dataset.pages):
        return protocols
    reason = (
        "the site of no page is known (give 'url' or 'site' in meta.json, or put the pages of each site into a "
        "folder), so folds by site are impossible"
    )
    rest = [name for name in protocols if name != "site"]
    if not rest:
        raise UsageError(f'{reason}; protocols="page" makes folds by page')
    report(reason)
    return rest


def cross_validated(
    table: BlockTable,
    recipe: Recipe,
    protocols: Sequence[str],
    *,
    n_folds: int,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[str], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
) -> tuple[dict[str, Any], PagePolicy | None, CrossValidation | None]:
    """Cross-validate with each protocol.

    Returns a summary per protocol, for ensembles the policy results of the strictest one, and its decisions.
    """
    results = {}
    metrics: dict[str, Any] = {}
    for protocol in [name for name in PROTOCOLS if name in protocols]:
        k = min(n_folds, n_groups(table, protocol))
        if k < 2:
            report(f"by {protocol}: not measured, because there is only one {protocol}")
            continue
        if k < n_folds:
            report(f"by {protocol}: using {k} folds (only {k} {protocol}s)")
        results[protocol] = cross_validate(table, recipe, protocol, n_folds=k, seed=seed, jobs=jobs, progress=progress)
        metrics[protocol] = results[protocol].summary(table)
        report(_line(metrics[protocol]))
    if len(results) > 1:
        metrics["gaps"] = gaps(results, table)
        differences = ", ".join(f"{k} {v:+.3f}" for k, v in metrics["gaps"].items())
        report(f"overestimates of block F1 by the laxer protocol: {differences}")
    policies = [result.page_policy for result in results.values() if result.page_policy is not None]
    return metrics, policies[-1] if policies else None, [*results.values()][-1] if results else None


def _line(summary: dict[str, Any]) -> str:
    block = summary["block"]
    line = (
        f"by {summary['protocol']}, {summary['folds']} folds: block P {block['precision']:.3f} R {block['recall']:.3f} "
        f"F1 {block['f1']:.3f}"
    )
    if page := summary.get("page_bag_f1"):
        line += f"; page bag F1 {page['mean']:.3f} [{page['low']:.3f}, {page['high']:.3f}]"
    if len(means := summary.get("page_bag_f1_by_dataset", {})) > 1:
        line += " (" + ", ".join(f"{name} {value['f1']:.3f}" for name, value in means.items()) + ")"
    return line
