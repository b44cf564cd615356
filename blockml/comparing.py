"""``blockml.compare``: models and other tools on labelled pages, from Python."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockml.datasets import Dataset, open_datasets
from blockml.errors import UsageError
from blockml.evaluation.comparison.grid import OUTCOMES
from blockml.evaluation.comparison.result_store import PageSample, Store, draw_sample
from blockml.evaluation.comparison.result_tables import PREFERRED
from blockml.evaluation.comparison.running import ComparisonRun, load_scores
from blockml.evaluation.comparison.systems import Comparable, System, choose
from blockml.evaluation.evaluate import html_table, to_frame
from blockml.evaluation.page_results import Seen
from blockml.extractors import TrainedExtractor
from blockml.progress import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    from blockml.evaluation.evaluate import Frame
    from blockml.training.baseline import BaselineDifference


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`: scores of every system on every data set, and the differences between them.

    ``tables`` has everything that is in the files of the output folder: see
    :func:`blockml.evaluation.comparison.result_tables.build_tables`.
    """

    tables: Mapping[str, Any]
    directory: Path  #: Folder of outputs, scores and tables; a temporary one if no output was asked for.
    systems: Sequence[System] = field(repr=False)
    samples: Sequence[PageSample] = field(repr=False)
    #: What the folds of each system that was cross-validated keep together: ``site`` or ``page``.
    protocols: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def means(self) -> list[dict[str, Any]]:
        """One row per data set and system, best first.

        ``bag_f1``, ``low`` and ``high`` are the mean over all pages with its 95 % interval; then ``lcs_f1``,
        ``block_f1``, ``ms`` of CPU time per page, the number of pages by outcome, and ``seen_pages``, the number that
        the system was trained on (None if unknown). A score is None if the gold doesn't support it.
        """
        overall = [row for row in self.tables["means"] if row["slice_kind"] == "all"]
        means = {(row["dataset"], row["system"], row["metric"]): row for row in overall}
        cost = {(row["dataset"], row["system"]): row["ms_mean"] for row in self.tables["cost"]}
        seen = self.seen
        rows = []
        for outcome in self.tables["outcomes"]:
            place = outcome["dataset"], outcome["system"]
            bag, lcs, block = (means.get((*place, metric), {}) for metric in ("bag_f1", "lcs_f1", "block_f1"))
            row = {"dataset": place[0], "system": place[1]}
            row |= {"bag_f1": bag.get("mean"), "low": bag.get("low"), "high": bag.get("high")}
            row |= {"lcs_f1": lcs.get("mean"), "block_f1": block.get("mean"), "ms": cost[place]}
            row |= {name: outcome[name] for name in OUTCOMES[1:]}
            pages = seen[place].pages
            rows.append(row | {"seen_pages": None if pages is None else len(pages)})
        order = {row["name"]: number for number, row in enumerate(self.tables["datasets"])}
        return sorted(rows, key=lambda row: (order[row["dataset"]], -(row["bag_f1"] or 0), -(row["block_f1"] or 0)))

    @property
    def differences(self) -> list[dict[str, Any]]:
        """One row per data set and two systems: score of ``a`` minus score of ``b`` by ``metric``, paired by page.

        ``low`` and ``high`` are its 95 % interval, ``significant`` is True if it excludes 0, and
        ``significant_by_site`` if it still does when whole sites are resampled. Pages that one of the two was trained
        on are left out and counted in ``seen_pages``. The metric is the first of
        :data:`~blockml.evaluation.comparison.result_tables.PREFERRED` that the data set has gold for; :attr:`tables`
        has the others.
        """
        known = {(row["dataset"], row["metric"]) for row in self.tables["differences"]}
        metrics = {
            row["name"]: next((metric for metric in PREFERRED if (row["name"], metric) in known), None)
            for row in self.tables["datasets"]
        }
        return [row for row in self.tables["differences"] if row["metric"] == metrics[row["dataset"]]]

    @property
    def out_of_fold(self) -> list[tuple[str, str, BaselineDifference]]:
        """Data set, cross-validated system, and its difference of page F1 to each other system.

        The number is the one that :func:`blockml.train` reports about the same pages, folds and seed.
        """
        from blockml.training.baseline import baseline_difference

        found = []
        seen = {place: frozenset(item.pages or ()) for place, item in self.seen.items()}
        for dataset, by_system in load_scores(self.directory).items():
            for name, other in product(self.protocols, by_system):
                if other == name or self.protocols[name] != self.protocols.get(other, self.protocols[name]):
                    continue
                left_out = seen[dataset, name] | seen[dataset, other]
                rest = {page.id: page for page in by_system[other] if page.id not in left_out}
                scores = [(page.bag_f1, rest[page.id].bag_f1, page.site) for page in by_system[name] if page.id in rest]
                known = [(a, b, site) for a, b, site in scores if a is not None and b is not None]
                difference = baseline_difference(other, self.protocols[name], known)
                if difference is not None:
                    found.append((dataset, name, difference))
        return found

    @property
    def seen(self) -> dict[tuple[str, str], Seen]:
        """Pages and sites that each system has seen in training, by data set and system."""
        systems = self.tables["systems"]
        return {(dataset, row["name"]): Seen(**seen) for row in systems for dataset, seen in row["seen"].items()}

    def to_frame(self) -> Frame:
        """Return :attr:`means` as a pandas DataFrame; raises UsageError without pandas."""
        return to_frame(self.means)

    def write_report(self) -> Path:
        """Write ``report.html`` and its views of pages to the folder, and return its path.

        Raises
        ------
        MissingExtraError
            jinja2 is not installed.
        """
        from blockml.reports import write_comparison, write_comparison_views

        with Store(self.directory).locked():
            parsings = {system.name: system.parsing for system in self.systems if system.kind == "own"}
            trained = [system.name for system in self.systems if system.training]
            write_comparison_views(self.tables, self.samples, Store(self.directory), parsings, trained)
            return write_comparison(self.tables, self.directory)

    def show(self) -> Path:
        """Write the report and open it in the browser; return its path."""
        import webbrowser

        path = self.write_report()
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        best: dict[str, dict[str, Any]] = {}
        for row in self.means:
            best.setdefault(row["dataset"], row)
        parts = [f"{name}: {row['system']} leads" for name, row in best.items()]
        return f"Comparison({len(self.tables['systems'])} systems; {'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return html_table(mean_cells(self.means))


def compare(
    models: Comparable | Sequence[Comparable] | Mapping[str, Comparable],
    datasets: str | os.PathLike[str] | Dataset | Sequence[str | os.PathLike[str] | Dataset],
    *,
    output: str | os.PathLike[str] | None = None,
    outputs: str | Iterable[str] | Mapping[str, str | os.PathLike[str]] = (),
    out_of_fold: bool = False,
    n_folds: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    timeout: float = 30,
    command: str = "",
    progress: ProgressCallback = ignore_progress,
    report: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Run models, extractors and other tools on labelled pages, and score their texts.

    Each system runs in its own processes with a time limit; a page on which it fails scores 0.

    Parameters
    ----------
    models
        Names of released models, untrained extractors or installed other tools; paths of model files;
        ``module:Class``; extractors or fitted estimators; or a mapping from names for the results to any of these.
    datasets
        Folders, ``NAME=FOLDER`` or data sets of :func:`blockml.open_dataset`; one or several.
    output
        Folder of outputs, scores, tables and ``report.html``; results of an earlier run in it are reused. Without it
        they are kept in a temporary folder for as long as the result exists, and :meth:`Comparison.show` writes the
        report.
    outputs
        ``NAME=FILE`` for outputs of any other tool: a table (JSON lines, CSV, Parquet …) with the fields ``id`` and
        ``text`` of each page. Several are given as a list, or as a mapping from names to files.
    out_of_fold
        Compare models on the pages that they were trained on: each page is extracted by a model that is trained, by the
        same recipe or adaptation, on the pages of the other folds. Folds keep sites together, if there are several.
        ``datasets`` have to be all data sets that a model was trained on. Models of which this cannot be done, such as
        released ones, run unchanged; their training pages are left out of differences, as always.
    n_folds
        Maximum number of folds; 5, or 10 for an adapted model, by default.
    limit, seed
        Compare on a random sample of this many pages of each data set. The seed is also that of folds and training.
    jobs
        Number of processes.
    timeout
        Maximum wall-clock seconds per page.
    command
        Command line to show in the report.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).
    report
        Called with messages.

    Raises
    ------
    UnknownNameError
        A system or parameter is unknown.
    UsageError
        No system can be run, two systems or data sets have the same name, an option is out of range, or
        ``out_of_fold`` is true and no model can be trained again from the data sets.
    DatasetError
        A data set can't be read, or has no gold.

    Examples
    --------
    >>> import blockml
    >>> report = blockml.compare(["default", "plain"], "data/sites", limit=5)
    >>> [row["system"] for row in report.means]
    ['default', 'plain']
    """
    chosen, opened = choose(models, outputs), open_datasets(datasets)
    samples = [draw_sample(dataset, limit, seed) for dataset in opened]
    protocols: dict[str, str] = {}
    if out_of_fold:
        systems, protocols = _out_of_fold(
            chosen.systems, opened, n_folds, seed=seed, jobs=jobs, progress=progress, report=report
        )
        chosen = chosen._replace(systems=systems)
    elif n_folds is not None:
        raise UsageError("n_folds has no effect without out_of_fold")
    directory = Path(tempfile.mkdtemp(prefix="blockml-") if output is None else os.fspath(output))
    run = ComparisonRun(Store(directory), jobs, timeout, command, progress, report)
    tables = run.run(chosen, samples)
    found = Comparison(tables, directory, chosen.systems, samples, protocols)
    if output is None:
        weakref.finalize(found, shutil.rmtree, directory, ignore_errors=True)
    else:
        found.write_report()
    return found


def _out_of_fold(
    systems: Sequence[System],
    datasets: Sequence[Dataset],
    n_folds: int | None,
    *,
    seed: int,
    jobs: int,
    progress: ProgressCallback,
    report: Callable[[str], None],
) -> tuple[list[System], dict[str, str]]:
    """Return the systems, with a model for each fold where the data sets are the training data of their model.

    Also returns what these folds keep together, by name of the system. Raises UsageError if there are no folds.
    """
    from blockml.training.out_of_fold import has_training_pages, not_trainable, out_of_fold

    found: list[System] = []
    protocols: dict[str, str] = {}
    reasons: dict[str, bool] = {}  # and whether somebody may expect folds
    for system in systems:
        extractor = system.extractor()
        if not system.training or extractor is None:
            found.append(system)
            continue
        if type(extractor) is TrainedExtractor:
            reason = not_trainable(extractor.model, datasets)
        else:
            reason = "only single models, parsed as in training, can be"
        if reason or not isinstance(extractor, TrainedExtractor):
            models = extractor.used_models()
            trained_here = any(has_training_pages(model, datasets) for model in models)
            reasons[f"{system.name} is not cross-validated: {reason}"] = trained_here
            found.append(system)
            continue
        made = out_of_fold(
            extractor.model, datasets, n_folds=n_folds, seed=seed, jobs=jobs, progress=progress, report=report
        )
        by_fold = {fold.pages: copy(extractor).set_params(model=fold.model) for fold in made.folds}
        found.append(system.with_folds(str(made), by_fold))
        protocols[system.name] = made.protocol
        report(f"{system.name}: {made}")
    if not any(system.folds for system in found):
        raise UsageError("; ".join(reasons) or "no system is a model, so there is nothing to cross-validate")
    for reason, trained_here in reasons.items():
        if trained_here:
            report(reason)
    return found, protocols


def mean_cells(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Format rows of :attr:`Comparison.means` for a table, with a dagger after systems that have seen pages."""
    cells = []
    for row in rows:
        bag, low, high, lcs, block = (
            "-" if row[name] is None else f"{row[name]:.3f}" for name in ("bag_f1", "low", "high", "lcs_f1", "block_f1")
        )
        cells.append(
            {
                "data set": row["dataset"],
                "system": row["system"] + ("†" if row["seen_pages"] else ""),
                "bag F1": bag,
                "95 %": "-" if low == "-" else f"[{low}, {high}]",
                "LCS F1": lcs,
                "block F1": block,
                "ms/page": "-" if row["ms"] is None else f"{row['ms']:.1f}",
                "not ok": ", ".join(f"{row[name]} {name}" for name in OUTCOMES[1:] if row[name]) or "-",
            }
        )
    return cells
