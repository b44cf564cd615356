"""The recipes in the documentation run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RECIPES = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
LIBRARY = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", RECIPES, ids=[LIBRARY.findall(code)[0] for code in RECIPES])
def test_recipe(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each recipe runs without changes in a folder that contains ``data``."""
    for name in LIBRARY.findall(code):
        pytest.importorskip(name)
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "recipe", "exec"), {"__name__": "recipe"})  # noqa: S102 (our own documentation)
