"""The project's own files agree with each other."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import blockml
from conftest import pytest_collection_modifyitems

ROOT = Path(__file__).parents[1]


def test_oldest_pins_are_the_lower_bounds() -> None:
    """The lower bounds in pyproject.toml are the versions that are tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = sorted(extras.keys() - {"compare", "compare-more", "all", "spark", "datatrove", "ray", "nemo"})
    wanted = [*project["dependencies"], *(item for name in names for item in extras[name])]
    lower = dict(item.split(">=") for item in wanted if not item.startswith(project["name"]))
    pins = dict(line.split("==") for line in (ROOT / "constraints-oldest.txt").read_text().splitlines() if "==" in line)
    assert {name: tuple(map(int, version.split("."))) for name, version in lower.items()} == {
        name: tuple(map(int, pins[name].split(".")))[: len(lower[name].split("."))] for name in pins
    }


class Item:
    """A collected test with a mark or without one."""

    def __init__(self, number: int, *, is_slow: bool) -> None:
        self.nodeid = f"tests/test_cats.py::test_cat[{number}]"
        self.is_slow = is_slow

    def get_closest_marker(self, name: str) -> object:
        """Return the mark."""
        return self.is_slow and name == "exhaustive"


@pytest.mark.parametrize(
    ("exhaustive", "arguments", "keyword", "sampled"),
    [
        (False, ["tests", "blockml"], "", True),
        (False, ["tests/batch"], "", True),
        (True, ["tests"], "", False),
        (False, ["tests/test_cats.py"], "", False),
        (False, ["tests"], "cat", False),
    ],
)
def test_a_sample_of_slow_tests_runs_unless_all_are_asked_for(
    exhaustive: bool,  # noqa: FBT001
    arguments: list[str],
    keyword: str,
    sampled: bool,  # noqa: FBT001
) -> None:
    """Only tests with the mark are left out, some of them run, and the others are reported as deselected."""
    found = [*(Item(number, is_slow=True) for number in range(200)), *(Item(n, is_slow=False) for n in range(50))]
    kept, reported = list(found), list[Item]()
    config = SimpleNamespace(
        args=arguments,
        option=SimpleNamespace(exhaustive=exhaustive, keyword=keyword),
        hook=SimpleNamespace(pytest_deselected=lambda items: reported.extend(items)),  # noqa: PLW0108 (called by name)
    )
    pytest_collection_modifyitems(config, kept)  # type: ignore[arg-type]
    assert sorted(map(id, kept + reported)) == sorted(map(id, found))
    assert all(item.is_slow for item in reported)
    assert (5 < sum(item.is_slow for item in kept) < 50) if sampled else not reported


def test_everything_runs_where_changes_are_checked() -> None:
    """The checks before a merge and on every system run the slow tests too."""
    assert "\nexport BLOCKML_EXHAUSTIVE=1" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = workflow.read_text(encoding="utf-8")
        assert "pytest" not in text or "\nenv:\n  BLOCKML_EXHAUSTIVE: 1" in text


def test_commands_of_the_readme_exist() -> None:
    """The README names the main subcommands and none that doesn't exist."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`blockml ([a-z]+)", readme)) | set(
        re.findall(r"^\$ (?:.*\| )?blockml ([a-z]+)", readme, re.MULTILINE)
    )
    assert {"extract", "predict", "train", "evaluate", "compare", "view", "model", "models", "datasets"} <= named
    assert named <= {
        "extract", "predict", "train", "evaluate", "compare", "view", "model", "models", "extractors", "features",
        "datasets", "templates", "label", "survey",
    }  # fmt: skip


def test_links_of_the_docs_lead_somewhere() -> None:
    """Relative links in README, docs and research name existing files."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "research").rglob("*.md")):
        text = re.sub(r"(`+)(?!`).+?\1", "", page.read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_docs_are_short() -> None:
    """The README and the pages in docs together have at most 20,000 words, as CONTRIBUTING.md promises."""
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert sum(words.values()) <= 20_000, words


def test_version_is_in_the_changelog_or_unreleased() -> None:
    """The changelog has a section for the current version or for unreleased changes."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {blockml.__version__}" in changelog or "## Unreleased" in changelog


#: A set of characters in a regular expression, and a possessive repeat of a group or an atomic group.
CHARACTER_SET = re.compile(r"\[\^?\]?(?:\\.|[^\\\]])*\]", re.DOTALL)
POSSESSIVE_GROUP = re.compile(r"(?<![\\(])\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def possessive_groups(source: str) -> list[str]:
    """Return the strings of a module that repeat a group possessively."""
    strings = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    texts = [text.decode("latin-1") if isinstance(text, bytes) else text for text in strings]
    return [text for text in texts if isinstance(text, str) and POSSESSIVE_GROUP.search(CHARACTER_SET.sub("x", text))]


@pytest.mark.parametrize("folder", ["blockml", "research", "tools"])
def test_no_possessive_groups(folder: str) -> None:
    """Python 3.11.2 matches possessive repeats of groups wrongly, so no regular expression has one."""
    found = {
        str(path.relative_to(ROOT)): groups
        for path in (ROOT / folder).rglob("*.py")
        if (groups := possessive_groups(path.read_text(encoding="utf-8")))
    }
    assert not found


def test_possessive_groups_are_found() -> None:
    """Groups count, single characters and sets of characters do not."""
    assert len(possessive_groups("""x = r"(?:ab)*+", rb"(?:a|b){1,3}+", r"(?>a)" """.strip())) == 3
    assert not possessive_groups("""x = r"a*+[b(c)]++[()*+,;]\\)*+", "(?:a*+)?" """.strip())
