"""``blockml templates``: ``cluster`` and ``detect``, which read many pages; the others stand in ``linked``."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blockml.batch import Item, find_inputs, read_items
from blockml.cli import linked
from blockml.cli.arguments import add_format, add_parameters, parameters, positive
from blockml.cli.output import note, print_rows, progress_bar
from blockml.datasets.corpus import read_rows
from blockml.errors import InputError, UsageError
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.distances import METRICS
from blockml.templates.frequency import MIN_TRAIN, measure, too_few
from blockml.templates.site import SiteTemplate

__all__ = ["add_commands"]

#: What stands among the indices and the report tells elsewhere.
_COUNTS = ("documents", "clusters", "groups")

#: Tells sites and layouts apart best without being told a threshold (docs/templates-results.md); cp is a little faster.
_DISTANCE = "ctss"

#: Pages and groups that a row names.
_NAMED = 3

#: Indices that are told in a line; JSON and the report have all.
_INDICES = ("dunn", "rand", "adjusted_rand", "purity", "mutual_information", "nmi")


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its actions."""
    what = "what the pages of a site share: find it, learn it, show it"
    templates = commands.add_parser("templates", help=what, description=what.capitalize() + ".")
    actions = templates.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_cluster(actions)
    _add_detect(actions)
    linked.add_actions(actions)


def _add_cluster(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "group pages by the template they are made from"
    cluster = actions.add_parser("cluster", help=what, description=what.capitalize() + ".")
    _add_inputs(cluster)
    cluster.add_argument("--distance", choices=sorted(METRICS), default=_DISTANCE, help="(default: %(default)s)")
    add_parameters(cluster, "distance")
    size = cluster.add_mutually_exclusive_group()
    size.add_argument("--threshold", type=_threshold, default="auto", metavar="auto|X", help="(default: %(default)s)")
    size.add_argument("--k", type=positive, metavar="N", help="make so many groups instead")
    cluster.add_argument("--linkage", choices=["single", "average", "median"], default="single")
    cluster.add_argument(
        "--finer", action="store_true", help="look for groups inside of each group, by class names too"
    )
    cluster.add_argument("--many", action="store_true", help="work without a matrix, as for more than 2,000 pages")
    cluster.add_argument(
        "--truth",
        metavar="FILE|folder",
        help="known groups: JSON lines of {id, cluster} (or site, or layout); 'folder' is the first folder of a page",
    )
    cluster.add_argument("--truth-field", metavar="NAME", help="what the lines of the file call it, instead of these")
    cluster.add_argument("-o", "--output", metavar="REPORT.html", help="write a report with pictures")
    add_format(cluster)
    cluster.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (default: %(default)s)")
    cluster.add_argument("--quiet", action="store_true", help="no progress bar")
    cluster.set_defaults(run=run_cluster)


def _add_detect(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "learn what the pages of one site share, into a small file"
    detect = actions.add_parser("detect", help=what, description=what.capitalize() + ".")
    _add_inputs(detect)
    detect.add_argument("-o", "--output", required=True, metavar="FILE", help="file to write")
    detect.add_argument("--name", help="name of the site (default: the name of the first input)")
    detect.add_argument("--threshold", type=_distance, metavar="X", help="distance up to which pages have one layout")
    detect.add_argument("--update", action="store_true", help="add the pages to what FILE holds; its layouts stay")
    add_format(detect)
    detect.set_defaults(run=run_detect)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "inputs", metavar="INPUT", nargs="+", help="page files, folders, globs, or .jsonl files of {id, html, url}"
    )


def _distance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return value


def _threshold(text: str) -> float | str:
    return text if text == "auto" else _distance(text)


def _pages(items: Iterator[Item], failed: list[str]) -> Iterator[tuple[Item, Page]]:
    """Parse pages one by one; name those that can't be read."""
    limits = Limits()
    for item in items:
        try:
            html = item.read(limits.bytes + 1)  # one more shows that there is more
        except OSError as error:
            note(f"{item.path or item.id}: {error}")
            failed.append(item.id)
        else:
            yield item, parse(html, url=item.url, charset=item.charset, limits=limits)


def run_cluster(arguments: argparse.Namespace) -> int:
    """Cluster pages; 1 if some couldn't be read, 3 if none could."""
    from blockml.evaluation.clusters import cluster_scores
    from blockml.templates.grouping import cluster_pages, summarise

    if arguments.truth_field and not arguments.truth:
        raise UsageError("--truth-field is a field of the file that --truth names")
    failed: list[str] = []
    files = find_inputs(arguments.inputs)
    bar = progress_bar(len(files), "page", quiet=arguments.quiet)
    pages = bar(_pages(read_items(files), failed))
    read = [(item, summarise(page, subclusters=arguments.finer)) for item, page in pages]
    if not read:
        raise InputError("no page could be read", source=", ".join(arguments.inputs))
    ids = [item.id for item, _ in read]
    truth = _truth(arguments, [item for item, _ in read])
    result = cluster_pages(
        [summary for _, summary in read],
        ids,
        distance=arguments.distance,
        threshold=None if arguments.k else arguments.threshold,
        k=arguments.k,
        linkage=arguments.linkage,
        subclusters=arguments.finer,
        minhash=arguments.many,
        truth=truth,
        pictures=bool(arguments.output),
        jobs=arguments.jobs,
        progress=progress_bar(None, "piece", quiet=arguments.quiet),
        settings=parameters(arguments.parameters),
    )
    if result["matrix"] is None:
        note("without a matrix of all distances there are no pictures of them, and much is told from 300 pages")
    result["indices"] = {}
    if truth is not None:
        known = [number for number, group in enumerate(truth) if group is not None]
        labels = [result["pages"][number]["cluster"] for number in known]
        groups = [str(truth[number]) for number in known]
        matrix = None if result["matrix"] is None else result["matrix"][known][:, known]
        result["indices"] = cluster_scores(labels, groups, matrix)
        note(f"{len(known)} of {len(ids)} pages have a known group")
    _show_clusters(result, arguments.format)
    if arguments.output:
        _report(result, arguments.output)
    return 1 if failed else 0


def _report(result: dict[str, Any], output: str) -> None:
    import blockml
    from blockml.reports.clustering import write_clustering

    command = shlex.join(["blockml", *sys.argv[1:]])
    indices = {name: value for name, value in result["indices"].items() if name not in _COUNTS}
    try:
        path = write_clustering(
            {**result, "indices": indices, "command": command, "version": blockml.__version__}, output
        )
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=output) from error
    note(f"wrote {path}")


def _truth(arguments: argparse.Namespace, items: Sequence[Item]) -> list[str | None] | None:
    """Known group of each page, by ``--truth``."""
    spec = arguments.truth
    if spec is None:
        return None
    if spec == "folder":
        return [Path(item.site).name or None for item in items]
    if not Path(spec).is_file():
        raise UsageError(f"--truth is 'folder' or a file of JSON lines, not {spec!r}")
    fields = [arguments.truth_field] if arguments.truth_field else ["cluster", "site", "layout"]
    groups = {}
    for row in read_rows(Path(spec)):
        found = next((row[field] for field in fields if row.get(field) is not None), None)
        groups[row["id"]] = None if found is None else str(found)
    known = [groups.get(item.id) for item in items]
    if not any(known):
        raise UsageError(f"no page has a group there, by its id and {', '.join(fields)}", source=spec)
    return known


def _show_clusters(result: dict[str, Any], output_format: str) -> None:
    if output_format == "json":
        shown = {
            "distance": result["distance"],
            "threshold": result["threshold"],
            "threshold_source": result["threshold_source"],
            "clusters": {page["id"]: page["cluster"] for page in result["pages"]},
            "indices": {  # JSON knows no infinity
                name: value if value is None or math.isfinite(value) else None
                for name, value in result["indices"].items()
            },
        }
        if any(page["finer"] is not None for page in result["pages"]):
            shown["finer"] = {page["id"]: page["finer"] for page in result["pages"]}
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2) + "\n")
        return
    finer: dict[int, list[int | None]] = {}
    for page in result["pages"]:
        finer.setdefault(page["cluster"], []).append(page["finer"])
    rows = [
        {
            "cluster": row["number"],
            "pages": row["size"],
            "median page": row["median"],
            "mean distance": row["within"],
            "largest": row["largest"],
            "repeated words": row["common_words"],
            **({"known groups": _counted(row["truth"])} if result["indices"] else {}),
            **({"finer": len(set(finer[row["number"]]))} if any(map(any, finer.values())) else {}),
            "first pages": " ".join(row["pages"][:_NAMED]),
        }
        for row in result["clusters"]
    ]
    print_rows([{key: _rounded(value) for key, value in row.items()} for row in rows], "table")
    threshold = "none" if result["threshold"] is None else f"{result['threshold']:.3f}"
    note(f"{len(result['pages'])} pages; {result['distance']}, threshold {threshold} ({result['threshold_source']})")
    if result["indices"]:
        shown = {
            name: value
            for name, value in result["indices"].items()
            if name in _INDICES and value is not None and not math.isnan(value)
        }
        note(", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in shown.items()))


def _counted(truth: Mapping[str, int] | None) -> str:
    """Known groups of a cluster, the largest first."""
    groups = sorted((truth or {}).items(), key=lambda item: -item[1])
    more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return ", ".join(f"{name} {count}" for name, count in groups[:_NAMED]) + more


def _rounded(value: object) -> object:
    return round(value, 3) if isinstance(value, float) else value


def run_detect(arguments: argparse.Namespace) -> int:
    """Learn a site; 1 if some pages couldn't be read, 3 if none could."""
    if arguments.update and arguments.threshold is not None:
        raise UsageError("--update keeps the layouts, so --threshold has no use")
    failed: list[str] = []
    pages = [page for _, page in _pages(read_items(find_inputs(arguments.inputs)), failed)]
    if not any(len(page.blocks) for page in pages):
        raise InputError("no page with text could be read", source=", ".join(arguments.inputs))
    if arguments.update:
        before = SiteTemplate.load(arguments.output)
        site = before.updated(pages)
        note(f"{site.counts.n_pages - before.counts.n_pages} pages are new")
    else:
        name = arguments.name or Path(arguments.inputs[0]).resolve().stem
        site = SiteTemplate.learn(pages, name=name, threshold=arguments.threshold)
    try:
        Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
        site.save(arguments.output)
    except OSError as error:
        raise UsageError(f"can't be written ({error.strerror or error})", source=arguments.output) from error
    rows = [
        {"layout": number, "pages": layout.n_pages, "tree nodes": len(layout.tree) if layout.tree else 0}
        for number, layout in enumerate(site.layouts)
    ]
    size = Path(arguments.output).stat().st_size
    words = sum(int(page.blocks.n_words.sum()) for page in pages)
    repeated = sum(float(measure(page, site.counts, similar=False).text_share @ page.blocks.n_words) for page in pages)
    if arguments.format == "json":
        told = {"name": site.name, "pages": site.counts.n_pages, "bytes": size, "layouts": rows}
        sys.stdout.write(json.dumps(told, ensure_ascii=False, indent=2) + "\n")
    else:
        print_rows(rows, "table")
    note(
        f"wrote {arguments.output}: {site.counts.n_pages} pages of {site.name}, {size / 1000:.0f} kB; "
        f"a word of these pages is on {repeated / max(words, 1):.0%} of the pages, on average"
    )
    if too_few(site.counts, MIN_TRAIN - 1):
        note(f"fewer than {MIN_TRAIN - 1} pages tell nothing yet: extraction will fall back")
    return 1 if failed else 0
