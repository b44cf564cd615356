"""Benchmarks of structure and of Markdown run and count correctly."""

from __future__ import annotations

from pathlib import Path

import pytest

import blockml
from blockml.datasets import open_dataset
from research.benchmarks import markdown_output, structure
from tests.rendered import render_markdown

pytestmark = pytest.mark.exhaustive

DATA = Path(__file__).parents[3] / "data"
HTML = (
    "<h1>Cats</h1><p>They rule.</p><ul><li>One<li>Two</ul><table><tr><td>a<td>b<tr><td>1<td>2</table>"
    "<table><tr><td>layout</table><pre>x = 1</pre>"
)


def test_pieces_are_innermost_elements() -> None:
    """Pieces are the innermost elements, and cells of layout tables are not counted."""
    found = {kind: len(spans) for kind, spans in structure.pieces(blockml.parse(HTML)).items()}
    assert found == {"headings": 1, "list items": 2, "table cells": 4, "code": 1, "paragraphs": 1}


#: Recall and precision that the default model reached on ``data/``, less .02. A better model may raise them.
FLOORS = {
    "headings": (0.938, 0.925),
    "list items": (0.886, 0.896),
    "table cells": (0.804, 0.946),
    "code": (0.974, 0.98),
    "paragraphs": (0.912, 0.92),
}


def test_kept_structure_does_not_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default model keeps the structure of the pages in the repository, and little else."""
    name = "blockml --with-title"
    only = {name: structure.systems()[name]}
    monkeypatch.setattr(structure, "systems", lambda: only)
    pages = [page for folder in ("sites", "pages") for page in open_dataset(DATA / folder).pages]
    counts = sum(map(structure.count_page, pages), structure.Counts())
    both = {kind: counts["both", kind, name] for kind in FLOORS}
    recalls = {kind: n / counts["gold", kind, ""] for kind, n in both.items()}
    precisions = {kind: n / counts["kept", kind, name] for kind, n in both.items()}
    assert all(recalls[kind] >= floor for kind, (floor, _) in FLOORS.items()), recalls
    assert all(precisions[kind] >= floor for kind, (_, floor) in FLOORS.items()), precisions


def test_structure_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A system that keeps all text has a recall of 1, and one that fails is counted."""

    def fails(*_: object) -> str:
        raise ValueError("no")

    keeps_all = {"plain": lambda html, url: blockml.extract(html, url=url, model="plain").text, "fails": fails}
    monkeypatch.setattr(structure, "systems", lambda: keeps_all)
    assert structure.main(["--corpora", str(DATA), "--collections", "pages", "--limit", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    plain, failed = (next(line for line in lines if f"| all (5) | {name}" in line) for name in ("plain", "fails"))
    assert plain.split("|")[7].strip().startswith("1.000 / ")
    assert failed.split("|")[7].strip().startswith("0.000 / ")
    assert lines[-1] == "Pages on which a system failed: {'plain': 0, 'fails': 5}"


def test_markdown_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Our Markdown has all elements of the kept blocks."""
    pytest.importorskip("markdown_it")
    own = {"blockml": lambda _, __, result: render_markdown(result.page, result.kept)}
    monkeypatch.setattr(markdown_output, "writers", lambda: own)
    assert markdown_output.main(["--corpora", str(DATA), "--collections", "sites", "--pages", "3"]) == 0
    rows = dict(line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:])
    assert rows["list items: kept / more"].startswith("1.000 / 0.000")
    assert rows["absolute addresses"] == "1.000"
    assert rows["reads back"] == "3 of 3"
