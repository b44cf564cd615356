"""``blockml train`` and ``blockml evaluate``."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from blockml.cli.arguments import (
    add_datasets,
    add_format,
    add_jobs,
    add_options,
    add_parameters,
    given_datasets,
    parameters,
    parsing_options,
    positive,
    refuse,
    seed,
)
from blockml.cli.output import TerminalProgress, command_line, note, print_json, print_rows, write_output, writing
from blockml.datasets import Dataset
from blockml.datasets.labelled import check_names
from blockml.errors import UsageError, check_name, install_hint
from blockml.extractors import resolve, trained
from blockml.storage.atomic import locked_output
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.evaluation.calibration import Coverage
    from blockml.evaluation.evaluate import Evaluation
    from blockml.evaluation.page_results import PageResult
    from blockml.model import Model

__all__ = ["COMMANDS"]


def add_train(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml train``."""
    add_datasets(parser)
    add = parser.add_argument
    text = "more pages with labelled blocks, for recipes that learn block types; may be repeated"
    add(
        "--block-type-dataset",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        dest="block_type_datasets",
        help=text,
    )
    add("-o", "--output", required=True, metavar="FILE", help="model file (its card is FILE.md); with --by, a folder")
    add("--recipe", metavar="NAME", help="training recipe (default: the best that the installed libraries can train)")
    text = "instead, adapt this released model or model file to the pages (at least four of one site or kind)"
    add("--base", metavar="NAME|FILE", help=text)
    text = "with --base: adapt a model to each site or template that gains; -o is a folder that is used as one model"
    add("--by", choices=["site", "template"], help=text)
    add_parameters(parser, "recipe")
    add("--name", help="name of the model, instead of that of FILE")
    add_options(parser, "backend")
    units = ["block", "page", "site", "none"]
    text = "units of cross-validation folds; may be repeated (default: that of the recipe)"
    add("--cv", action="append", metavar="|".join(units), choices=units, help=text)
    add("--folds", type=positive, metavar="N", help="number of folds (default: that of the recipe)")
    text = "train even if the gold of many pages is defective ('blockml datasets DIR' lists the defects)"
    add("--accept-defects", action="store_true", help=text)
    add("--seed", type=seed, default=0, metavar="N", help="random seed")
    add_jobs(parser)
    parser.set_defaults(run=run_train)


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml evaluate``."""
    add = parser.add_argument
    add("extractors", nargs="+", metavar="MODEL|EXTRACTOR", help="names or model files")
    add_datasets(parser)
    add("--metric", action="append", metavar="NAME", help="metric to show; may be repeated (default: all)")
    add("--by-page-type", action="store_true", help="also show means by page type")
    add_options(parser, "backend")
    add_format(parser)
    add_jobs(parser)
    add("-o", "--output", metavar="FILE", help="write the scores of each page as JSON lines")
    text = "print the F1 and share of pages above each confidence, and write the table and a curve to FILE"
    add("--coverage", nargs="?", const="", metavar="FILE.html", help=text)
    text = "draw the precision-recall curve of the blocks; with several data sets, one file for each"
    add("--curves", metavar="FILE.svg", help=text)
    parser.set_defaults(run=run_evaluate)


COMMANDS = {"train": add_train, "evaluate": add_evaluate}


def run_train(arguments: argparse.Namespace) -> int:
    """Train or adapt a model and write it with its card; return 1 if adaptation would not help."""
    from blockml.training import best_recipe, recipe
    from blockml.training.train import train

    settings = parameters(arguments.parameters)
    n_folds, protocols = arguments.folds, arguments.cv
    if arguments.base:
        refuse(
            arguments, "with --base, which adapts an existing model", recipe=None, parameters=[], cv=None,
            block_type_datasets=[], backend=None, folds=None, seed=0, jobs=1,
        )  # fmt: skip
        if arguments.by:
            return _run_adapt_groups(arguments)
        chosen = None
    else:
        refuse(arguments, "without --base", by=None)
        chosen = recipe(arguments.recipe) if arguments.recipe else best_recipe()
        if not arguments.recipe:
            why = "" if chosen.name == "default" else f"; for the best recipe, {install_hint('boost')}"
            note(f"recipe {chosen.name}, learner {chosen.learner}{why}")
        if not chosen.block_types:
            refuse(arguments, f"with recipe {chosen.name}, which does not learn block types", block_type_datasets=[])
        if "none" in (protocols or ()):
            if len(protocols) > 1:
                raise UsageError("--cv none can't be combined with other values of --cv")
            refuse(arguments, "with --cv none", folds=None)
            protocols = ()
    output = _output_file(arguments)
    with locked_output(output), TerminalProgress() as progress:
        extractor = train(
            given_datasets(arguments, arguments.datasets),
            recipe=chosen,
            base=arguments.base,
            block_type_datasets=given_datasets(arguments, arguments.block_type_datasets),
            name=arguments.name or output.name.partition(".")[0],
            protocols=protocols,
            n_folds=n_folds,
            backend=arguments.backend,
            seed=arguments.seed,
            jobs=arguments.jobs,
            accept_defects=arguments.accept_defects,
            command=command_line(),
            report=progress.report,
            progress=progress,
            **settings,
        )
        progress.clear()
        if arguments.base and not extractor.adaptation.accepted:
            why = f"adapting {arguments.base} to these pages would not help; label more, or keep it"
            if extractor.adaptation.is_needless:
                why = f"{arguments.base} is already right about these pages, so there is nothing to adapt; use it"
            note(f"no model written: {why}")
            return 1
        _write_model(extractor.model, output)
    return 0


def _run_adapt_groups(arguments: argparse.Namespace) -> int:
    """Adapt a model to each group of pages that gains, and write a folder of models."""
    from blockml.training import adapt_groups

    refuse(arguments, "with --by, which names models after their sites", name=None)
    output = Path(arguments.output)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError("exists already; with --by, -o takes a new folder", source=output)
    with locked_output(output):
        found = adapt_groups(
            trained(arguments.base).model,
            given_datasets(arguments, arguments.datasets),
            by=arguments.by,
            command=command_line(),
            report=note,
            accept_defects=arguments.accept_defects,
        )
        n_models = len(found.accepted)
        if n_models:
            with writing(output):
                found.save(output)
    groups = counted(len(found.groups), "group")
    if not n_models:
        why = f"; label more pages, or keep {arguments.base}"
        if all(item.found is not None and item.found.is_needless for item in found.groups):
            why = f", because {arguments.base} is already right about their pages; use it"
        note(f"no models written: none of {groups} gains{why}")
        return 1
    note(f"wrote {output}: {counted(n_models, 'model')} for {groups}; other pages use {arguments.base}")
    note(f"use it as a model: blockml predict INPUT --model {output} -o OUT")
    return 0


def _output_file(arguments: argparse.Namespace) -> Path:
    """Return the model file to write; raise UsageError if it or its card can't be written, before hours of training."""
    output = Path(arguments.output)
    if output.is_dir():
        raise UsageError(
            f"is a folder; -o takes the model file to write, such as {output / 'mine.blockml'}", source=output
        )
    if output.exists() and not output.is_file():
        raise UsageError(
            "is not a regular file; -o takes the model file to write, and its card is written next to it", source=output
        )
    if (card := Path(f"{output}.md")).is_dir():
        raise UsageError("is a folder, but the model's card would have this name", source=card)
    place = next(path for path in Path(os.path.realpath(output)).parents if path.exists())
    try:
        TemporaryFile(dir=place).close()
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=output) from error
    return output


def _write_model(model: Model, output: Path) -> None:
    """Write a model and its card."""
    from blockml.model import render_card, save_model

    with writing(output):
        save_model(model, output)
    write_output(render_card(model), f"{output}.md")
    note(f"wrote {output} ({output.stat().st_size / 1000:.0f} kB) and {output}.md")


def run_evaluate(arguments: argparse.Namespace) -> int:
    """Evaluate extractors on data sets, with differences paired by page."""
    from blockml.evaluation.calibration import coverage_of
    from blockml.evaluation.evaluate import evaluate
    from blockml.evaluation.page_results import PAGE_METRICS, summarise

    if arguments.format == "json":
        refuse(arguments, "with --format json, which always has the means by page type", by_page_type=False)
    metrics = arguments.metric or list(PAGE_METRICS)
    for name in metrics:
        check_name("metric", name, PAGE_METRICS)
    extractors = {name: resolve(name) for name in arguments.extractors}
    reports: list[dict[str, Any]] = []
    lines: list[str] = []
    tables: list[list[Coverage]] = []
    datasets = given_datasets(arguments, arguments.datasets)
    check_names(datasets)
    found: dict[str, dict[str, Evaluation]] = {}
    for dataset in datasets:
        results = found[dataset.name] = {}
        for name, extractor in extractors.items():
            with TerminalProgress() as progress:
                scores = evaluate(
                    extractor, dataset, jobs=arguments.jobs, progress=progress, **parsing_options(arguments)
                )
            results[name] = scores
            place = {"extractor": name, "dataset": dataset.name}
            reports.append({**place, "seen": asdict(scores.seen), **summarise(scores.results, metrics)})
            lines += [json.dumps({**place, **page}) for page in scores.pages]
            if arguments.coverage is not None:
                tables.append(coverage_of(scores.results))
    if arguments.coverage is not None:
        _show_coverage(arguments, reports, tables)
    if arguments.format == "json":
        print_json(reports)
    else:
        _print_reports(reports, by_page_type=arguments.by_page_type)
    for dataset in datasets:
        results = found[dataset.name]
        _note_missing(dataset, next(iter(results.values())).results, arguments.metric or ())
        _note_seen(dataset.name, results)
        _note_differences(dataset.name, results, metrics)
        if arguments.curves:
            path = Path(arguments.curves)
            path = path.with_stem(f"{path.stem}-{dataset.name}") if len(arguments.datasets) > 1 else path
            _write_curves(path, dataset.name, {name: scores.results for name, scores in results.items()})
    if arguments.output:
        write_output("\n".join(lines), arguments.output)
    return 0


def _note_seen(dataset: str, results: Mapping[str, Evaluation]) -> None:
    """Print which extractors were trained on pages or sites of a data set."""
    for name, scores in results.items():
        if scores.seen.worth_telling:
            dagger = "†" if scores.seen.pages else ""
            why = "; its scores are optimistic" if scores.seen.pages else ""
            note(f"{dataset}: {name}{dagger}, {scores.seen}{why}")


def _show_coverage(
    arguments: argparse.Namespace, reports: Sequence[dict[str, Any]], tables: Sequence[Sequence[Coverage]]
) -> None:
    """Add the tables of coverage to the reports, print them, and write their report."""
    rows = []
    for report, table in zip(reports, tables, strict=True):
        report["coverage"] = [row.record() for row in table]
        for row in table:
            shown = {
                "dataset": report["dataset"],
                "extractor": report["extractor"],
                "confidence": f">= {row.threshold:g}",
            }
            f1 = None if row.f1 is None else "{:.3f} [{:.3f}, {:.3f}]".format(*row.f1)
            share = "{:.0%} [{:.0%}, {:.0%}]".format(*row.share)
            rows.append({**shown, "pages": row.pages, "share": share, "F1": f1})
    if arguments.format == "table":
        print_rows(rows, "table")
    if arguments.coverage:
        from blockml.reports.comparison import write_coverage

        named = [
            (f"{report['extractor']} on {report['dataset']}", table)
            for report, table in zip(reports, tables, strict=True)
        ]
        with writing(arguments.coverage):
            note(f"wrote {write_coverage(arguments.coverage, named)}")


def _note_missing(dataset: Dataset, results: Sequence[PageResult], metrics: Sequence[str]) -> None:
    """Print the number of pages without gold, and the metrics that no page has gold for."""
    if n_others := len(dataset) - len(results):
        note(f"{dataset.name}: left out {counted(n_others, 'page')} without gold")
    for metric in metrics:
        if all(result.metric(metric) is None for result in results):
            note(f"{dataset.name} has no gold for {metric}")


def _note_differences(dataset: str, results: Mapping[str, Evaluation], metrics: Sequence[str]) -> None:
    """Print the differences between each two extractors, paired by page, without pages seen by either in training."""
    from blockml.evaluation.bootstrap import MIN_DOCUMENTS, paired_difference

    for (a, a_scores), (b, b_scores) in combinations(results.items(), 2):
        seen = {*(a_scores.seen.pages or ()), *(b_scores.seen.pages or ())}
        if seen:
            note(f"{dataset}: {a} - {b} leaves out {counted(len(seen), 'page')} seen in training")
        held_out = [(x, y) for x, y in zip(a_scores.results, b_scores.results, strict=True) if x.id not in seen]
        for metric in metrics:
            scores = [(x.metric(metric), y.metric(metric)) for x, y in held_out]
            if pairs := [(x, y) for x, y in scores if x is not None and y is not None]:
                difference = paired_difference([x for x, _ in pairs], [y for _, y in pairs])
                interval = f"[{difference.low:+.4f}, {difference.high:+.4f}]"
                interval += ", significant" if difference.significant else ", not significant"
                if len(pairs) < MIN_DOCUMENTS:
                    interval = f"on {counted(len(pairs), 'page')}, too few for an interval"
                note(f"{dataset}, {metric}: {a} - {b} = {difference.mean:+.4f} {interval}")


def _write_curves(path: Path, dataset: str, results: Mapping[str, Sequence[PageResult]]) -> None:
    """Draw the precision-recall curve of each extractor, and print its average precision."""
    import numpy as np

    from blockml.evaluation.calibration import precision_recall
    from blockml.evaluation.metrics import BlockScores
    from blockml.reports import curves_svg, write_text

    curves = {}
    for name, pages in results.items():
        truth, scores = (np.concatenate([getattr(page, field) for page in pages]) for field in ("truth", "scores"))
        curve, kept = precision_recall(truth, scores), sum((page.block for page in pages), BlockScores())
        curves[name] = curve, (kept.recall, kept.precision)
        threshold, best = curve.best_f()
        note(
            f"{name} on {dataset}: average precision of blocks {curve.average_precision:.3f}; "
            f"best F1 {best:.3f} at {threshold:.3f}"
        )
    title = f"Blocks of {dataset}: precision over recall; dots are the decisions"
    with writing(path):
        note(f"wrote {write_text(path, [curves_svg(title, curves)])}")


def _print_reports(reports: Sequence[dict[str, Any]], *, by_page_type: bool) -> None:
    """Print the table of means, then the meaning of its metrics, and the block scores and cost of each extractor."""
    from blockml.evaluation.comparison.grid import METRIC_INFO

    rows: list[dict[str, Any]] = []
    for report in reports:
        dagger = "†" if report["seen"]["pages"] else ""
        for metric, value in report["metrics"].items():
            row = {"dataset": report["dataset"], "extractor": f"{report['extractor']}{dagger}", "metric": metric}
            interval = "-" if value["low"] is None else f"[{value['low']:.4f}, {value['high']:.4f}]"
            row |= {"mean": f"{value['mean']:.4f}", "95 %": interval}
            rows.append(row | {"pages": value["pages"], "mean of sites": f"{value['site_mean']:.4f}"})
            for page_type, means in report["by_page_type"].items() if by_page_type else ():
                if metric in means:
                    row |= {"metric": f"  {metric}, {page_type}", "mean": f"{means[metric]:.4f}", "95 %": ""}
                    rows.append(row | {"pages": means["pages"], "mean of sites": ""})
    print_rows(rows, "table")
    for metric in dict.fromkeys(metric for report in reports for metric in report["metrics"]):
        info = METRIC_INFO[metric]
        note(f"{metric}: {info.title}{', lower is better' if info.better == 'low' else ''}")
    note("mean: over pages, with its 95 % bootstrap interval; mean of sites: over sites of the means of their pages")
    for report in reports:
        block = report["block"]
        note(
            f"{report['extractor']} on {report['dataset']}: {report['statuses']}; blocks P {block['precision']:.3f} "
            f"R {block['recall']:.3f} F1 {block['f1']:.3f}; {report['ms_per_page']} ms of CPU per page, "
            f"at most {report['peak_megabytes']} MB"
        )
