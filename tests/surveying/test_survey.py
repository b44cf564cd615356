"""The survey of a run: tables, report, hostile outputs, memory."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockml
from blockml.batch import Item, predict_items
from blockml.cli import main
from blockml.errors import InputError, UsageError
from blockml.extractors import resolve
from blockml.surveying import SURVEYED_KINDS, TABLES, RunOutput, choose_pages, survey
from blockml.surveying.changes import Changes, Earlier
from blockml.surveying.page_kinds import page_kind, url_pattern
from blockml.surveying.report import held_out
from blockml.surveying.run_output import record_of

pytest.importorskip("jinja2")
DATA = Path(__file__).parents[2] / "data" / "sites"
SENTENCE = "Cats rule the world of page {0}, and nobody there has ever asked number {0} to do so, not even once."


def record(site: str, number: int, confidence: float, **more: Any) -> dict[str, Any]:
    """Return the record of a page with a unique text except for two lines of its site."""
    text = (
        f"Follow {site}\n{SENTENCE.format(number)}\n{SENTENCE.format(number * 7 + 3)}\nAll rights of {number} reserved"
    )
    return {
        "id": f"{site}-{number}", "url": f"https://www.{site}/{number}", "status": "ok", "title": f"Page {number}",
        "text": text, "confidence": confidence, "n_blocks": 20, "n_kept_blocks": 4, "model": "default 0.1.0",
        "metadata": {"language": "en-GB", "published": "2024-05-03" if number % 2 else None},
    } | more  # fmt: skip


def rows_of(sizes: Mapping[str, tuple[int, float]]) -> list[dict[str, Any]]:
    """Return records of sites with the given numbers of pages and confidences."""
    return [record(site, number, sure) for site, (n, sure) in sizes.items() for number in range(n)]


def written(rows: list[dict[str, Any]], path: Path) -> Path:
    """Write records as JSON lines and return the path."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_sites_are_ranked_by_pages_and_uncertainty() -> None:
    """Sites with many uncertain pages come first, and counts are those of the records."""
    rows = rows_of({"sure.example": (20, 0.99), "unsure.example": (10, 0.6), "small.example": (1, 0.1)})
    rows += [record("failed.example", 1, 0.5) | {"status": "timeout", "text": "", "confidence": None}]
    found = survey(rows)
    assert [row["site"] for row in found.tables["sites"]] == [
        "unsure.example", "small.example", "sure.example", "failed.example",
    ]  # fmt: skip
    unsure = found.tables["sites"][0]
    assert (unsure["pages"], unsure["titles"], unsure["dates"], unsure["kept_share"]) == (10, 10, 5, 0.2)
    assert unsure["confidence"] == pytest.approx(0.6)
    assert found.glance["statuses"] == {"ok": 31, "timeout": 1}
    assert found.glance["languages"] == {"en": 31}
    assert found.glance["failed"] == 1
    assert sum(row["pages"] for row in found.tables["confidence"]) == 31


def test_pages_of_a_web_archive_belong_to_their_sites() -> None:
    """A copy in a web archive counts as a page of the site that it was copied from."""
    rows = rows_of({"cats.example": (3, 0.9), "dogs.example": (2, 0.9)})
    archive = "https://web.archive.org/web/20200131120000/"
    found = survey([*rows[:2], *(row | {"url": archive + row["url"]} for row in rows[2:])])
    assert {row["site"]: row["pages"] for row in found.tables["sites"]} == {"cats.example": 3, "dogs.example": 2}


def test_kinds_and_patterns_of_addresses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages are counted by kind, and by site and pattern of the address, also in the report and in the command."""
    rows = rows_of({"cats.example": (4, 0.9)})
    base = "https://www.cats.example"
    addresses = ["/2024/05/one-story.html", "/2024/06/another-story.html", "/tag/tabby", "/sitemap.xml?page=2"]
    rows = [row | {"url": base + path} for row, path in zip(rows, addresses, strict=True)]
    rows[0] |= {"article_probability": 0.8}
    rows[1]["metadata"] |= {"page_type": "article"}
    found = survey(rows)
    assert {row["kind"]: (row["pages"], row["worth_labels"]) for row in found.tables["kinds"]} == {
        "article": (2, True), "list": (1, False), "sitemap": (1, False)
    }  # fmt: skip
    assert {row["pattern"]: (row["kind"], row["pages"]) for row in found.tables["patterns"]} == {
        "/N/N/*.html": ("article", 2), "/tag/*": ("list", 1), "/sitemap.xml?page": ("sitemap", 1)
    }  # fmt: skip
    assert "/N/N/*.html" in found.html()
    output = written([*rows, *rows_of({f"site{n}.example": (1, 0.5) for n in range(50)})], tmp_path / "out.jsonl")
    assert main(["survey", str(output)]) == 0
    assert "the first 40 of 51 sites; --format json, --tables and -o have all" in capsys.readouterr().err
    assert main(["survey", str(output), "--by", "pattern"]) == 0
    printed = capsys.readouterr()
    assert "site0.example" in printed.out
    assert "the first 40 of 53 patterns" in printed.err
    assert main(["survey", str(output), "--by", "kind"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == [
        "kind", "pages", "confidence", "failed", "empty", "worth_labels"
    ]  # fmt: skip


def test_hostile_addresses_have_patterns() -> None:
    """Any address has a pattern and a kind, and their number is bounded."""
    long = "https://a.example/?" + "&".join("abcdefgh")
    for url in ("http://[::1", "https://a.example/" + "x/" * 99, "a\ud800", long, ""):
        pattern, kind = url_pattern(url), page_kind(record_of({"id": "1", "url": url}, 1))
        assert len(pattern) < 300
        assert kind in SURVEYED_KINDS
    rows = [{"id": f"{n}", "url": f"https://s{n}.example/", "confidence": 0.5} for n in range(20_010)]
    found = survey(rows).tables["patterns"]
    assert sum(row["pages"] for row in found) == 20_010
    assert len(found) == 20_001


def test_lines_that_repeat_are_counted_by_site() -> None:
    """A line that is on many pages of a site is listed with its count, but not texts of single pages."""
    found = survey(rows_of({"cats.example": (12, 0.9), "dogs.example": (2, 0.9)}))
    assert [(row["site"], row["line"], row["pages"], row["share"]) for row in found.tables["lines"]] == [
        ("cats.example", "Follow cats.example", 12, 1.0)
    ]
    assert found.tables["sites"][0]["repeated_line"] == "Follow cats.example"


def test_near_duplicates_and_soft_errors() -> None:
    """Near duplicates are found within a site only, and an error page is recognised by its message."""
    words = " ".join(f"word{number}" for number in range(300))
    rows = [
        *(record("cats.example", number, 0.9, text=f"{words} tail{number}") for number in range(4)),
        record("dogs.example", 1, 0.9, text=words),
        record("dogs.example", 2, 0.4, text="Page not found\nTry the search.", title="Oops"),
    ]
    by_site = {row["site"]: row for row in survey(rows).tables["sites"]}
    assert (by_site["cats.example"]["near_duplicates"], by_site["dogs.example"]["near_duplicates"]) == (3, 0)
    assert (by_site["dogs.example"]["soft_errors"], by_site["dogs.example"]["soft_error"]) == (1, "Page not found")
    assert by_site["cats.example"]["most_frequent_text_pages"] >= 2


def test_pages_to_look_at_are_least_certain_or_typical() -> None:
    """The pages to look at are three with the lowest confidence and three near the medians of the site."""
    rows = [record("cats.example", number, 0.5 + number / 100) for number in range(40)]
    pages = survey(rows).tables["pages"]
    assert [row["id"] for row in pages if row["kind"] == "least sure"] == [f"cats.example-{n}" for n in range(3)]
    typical = [row["confidence"] for row in pages if row["kind"] == "typical"]
    assert len(typical) == 3
    assert all(0.55 < value < 0.85 for value in typical)


def test_all_forms_of_an_output_give_one_survey(tmp_path: Path) -> None:
    """JSON lines, compressed ones, a folder of parts, Parquet and a table give the survey of the records."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = rows_of({"cats.example": (9, 0.8), "dogs.example": (5, 0.7)})
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "out.parquet")
    parts = tmp_path / "parts.jsonl"
    parts.mkdir()
    written(rows[:6], parts / "part-0.jsonl")
    written(rows[6:], parts / "part-1.jsonl.gz")
    (parts / "_SUCCESS").touch()
    wanted = survey(rows).tables
    for output in (written(rows, tmp_path / "a.jsonl"), written(rows, tmp_path / "b.jsonl.gz"), parts, table,
                   str(tmp_path / "out.parquet")):  # fmt: skip
        assert survey(output).tables == wanted


def test_a_comparison_names_what_changed() -> None:
    """A comparison lists changes by site, and the lines added and removed on the pages that changed most."""
    before = rows_of({"cats.example": (6, 0.6), "dogs.example": (3, 0.9)})
    after = [dict(row) for row in before]
    after[0] |= {"text": "Something else\n" + SENTENCE.format(99), "confidence": 0.9, "model": "default-cats 0.1.0"}
    after[1] |= {"status": "unsure"}
    after[8] |= {"id": "new"}
    found = survey(after, before=before)
    changes = found.glance["changes"]
    assert (changes["same"], changes["changed"], changes["new"], changes["gone"]) == (7, 1, 1, 1)
    assert changes["statuses"] == [{"before": "ok", "after": "unsure", "pages": 1}]
    assert found.tables["changes"][0] | {"confidence": 0} == {
        "site": "cats.example", "pages": 6, "changed": 1, "confidence_before": pytest.approx(0.6), "confidence": 0,
    }  # fmt: skip
    (page,) = found.tables["changed_pages"]
    assert (page["id"], page["came"][0], page["gone"][0]) == ("cats.example-0", "Something else", "Follow cats.example")
    assert "Something else" in found.html()


def test_a_comparison_of_hostile_outputs() -> None:
    """Repeated ids hide no missing page, statuses without end are counted together, and long texts are not kept."""
    rows = rows_of({"cats.example": (1500, 0.6)})
    later = [{**row, "status": f"status {number}"} for number, row in enumerate(rows)]
    later[1] = {**later[0], "text": "line\n" * 100_000}
    changes = survey(later, before=rows).glance["changes"]
    assert (changes["changed"], changes["new"], changes["gone"]) == (1, 0, 1)
    assert sum(row["pages"] for row in changes["statuses"]) == 511  # of the 12 most frequent
    assert changes["statuses"][0] == {"before": "other", "after": "other", "pages": 499}
    found = Changes(Earlier.read(RunOutput(rows)))
    for number, record in enumerate(RunOutput(later)):
        found.add(record, number, np.zeros(6, dtype=np.uint32), record.site)
    kept = [record.text or "" for heap in found._largest.values() for *_, record in heap]
    assert max(map(len, kept)) <= 200_000


def test_views_and_templates_come_from_the_inputs(tmp_path: Path) -> None:
    """With the inputs of the run, a view shows kept and removed blocks, and large sites have templates."""
    pytest.importorskip("sklearn")
    pages = sorted(DATA.glob("harbour-courier/*/page.html"))
    items = [Item(path.parent.name, path=path, url=f"https://courier.example/{path.parent.name}") for path in pages]
    rows = list(predict_items(items, resolve("kim2013"), isolation="none"))
    renamed = [{**row, "id": f"{row['id']}/page"} for row in rows]
    inputs = tmp_path / "run.jsonl"
    inputs.write_text("".join(json.dumps({"id": row["id"], "html": path.read_text(encoding="utf-8")}) + "\n"
                              for row, path in zip(renamed, pages, strict=True)))  # fmt: skip
    found = survey(renamed, inputs=inputs)
    shown = found.tables["pages"][0]["id"]
    assert {run.kept for run in found.views[shown]} == {True, False}
    assert sum(row["sampled_pages"] for row in found.tables["templates"]) == min(len(pages), 16)
    assert 'class="kept"' in found.html()


HOSTILE = [
    {"id": "<script>alert(1)</script>", "title": '"><img src=x onerror=alert(1)>', "text": "<b>x</b>\n" * 5,
     "url": "javascript:alert(1)//<svg onload=alert(1)>", "status": "<i>", "confidence": 0.1, "model": "<u>"},
    {}, {"id": None, "text": None, "confidence": "high", "n_blocks": -1, "metadata": []},
    {"id": ["a"], "url": "http://[", "text": {"a": 1}, "confidence": float("nan"), "n_kept_blocks": 10**30},
    {"id": "../../etc/passwd", "url": "https://" + "a." * 5000 + "example/", "confidence": 7, "status": "ok" * 1000},
    {"id": "\ud800\u202e", "text": "\ud800 \x00", "title": "\ud800", "confidence": True, "metadata": {"language": 3}},
    {"id": "a" * 100_000, "text": "word " * 50_000, "confidence": 1e308, "n_blocks": 1.5},
    {"url": "https://x.example/", "text": "a\n" * 50_000, "metadata": {"published": ["x"], "language": "e" * 9999}},
]  # fmt: skip


def test_hostile_records_are_harmless(tmp_path: Path) -> None:
    """Markup in records is escaped, no record raises, and the report stays small."""
    rows: list[Any] = [*HOSTILE, *HOSTILE, *HOSTILE, "text", 3, None]
    found = survey(rows, before=HOSTILE)
    page = found.html()
    assert found.glance["damaged_lines"] == 6  # those that are not objects, and those without any field of a record
    for markup in ("<script", "<img", "<svg", "<b>x", "<i>", "<u>", "onerror=alert(1)>"):
        assert markup not in page
    assert 'href="javascript' not in page
    assert len(page) < 300_000
    found.save(tmp_path / "survey.html").read_text(encoding="utf-8")


def test_lines_that_are_not_records_are_counted(tmp_path: Path) -> None:
    """Damaged lines are counted, and an output without any record is refused."""
    path = tmp_path / "out.jsonl"
    path.write_bytes(b'{"id": "a", "text": "b"}\n{"id": \nnull\n[1]\n\xff\xfe\n' + b"[" * 100_000 + b"\n")
    found = survey(path)
    assert (found.glance["pages"], found.glance["damaged_lines"]) == (1, 5)
    path.write_text("null\n")
    with pytest.raises(UsageError, match="no records, only 1 line of something else"):
        survey(path)
    path.write_text('{"pages": [], "kind": "something else"}\n')
    with pytest.raises(UsageError, match="no records, only 1 line of something else"):
        survey(path)
    path.write_text('{"text": "Cats rule.", "label": "main"}\n')
    with pytest.raises(UsageError, match="no records, only 1 line of something else"):
        survey(path)
    with pytest.raises(UsageError, match="no records, only 1 line of something else"):
        survey([{"id": "a"}], before=path)
    with pytest.raises(UsageError, match="no records, only 1 line of something else"):
        choose_pages(RunOutput(path))
    path.write_text("\n")
    with pytest.raises(UsageError, match="no records: the output is empty"):
        survey(path)
    with pytest.raises(UsageError, match="no records: the output is empty"):
        survey([{"id": "a"}], before=path)


ODD_LINES = ['"a\\ud800"', "NaN", "1e999", "9" * 30, '"\\ud83d\\ude00"', "[" * 3000 + "]" * 3000]


@pytest.mark.parametrize("value", ODD_LINES)
@pytest.mark.parametrize("name", ["id", "text", "title", "confidence", "n_blocks"])
def test_records_do_not_depend_on_the_parser(
    value: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that orjson refuses are read as without it, and tables can be written from them."""
    path = tmp_path / "out.jsonl"
    path.write_text(f'{{"url": "https://x.example/", "{name}": {value}}}\n', encoding="utf-8")
    first = list(RunOutput(path))
    if first:
        assert len(survey(path).save_tables(tmp_path / "tables")) >= 2
    monkeypatch.setitem(sys.modules, "orjson", None)
    assert list(RunOutput(path)) == first


class _Growing(list[dict[str, Any]]):
    """Records of a run that goes on: each reading has more, from new sites."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        yield from list(super().__iter__())
        self.extend(rows_of({f"site{len(self)}.example": (4, 0.5)}))


def test_a_run_that_goes_on_is_surveyed_as_it_was_at_first() -> None:
    """Records that are added between the two readings of an output don't count."""
    rows = rows_of({"a.example": (4, 0.5)})
    assert survey(_Growing(rows)).tables == survey(rows).tables


def test_wrong_calls(tmp_path: Path) -> None:
    """Wrong calls raise an error that says what is accepted."""
    with pytest.raises(InputError, match="no such file"):
        survey(tmp_path / "none.jsonl")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").touch()
    with pytest.raises(InputError, match="documents are not surveyed"):
        survey(tmp_path / "docs")
    with pytest.raises(UsageError, match="a list of records; got list_iterator"):
        survey(iter([{"id": "a"}]))
    with pytest.raises(UsageError, match="template_pages must be at least 2"):
        survey([{"id": "a"}], template_pages=1)


class Many:
    """Generates records of one or many sites while it is read."""

    def __init__(self, n: int, n_sites: int) -> None:
        self.n, self.n_sites = n, n_sites

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number in range(self.n):
            row = record(f"s{number % self.n_sites}.example", number, (number * 7919 % 1000) / 1000)
            yield row | {"text": f"Follow us\nLine {number} of many\nPage {number * 31}"}


@pytest.mark.parametrize("n_sites", [1, 4])
def test_memory_does_not_grow_with_pages(n_sites: int) -> None:
    """Three times as many pages need little more memory: a few bytes for each."""
    peaks = []
    for n in (500, 1_500):
        tracemalloc.start()
        survey(Many(n, n_sites))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000 * 150


def test_many_sites_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites beyond the limit share one row."""
    monkeypatch.setattr("blockml.surveying.sites.MOST_SITES", 10)
    rows = {row["site"]: row["pages"] for row in survey(Many(60, 30)).tables["sites"]}
    assert len(rows) == 11
    assert rows["(other sites)"] == 40


def test_tables_are_written_and_returned(tmp_path: Path) -> None:
    """Each table with rows is written to a Parquet file, and the frame has the same rows."""
    pq = pytest.importorskip("pyarrow.parquet")
    found = survey(rows_of({"cats.example": (5, 0.9)}), before=rows_of({"cats.example": (5, 0.8)}))
    names = {path.stem for path in found.save_tables(tmp_path)}
    assert names == {name for name in TABLES if found.tables[name]} >= {"sites", "lines", "pages", "changes"}
    assert pq.read_table(tmp_path / "sites.parquet").to_pylist() == found.tables["sites"]
    assert len(found.to_frame("pages")) == len(found.tables["pages"])
    with pytest.raises(UsageError, match="unknown table 'none'"):
        found.to_frame("none")


def test_a_notebook_shows_the_report_without_scripts() -> None:
    """The report in a notebook is in a frame that may not run scripts."""
    found = blockml.survey([{"id": '"><script>', "text": "a"}])
    shown = found._repr_html_()
    assert shown.startswith('<iframe sandbox=""')
    assert shown.count("<") == 2
    assert "default-src &#x27;none&#x27;" in shown


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a table, or with -o writes a report and Parquet files, and never replaces its input."""
    output = written(rows_of({"cats.example": (5, 0.9), "dogs.example": (9, 0.5)}), tmp_path / "out.jsonl")
    assert main(["survey", str(output)]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("dogs.example")
    assert main(["survey", str(output), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["glance"]["pages"] == 14
    report = tmp_path / "sub" / "survey.html"
    assert main(["survey", str(output), "-o", str(report), "--before", str(output)]) == 0
    page = report.read_text(encoding="utf-8")
    assert "<h1>14 pages of 2 sites</h1>" in page
    assert "blockml label INPUT --survey" in page
    for wrong in (["-o", str(output)], ["-o", str(tmp_path)], ["-o", str(report), "--format", "json"],
                  ["--template-pages", "9"], ["-o", ""]):  # fmt: skip
        assert main(["survey", str(output), *wrong]) == 2
    assert main(["survey", str(tmp_path / "none")]) == 3


def test_records_are_read_with_their_site() -> None:
    """A record's site is the registrable domain of its URL, else the first folder of its id, else none."""
    rows = [{"id": "a", "url": "https://news.bbc.co.uk/1"}, {"id": "cats/2"}, {"id": "3"}, {"id": "http://x.example/"}]
    assert [found.site for found in RunOutput(rows)] == ["bbc.co.uk", "cats", "", ""]


def test_numbers_that_no_float_holds() -> None:
    """A confidence may be an integer of any size; infinity and NaN are no confidence."""
    values = (10**400, -(10**400), float("inf"), float("nan"), True, 0.25)
    found = [record.confidence for record in RunOutput([{"id": "a", "confidence": value} for value in values])]
    assert found == [1.0, 0.0, None, None, None, 0.25]


def test_cells_that_python_cannot_hold(tmp_path: Path) -> None:
    """A date or duration out of Python's range is an error that names the file."""
    pa = pytest.importorskip("pyarrow", reason="needs the extra arrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for number, cells in enumerate((pa.array([2**31 - 1], pa.date32()), pa.array([2**62], pa.duration("s")))):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": cells, "text": ["cats"]}), path)
        with pytest.raises(InputError, match=f"{number}.parquet: not a readable Parquet file"):
            list(RunOutput(path))


def test_a_text_stored_once_for_all_rows_is_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small Parquet file may repeat a huge text in every row; only a few of them are in memory at a time."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("blockml.surveying.run_output._MAX_BATCH", 4_000_000)
    text = "cats " * 200_000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 64, pa.int32()), [text])
    pq.write_table(pa.table({"id": [str(n) for n in range(64)], "text": texts}), tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").stat().st_size < 100_000
    before, most = pa.total_allocated_bytes(), 0
    for number, record in enumerate(RunOutput(tmp_path / "out.parquet")):
        assert (record.id, record.text) == (str(number), text)
        most = max(most, pa.total_allocated_bytes() - before)
    assert number == 63
    assert most < 12_000_000


def test_documented_confidence_is_that_of_the_report() -> None:
    """The table in docs/measuring.md has the numbers of the report; on failure, paste it from the message."""
    table = "\n".join(
        f"| {row['low']:g} to {row['high']:g} | {row['pages']:,} | {row['f1']:.3f} | {row['share_above_80']:.3f} |"
        for row in reversed(held_out()[f"default {blockml.__version__}"])
    ).replace(" 0.", " .")
    page = Path(__file__).parents[2] / "docs" / "measuring.md"
    assert table in page.read_text(encoding="utf-8"), f"docs/measuring.md needs:\n{table}"
