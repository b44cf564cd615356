"""``blockml templates``: ``cluster``, ``detect`` and ``distance``; :mod:`blockml.cli.linked` has those on one page."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.batch import Item, find_inputs, read_items
from blockml.cli import linked
from blockml.cli.arguments import (
    PAGE_HELP,
    HelpFormatter,
    add_format,
    add_jobs,
    add_options,
    add_parameters,
    number,
    parameters,
    parsing_options,
    positive,
    read_page,
    refuse,
)
from blockml.cli.output import TerminalProgress, command_line, note, print_json, print_rows, writing
from blockml.datasets.folders import read_rows
from blockml.errors import InputError, UsageError
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.progress import tracked
from blockml.storage.atomic import locked_output
from blockml.templates.distances import METRICS, distance, sketch
from blockml.templates.frequency import MIN_TRAIN, measure, too_few
from blockml.templates.mapping import EQUALITIES, Tree, map_trees, tree_of
from blockml.templates.site import SiteTemplate
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.reports.siteviews import MappedTrees

__all__ = ["COMMANDS", "add_distance"]


_INPUT_HELP = "page file, folder, glob, or .jsonl file of {id, html, url}"

#: Indices that are counts; the report shows them elsewhere.
_COUNTS = ("documents", "clusters", "groups")

#: Best distance with an automatic threshold (research/studies/templates-results.md); cp is a little faster.
_DISTANCE = "ctss"

#: Distances that are computed pair by pair, by several processes.
_BY_PAIR = ("rtdm", "lcts")

#: Share of known words below which ``--update`` warns. With eight pages learnt and four added, it was at least .098 for
#: each of 20 sites (six in ``data/sites``, 14 real ones), and below .05 for 378 of the 380 pairs of sites; two with one
#: sidebar have .19.
_LEAST_KNOWN = 0.05

#: Number of pages and groups listed in a row.
_LISTED = 3

#: Indices of the summary line; JSON and the report have all.
_INDICES = ("dunn", "rand", "adjusted_rand", "purity", "mutual_information", "nmi")


def add_templates(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``blockml templates``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text, add in (
        ("cluster", "cluster pages by template", _add_cluster),
        ("detect", "learn the template of a site from its pages and write it to a file", _add_detect),
        (
            "extract",
            "extract the template of a page as clean markup, from the pages it links to",
            linked.add_linked_extract,
        ),
        ("distance", "print the six structural distances of two pages, and pair their nodes", add_distance),
        ("menu", "find the menu of a page by link density", linked.add_menu),
    ):
        add(actions.add_parser(name, help=text, description=f"{text.capitalize()}.", formatter_class=HelpFormatter))


COMMANDS = {"templates": add_templates}


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("inputs", metavar="INPUT", nargs="+", help=_INPUT_HELP)
    add("--distance", choices=sorted(METRICS), default=_DISTANCE, help="distance of pages")
    add_parameters(parser, "distance")
    size = parser.add_mutually_exclusive_group()
    text = "distance up to which clusters are merged"
    size.add_argument("--threshold", type=_auto_or_distance, default="auto", metavar="auto|X", help=text)
    size.add_argument("--k", type=positive, metavar="N", help="make N clusters instead")
    add("--linkage", choices=["single", "average", "median"], default="single", help="linkage of clusters")
    add("--subclusters", action="store_true", help="also cluster the pages of each cluster, using class names")
    text = "use MinHash instead of a distance matrix, as is done for more than 2,000 pages"
    add("--minhash", action="store_true", help=text)
    text = "known groups: JSON lines of {id, cluster} (or site, or layout); 'folder' for the first folder of a page"
    add("--truth", metavar="FILE|folder", help=text)
    add("--truth-field", metavar="NAME", help="field of FILE with the group")
    add("-o", "--output", metavar="REPORT.html", help="write a report with figures")
    add_options(parser, "backend")
    add_format(parser)
    add_jobs(parser)
    add("--quiet", action="store_true", help="print no progress bar")
    parser.set_defaults(run=run_cluster)


def _add_detect(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("inputs", metavar="INPUT", nargs="+", help=_INPUT_HELP)
    add("-o", "--output", required=True, metavar="FILE", help="template file to write")
    add("--name", help="name of the site, instead of that of the first input")
    add("--threshold", type=_distance, metavar="X", help="distance up to which pages have the same layout")
    add("--update", action="store_true", help="add the pages to FILE and keep its layouts")
    add_options(parser, "backend")
    add_format(parser)
    parser.set_defaults(run=run_detect)


def _distance(text: str) -> float:
    return number(text, lambda value: 0 <= value < math.inf, "a number of at least 0")


def _auto_or_distance(text: str) -> float | str:
    return text if text == "auto" else _distance(text)


def _pages(items: Iterator[Item], failed: list[str], parsing: Mapping[str, Any]) -> Iterator[tuple[Item, Page]]:
    """Parse pages one by one, with options; print those that cannot be read and add their ids to ``failed``."""
    limits = Limits()
    for item in items:
        try:
            html = item.read(limits.bytes + 1)  # one byte more shows that the page is longer
        except OSError as error:
            note(f"{item.path or item.id}: {error}")
            failed.append(item.id)
        else:
            yield item, parse(html, url=item.url, charset=item.charset, limits=limits, **parsing)


def run_cluster(arguments: argparse.Namespace) -> int:
    """Cluster pages; return 1 if some could not be read."""
    from blockml.evaluation.clusters import cluster_scores
    from blockml.templates.grouping import cluster_pages, summarise_page

    if arguments.truth_field and not arguments.truth:
        raise UsageError("--truth-field needs --truth FILE")
    if arguments.truth == "folder":
        refuse(arguments, "with --truth folder", truth_field=None)
    if arguments.minhash or arguments.distance not in _BY_PAIR:
        refuse(arguments, f"except with --distance {' or '.join(_BY_PAIR)} and without --minhash", jobs=1)
    failed: list[str] = []
    files = find_inputs(arguments.inputs)
    pages = _pages(read_items(files), failed, parsing_options(arguments))
    with TerminalProgress(quiet=arguments.quiet) as progress:
        read = [
            (item, summarise_page(page, subclusters=arguments.subclusters))
            for item, page in tracked(pages, progress, "pages")
        ]
    if not read:
        raise InputError("no page could be read", source=", ".join(arguments.inputs))
    ids = [item.id for item, _ in read]
    page_id, count = Counter(ids).most_common(1)[0]
    if count > 1:
        raise UsageError(
            f"{count} pages have the id {page_id!r}: ids are paths below an input, so give one folder or glob for all"
        )
    truth = _truth(arguments, [item for item, _ in read])
    with TerminalProgress(quiet=arguments.quiet) as progress:
        result = cluster_pages(
            [summary for _, summary in read],
            ids,
            distance=arguments.distance,
            threshold=None if arguments.k else arguments.threshold,
            k=arguments.k,
            linkage=arguments.linkage,
            subclusters=arguments.subclusters,
            minhash=arguments.minhash,
            truth=truth,
            pictures=bool(arguments.output),
            jobs=arguments.jobs,
            progress=progress,
            settings=parameters(arguments.parameters),
        )
    matrix = result["matrix"]
    if matrix is None:
        note("no distance matrix: figures of distances are left out, and some statistics are based on 300 pages")
    result["indices"] = {}
    if truth is not None:
        known = [number for number, group in enumerate(truth) if group is not None]
        labels = [result["pages"][number]["cluster"] for number in known]
        groups = [str(truth[number]) for number in known]
        result["indices"] = cluster_scores(labels, groups, None if matrix is None else matrix[known][:, known])
        note(f"{len(known)} of {len(ids)} pages have a known group")
    if arguments.format == "json":
        _print_json(result)
    else:
        _print_table(result)
    if arguments.output:
        from blockml.reports.clustering import write_clustering  # needs an optional package

        indices = {name: value for name, value in result["indices"].items() if name not in _COUNTS}
        report = {**result, "indices": indices, "command": command_line(), "version": blockml.__version__}
        with writing(arguments.output):
            path = write_clustering(report, arguments.output)
        note(f"wrote {path}")
    return 1 if failed else 0


def _truth(arguments: argparse.Namespace, items: Sequence[Item]) -> list[str | None] | None:
    """Return the known group of each page, from ``--truth``."""
    spec = arguments.truth
    if spec is None:
        return None
    if spec == "folder":
        return [Path(item.site).name or None for item in items]
    if not Path(spec).is_file():
        raise UsageError(f"--truth must be 'folder' or a file of JSON lines, got {spec!r}")
    fields = [arguments.truth_field] if arguments.truth_field else ["cluster", "site", "layout"]
    groups = {
        row["id"]: next((str(row[field]) for field in fields if row.get(field) is not None), None)
        for row in read_rows(Path(spec))
    }
    known = [groups.get(item.id) for item in items]
    if not any(known):
        raise UsageError(f"no record has the id of a page and {' or '.join(fields)}", source=spec)
    return known


def _print_json(result: Mapping[str, Any]) -> None:
    pages, indices = result["pages"], result["indices"].items()
    shown = {
        **{name: result[name] for name in ("distance", "threshold", "threshold_source")},
        "clusters": {page["id"]: page["cluster"] for page in pages},
        # JSON has no infinity.
        "indices": {name: value if value is None or math.isfinite(value) else None for name, value in indices},
    }
    if any(page["finer"] is not None for page in pages):
        shown["subclusters"] = {page["id"]: page["finer"] for page in pages}
    print_json(shown)


def _print_table(result: Mapping[str, Any]) -> None:
    names = {page["id"]: page["url"] or page["id"] for page in result["pages"]}  # ids of WARC records are opaque
    subclusters: dict[int, set[int | None]] = {}
    for page in result["pages"]:
        subclusters.setdefault(page["cluster"], set()).add(page["finer"])
    columns = ["cluster", "pages", "median page", "mean distance", "largest", "repeated words"]
    keys = ["number", "size", "median", "within", "largest", "common_words"]
    rows = []
    for cluster in result["clusters"]:
        values = {name: cluster[key] for name, key in zip(columns, keys, strict=True)}
        row = {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}
        row["median page"] = names[cluster["median"]]
        if result["indices"]:
            row["known groups"] = _counted(cluster["truth"])
        if any(map(any, subclusters.values())):
            row["subclusters"] = len(subclusters[cluster["number"]])
        rows.append(row | {"first pages": " ".join(names[page] for page in cluster["pages"][:_LISTED])})
    print_rows(rows, "table")
    threshold = "none" if result["threshold"] is None else f"{result['threshold']:.3f}"
    size = counted(len(result["pages"]), "page")
    note(f"{size}; {result['distance']}, threshold {threshold} ({result['threshold_source']})")
    values = {name.replace("_", " "): result["indices"].get(name) for name in _INDICES}
    shown = [f"{name} {value:.3f}" for name, value in values.items() if value is not None and not math.isnan(value)]
    if shown:
        note(", ".join(shown))


def _counted(truth: Mapping[str, int] | None) -> str:
    """Format the known groups of a cluster, largest first."""
    groups = sorted((truth or {}).items(), key=lambda item: -item[1])
    more = f" and {len(groups) - _LISTED} more" if len(groups) > _LISTED else ""
    return ", ".join(f"{name} {count}" for name, count in groups[:_LISTED]) + more


def _known_words(site: SiteTemplate, pages: Sequence[Page]) -> float:
    """Compute the share of the pages' words in texts that a site's template has counted, in [0, 1].

    Texts without letters are left out, since every site numbers lines, pages or comments.
    """
    words = known = 0
    for page in pages:
        # A page is counted together with those learnt, so a new text has the share 1 / (n + 1).
        share = measure(page, site.counts, similar=False).text_share * (site.counts.n_pages + 1)
        n_words = page.blocks.n_words * [any(map(str.isalpha, text)) for text in page.blocks.texts]
        words += int(n_words.sum())
        known += int(n_words[share > 1.5].sum())
    return known / max(words, 1)


def run_detect(arguments: argparse.Namespace) -> int:
    """Learn a site template; return 1 if some pages could not be read."""
    if arguments.update and arguments.threshold is not None:
        raise UsageError("--threshold can't be combined with --update, which keeps the layouts")
    if arguments.update:
        refuse(arguments, "with --update, which keeps the template's name", name=None)
    failed: list[str] = []
    items = _pages(read_items(find_inputs(arguments.inputs)), failed, parsing_options(arguments))
    with TerminalProgress() as progress:
        read = list(tracked(items, progress, "pages"))
    pages = [page for _, page in read]
    if not any(len(page.blocks) for page in pages):
        raise InputError("no page with text could be read", source=", ".join(arguments.inputs))
    sites = sorted({item.site for item, _ in read if item.url})
    if len(sites) > 1:
        shown = ", ".join(sites[:_LISTED]) + (", …" if len(sites) > _LISTED else "")
        note(
            f"the pages come from {len(sites)} sites ({shown}); 'blockml predict --by-site' learns a template for each"
        )
    # Without the lock, one of two simultaneous updates would be lost.
    with locked_output(Path(arguments.output)) if arguments.update else nullcontext():
        if arguments.update:
            before = SiteTemplate.load(arguments.output)
            if (share := _known_words(before, pages)) < _LEAST_KNOWN:
                note(
                    f"only {share:.1%} of the words of these pages occur on the pages of {before.name} learnt so "
                    "far: are they from another site? Without --update, -o writes a new template"
                )
            site = before.updated(pages)
            note(f"added {counted(site.counts.n_pages - before.counts.n_pages, 'page')}")
        else:
            name = arguments.name or Path(arguments.inputs[0]).resolve().stem
            with TerminalProgress() as progress:
                site = SiteTemplate.learn(pages, name=name, threshold=arguments.threshold, progress=progress)
        with writing(arguments.output):
            site.save(arguments.output)
    rows = [
        {"layout": number, "pages": layout.n_pages, "tree nodes": len(layout.tree) if layout.tree else 0}
        for number, layout in enumerate(site.layouts)
    ]
    size = Path(arguments.output).stat().st_size
    if arguments.format == "json":
        print_json({"name": site.name, "pages": site.counts.n_pages, "bytes": size, "layouts": rows})
    else:
        print_rows(rows, "table")
    words = sum(int(page.blocks.n_words.sum()) for page in pages)
    repeated = sum(float(measure(page, site.counts, similar=False).text_share @ page.blocks.n_words) for page in pages)
    note(
        f"wrote {arguments.output}: {counted(site.counts.n_pages, 'page')} of {site.name}, {size / 1000:.0f} kB; "
        f"a word occurs on {repeated / max(words, 1):.0%} of the pages on average"
    )
    if too_few(site.counts, MIN_TRAIN - 1):
        note(f"fewer than {MIN_TRAIN - 1} pages: extraction will ignore the template")
    return 1 if failed else 0


#: Meaning of each distance, in the order of Gottron 2008.
_MEANINGS: Mapping[str, str] = {
    "rtdm": "edits of the restricted top-down mapping, divided by the elements of both pages",
    "tv": "Euclidean distance of the tag counts; unbounded",
    "cp": "1 minus the share of common paths to leaves",
    "cps": "1 minus the share of common shingles of three elements of a path",
    "lcts": "1 minus the share of the longest common subsequence of tags",
    "ctss": "1 minus the share of common shingles of eight tags",
}

#: Maximum characters of a text in an outline.
_MOST_TEXT = 60


def add_distance(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml templates distance``."""
    add = parser.add_argument
    add("pages", metavar="PAGE", nargs=2, help=PAGE_HELP)
    add("--equality", choices=sorted(EQUALITIES), default="hybex", help="equality of nodes of the mapping ETDM")
    add("-o", "--output", metavar="FILE.html", help="write a view of both trees with the nodes mapped to each other")
    add_options(parser, "backend")
    add_format(parser)
    parser.set_defaults(run=run_distance)


def run_distance(arguments: argparse.Namespace) -> int:
    """Print the six distances of two pages and the number of nodes mapped, and write the view."""
    options = parsing_options(arguments)
    one, two = (parse(read_page(name, Limits().bytes + 1), **options) for name in arguments.pages)
    rows: list[dict[str, object]] = []
    for name, meaning in _MEANINGS.items():
        try:
            value = f"{distance(one, two, name):.4f}"
        except UsageError as error:  # a page too large for a distance of quadratic cost
            value = "-"
            note(str(error))
        rows.append({"distance": name, "value": value, "meaning": meaning})
    trees = tree_of(one), tree_of(two)
    partner = map_trees(*trees, arguments.equality)
    n_mapped = int((partner >= 0).sum())
    meaning = f"nodes of the first page mapped by ETDM ({arguments.equality}), texts included"
    rows.append({"distance": "etdm", "value": f"{n_mapped} of {len(partner)}", "meaning": meaning})
    print_rows(rows, arguments.format)
    if arguments.output:
        _write_view(arguments, (one, two), trees, rows)
    return 0


def _write_view(
    arguments: argparse.Namespace, pages: tuple[Page, Page], trees: tuple[Tree, Tree], rows: list[dict[str, object]]
) -> None:
    from blockml.reports.siteviews import write_pair_view  # needs an optional package
    from blockml.templates.distances.rtdm import mapped_elements

    elements = [np.flatnonzero(page.nodes.tag != 0) for page in pages]
    by_edits = mapped_elements(sketch(pages[0]), sketch(pages[1]))
    by_equality = map_trees(*trees, arguments.equality)
    title = f"ETDM: equal nodes ({arguments.equality}), with texts"
    mappings = [
        _mapped("RTDM: elements, in order", pages, elements, by_edits),
        _mapped(title, pages, [tree.nodes for tree in trees], by_equality),
    ]
    with writing(arguments.output):
        named = arguments.pages[0], arguments.pages[1]
        note(f"wrote {write_pair_view(arguments.output, names=named, distances=rows, mappings=mappings)}")


def _mapped(
    title: str, pages: tuple[Page, Page], rows: Sequence[NDArray[np.integer]], partner: NDArray[np.int32]
) -> MappedTrees:
    """Describe the nodes of two trees, given by their ``rows`` in the pages, and the mapping between them."""
    from blockml.reports.siteviews import MappedTrees

    left, right = ([_label(page, node) for node in nodes.tolist()] for page, nodes in zip(pages, rows, strict=True))
    depths = [page.nodes.depth[nodes].astype(np.int64) for page, nodes in zip(pages, rows, strict=True)]
    names = [[page.nodes.name(node) for node in nodes.tolist()] for page, nodes in zip(pages, rows, strict=True)]
    renamed = [at >= 0 and names[0][row] != names[1][at] for row, at in enumerate(partner.tolist())]
    return MappedTrees(title, left, right, depths[0], depths[1], partner, np.array(renamed, dtype=bool))


def _label(page: Page, node: int) -> str:
    """Describe a node: an element with id and class names, or the start of a text."""
    nodes = page.nodes
    if nodes.tag[node] == 0:
        text = " ".join(nodes.texts[node].split())
        return f"“{text[:_MOST_TEXT]}{'…' if len(text) > _MOST_TEXT else ''}”"
    values = nodes.attributes[node]
    own = f"#{values['id']}" if values.get("id") else ""
    classes = "".join(f".{name}" for name in values.get("class", "").split())
    return f"{nodes.name(node)}{own}{classes}"
