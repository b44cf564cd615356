"""Code of the documentation runs, and the documentation builds without a warning."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from blockml.cli import main

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Pages whose blocks can be run one by one; they read ``data/`` and write into the current folder.
_NAMES = """
adapting batch blocks comparing document extracting labelling markdown models rules scikit-learn start survey training
"""
PAGES = tuple(f"{name}.md" for name in _NAMES.split())
#: Commands of console blocks that are not run: installation, the server, and the reader's folders and models.
NOT_RUN = re.compile(r"\$ (pip |blockml label |.*\bmy-pages|.*--model mine)")
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(match[1], id=f"{name}-{number}")
    for name in (*PAGES, "templates.md")
    for number, match in enumerate(BLOCK.finditer((ROOT / "docs" / name).read_text(encoding="utf-8")), start=1)
]


@pytest.mark.parametrize("code", BLOCKS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs by itself in a folder that contains ``data``."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "block", "exec"), {"__name__": "block"})  # noqa: S102 (our own documentation)


def commands_of(name: str) -> list[str]:
    """Return the commands of a page that can be run."""
    blocks = CONSOLE.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [line[2:] for line in lines if not NOT_RUN.match(line)]


@pytest.mark.parametrize("name", [name for name in PAGES if commands_of(name)])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_commands_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a page run one after the other in a folder that contains ``data``."""
    pytest.importorskip("nh3")
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    for command in commands_of(name):
        program, *arguments = shlex.split(command, comments=True)
        if program == "python":  # a tool of the checkout
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, *arguments], check=True, env=environment)  # noqa: S603 (our own commands)
            continue
        assert program == "blockml"
        assert main(arguments) == 0, command


def test_the_documentation_builds(tmp_path: Path) -> None:
    """Sphinx reports no warning, such as broken links, pages missing in the contents or unreadable docstrings."""
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        str(ROOT / "docs"),
        str(tmp_path),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})  # noqa: S603 (our own documentation)
    assert (run.returncode, run.stderr) == (0, "")
    reference = (tmp_path / "api.html").read_text(encoding="utf-8")
    assert "BlockClassifier" in reference
    assert "Expected quality in [0, 1]: the F1" in reference  # the words before a colon are not a type
