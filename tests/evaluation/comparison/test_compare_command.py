"""``blockml compare``, from the command line to the files that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockml.cli import main
from blockml.evaluation.comparison import load_scores, systems

DATA = str(Path(__file__).parents[3] / "data" / "pages")


def test_compare_writes_tables_and_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command runs systems in worker processes, and a second run only writes the tables again."""
    pytest.importorskip("jinja2", reason="needs the extra report")
    outputs = tmp_path / "tool.jsonl"
    outputs.write_text('{"id": "short-article", "text": "a text"}\n')
    command = [
        "compare",
        "plain",
        "kim2013",
        "--dataset",
        f"own={DATA}",
        "--outputs",
        f"tool={outputs}",
        "--limit",
        "4",
    ]
    command += ["-o", str(tmp_path / "out"), "--seed", "3", "--format", "json"]
    assert main(command) == 0
    printed = capsys.readouterr()
    rows = json.loads(printed.out)
    assert {row["system"] for row in rows} == {"plain", "kim2013", "tool"}
    assert {row["dataset"] for row in rows} == {"own"}
    assert [row["bag_f1"] for row in rows] == sorted((row["bag_f1"] for row in rows), reverse=True)
    assert "own, plain: 4 ok" in printed.err
    report = tmp_path / "out" / "report.html"
    assert f"report: {report}" in printed.err
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files >= {"comparison.json", "means.csv", "differences.csv", "pages.csv", "outcomes.csv", "cost.csv"}
    assert {name: len(scores) for name, scores in load_scores(tmp_path / "out")["own"].items()} == {
        "plain": 4, "kim2013": 4, "tool": 4,
    }  # fmt: skip
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "outputs").rglob("*")}
    assert main(command) == 0
    assert capsys.readouterr().out == printed.out
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "outputs").rglob("*")} == stored


def test_linked_views_belong_to_this_comparison(tmp_path: Path) -> None:
    """A view of an earlier comparison is replaced, even if only a system that doesn't lead links to it."""
    pytest.importorskip("jinja2", reason="needs the extra report")
    folder, out = tmp_path / "own", tmp_path / "out"
    folder.mkdir()
    ids = [f"{kind}{number}" for kind in "abc" for number in range(10)]
    for name in ids:
        (folder / f"{name}.html").write_text("<p>Home</p><p>The text.</p>", encoding="utf-8")
        (folder / f"{name}.txt").write_text("The text.", encoding="utf-8")
    command = ["compare", "--dataset", str(folder), "-o", str(out)]
    # All systems fail on c, the leading ones only there. The last one also fails on a, where its worst pages are.
    for system, good in {"one": "ab", "two": "ab", "three": "ab", "four": "a", "five": "a", "last": ""}.items():
        rows = [{"id": name, "text": "The text." if name[0] in good else ""} for name in ids]
        file = tmp_path / f"{system}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        command += ["--outputs", f"{system}={file}"]
    stale = out / "pages" / "own" / "a3.html"
    stale.parent.mkdir(parents=True)
    stale.write_text("stale", encoding="utf-8")
    assert main(command) == 0
    assert {path.stem[0] for path in stale.parent.iterdir()} == {"a", "b", "c"}
    assert [path.stem for path in stale.parent.glob("a*")] == ["a3"]
    assert "last" in stale.read_text(encoding="utf-8")


def test_gold_without_text_ranks_by_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without gold text systems are ranked by block scores, and missing scores are printed as dashes."""
    pytest.importorskip("jinja2", reason="needs the extra report")
    folder = tmp_path / "own"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "a.html").write_text("<p>Home</p><p>The text.</p>", encoding="utf-8")
    (folder / "gold.jsonl").write_text('{"id": "a", "with": ["the text"], "without": ["home"]}', encoding="utf-8")
    command = ["compare", "--dataset", str(folder), "-o", str(tmp_path / "out")]
    for system, text in {"poor": "Home", "fair": "Home The text.", "good": "The text."}.items():
        (tmp_path / f"{system}.jsonl").write_text(json.dumps({"id": "a", "text": text}), encoding="utf-8")
        command += ["--outputs", f"{system}={tmp_path / system}.jsonl"]
    assert main(command) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [
        ["own", system, "-", "-", "-", block, "-", "-"]
        for system, block in (("good", "1.000"), ("fair", "0.667"), ("poor", "0.000"))
    ]


def test_list_names_every_system(capsys: pytest.CaptureFixture[str]) -> None:
    """Each system is listed with its version or the command that installs it."""
    assert main(["compare", "--list", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"plain", "kim2013", *systems.PEERS} <= rows.keys()
    assert all(row["version"] for row in rows.values())


def test_only_missing_systems_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no system can be run, the error names the command that installs one."""
    monkeypatch.setattr(systems.Peer, "version", None)
    assert main(["compare", "goose3", "--dataset", DATA, "-o", str(tmp_path / "out")]) == 2
    assert "no system can be run: goose3: pip install goose3" in capsys.readouterr().err


def test_a_missing_system_requested_by_name_changes_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing system that was requested by name gives exit code 1, but one of a group doesn't."""
    pytest.importorskip("jinja2", reason="needs the extra report")
    monkeypatch.setattr(systems.Peer, "version", None)
    outputs = tmp_path / "tool.jsonl"
    outputs.write_text("")
    command = [
        "compare",
        "--outputs",
        f"tool={outputs}",
        "--dataset",
        DATA,
        "-o",
        str(tmp_path / "out"),
        "--limit",
        "2",
    ]
    assert main([*command, "goose3"]) == 1
    assert "goose3 could not be run: pip install goose3" in capsys.readouterr().err
    assert main([*command, "peers"]) == 0
    tables = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert {row["name"] for row in tables["missing_systems"]} == set(systems.PEERS)


@pytest.mark.parametrize(
    "arguments", [["plain", "-o", "x"], ["plain", "--dataset", DATA], ["-o", "x", "--dataset", DATA]]
)
def test_required_arguments_are_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The error says that a system, a data set and an output folder are needed."""
    assert main(["compare", *arguments]) == 2
    assert "compare needs a system, --dataset and -o; or --list" in capsys.readouterr().err
