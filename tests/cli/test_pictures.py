"""Figures: curves along a page, tags, trees, feature importance, and two pages side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blockml.cli import main
from blockml.extractors import model_names, trained
from blockml.model import save_model

pytestmark = pytest.mark.exhaustive

DATA = Path(__file__).parents[2] / "data"
SITE = DATA / "sites" / "harbour-courier"
PAGE = SITE / "courier-article-04" / "page.html"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command and return its exit code, standard output and standard error."""
    code = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("extractor", ["ccb", "accb", "tccb", "wccb", "dccb", "dsc"])
def test_the_curve_is_in_the_view_and_in_a_file(
    extractor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The view contains a section with the curve, and the file is an SVG with a title."""
    view, image = tmp_path / "view.html", tmp_path / "new" / "curve.svg"
    code, _, told = run(capsys, "view", PAGE, "--model", extractor, "-o", view, "--curve", image)
    assert code == 0, told
    assert "Along the page" in view.read_text()
    svg = image.read_text()
    assert svg.startswith("<svg")
    assert f"{extractor}" in svg
    assert 'class="curve"' in svg
    assert 'class="kept"' in svg


def test_other_extractors_have_no_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The view has no curve, and asking for its file is an error that names the extractors that have one."""
    code, _, told = run(capsys, "view", PAGE, "--model", "lqf", "-o", tmp_path / "v", "--curve", tmp_path / "c")
    assert code == 2
    assert "choose one of: ccb" in told
    assert run(capsys, "view", PAGE, "--model", "lqf", "-o", tmp_path / "v")[0] == 0
    assert "Along the page" not in (tmp_path / "v").read_text()


def test_a_tree_is_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every leaf is printed as a path, and the drawing has dashed boxes where levels are left out."""
    target = tmp_path / "tree.html"
    code, printed, _ = run(capsys, "model", "show", "kim2013", "--tree", "--depth", "2", "-o", target)
    assert code == 0
    lines = printed.splitlines()
    assert lines[0].startswith("all blocks: ")
    assert len(lines) == 7
    assert target.read_text().count('class="cut"') == 4
    code, printed, _ = run(capsys, "model", "show", "kim2013", "--tree", "--paths")
    assert all(" and " in line for line in printed.splitlines())
    assert len(printed.splitlines()) == int(lines[0].split()[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tree", "200"], "from 0 to 199"),
        (["--tree", "x"], "number of a tree"),
        (["--paths"], "--paths needs --tree"),
        (["--dataset", "data/sites"], "--dataset needs --importances"),
        (["--importances", "--repeats", "3"], "--repeats has no effect without --dataset"),
    ],
)
def test_wrong_calls_of_show(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the missing option or the legal values."""
    try:
        code, _, told = run(capsys, "model", "show", "default", *options)
    except SystemExit as stop:  # argparse
        code, told = stop.code, capsys.readouterr().err  # type: ignore[assignment]
    assert code == 2
    assert message in told


def test_importance_names_families(capsys: pytest.CaptureFixture[str]) -> None:
    """Gains sum to one, and permuting the container features lowers the score."""
    arguments = ["--importances", "--dataset", DATA / "pages", "--repeats", "1", "--format", "json"]
    code, printed, told = run(capsys, "model", "show", "default", *arguments)
    assert code == 0, told
    rows = {row["family"]: row for row in json.loads(printed)}
    assert sum(float(row["gain"].rstrip("%")) for row in rows.values()) == pytest.approx(100, abs=1)
    assert float(rows["container"]["permutation"]) > 0


def test_importances_of_models_without_measurements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a model whose file has no importances, the splits are counted, and it is said what was not measured."""
    path = tmp_path / "mine.blockml"
    save_model(replace(trained("kim2013").model, metrics={}), path)
    for unit in ("family", "column"):
        code, printed, told = run(capsys, "model", "show", path, "--importances", "--by", unit, "--format", "json")
        assert code == 0
        assert "tests: share of the splits of kim2013's trees. Gain and permutation were not measured" in told
        rows = json.loads(printed)
        assert rows[0].keys() == {unit, "columns", "tests"}
        assert sum(float(row["tests"].rstrip("%")) for row in rows) == pytest.approx(100, abs=3)


@pytest.mark.parametrize("name", model_names())
def test_released_models_have_importances(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The importances of released models are those on pages that they have not seen, and are in their cards."""
    code, printed, told = run(capsys, "model", "show", name, "--importances", "--by", "family", "--format", "json")
    assert code == 0
    assert "pages that it has not seen, of " in told
    assert "permutation: loss of average precision of the whole model, mean of 3" in told
    rows = {row["family"]: row for row in json.loads(printed)}
    assert max(float(row["permutation"]) for row in rows.values()) > 0.01
    assert ("ancestor words" in rows) == (name == "default")


def test_importances_of_held_out_folds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model has the importance of its columns on the held-out folds, in its file and in its card."""
    path = tmp_path / "mine.blockml"
    command = ["train", "--dataset", DATA / "sites", "--recipe", "kim2013", "--cv", "site", "--folds", "3", "-o", path]
    assert run(capsys, *command)[0] == 0
    for unit in ("family", "column"):
        code, printed, told = run(capsys, "model", "show", path, "--importances", "--by", unit, "--format", "json")
        assert code == 0, told
        assert "held-out pages of 3 folds by site; gain: share of the entropy" in told
        rows = json.loads(printed)
        gains = [float(row["gain"].rstrip("%")) for row in rows]
        assert gains == sorted(gains, reverse=True)
        assert (unit == "column" and len(rows) <= 20) or sum(gains) == pytest.approx(100, abs=1)
        card = run(capsys, "model", "show", path)[1]
        assert "## Important columns" in card
        assert f"| {rows[0][unit]} |" in card
    permuted = {row["column"]: float(row["permutation"]) for row in rows}
    assert max(permuted.values()) > 0.01


def test_two_pages_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All distances and the mapped nodes are shown, and a page has distance 0 to itself."""
    target = tmp_path / "pair.html"
    other = SITE / "courier-article-01" / "page.html"
    code, printed, _ = run(capsys, "templates", "distance", PAGE, other, "-o", target, "--format", "json")
    assert code == 0
    values = {row["distance"]: row["value"] for row in json.loads(printed)}
    assert list(values) == ["rtdm", "tv", "cp", "cps", "lcts", "ctss", "etdm"]
    html = target.read_text()
    assert all(f'<tr class="{group}">' in html for group in ("mapped", "left", "right"))
    assert "RTDM" in html
    assert "ETDM" in html
    code, printed, _ = run(capsys, "templates", "distance", PAGE, PAGE, "--format", "json")
    same = [row["value"] for row in json.loads(printed)]
    assert same[:-1] == ["0.0000"] * 6
    assert len(set(same[-1].split(" of "))) == 1


def test_precision_recall_curves_of_several_data_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each data set has its curves in a separate file, and each extractor has a line with its average precision."""
    arguments = ["--dataset", DATA / "pages", "--dataset", f"courier={SITE}", "--metric", "bag_f2"]
    code, printed, told = run(capsys, "evaluate", "kim2013", "dsc", *arguments, "--curves", tmp_path / "c.svg")
    assert code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"c-pages.svg", "c-courier.svg"}
    assert told.count("average precision of blocks") == 4
    assert "bag_f2" in printed


@pytest.mark.parametrize("backend", ["html5lib", "lexbor"])
def test_the_parser_can_be_chosen(backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command that parses pages uses the chosen parser."""
    if backend == "lexbor":
        pytest.importorskip("selectolax")
    view = tmp_path / "view.html"
    assert run(capsys, "view", PAGE, "--backend", backend, "-o", view)[0] == 0
    assert f"<dd>{backend}, segmented" in view.read_text()
    page = tmp_path / "page.html"
    page.write_text("<table><tr><td>Menu</td></tr></table><p>Some text of the page.")
    code, printed, _ = run(capsys, "templates", "distance", page, page, "--backend", backend)
    assert code == 0
    assert "10 of 10" in printed  # with a tbody
    assert "9 of 9" in run(capsys, "templates", "distance", page, page)[1]
    template = tmp_path / "site.template"
    assert run(capsys, "templates", "detect", SITE, "--backend", backend, "-o", template)[0] == 0
    code, _, told = run(capsys, "templates", "extract", PAGE, "--source", template)
    assert code == 2
    assert f"parsed with {backend}" in told
    assert run(capsys, "templates", "extract", PAGE, "--source", template, "--backend", backend)[0] == 0
    arguments = ["--dataset", DATA / "pages", "--metric", "bag_f1", "--backend", backend]
    assert run(capsys, "evaluate", "kim2013", *arguments)[0] == 0


def test_options_of_the_algorithm_and_the_container(capsys: pytest.CaptureFixture[str]) -> None:
    """Both options are accepted for a page and its links, and wrong combinations are errors."""
    base = ["templates", "extract", PAGE, "--source", SITE]
    assert run(capsys, *base, "--successive")[0] == 0
    code, text, _ = run(capsys, *base, "--content")
    code, centred, _ = run(capsys, *base, "--content", "--container")
    assert code == 0
    assert 0 < len(centred) <= len(text)
    assert run(capsys, *base, "--container")[0] == 2
    code, _, told = run(capsys, *base, "--successive", "--min-votes", "2")
    assert code == 2
    assert "min_votes" in told
