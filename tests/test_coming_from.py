"""The examples for users of other tools run, each next to its tool where that is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blockml.cli import main

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "coming-from.md"
FIRST, *BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
TOOL = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
#: Our options and functions that a table names, without those of the other tools.
NAMED = re.findall(r"^\| [^|]*\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: (TOOL.findall(code) or ["dragnet"])[0])
@pytest.mark.filterwarnings("ignore")  # those of other tools
def test_an_example_runs_next_to_its_tool(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example runs after the first one, which extracts a page."""
    for tool in TOOL.findall(code):
        pytest.importorskip(tool)
    monkeypatch.chdir(ROOT)
    exec(compile(FIRST + code, "block", "exec"), {"__name__": "block"})  # noqa: S102 (our own documentation)


def test_models_of_the_tables_exist() -> None:
    """The models and commands that the tables name exist."""
    text = " ".join(NAMED)
    models = set(re.findall(r'model="([\w-]+)"', text))
    assert models == {"boilerpipe-article", "boilerpipe-default", "numwords", "plain"}
    for model in models:
        exec(FIRST.replace("url=", f'model="{model}", url='), {"__name__": "block"})  # noqa: S102
    for command in set(re.findall(r"`blockml (\w+) ", text)):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
