"""The benchmark of encodings lists pages that are UTF-8 and declare something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research.benchmarks import encodings

META = "<meta charset=iso-8859-1>"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (f"{META}<p>One caf\u00e9 more".encode(), ("windows-1252", 1, "caf\u00e9", "caf\u00c3\u00a9")),
        (f"{META}<p>One caf\u00e9 more".encode("latin-1"), None),
        ("<meta charset=utf-8><p>One caf\u00e9 more".encode(), None),
        ("<p>One caf\u00e9 more".encode(), None),
        (f"{META}<p>One cafe more".encode(), None),
    ],
)
def test_only_other_declarations_are_listed(page: bytes, words: tuple[object, ...] | None) -> None:
    """A page is listed with both readings of its first non-ASCII word, if it is UTF-8 and declares something else."""
    row = encodings.changed(page)
    assert (tuple(row.values()) if row else None) == words


def test_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Collections are read page by page, and other folders are ignored."""
    folder = tmp_path / "some" / "a"
    folder.mkdir(parents=True)
    (folder / "page.html").write_bytes(f"{META}<p>One caf\u00e9 more".encode())
    (folder / "labels.jsonl").write_text(json.dumps({"text": "One caf\u00e9 more", "label": "main"}), encoding="utf-8")
    (tmp_path / "empty").mkdir()
    assert encodings.main(["--corpora", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 pages, 1 not in ASCII, 1 read otherwise than declared"
    assert lines[-1].startswith("| some/a | windows-1252 |")
