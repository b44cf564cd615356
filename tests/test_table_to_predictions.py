"""The script of ``docs/table-to-predictions.md`` runs, from a table to predictions in Parquet."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blockml.datasets import open_dataset

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "table-to-predictions.md"
N_PAGES = 100


@pytest.mark.exhaustive
def test_a_table_becomes_a_model_and_predictions(tmp_path: Path) -> None:
    """From a hundred pages in a CSV, the script writes a model, a report and a row for each new page."""
    parquet = pytest.importorskip("pyarrow.parquet")
    [code] = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 41
    pages = [page for name in ("sites", "pages") for page in open_dataset(ROOT / "data" / name).pages][:N_PAGES]
    with (tmp_path / "labels.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["html", "text", "url"])
        for page in pages:
            html, gold = page.load()
            assert gold is not None
            writer.writerow([html.decode("utf-8", "replace"), gold.text() or "", page.url or ""])
    (tmp_path / "script.py").write_text(code, encoding="utf-8")
    new = ROOT / "data" / "pages"
    command = [sys.executable, "script.py", "labels.csv", str(new), "out"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 (our own script)
    assert run.returncode == 0, run.stderr
    assert "seen in training" in run.stdout
    assert (tmp_path / "out" / "mine.blockml").is_file()
    assert (tmp_path / "out" / "comparison" / "report.html").is_file()
    assert parquet.read_table(tmp_path / "out" / "predictions.parquet").num_rows == len(open_dataset(new))
