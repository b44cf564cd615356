"""The measurements of cost time the code that runs in practice, and tables and figures show what was measured."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import blockml
from blockml import _kernel
from blockml.errors import UnknownNameError
from blockml.features import page_matrix
from blockml.features.page_context import PageContext
from research.benchmarks.speed import batches, document, goals, growth
from research.benchmarks.speed.__main__ import main
from research.benchmarks.speed.chart import picture
from research.benchmarks.speed.clock import FLOOR, WHOLE, Laps, Subject, Times, cpu_seconds, in_python, measured
from research.benchmarks.speed.growth import Curve, Growth, exponent
from research.benchmarks.speed.instructions import _COUNTED, _PROGRAM
from research.benchmarks.speed.instructions import main as count_instructions
from research.benchmarks.speed.pages import Source, blocks, long_page, nested, sample
from research.benchmarks.speed.processes import blas_table, child, memory_table
from research.benchmarks.speed.stages import REST, SHARED, TIMED, Stopwatch, watched
from research.benchmarks.speed.subjects import floor, peers
from research.benchmarks.speed.tables import cell, failed, markdown, stage_table, whole_table

pytestmark = pytest.mark.exhaustive

DATA = Path(__file__).parents[3] / "data"
PAGE = Source((DATA / "pages" / "short-article" / "page.html").read_bytes(), "http://example.org/a")


def run(tmp_path: Path, *options: str) -> dict[str, Any]:
    """Measure two of the synthetic pages and read the numbers."""
    small = ("--corpora", str(DATA), "--dataset", "sites", "--pages", "2", "--few", "1", "--rounds", "1")
    output = tmp_path / "numbers.json"
    assert main([*options, *small, "-o", str(output), "--figures", str(tmp_path)]) == 0
    found: dict[str, Any] = json.loads(output.read_text())
    return found


def spend(seconds: float) -> None:
    """Use CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_sections_of_pages_are_measured_in_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every table starts with the floor at a ratio of one, and the printed tables are those written."""
    found = run(tmp_path, "floor", "stages", "models", "extractors")
    tables = {title: rows for name, section in found.items() if name != "about" for title, rows in section.items()}
    assert list(tables) == ["Floor", "Stages of default", "Stages of kim2013", "Models", "Extractors"]
    for title in ("Floor", "Models", "Extractors"):
        assert tables[title][0][""] == FLOOR
        assert tables[title][0]["ratio of means"] == tables[title][0]["median of ratios"] == 1
        assert all(row["median"] <= row["p95"] for row in tables[title])
    pages = {row[""]: row["pages"] for row in tables["Models"]}
    assert pages["default, lxml"] == 2
    assert pages["default, html5lib"] == 1
    assert {"plain", "dccb", "majority"} <= {row[""] for row in tables["Extractors"]}
    printed = capsys.readouterr().out
    assert all(f"### {title}\n\n{markdown(rows)}" in printed for title, rows in tables.items())


def test_stages_add_up(tmp_path: Path) -> None:
    """The last row is the sum of the others except the floor, and each family of features has a row.

    Parts of the page context that only the Python implementation computes have no time with the C extension.
    """
    rows = run(tmp_path, "stages", "--model", "default")["stages"]["Stages of default"]
    assert all(row["stage"].startswith(SHARED) for row in rows if row["lxml, ms"] is None)
    ms = {row["stage"]: row["lxml, ms"] for row in rows if row["lxml, ms"] is not None}
    assert ms["all"] == pytest.approx(sum(ms.values()) - ms["all"] - ms[FLOOR])
    families = ("text", "position", "structure", "container", "vocabulary", "repetition", "metadata")
    stages = {*(stage for _, _, stage in TIMED), *(f"features: {name}" for name in families), REST}
    assert stages <= set(ms)
    assert all(value > 0 for value in ms.values())


def test_timers_do_not_change_results() -> None:
    """Results are the same with timers, which are removed afterwards, even after an exception."""
    before = dict(vars(PageContext)), vars(page_matrix)["_plan"], blockml.parsing.build, PageContext.keywords.function
    expected = blockml.extract(PAGE.html)
    with watched() as watch:
        found = blockml.extract(PAGE.html)
        seconds = watch.stop()
        assert vars(page_matrix)["_plan"] is not before[1]
    assert found.text == expected.text
    assert found.scores.tobytes() == expected.scores.tobytes()
    assert any(stage.startswith(SHARED) for stage in seconds)
    with pytest.raises(ZeroDivisionError), watched():
        raise ZeroDivisionError
    after = dict(vars(PageContext)), vars(page_matrix)["_plan"], blockml.parsing.build, PageContext.keywords.function
    assert after == before


def test_time_of_a_stage_excludes_nested_stages() -> None:
    """A stage's time excludes nested stages, ends at an exception, and is kept after the stage has ended."""
    watch = Stopwatch()
    inner = watch.around(lambda: spend(0.05), "inner")

    def both() -> None:
        spend(0.02)
        inner()
        raise KeyError

    for stage in ("outer", "block types"):
        with pytest.raises(KeyError):
            watch.around(both, stage)()
    seconds = watch.stop()
    assert seconds["inner"] == pytest.approx(0.05, abs=0.015)
    assert seconds["outer"] == pytest.approx(0.02, abs=0.015)
    assert seconds["block types"] == pytest.approx(0.07, abs=0.03)


def test_the_lowest_time_of_each_page_counts() -> None:
    """The lowest time of each page counts; a failing subject is left out if it may fail, else the run ends."""
    calls: list[str] = []
    durations = iter([0.01, 0.03, 0.005, 0.02])

    def work(laps: Laps, source: Source) -> None:
        calls.append("a" + source.html.decode())
        seconds = next(durations) if len(calls) > 2 else 0.0
        laps(WHOLE, lambda: spend(seconds))

    def fail(laps: Laps, source: Source) -> None:
        calls.append("b" + source.html.decode())
        if source.html == b"2":
            raise OverflowError
        laps(WHOLE, lambda: None)

    sources = [Source(b"1"), Source(b"2")]
    times = measured(sources, [Subject("a", work), Subject("b", fail, may_fail=True)], 2)
    assert calls == ["a1", "b1", "a1", "b1", "a1", "b1", "a2", "b2", "a2"]
    np.testing.assert_allclose(times.whole("a"), [0.01, 0.005], atol=0.003)
    assert np.isnan(times.whole("b")).tolist() == [False, True]
    assert failed(times) == [{"": "b", "error": "OverflowError", "pages": 1}]
    with pytest.raises(OverflowError):
        measured(sources, [Subject("b", fail)], 1)
    few = measured(sources, [Subject("b", fail, most=1)], 1)
    assert np.isnan(few.whole("b")).tolist() == [False, True]


def test_tables_compare_on_the_same_pages() -> None:
    """The ratio of a subject measured on some pages is to the floor on these pages."""
    times = Times(3)
    for page, (least, own) in enumerate([(0.001, 0.002), (0.002, 0.010), (0.003, None)]):
        times.put(FLOOR, WHOLE, page, least)
        if own is not None:
            times.put("x", WHOLE, page, own + 1)
            times.put("x", WHOLE, page, own)
    row = whole_table(times, ["x"])[1]
    assert (row["pages"], row["ms mean"]) == (2, pytest.approx(6))
    assert row["ratio of means"] == pytest.approx(4)
    assert row["median of ratios"] == pytest.approx(3.5)
    assert row["p95 of ratios"] == pytest.approx(4.85)


def test_small_parts_of_the_page_context_are_one_row() -> None:
    """Small parts of the page context share one row, and a stage of only one implementation is empty for the other."""
    times = Times(1)
    for subject, lap, ms in [
        (FLOOR, WHOLE, 10), ("s", f"{SHARED}a", 0.4), ("s", f"{SHARED}b", 0.5), ("s", f"{SHARED}c", 5), ("t", "d", 2),
    ]:  # fmt: skip
        times.put(subject, lap, 0, ms / 1000)
    rows = {row["stage"]: row for row in stage_table(times, {"one": "s", "two": "t"})}
    assert list(rows) == [FLOOR, f"{SHARED}the rest", f"{SHARED}c", "d", REST, "all"]
    assert rows[f"{SHARED}the rest"]["one, ms"] == pytest.approx(0.9)
    assert rows["d"]["one, ms"] is None
    assert rows["all"]["two, ratio"] == pytest.approx(0.2)


def test_the_c_extension_is_enabled_after_measuring_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C extension is enabled again after measuring without it, even after an exception."""
    monkeypatch.setattr(_kernel, "compiled", "the kernel")
    seen: list[object] = []
    with pytest.raises(KeyError), in_python():
        raise KeyError
    with in_python(wanted=False):
        seen.append(_kernel.compiled)
    for compiled in (True, False):
        measured([PAGE], [Subject("x", lambda *_: seen.append(_kernel.compiled), compiled=compiled)], 1)
    assert seen == [*["the kernel"] * 3, None, None]


def test_pages_have_the_requested_size() -> None:
    """Synthetic pages have the requested bytes, blocks and levels."""
    assert len(blockml.parse(blocks(50)).blocks) == 50
    page = blockml.parse(nested(30))
    assert len(page.blocks) == 30
    assert int(page.nodes.depth.max()) >= 30
    html = long_page([PAGE], 50_000)
    assert 50_000 <= len(html) < 50_100
    assert len(blockml.parse(html).blocks) > 2 * len(blockml.parse(PAGE.html).blocks)


def test_the_sample_is_reproducible() -> None:
    """Sampled pages have the requested sizes, and a smaller sample is part of a larger one."""
    drawn = sample(DATA / "sites", 4)
    assert drawn == sample(DATA / "sites", 4)
    assert drawn[:2] == sample(DATA / "sites", 2)
    sizes = [len(source.html) for source in sample(DATA / "sites", 50, (3, 5))]
    assert sizes
    assert all(3000 <= size <= 5000 for size in sizes)


def test_growth_has_an_exponent() -> None:
    """The exponent is 1 for linear cost, whatever a call costs, and 2 for quadratic cost."""
    amounts = [10**k for k in range(6)]
    linear = [1e-3 / n + 1e-6 for n in amounts]
    assert exponent(amounts, linear) == pytest.approx(1, abs=0.2)
    assert exponent(amounts, [1e-6 * n for n in amounts]) == 2
    table = Growth("t", "things", "thing", [Curve("c", amounts, linear)]).table()
    assert [row["things"] for row in table][-2:] == ["100,000", "exponent"]
    assert table[0]["c: ms/thing"] == pytest.approx(1.001)


def test_the_figure_has_a_point_for_each_measurement() -> None:
    """Points of longer times are higher, panels don't overlap, and names are escaped."""
    curves = [Curve("a < b, CPU", [1, 10, 100], [1e-3, 2e-3, 4e-3]), Curve("a < b, wall", [1, 10, 100], [1e-3] * 3)]
    growths = [Growth(f"panel {i}", "things", "thing", curves) for i in range(3)]
    drawing = etree.fromstring(picture(growths, "heading & more").encode())
    panels = drawing.findall("{*}g")
    assert len({panel.get("transform") for panel in panels}) == 3
    first = panels[0]
    heights = [float(str(dot.get("cy"))) for dot in first.findall("{*}circle")]
    assert len(heights) == 6
    assert heights[0] > heights[1] > heights[2]
    broken = [line.get("class") for line in first.findall("{*}polyline")]
    assert broken == ["line c0", "line c0 dashed"]
    width, height = (float(size) for size in str(drawing.get("viewBox")).split()[2:])
    for panel in panels:
        left, top = (float(x) for x in str(panel.get("transform"))[10:-1].split())
        for dot in panel.findall("{*}circle"):
            assert 0 <= left + float(str(dot.get("cx"))) <= width
            assert 0 <= top + float(str(dot.get("cy"))) <= height


def test_processes_report_their_memory_not_that_of_their_parent() -> None:
    """A child process reports its peak memory, not that of this process, which is larger."""
    ballast = np.ones(30_000_000)
    alone = child("")
    assert alone["loaded"] == []
    assert 1 < alone["height"] < ballast.nbytes / 1e6
    assert child("data = bytearray(100_000_000)")["height"] > 95
    assert child("sum(range(3_000_000))")["cpu"] > 0


def test_importing_blockml_loads_no_large_module() -> None:
    """Importing blockml and extracting a page load no large modules other than numpy and lxml."""
    program = "import sys, blockml; blockml.extract(open(sys.argv[1], 'rb').read(), model={!r})"
    path = str(DATA / "pages" / "short-article" / "page.html")
    assert child("import blockml")["loaded"] == ["numpy", "lxml"]
    for model in ("default", "kim2013"):
        assert child(program.format(model), path)["loaded"] == ["numpy", "lxml"]


def test_memory_is_listed_from_small_to_large() -> None:
    """Python needs less memory than importing blockml, and a small page less than one of a megabyte."""
    table = {str(row[""]): float(str(row["MB"])) for row in memory_table(["kim2013"], [PAGE], 1_000_000)}
    assert table["Python alone"] < table["import blockml"] < table["one page of 1 MB, kim2013"]
    assert table["one page of 20 kB, kim2013"] <= table["one page of 1 MB, kim2013"]


def test_growth_is_measured_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Growth is measured and drawn with small amounts, each of them once."""
    monkeypatch.setattr(growth, "_ENOUGH", 0.0)
    tables = run(tmp_path, "growth", "--share", ".004", "--model", "kim2013")["growth"]
    assert [next(iter(rows[0])) for rows in tables.values()] == [
        "bytes", "blocks", "levels", "pages", "threads", "processes",
    ]  # fmt: skip
    assert [row["bytes"] for row in tables["Size of a page"]][-2:] == ["200,000", "exponent"]
    assert [row["threads"] for row in tables["Threads that share a model"]] == ["1", "2", "4", "8", "16"]
    assert len(etree.fromstring((tmp_path / "growth.svg").read_bytes()).findall("{*}g")) == 6
    # Starting a process takes longer than two pages, with one worker and with two.
    one, two = (row["kim2013, lxml, CPU: ms/page"] for row in tables["Processes that share the pages"])
    assert min(one, two) > 10


def test_threads_for_matrix_products_are_compared() -> None:
    """Threads for matrix products are compared on CPU time, without the cost of starting them."""
    rows = blas_table(["kim2013"], [PAGE] * 20, 1)
    assert [row[""] for row in rows] == ["kim2013, as numpy comes", "kim2013, OPENBLAS_NUM_THREADS=1"]
    assert all(0 < float(str(row["CPU ms a page"])) < 20 for row in rows)


def test_floor_and_peers() -> None:
    """The floor is lxml's parse, and each installed tool is measured."""
    assert floor()[0].name == FLOOR
    for subject in [*floor(), *(peer for peer in peers(1) if peer.name in {"html-text", "justext"})]:
        laps = Laps()
        subject.run(laps, PAGE)
        assert laps.seconds[WHOLE] > 0


def test_cells_of_tables() -> None:
    """Numbers have three significant digits, and missing values are empty cells."""
    assert [cell(value) for value in (0.004, -0.5, 0.999, 9.999, 99.96, 100.4, 0, "x", None)] == [
        ".00", "-.50", "1.00", "10.00", "100.0", "100", "0", "x", "",
    ]  # fmt: skip
    assert cpu_seconds(lambda: spend(0.01)) == pytest.approx(0.01, abs=0.005)


def test_without_corpora_the_measurements_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Missing corpora, an unknown section and a share of zero each give a message."""
    assert main(["floor", "--corpora", ""]) == 3
    assert "BLOCKML_CORPORA" in capsys.readouterr().err
    for arguments, complaint in ((["nothing"], "no such section: nothing"), (["--share", "0"], "share above 0")):
        with pytest.raises(SystemExit):
            main([*arguments, "--corpora", str(DATA)])
        assert complaint in capsys.readouterr().err


def test_a_document_is_filled_where_it_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables of the run are replaced, while other tables, which are named, and the text around them stay."""
    mark, end = "<!-- table: {} -->\n", "<!-- end -->\n"
    text = (
        f"# Title\n\n{mark.format('A')}old\n{end}\nbetween\n\n{mark.format('B')}kept\n{end}{mark.format('about')}{end}"
    )
    path, numbers = tmp_path / "page.md", tmp_path / "numbers.json"
    path.write_text(text)
    numbers.write_text(json.dumps({"about": {"pages": 7}, "x": {"A": [{"": "a", "ms": 2.0}], "C": []}}))
    assert document.main([str(numbers), str(path)]) == 0
    assert path.read_text() == text.replace("old", "|  | ms |\n|---|---|\n| a | 2.00 |").replace(
        mark.format("about"), mark.format("about") + "- pages: 7\n"
    )
    assert capsys.readouterr().err == "left as it is: B\n"
    assert document.main([]) == 2


def test_goals_are_measured_by_section(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of functions that release the lock add up, and are parts of the page's time."""
    small = ("--corpora", str(DATA), "--dataset", "sites", "--pages", "2", "--rounds", "1")
    with pytest.raises(UnknownNameError, match="speed"):
        goals.main(["speed", *small])
    monkeypatch.setattr(goals, "sample", lambda *_: [PAGE, PAGE])
    monkeypatch.setattr(goals, "_SIZES", (1000, 2000))
    assert goals.main(["unlocked", "growth", *small]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    found = {row[0].strip("| "): row[1].strip("| ") for row in rows}
    assert {"1", "2"} <= {*found}
    if _kernel.compiled is not None:
        parts = [float(found[name]) for name in ("parse_libxml2", *goals._UNLOCKED)]
        assert sum(parts) == pytest.approx(float(found["together"]), abs=0.04)
        assert 0 < float(found["together"]) < 1


def test_a_crawl_is_measured_by_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of the WARC file is smaller than those of a crawl, and its cost is scaled by bytes."""
    monkeypatch.setattr(batches, "_TIMES", 2)
    pages, size, *_ = batches.crawl_table([PAGE], 1)
    assert (pages["value"], size["value"]) == ("1", f"{len(PAGE.html) / 1000:.0f}")


def test_every_table_of_the_document_is_one_that_is_measured() -> None:
    """Every table marked in the document has the title of a measured one."""
    text = (DATA.parent / "research" / "performance.md").read_text(encoding="utf-8")
    titles = [line[12:-4] for line in text.splitlines() if line.startswith("<!-- table: ")]
    assert titles == ["Peers"]
    assert text.count("<!-- end -->") == len(titles)
    measured_titles = {
        "about", "Floor", "Stages of default", "Stages of kim2013", "Models", "Extractors", "Peers", "Import", "Memory",
        "Size of a page", "Blocks of a page", "Elements within each other", "Pages of a batch",
        "Threads that share a model", "Processes that share the pages", "Matrix products",
    }  # fmt: skip
    assert len(titles) == len({*titles} & measured_titles)


def test_unknown_statements_are_refused() -> None:
    """An unknown name is refused with the known ones, before anything is counted."""
    with pytest.raises(UnknownNameError, match="text and Markdown"):
        count_instructions(["texts"])


def test_counted_statements_run() -> None:
    """Each counted statement is a program that runs on pages of a folder, with another pass or without."""
    for model, statement in _COUNTED.values():
        program = _PROGRAM.format(model=model, statement=statement)
        for n_passes in ("0", "1"):
            folder = str(DATA / "pages" / "short-article")
            command = [sys.executable, "-c", program.replace("iterdir()", "glob('*.html')"), str(DATA.parent), folder]
            subprocess.run([*command, n_passes], check=True)  # noqa: S603 (this Python)
