"""The report of a comparison."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("jinja2")

from lxml import html

from blockml.errors import MissingExtraError, UsageError
from blockml.evaluation.comparison import METRIC_INFO, build_tables
from blockml.reports import templating, view_name, write_comparison
from tests.browser import chromium, watched
from tests.reports.made_up import made_up_tables
from tests.reports.pages import HOSTILE, cells_of, read_page, words_of


@pytest.fixture(scope="module")
def tables() -> dict[str, Any]:
    """Return tables of 25 systems on 4 data sets."""
    return made_up_tables(25, 4)


@pytest.fixture(scope="module")
def page(tables: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> html.HtmlElement:
    """Return the parsed report of the tables."""
    return read_page(write_comparison(tables, tmp_path_factory.mktemp("report") / "deep"))


def section(page: html.HtmlElement, name: str) -> html.HtmlElement:
    """Return a section of the report."""
    return page.get_element_by_id(name)


def sentences(page: html.HtmlElement) -> dict[str, str]:
    """Return the sentences about each data set."""
    answers = page.find_class("summary")[0]
    names = [str(term.text) for term in answers.findall("dt")]
    return dict(zip(names, [words_of(item) for item in answers.findall("dd")], strict=True))


def test_sections_come_in_the_order_of_interest(page: html.HtmlElement) -> None:
    """The first section is the answer, and the last is how to reproduce it."""
    assert [item.get("id") for item in page.findall(".//section")] == [
        "scores", "balance", "spread", "pairwise", "cost", "slices", "pages", "again",
    ]  # fmt: skip


def test_every_system_and_data_set_is_there(page: html.HtmlElement, tables: dict[str, Any]) -> None:
    """Every system occurs in the scores of each data set, in the costs and in the commands."""
    systems = [row["name"] for row in tables["systems"]]
    again = words_of(section(page, "again"))
    assert all(name in again for name in systems)
    for figure in section(page, "scores").findall(".//figure"):
        drawings = [words_of(drawing) for drawing in figure.findall(".//svg") if drawing.get("role")]
        assert len(drawings) == 2
        assert all(name in drawings[1] for name in systems)
        titles = {str(head.get("title")) for head in figure.findall(".//table//th") if head.get("title")}
        assert titles == set(systems)
    assert set(sentences(page)) == {*(row["name"] for row in tables["datasets"]), "All data sets"}


def test_significant_best_is_named(page: html.HtmlElement) -> None:
    """The best system is named with its score, its interval and the difference to the next system."""
    said = sentences(page)["mixed-types"]
    assert said.startswith(
        "blockml-wide is best with 0.870 [0.864, 0.876], significantly better than the second, trafil"
    )
    assert "+0.012 [+0.006, +0.018]" in said


def test_system_trained_on_the_pages_is_not_the_best(page: html.HtmlElement) -> None:
    """A system trained on the pages is not named as the best, and the report says why."""
    said = sentences(page)["news-2010"]
    assert said.startswith("trafilatura is best")
    assert "blockml-wide† has 0.905, but was trained on these pages" in said


def test_insignificant_best_is_called_so(page: html.HtmlElement) -> None:
    """Without a significant difference the report says so, and it names the metric if it is not the main one."""
    said = sentences(page)["portals"]
    assert "but not significantly better than the second, trafilatura" in said
    assert "Ranked by share of required snippets found" in said


def test_numbers_of_the_tables_are_those_given(page: html.HtmlElement, tables: dict[str, Any]) -> None:
    """Each row of scores has its system's numbers from the tables, with three decimals."""
    table = section(page, "scores").find(".//figure//table")
    assert table is not None
    cells = {str(row.findall("th")[0].get("title")): cells_of(row)[1:] for row in table.findall("./tbody/tr")}
    wanted = {
        row["system"]: [*(f"{row[name]:.3f}" for name in ("mean", "low", "high")), f"{row['pages']:,}"]
        for row in tables["means"]
        if (row["dataset"], row["metric"], row["slice_kind"]) == ("mixed-types", "bag_f1", "all")
    }
    assert cells == wanted


def test_matrix_gives_shares_of_pages(page: html.HtmlElement, tables: dict[str, Any]) -> None:
    """A cell of the matrix and its mirror are wins and losses from one row of the tables."""
    matrix = section(page, "pairwise").find(".//figure//table")
    assert matrix is not None
    rows = matrix.findall("./tbody/tr")
    first, second = rows[0].findall("td")[1], rows[1].findall("td")[0]
    row = next(row for row in tables["differences"] if (row["a"], row["b"]) == ("blockml-wide", "trafilatura"))
    pages = row["wins"] + row["losses"] + row["ties"]
    assert words_of(first) == f"{100 * row['wins'] / pages:.0f}▴"
    assert words_of(second) == f"{100 * row['losses'] / pages:.0f}▾"
    assert "significant" in str(first.get("class"))
    assert words_of(rows[0].findall("td")[0]) == "·"


def test_slices_are_heat_tables(page: html.HtmlElement) -> None:
    """Heat tables by page type, script and quartile have the number of pages in each."""
    text = words_of(section(page, "slices"))
    for title in ("mixed-types: by page type", "web-sample: by script", "news-2010: by length of the gold text"):
        assert title in text
    assert "news-2010: by page type" not in text  # all pages are of one type
    heads = [words_of(head) for head in section(page, "slices").findall(".//thead/tr/th")]
    assert "documentation194" in heads


def test_kinds_of_few_pages_have_no_colour(tmp_path: Path) -> None:
    """Kinds of few pages have no colour, because their uncertain means would dominate the colour scale."""
    tables = made_up_tables(3, 1)
    for row in tables["means"]:
        if row["slice"] == "Han":
            row.update(pages=4, mean=1.0)
    page = read_page(write_comparison(tables, tmp_path))
    table = next(table for table in section(page, "slices").iter("table") if "Han" in words_of(table))
    assert [cell.get("class") for cell in table.findall("./tbody/tr")[0].findall("td")[1:]] == ["heat"] * 3 + [None]
    assert "--h:1.0" in {str(cell.get("style")) for cell in table.iter("td")}


def test_outcomes_are_summed_and_failures_are_highlighted(page: html.HtmlElement, tables: dict[str, Any]) -> None:
    """Outcomes are summed over all data sets, failures are highlighted, and the fastest has the relative time 1.0."""
    table = section(page, "cost").find(".//table")
    assert table is not None
    rows = {str(row.findall("th")[0].get("title")): row for row in table.findall("./tbody/tr")}
    cells = cells_of(rows["plain"])
    counts = [row for row in tables["outcomes"] if row["system"] == "plain"]
    assert cells[0] == f"{sum(row['ok'] for row in counts):,}"
    assert cells[6] == f"{sum(row['pages'] for row in counts):,}"
    assert next(words_of(row.findall("td")[8]) for row in table.findall("./tbody/tr")) == "1.0"
    assert words_of(rows["kim2013"].findall("td")[9]) == "–"
    assert [cell.get("class") for cell in rows["plain"].findall("td")[3:5]] == ["trouble", "trouble"]


def test_tools_that_are_not_installed_are_named(page: html.HtmlElement) -> None:
    """The report gives the command that installs the missing tools."""
    assert "pip install inscriptis" in words_of(section(page, "again"))


def test_pages_are_linked_where_their_views_are(tables: dict[str, Any], tmp_path: Path) -> None:
    """Only pages with a view are linked, so that no link is dead."""
    row = tables["hardest"][0]
    name = view_name(row["dataset"], row["id"])
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("a view", encoding="utf-8")
    page = read_page(write_comparison(tables, tmp_path))
    links = {str(link.get("href")) for link in section(page, "pages").iter("a")}
    assert links == {name}


def test_only_the_best_of_thirty_systems_are_unfolded(tmp_path: Path) -> None:
    """The best of thirty systems are visible, and the others can be unfolded."""
    page = read_page(write_comparison(made_up_tables(30, 5), tmp_path))
    figures = section(page, "scores").findall(".//figure")
    assert len(figures) == 5
    for figure in figures:
        shown = figure.find("./svg")
        folded = figure.find("./details/svg")
        assert shown is not None
        assert folded is not None
        assert 10 <= len(shown.findall("./g")) <= 12
        assert len(folded.findall("./g")) == 30


@pytest.mark.parametrize(("n_systems", "n_datasets"), [(1, 1), (2, 1), (1, 4)])
def test_few_systems_and_data_sets(n_systems: int, n_datasets: int, tmp_path: Path) -> None:
    """Few systems and data sets, with nothing to fold or to compare, can be reported."""
    page = read_page(write_comparison(made_up_tables(n_systems, n_datasets), tmp_path))
    said = sentences(page)["mixed-types"]
    assert ("is the only system here" in said) == (n_systems == 1)
    assert ("All data sets" in sentences(page)) == (n_datasets > 1)


def test_differences_of_too_few_pages_are_untested(tmp_path: Path) -> None:
    """A difference without an interval is reported as untested, not as insignificant."""
    tables = made_up_tables(2, 1)
    for row in (*tables["means"], *tables["differences"]):
        row.update(low=None, high=None)
        row.update({"significant": False} if "significant" in row else {})
    said = sentences(read_page(write_comparison(tables, tmp_path)))["mixed-types"]
    assert "was not tested" in said
    assert "[–" not in said


def test_missing_numbers_are_dashes(tmp_path: Path) -> None:
    """Missing means, intervals, costs and tables are shown as dashes."""
    tables = made_up_tables(4, 2)
    for row in tables["means"]:
        row.update(low=None, high=None)
        if row["system"] == "kim2013":
            row["mean"] = None
    for row in tables["cost"]:
        row.update(dict.fromkeys(["ms_mean", "ms_median", "ms_p95", "peak_megabytes"]))
    for name in ("differences", "distribution", "worst", "hardest", "overall", "missing_systems"):
        tables[name] = []
    page = read_page(write_comparison(tables, tmp_path))
    assert "whether it is significantly better than the second, trafilatura with 0.8" in sentences(page)["mixed-types"]
    figure = section(page, "scores").find(".//svg")
    assert figure is not None
    assert words_of(figure.findall("./g")[-1]).endswith("kim2013 –")
    assert section(page, "again") is not None


def test_no_scores_at_all(tmp_path: Path) -> None:
    """A data set without scores is reported as having none."""
    tables = made_up_tables(3, 1)
    tables["means"] = []
    page = read_page(write_comparison(tables, tmp_path))
    assert "No system has a score here" in sentences(page)["mixed-types"]


def test_names_are_never_markup(tmp_path: Path) -> None:
    """Names of systems, data sets, pages and papers with any characters are escaped."""
    tables = made_up_tables(3, 2)
    tables |= {"command": HOSTILE, "created": HOSTILE, "blockml": HOSTILE}
    tables["metrics"] = {name: {**item, "title": HOSTILE} for name, item in tables["metrics"].items()}
    tables["datasets"][0] |= {"licence": HOSTILE, "attribution": f"https://x.example/{HOSTILE}", "checksum": HOSTILE}
    tables["systems"][0] |= {"version": HOSTILE, "parameters": {HOSTILE: HOSTILE}}
    tables["missing_systems"] = [{"name": HOSTILE, "install": HOSTILE}]
    for name in ("systems", "means", "differences", "outcomes", "cost", "distribution", "worst", "hardest", "overall"):
        for row in tables[name]:
            row.update({key: HOSTILE for key in ("system", "a", "name") if row.get(key) == "blockml-wide"})
            row.update({key: HOSTILE for key in ("id", "page_type", "outcome") if key in row})
            row.update({"slice": f"{HOSTILE} {row['slice']}"} if "slice" in row else {})
    page = read_page(write_comparison(tables, tmp_path))
    assert HOSTILE in sentences(page)["mixed-types"]
    assert "49" not in words_of(section(page, "again")).replace(HOSTILE, "")


def test_names_fit_their_columns(tmp_path: Path) -> None:
    """No heading breaks inside a word, and a long name of a system leaves room for its sentence."""
    tables = made_up_tables(4, 2)
    tables["command"] = tables["command"].replace("kim2013", "x" * 200)
    for name in ("systems", "means", "differences", "outcomes", "cost", "distribution", "worst", "hardest", "overall"):
        for row in tables[name]:
            row.update({key: "x" * 200 for key in ("system", "a", "b", "name") if row.get(key) == "kim2013"})
    whole = [row for row in tables["means"] if (row["metric"], row["slice_kind"]) == ("bag_f1", "all")]
    tables["metrics"] = {name: metric._asdict() for name, metric in METRIC_INFO.items()}
    tables["means"] += [row | {"metric": name} for row in whole for name in METRIC_INFO if name != "bag_f1"]
    tables["means"] += [row | {"slice_kind": kind, "slice": kind} for row in whole for kind in ("clean", "site_mean")]
    address = write_comparison(tables, tmp_path).as_uri()
    broken = """[...document.querySelectorAll('#slices thead th')].flatMap(th => [...th.childNodes]).filter(node => {
        const range = document.createRange(); range.selectNodeContents(node);
        return node.nodeType == 3 && !/\\s/.test(node.data.trim()) && range.getClientRects().length > 1;
    }).map(node => node.data)"""
    with chromium() as browser, watched(browser, "desktop") as found:
        found.page.goto(address)
        assert found.page.evaluate(broken) == []
        assert found.page.evaluate(
            "[...document.querySelectorAll('#again .scroll')].every(table => table.scrollWidth <= table.clientWidth)"
        )
        found.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        metrics = "[...document.querySelectorAll('#scores > details .scroll')]"
        assert found.page.evaluate(f"{metrics}.every(table => table.scrollWidth <= table.clientWidth)")
        assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert found.problems == []


def test_real_tables_can_be_reported(tmp_path: Path) -> None:
    """The tables of a real comparison can be reported."""

    def scored(number: int, f1: float) -> Any:
        facts: dict[str, Any] = {
            "id": f"p{number}", "site": f"s{number % 3}", "page_type": ("article", "forum")[number % 2],
            "language": "en", "script": "Latin", "gold_words": 40 * number, "flagged": number == 3,
        }  # fmt: skip
        scores = {**dict.fromkeys(METRIC_INFO, f1), "with_rate": None, "without_rate": None}
        return SimpleNamespace(**facts, **scores, outcome="ok", tp=number, fp=1, fn=1, tn=2, seconds=0.01)

    runs = {"good": [scored(i, 0.9) for i in range(12)], "bad": [scored(i, 0.2 + i / 50) for i in range(12)]}
    metas = {"news": {"good": {"kind": "own", "version": "1"}, "bad": {"kind": "peer"}}}
    tables = build_tables({"news": runs, "blogs": {"good": runs["good"][:1]}}, metas)
    page = read_page(write_comparison(tables, tmp_path))
    assert sentences(page)["news"].startswith("good is best with 0.900 [0.900, 0.900], significantly better than")
    assert "good is the only system here" in sentences(page)["blogs"]
    assert "by page type" in words_of(section(page, "slices"))


def test_missing_jinja_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for missing jinja2 has the command that installs it, and nothing is written."""
    templating._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[report\]"'):
        write_comparison(made_up_tables(1, 1), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_schemas_are_refused(tmp_path: Path) -> None:
    """Tables of another schema are refused before anything is written."""
    with pytest.raises(UsageError, match="schema"):
        write_comparison({"schema_version": 99}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_sections_of_one_data_set_are_beside_each_other(tables: dict[str, Any], tmp_path: Path) -> None:
    """With a single data set, sections of one figure share the width of the page; with several, figures do."""
    several = write_comparison(tables, tmp_path / "several").read_text(encoding="utf-8")
    assert len(tables["datasets"]) > 1
    assert '<div class="one">' not in several
    name = tables["datasets"][0]["name"]
    of_one = tables | {"datasets": tables["datasets"][:1]}
    for key, rows in tables.items():
        if isinstance(rows, list) and rows and "dataset" in rows[0]:
            of_one[key] = [row for row in rows if row["dataset"] == name]
    single = write_comparison(of_one, tmp_path / "single").read_text(encoding="utf-8")
    assert '<div class="one">' in single
    assert single.count('class="third"') == 4
    assert single.count("<section") == single.count("</section>")
    assert single.count("<div") == single.count("</div>")
