"""``blockml train`` and ``blockml evaluate``."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from blockml.cli.arguments import add_parameters, parameters, positive
from blockml.cli.output import note, print_rows, progress_bar, write_output
from blockml.datasets import open_dataset
from blockml.errors import UnknownNameError, UsageError
from blockml.extractors import TrainedExtractor, resolve

__all__ = ["add_commands"]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both commands."""
    training = commands.add_parser(
        "train",
        help="train a model on labelled pages",
        description="Train a model, measure it by cross-validation, write it and its card.",
    )
    _add_datasets(training)
    training.add_argument("-o", "--output", required=True, metavar="FILE", help="model file; its card is FILE.md")
    training.add_argument("--recipe", default="kim2013", metavar="NAME", help="what is trained (default: %(default)s)")
    add_parameters(training, "recipe")
    training.add_argument("--name", help="name of the model (default: the file's)")
    training.add_argument(
        "--cv",
        action="append",
        metavar="block|page|site|none",
        choices=["block", "page", "site", "none"],
        help="how it is measured; may be given more than once (default: page and site)",
    )
    training.add_argument("--folds", type=positive, default=10, metavar="N", help="folds (default: %(default)s)")
    training.add_argument("--seed", type=int, default=0, metavar="N", help="decides folds and ties")
    training.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (default: %(default)s)")
    training.set_defaults(run=run_train)

    judging = commands.add_parser(
        "evaluate",
        help="score models and extractors on labelled pages",
        description="Score models and extractors on labelled pages: means over pages with 95 %% bootstrap intervals.",
    )
    judging.add_argument("extractors", nargs="+", metavar="MODEL|EXTRACTOR", help="names or model files")
    _add_datasets(judging)
    judging.add_argument("--metric", action="append", metavar="NAME", help="show only these (default: all)")
    judging.add_argument("--by-type", action="store_true", help="show page types apart as well")
    judging.add_argument("--format", choices=["table", "json"], default="table", help="(default: %(default)s)")
    judging.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (default: %(default)s)")
    judging.add_argument("-o", "--output", metavar="FILE", help="write every page's scores there, as JSON lines")
    judging.set_defaults(run=run_evaluate)


def _add_datasets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dataset",
        action="append",
        required=True,
        metavar="[NAME=]DIR",
        dest="datasets",
        help="a folder of labelled pages; may be given more than once ('blockml datasets' lists the layouts)",
    )


def run_train(arguments: argparse.Namespace) -> int:
    """Train a model and write it with its card."""
    from blockml.model import save_model
    from blockml.training.card import render_card
    from blockml.training.recipes import recipe
    from blockml.training.train import train

    chosen = recipe(arguments.recipe).but(**parameters(arguments.parameters))
    protocols = arguments.cv or ["page", "site"]
    if "none" in protocols and len(protocols) > 1:
        raise UsageError("--cv none goes alone")
    output = Path(arguments.output)
    model = train(
        [open_dataset(spec) for spec in arguments.datasets],
        chosen,
        name=arguments.name or output.name.partition(".")[0],
        protocols=[name for name in protocols if name != "none"],
        n_folds=arguments.folds,
        seed=arguments.seed,
        jobs=arguments.jobs,
        command=_command(sys.argv),
        report=note,
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    save_model(model, output)
    write_output(render_card(model), f"{output}.md")
    note(f"wrote {output} ({output.stat().st_size / 1000:.0f} kB) and {output}.md")
    return 0


def _command(argv: Sequence[str]) -> str:
    return shlex.join([Path(argv[0]).name, *argv[1:]])


def run_evaluate(arguments: argparse.Namespace) -> int:
    """Score extractors on data sets; differences between them are paired by page."""
    from blockml.evaluation import paired_difference
    from blockml.evaluation.run import METRICS, evaluate_extractor, summarise

    metrics = arguments.metric or list(METRICS)
    for name in metrics:
        if name not in METRICS:
            raise UnknownNameError("metric", name, METRICS)
    extractors = {name: resolve(name) for name in arguments.extractors}
    reports: list[dict[str, Any]] = []
    pages: list[str] = []
    for spec in arguments.datasets:
        dataset = open_dataset(spec)
        results = {}
        for name, extractor in extractors.items():
            seen = isinstance(extractor, TrainedExtractor) and dataset.checksum() in {
                entry.get("checksum") for entry in extractor.model.training
            }
            if seen:
                note(f"{name} was trained on {dataset.name}: its scores there say little of other pages")
            bar = progress_bar(len(dataset), "page", quiet=False)
            results[name] = evaluate_extractor(extractor, dataset, jobs=arguments.jobs, progress=bar)
            reports.append(
                {"extractor": name, "dataset": dataset.name, "in_sample": seen, **summarise(results[name], metrics)}
            )
            pages += [_page_line(name, dataset.name, result) for result in results[name]]
        for a, b in combinations(results, 2):
            for metric in metrics:
                pairs = [
                    (x, y)
                    for one, other in zip(results[a], results[b], strict=True)
                    if (x := one.metric(metric)) is not None and (y := other.metric(metric)) is not None
                ]
                if pairs:
                    difference = paired_difference([x for x, _ in pairs], [y for _, y in pairs])
                    note(
                        f"{dataset.name}, {metric}: {a} - {b} = {difference.mean:+.4f} "
                        f"[{difference.low:+.4f}, {difference.high:+.4f}]"
                        f"{', significant' if difference.significant else ''}"
                    )
    if arguments.output:
        write_output("\n".join(pages), arguments.output)
    _print_reports(reports, arguments)
    return 0


def _page_line(extractor: str, dataset: str, result: Any) -> str:  # noqa: ANN401 (imported late)
    from blockml.evaluation.run import METRICS

    scores = {name: result.metric(name) for name in METRICS}
    record = {"extractor": extractor, "dataset": dataset, "id": result.id, "site": result.site}
    return json.dumps({**record, "page_type": result.page_type, "status": str(result.status), **scores})


def _print_reports(reports: Sequence[dict[str, Any]], arguments: argparse.Namespace) -> None:
    if arguments.format == "json":
        print_rows(reports, "json")
        return
    rows = []
    for report in reports:
        for metric, value in report["metrics"].items():
            rows.append(
                {
                    "dataset": report["dataset"],
                    "extractor": report["extractor"],
                    "metric": metric,
                    "mean": f"{value['mean']:.4f}",
                    "95 %": f"[{value['low']:.4f}, {value['high']:.4f}]",
                    "pages": value["pages"],
                    "mean of sites": f"{value['site_mean']:.4f}",
                }
            )
            for page_type, means in report["by_type"].items() if arguments.by_type else ():
                if metric in means:
                    rows.append({**rows[-1], "metric": f"  {metric}, {page_type}", "mean": f"{means[metric]:.4f}",
                                 "95 %": "", "pages": means["pages"], "mean of sites": ""})  # fmt: skip
        block = report["block"]
        note(
            f"{report['extractor']} on {report['dataset']}: {report['statuses']}; blocks P {block['precision']:.3f} "
            f"R {block['recall']:.3f} F1 {block['f1']:.3f}; {report['ms_per_page']} ms of CPU a page, "
            f"at most {report['peak_megabytes']} MB"
        )
    print_rows(rows, "table")
