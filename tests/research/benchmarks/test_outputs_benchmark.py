"""Records of outputs: the pages of data/, and the differences of two records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from research.benchmarks import outputs


def test_pages_of_data_are_recorded_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without corpora the pages of data/ are recorded, each under its own name; a changed output is a difference."""
    before, after = tmp_path / "before.gz", tmp_path / "after.gz"
    monkeypatch.setattr("sys.argv", ["outputs", "record", str(before), "--extractors", "plain", "--every", "10"])
    monkeypatch.delenv("BLOCKML_CORPORA", raising=False)
    assert outputs.main() == 0
    rows = list(outputs.rows(before))
    assert {"pages/after-the-end/page.html"} <= {f"{row['corpus']}/{row['page']}" for row in rows}
    assert len({(row["corpus"], row["page"]) for row in rows}) == len(rows)

    assert outputs.compare(before, before, 0) == 0
    rows[0]["results"]["plain"][outputs.PARTS.index("text")] = "other"
    with gzip.open(after, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    assert outputs.compare(before, after, 1) == 1
    assert f"{rows[0]['corpus']}/{rows[0]['page']} (plain)" in capsys.readouterr().out


def test_no_pages_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is recorded if no corpus has the name, because two empty records have no difference."""
    monkeypatch.setattr("sys.argv", ["outputs", "record", str(tmp_path / "record.gz"), "--only", "no-such-corpus"])
    with pytest.raises(SystemExit):
        outputs.main()
    assert not (tmp_path / "record.gz").exists()
