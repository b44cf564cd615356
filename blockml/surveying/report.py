"""The survey of a run: tables, and a report in one HTML file."""

from __future__ import annotations

import json
import shlex
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import import_module
from importlib.resources import files
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from blockml.batch import Inputs, find_inputs
from blockml.errors import UsageError, check_name, check_type, needed
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.reports.templating import html_text, write_html
from blockml.storage.atomic import atomic_write
from blockml.surveying.changes import Changes, Earlier
from blockml.surveying.choice import LARGE_SITE, PagesRead, read_chosen_pages, template_rows
from blockml.surveying.page_kinds import KindCounts
from blockml.surveying.repeats import Duplicates, RepeatedLines, RuleCounts, rule_rows
from blockml.surveying.run_output import RunOutput, RunRecords, count_of
from blockml.surveying.sites import SAMPLED_PAGES, PageNote, Sites, SiteStats
from blockml.text.sketches import min_hashes
from blockml.text.words import counted

#: Tables of a survey.
TABLES = (
    "sites", "kinds", "patterns", "templates", "lines", "pages", "confidence", "changes", "changed_pages", "rules",
)  # fmt: skip
#: Maximum number of sites whose pages are shown; the table of sites has all.
_SHOWN_SITES = 20
#: Maximum characters of a text that is compared with its page for a view.
_VIEWED = 20_000

#: Maximum rows of the tables of sites, templates and changes; the Parquet files have all rows.
_MOST_ROWS = 200
#: Maximum number of patterns of addresses.
_MOST_PATTERNS = 40
#: Maximum number of sites whose repeated lines are listed.
_LISTED_SITES = 40
#: Template of the report, in :mod:`blockml.reports`.
_TEMPLATE = "survey.html.jinja"

_Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Survey:
    """Result of :func:`survey`: tables, a report, and pages to look at."""

    name: str  #: Path of the output.
    glance: Mapping[str, Any]  #: Counts of the whole run.
    tables: Mapping[str, _Rows]  #: Rows of each of :data:`TABLES`; tables that don't apply are empty.
    views: Mapping[str, Any]  #: Runs of kept and removed blocks of each page that is shown, by its id.

    def __repr__(self) -> str:
        pages, sites = counted(self.glance["pages"], "page"), counted(self.glance["sites"], "site")
        mean = self.glance["mean_confidence"]
        return f"Survey({pages}, {sites}{'' if mean is None else f', mean confidence {mean:.3f}'})"

    def to_frame(self, table: str = "sites") -> Any:  # noqa: ANN401 (pandas, or pyarrow)
        """Return a table as a ``pandas.DataFrame``, or as a ``pyarrow.Table`` if pandas is not installed.

        Raises
        ------
        UnknownNameError
            ``table`` is not one of :data:`TABLES`.
        """
        check_name("table", table, TABLES)
        rows = self.tables[table]
        try:
            pandas: Any = import_module("pandas")
        except ImportError:
            with needed("Tables of a survey", "arrow"):
                import pyarrow as pa
            return pa.Table.from_pylist(rows)
        return pandas.DataFrame(rows)

    def html(self) -> str:
        """Return the report as self-contained HTML."""
        return html_text(_TEMPLATE, **_report_data(self))

    def save(self, path: str | Path) -> Path:
        """Write the report; missing folders are created; return its path."""
        return write_html(_TEMPLATE, path, **_report_data(self))

    def save_tables(self, folder: str | Path) -> list[Path]:
        """Write each table that has rows as ``NAME.parquet``; return the paths.

        Raises
        ------
        MissingExtraError
            pyarrow is not installed.
        """
        with needed("Parquet files", "arrow"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        for name in TABLES:
            if self.tables[name]:
                with atomic_write(place / f"{name}.parquet") as stream:
                    pq.write_table(pa.Table.from_pylist(self.tables[name]), stream)
                written.append(place / f"{name}.parquet")
        return written

    def show(self) -> Path:
        """Write the report to a temporary file, open it in the browser, and return its path."""
        path = self.save(Path(mkdtemp(prefix="blockml-"), "survey.html"))
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        frame = 'sandbox="" style="width:100%;height:80vh;border:1px solid #ccc"'
        return f'<iframe {frame} srcdoc="{escape(self.html())}"></iframe>'


def survey(
    output: RunRecords,
    *,
    before: RunRecords | None = None,
    inputs: str | Path | Iterable[str | Path] | Inputs | None = None,
    template_pages: int = SAMPLED_PAGES,
    progress: ProgressCallback = ignore_progress,
) -> Survey:
    """Survey the output of a run over many pages: results by site and template, and pages to look at.

    The output is read twice, and memory does not grow with the number of pages of a site. Sites are ranked by their
    pages times 1 - confidence.

    Parameters
    ----------
    output
        Output of :func:`blockml.predict`, ``blockml predict`` or an engine: a file of JSON lines or Parquet, a folder
        of part files, a ``pyarrow.Table``, or a list of records.
    before
        Earlier output for the same pages, to compare with.
    inputs
        The pages of the run: files, folders, globs or archives. With them the survey includes templates of large sites,
        and views of pages.
    template_pages
        Number of pages of each large site to cluster by template, sampled by the hash of their ids.
    progress
        Called with the name of a stage, how many of its items are done, and how many there are (None if unknown).

    Returns
    -------
    Survey
        ``.save("survey.html")`` writes the report, ``.to_frame("sites")`` returns a table, ``.show()`` opens it.

    Raises
    ------
    InputError
        The output or an input can't be read.
    UsageError
        The output has no records, or an argument has the wrong type.
    MissingExtraError
        Parquet needs the extra ``arrow``, templates need ``train``, the report needs ``report``.

    Examples
    --------
    >>> import blockml
    >>> text = "Cats rule the world, and nobody has ever asked them to."
    >>> rows = [{"id": f"{n}", "url": f"https://cats.example/{n}", "status": "ok", "text": text, "confidence": 0.9}
    ...         for n in range(5)]
    >>> found = blockml.survey(rows)
    >>> found
    Survey(5 pages, 1 site, mean confidence 0.900)
    >>> found.tables["sites"][0]["near_duplicates"]
    4
    """
    check_type("template_pages", template_pages, int, legal="a number of pages")
    if template_pages < 2:
        raise UsageError(f"template_pages must be at least 2, got {template_pages}")
    records, earlier_output = RunOutput(output), None if before is None else RunOutput(before)
    given = None if inputs is None else _inputs(inputs)
    changes = None if earlier_output is None else Changes(Earlier.read(earlier_output))
    sites, duplicates, kinds, rules = Sites(sample_size=template_pages), Duplicates(), KindCounts(), RuleCounts()
    for number, record in enumerate(tracked(records, progress, "records")):
        words = (record.text or "").split()
        hashes = min_hashes(words)
        site = sites.add(record, number, len(words))
        kinds.add(record, site.name, len(words))
        rules.add(record)
        if words:
            duplicates.add(number, site.number, hashes)
        if changes is not None:
            changes.add(record, number, hashes, site.name)
    records.refuse_without_records(sites.total.n_pages)
    n_damaged = records.n_damaged  # of the whole output; the second reading may end before
    repeats, frequent = duplicates.by_site(len(sites.by_name))
    ranked = sites.ranked()
    shown = {note.number: note for site in ranked[:_SHOWN_SITES] for note in (*site.least_sure(), *site.typical())}
    lines = RepeatedLines([site.n_pages for site in sites.by_name.values()])
    first_of = {page: site for site, (page, _) in frequent.items()}
    texts: dict[str, str] = {}
    examples: dict[int, str] = {}
    again = islice(records, sites.total.n_pages)  # the run may have added records since
    for number, record in enumerate(tracked(again, progress, "repeated lines", sites.total.n_pages)):
        if (known := sites.find(record)) is not None:
            lines.add(record, known.number)
        if number in shown:
            texts[record.id] = (record.text or "")[:_VIEWED]
        if number in first_of:
            examples[first_of[number]] = record.id
    large = [site for site in ranked[:_SHOWN_SITES] if site.n_pages >= LARGE_SITE]
    pages = PagesRead()
    if given is not None:
        drawn = frozenset(note.record.id for site in large for note in site.sample())
        pages = read_chosen_pages(given, texts, drawn, progress)
    line_rows = lines.rows(list(sites.by_name))
    repeated_lines = {row["site"]: row for row in reversed(line_rows)}  # the most frequent line of each site
    site_rows = []
    for site in ranked:
        count = frequent.get(site.number, (0, 0))[1]
        site_rows.append(
            site.row()
            | {
                "near_duplicates": int(repeats[site.number]),
                "most_frequent_text": examples.get(site.number) if count > 1 else None,
                "most_frequent_text_pages": count,
                "repeated_line": repeated_lines.get(site.name, {}).get("line"),
                "repeated_line_pages": repeated_lines.get(site.name, {}).get("pages", 0),
            }
        )
    tables = {
        "sites": site_rows,
        "kinds": kinds.kind_rows(),
        "patterns": kinds.pattern_rows(),
        "templates": template_rows(large, pages) if pages.summaries else [],
        "lines": line_rows,
        "pages": [_page_row(site, note, kind) for site in ranked[:_SHOWN_SITES]
                  for kind, notes in (("least sure", site.least_sure()), ("typical", site.typical()))
                  for note in notes],
        "confidence": _confidence_rows(sites),
        "changes": [] if changes is None else changes.rows(sites),
        "changed_pages": [] if changes is None or earlier_output is None else changes.pages(earlier_output),
        "rules": rule_rows(rules, None if changes is None else changes.earlier.rules),
    }  # fmt: skip
    return Survey(
        records.name, _glance(n_damaged, sites, int(repeats.sum()), changes, earlier_output), tables, pages.views
    )


def _inputs(given: str | Path | Iterable[str | Path] | Inputs) -> Inputs:
    if isinstance(given, Inputs):
        return given
    names = [given] if isinstance(given, str | Path) else given
    return find_inputs([str(name) for name in names])


def _glance(
    n_damaged: int, sites: Sites, n_duplicates: int, changes: Changes | None, earlier: RunOutput | None
) -> dict[str, Any]:
    total = sites.total
    of_changes = None
    if changes is not None and earlier is not None:
        moved = sorted(changes.statuses.items(), key=lambda item: -item[1])[:12]
        of_changes = {
            "before": earlier.name,
            "same": changes.n_same, "changed": changes.n_changed, "new": changes.n_new, "gone": changes.n_gone,
            "statuses": [{"before": old, "after": new, "pages": count} for (old, new), count in moved],
        }  # fmt: skip
    return {
        "pages": total.n_pages,
        "sites": len(sites.by_name),
        "damaged_lines": n_damaged,
        "statuses": count_of(sites.statuses, 12),
        "models": count_of(sites.models, 12),
        "languages": count_of(sites.languages, 12),
        "failed": total.n_failed, "unsure": total.n_unsure, "empty": total.n_empty,
        "words": total.n_words, "blocks": total.n_blocks, "kept_blocks": total.n_kept,
        "titles": total.n_titles, "dates": total.n_dates,
        "soft_errors": total.n_soft_errors, "near_duplicates": n_duplicates,
        "mean_confidence": total.confidence,
        "histogram": sites.histogram,
        "changes": of_changes,
    }  # fmt: skip


def _page_row(site: SiteStats, note: PageNote, kind: str) -> dict[str, Any]:
    record = note.record
    return {
        "site": site.name, "kind": kind, "id": record.id, "url": record.url, "title": record.title,
        "confidence": record.confidence, "words": note.n_words, "kept_blocks": record.n_kept,
        "blocks": record.n_blocks, "model": record.model, "start": record.text,
    }  # fmt: skip


@cache
def held_out() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return, by model id, the quality at each confidence on collections that the model was not trained on.

    ``python -m research.benchmarks.survey_coverage --write`` measures it: for each interval of confidence the number of
    pages, their mean F1, and the share with F1 above .8.
    """
    found: dict[str, list[dict[str, Any]]] = json.loads(
        files("blockml.surveying").joinpath("held_out.json").read_text()
    )
    return found


def _confidence_rows(sites: Sites) -> _Rows:
    """Return the rows of the table of confidences: pages in each interval, and the quality of held-out pages in it."""
    model = sites.models.most_common(1)[0][0] if sites.models else ""
    n_bins = len(sites.histogram)
    rows = []
    for known in held_out().get(model, held_out()["bins"]):
        low, high = round(known["low"] * n_bins), round(known["high"] * n_bins)
        rows.append(
            {"low": known["low"], "high": known["high"], "pages": sum(sites.histogram[low:high])}
            | {f"held_out_{name}": known.get(name) for name in ("pages", "f1", "share_above_80")}
        )
    return rows


def _report_data(found: Survey) -> dict[str, Any]:
    """Return the values of the template of the report."""
    tables = found.tables
    lines: dict[str, _Rows] = {}
    for row in tables["lines"]:
        lines.setdefault(row["site"], []).append(row)
    order = [row["site"] for row in tables["sites"] if row["site"] in lines]
    pages: dict[str, dict[str, _Rows]] = {}
    for row in tables["pages"]:
        pages.setdefault(row["site"], {}).setdefault(row["kind"], []).append(row)
    rated = sum(row["pages"] for row in tables["confidence"])
    return {
        "name": found.name,
        "glance": found.glance,
        "sites": tables["sites"][:_MOST_ROWS],
        "n_sites": len(tables["sites"]),
        "kinds": tables["kinds"],
        "patterns": tables["patterns"][:_MOST_PATTERNS],
        "n_patterns": len(tables["patterns"]),
        "templates": [row for row in tables["templates"] if row["sampled_pages"] > 1][:_MOST_ROWS],
        "n_single": sum(row["sampled_pages"] == 1 for row in tables["templates"]),
        "lines": [(site, lines[site]) for site in order[:_LISTED_SITES]],
        "n_sites_with_lines": len(order),
        "pages": pages,
        "confidence": [{**row, "share": row["pages"] / rated if rated else 0.0} for row in tables["confidence"]],
        "changes": [row for row in tables["changes"] if row["changed"]][:_MOST_ROWS],
        "changed_pages": tables["changed_pages"],
        "rules": tables["rules"][:_MOST_ROWS],
        "views": found.views,
        "output": shlex.quote(found.name),
    }
