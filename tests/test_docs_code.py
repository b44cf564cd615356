"""Python blocks of the documentation run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Pages whose blocks can be run one by one; they read ``data/`` and write into the current folder.
PAGES = ("adapting.md", "scikit-learn.md")
BLOCKS = [
    pytest.param(match[1], id=f"{name}-{number}")
    for name in PAGES
    for number, match in enumerate(BLOCK.finditer((ROOT / "docs" / name).read_text(encoding="utf-8")), start=1)
]


@pytest.mark.parametrize("code", BLOCKS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs alone, in a folder that holds ``data``."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "block", "exec"), {"__name__": "block"})  # noqa: S102 (our own documentation)
