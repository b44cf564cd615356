"""``blockml survey``."""

from __future__ import annotations

import argparse
from pathlib import Path

from blockml.cli.arguments import add_format, positive, refuse
from blockml.cli.output import TerminalProgress, note, one_line, print_json, print_rows, writing
from blockml.errors import UsageError
from blockml.text.plurals import counted

__all__ = ["COMMANDS"]

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


COMMANDS = {"survey": add_survey}


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
