"""``blockml survey`` and ``blockml label``."""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from blockml.cli.arguments import add_format, add_outside_files, comma_separated, positive, refuse
from blockml.cli.output import TerminalProgress, note, one_line, print_json, print_rows, show, writing
from blockml.errors import UsageError
from blockml.extractors import Extractor, resolve
from blockml.progress import tracked
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.labelling.store import LabelStore
    from blockml.surveying.choice import ChosenPage

__all__ = ["COMMANDS"]


def add_label(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml label``."""
    add = parser.add_argument
    text = (
        "folder of page files or page folders, at any depth; a table of pages (CSV, TSV, JSON, JSON lines, Parquet); "
        "page files, WARC or ARC files; with --survey, the inputs of the run"
    )
    add("inputs", metavar="INPUT", nargs="+", help=text)
    text = "output of 'blockml predict' for INPUT, whose sites and confidences choose the pages to label"
    add("--survey", metavar="OUTPUT", help=text)
    add(
        "--pages",
        type=positive,
        default=50,
        dest="n_pages",
        metavar="N",
        help="with --survey: number of pages to choose",
    )
    add("--per-site", type=positive, default=5, metavar="N", help="with --survey: pages of each site")
    text = "with --survey: kinds of pages (default: all except lists, search results, sitemaps and accounts)"
    add("--kinds", type=comma_separated, metavar="KIND,…", help=text)
    add("--list", action="store_true", help="with --survey: print the pages to label, and stop")
    text = "folder of the labelled pages, one page folder each (default: INPUT-labelled); INPUT is not changed"
    add("-o", "--output", metavar="DIR", help=text)
    add("--model", metavar="NAME|FILE", default="default", help="model that proposes the labels")
    add("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; 0 for any free one")
    add("--no-browser", action="store_true", help="print the address without opening it")
    text = "label-studio: write all pages with their labels, or the model's, as tasks to -o FILE.json, then exit"
    add("--format", choices=["folders", "label-studio"], default="folders", help=text)
    add_outside_files(parser)
    parser.set_defaults(run=run_label)


def _choice(arguments: argparse.Namespace, output: Path) -> tuple[list[ChosenPage], int]:
    """Choose pages from the output of a run; also return the number of pages that are labelled already."""
    from blockml.labelling.store import labelled_pages
    from blockml.surveying.choice import choose_pages
    from blockml.surveying.page_kinds import WORTH_LABELS
    from blockml.surveying.run_output import RunOutput

    done = labelled_pages(output)
    chosen = choose_pages(
        RunOutput(arguments.survey),
        pages=arguments.n_pages,
        per_site=arguments.per_site,
        labelled=done,
        kinds=arguments.kinds or WORTH_LABELS,
    )
    return chosen, len(done)


def _list(arguments: argparse.Namespace, output: Path) -> int:
    """Print the pages to label."""
    chosen, n_done = _choice(arguments, output)
    rows = [
        {
            "site": page.site or "-",
            "page": f"{page.rank} of {page.of}",
            "confidence": f"{page.confidence:.3f}",
            "kind": page.kind,
            "id": one_line(page.id, 100),
            "url": one_line(page.url or "-", 120),
        }
        for page in chosen
    ]
    print_rows(rows, "table")
    sites = counted(len({page.site for page in chosen}), "site")
    note(f"{counted(len(chosen), 'page')} of {sites} to label; {n_done} already labelled")
    return 0


def _chosen(arguments: argparse.Namespace, output: Path, extractor: Extractor) -> LabelStore:
    """Choose pages from the output of a run and read them."""
    from blockml.batch import find_inputs
    from blockml.labelling.store import LabelStore
    from blockml.surveying.choice import chosen_pages

    chosen, n_done = _choice(arguments, output)
    pages = chosen_pages(chosen, find_inputs(arguments.inputs))
    sites = counted(len({page.site for page in chosen}), "site")
    note(f"chose {counted(len(pages), 'page')} of {sites}; {n_done} already labelled")
    if len(pages) < len(chosen):
        note(f"{counted(len(chosen) - len(pages), 'chosen page')} not found in the inputs, or unreadable")
    return LabelStore(pages, output, extractor)


def run_label(arguments: argparse.Namespace) -> int:
    """Serve the labelling page until interrupted."""
    from blockml.labelling.server import LabelServer
    from blockml.labelling.store import LabelStore, labels_folder, pages_to_label

    if not 0 <= arguments.port < 2**16:
        raise UsageError(f"--port must be between 0 and 65535, got {arguments.port}")
    if arguments.survey is None:
        refuse(arguments, "without --survey", n_pages=50, per_site=5, kinds=None, list=False)
    if arguments.format == "label-studio":
        refuse(arguments, "with --format label-studio", survey=None)
        return _write_tasks(arguments)
    output = Path(arguments.output) if arguments.output else labels_folder(Path(arguments.inputs[0]))
    if arguments.list:
        return _list(arguments, output)
    extractor = resolve(arguments.model)
    if arguments.survey is None:
        store = LabelStore(pages_to_label(arguments.inputs, outside_files=arguments.outside_files), output, extractor)
    else:
        store = _chosen(arguments, output, extractor)
    if not store.pages:
        note(
            f"nothing to label: every site has {arguments.per_site} labelled pages already, or too few pages of the "
            "chosen --kinds"
        )
        return 0
    try:
        server = LabelServer(store, arguments.port)
    except OSError as error:
        raise UsageError(f"port {arguments.port} can't be used: {error.strerror or error}") from error
    note(f"predicting {counted(len(store.pages), 'page')}, to show the most uncertain first")
    with TerminalProgress() as progress:
        store.rank(progress)
    note(f"labels are written to {output}; press Ctrl+C to stop")
    show(server.url)
    sys.stdout.flush()
    if not arguments.no_browser:
        webbrowser.open(server.url)
    try:
        server.serve()
    except KeyboardInterrupt:
        done = sum(page.state == "done" for page in store.pages.values())
        pages = counted(len(store.pages), "page")
        how = "-o FILE" if arguments.survey is None else "--by site -o DIR"
        note(f"labelled {done} of {pages}: blockml train --base default --dataset {output} {how}")
    finally:
        server.close()
    return 0


def _write_tasks(arguments: argparse.Namespace) -> int:
    """Write tasks for Label Studio."""
    from blockml.datasets.label_studio import LABELLING_CONFIG, label_studio_task
    from blockml.labelling.store import LabelStore, has_page_folders, labels_folder, pages_to_label
    from blockml.storage.atomic import atomic_write

    if not arguments.output or not arguments.output.endswith(".json"):
        raise UsageError("--format label-studio needs -o FILE.json")
    pages = pages_to_label(arguments.inputs, outside_files=arguments.outside_files)
    is_labelled = isinstance(pages, Path) and has_page_folders(pages)
    source = Path(arguments.inputs[0])
    source = source if source.exists() else Path(arguments.output)  # the input is a glob
    labelled = source if is_labelled else labels_folder(source)
    store = LabelStore(pages, labelled, resolve(arguments.model))
    tasks = []
    with TerminalProgress() as progress:
        for page in tracked(store.pages.values(), progress, "predicting pages", len(store.pages)):
            parsed, decision = store.propose(page)
            html = store.html(page)
            labels = store.labels(page, parsed, decision)
            is_done = page.state == "done"
            tasks.append(label_studio_task(page.id, html, parsed, labels, is_done=is_done, url=parsed.url))
    with writing(Path(arguments.output)), atomic_write(Path(arguments.output)) as stream:
        stream.write(json.dumps(tasks, ensure_ascii=False).encode("utf-8", "replace"))
    note(f"wrote {counted(len(tasks), 'task')}; the labelling configuration of the project: {LABELLING_CONFIG}")
    return 0


#: Columns of the printed table.
_COLUMNS = {
    "site": ("site", "pages", "confidence", "failed", "empty", "near_duplicates", "soft_errors", "repeated_line"),
    "pattern": ("site", "pattern", "kind", "pages", "confidence", "failed", "empty"),
    "rule": ("site", "rule", "pages", "matched", "share", "share_before", "matches_less"),
    "kind": ("kind", "pages", "confidence", "failed", "empty", "worth_labels"),
}
_PRINTED = 40


def add_survey(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``blockml survey``."""
    add = parser.add_argument
    text = "output of 'blockml predict' or of an engine: .jsonl (or compressed), .parquet, or a folder of part files"
    add("survey", metavar="OUTPUT", help=text)
    text = "write the report as a self-contained HTML file; without it, print a table of sites"
    add("-o", "--output", metavar="FILE.html", help=text)
    add("--before", metavar="OUTPUT", help="earlier output for the same pages, to compare with")
    text = "inputs of the run, as given to 'blockml predict': adds templates of large sites, and views of pages"
    add("--input", nargs="+", metavar="INPUT", dest="inputs", help=text)
    text = "with --input: number of pages of each large site to cluster by template"
    add("--template-pages", type=positive, default=16, metavar="N", help=text)
    add("--tables", metavar="DIR", help="also write the tables as Parquet files")
    text = "what the printed table has a row for: a site, a pattern of addresses of a site, a kind of pages, or a rule"
    add("--by", choices=list(_COLUMNS), default="site", help=text)
    add_format(parser)
    add("--quiet", action="store_true", help="print no progress bar")
    parser.set_defaults(run=run_survey)


def run_survey(arguments: argparse.Namespace) -> int:
    """Survey an output."""
    from blockml.surveying import survey

    if arguments.output is not None:
        refuse(arguments, "with -o", format="table", by="site")
        if Path(arguments.output).is_dir():
            raise UsageError("is a folder; -o takes the file to write, such as survey.html", source=arguments.output)
    if arguments.inputs is None:
        refuse(arguments, "without --input", template_pages=16)
    with TerminalProgress(quiet=arguments.quiet) as progress:
        found = survey(
            arguments.survey,
            before=arguments.before,
            inputs=arguments.inputs,
            template_pages=arguments.template_pages,
            progress=progress,
        )
    if arguments.tables is not None:
        with writing(Path(arguments.tables, "sites.parquet")):
            written = found.save_tables(arguments.tables)
        note(f"wrote {counted(len(written), 'table')} to {arguments.tables}")
    if arguments.output is not None:
        with writing(arguments.output):
            found.save(arguments.output)
        note(f"{found!r}: wrote {arguments.output}")
    elif arguments.format == "json":
        refuse(arguments, "with --format json, which has all tables", by="site")
        print_json({"glance": found.glance, **found.tables})
    else:
        table = found.tables[f"{arguments.by}s"]
        rows = [{name: row[name] for name in _COLUMNS[arguments.by]} for row in table[:_PRINTED]]
        for row in rows:
            for name in {"confidence", "share", "share_before"} & row.keys():
                row[name] = None if row[name] is None else round(row[name], 3)
            for name in {"site", "pattern", "repeated_line", "rule"} & row.keys():
                row[name] = one_line(row[name] or "", 60)
        print_rows(rows, "table")
        if len(table) > len(rows):
            note(f"the first {len(rows)} of {len(table):,} {arguments.by}s; --format json, --tables and -o have all")
        note(f"{found!r}; -o FILE.html writes the report")
    return 0


COMMANDS = {"label": add_label, "survey": add_survey}
