"""Comparisons from scripts: worker processes don't import the script unless it defines a system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from blockml.errors import UnknownNameError
from blockml.evaluation.comparison import choose

SCRIPT = """
import blockml
print("start")
report = blockml.compare("plain", "data/pages", limit=2)
print([row["system"] for row in report.means])
"""


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Its lines run once, without ``if __name__ == "__main__"``."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    assert (done.stdout, done.returncode) == ("start\n['plain']\n", 0), done.stderr


def test_one_model_and_misspelt_names() -> None:
    """One model needs no list; a misspelt name is guessed."""
    assert [system.name for system in choose("plain").systems] == ["plain"]
    with pytest.raises(UnknownNameError, match="unknown system 'defalt'; did you mean 'default'"):
        choose("defalt")
