"""Extraction and prediction only need numpy, lxml and webencodings; other commands name the extra that they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from blockml.errors import MissingExtraError, missing_extra

pytestmark = pytest.mark.exhaustive

#: Run as a program: packages of extras can't be imported, as if they were not installed.
WITHOUT_EXTRAS = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        extras = "sklearn scipy joblib threadpoolctl pyarrow orjson zstandard brotli html5lib jinja2 py3langid"
        if name.partition(".")[0] in extras.split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from blockml.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return the path of a page."""
    path = tmp_path / "cats.html"
    path.write_text("<h1>Cats</h1><p>Cats rule the world, and nobody has ever told them otherwise.</p>")
    return path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command without the packages of extras."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def test_a_page_is_extracted(page: Path) -> None:
    """A released model and an untrained extractor work without extras."""
    for chosen in (["--model", "kim2013", "--threshold", "0"], ["--model", "bte"]):
        result = run("extract", page, *chosen)
        assert (result.returncode, "Cats rule the world" in result.stdout) == (0, True), result.stderr


def test_pages_are_predicted(page: Path) -> None:
    """Prediction works without extras, even in two processes, and other formats name their extra."""
    for jobs in (1, 2):
        result = run("predict", page, "--quiet", "--jobs", jobs)
        assert (result.returncode, result.stdout.startswith('{"id":')) == (0, True), result.stderr
    result = run("predict", page, "-o", page.with_suffix(".parquet"))
    assert result.returncode == 2
    assert ".[arrow]" in result.stderr
    result = run("model", "show", "kim2013")
    assert (result.returncode, result.stdout.startswith("# kim2013")) == (0, True), result.stderr


@pytest.mark.parametrize("command", ["train", "evaluate", "compare"])
def test_other_commands_name_their_extra(command: str, tmp_path: Path) -> None:
    """A command that needs an extra prints one line with its name instead of a traceback."""
    models = [] if command == "train" else ["kim2013"]
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "page.html").write_text("<p>Cats rule the world.</p>")
    (folder / "expected.txt").write_text("Cats rule the world.")
    result = run(command, *models, "--dataset", tmp_path, *([] if command == "evaluate" else ["-o", tmp_path / "out"]))
    assert result.returncode == 2
    assert '".[train]"' in result.stderr
    assert "Traceback" not in result.stderr


def test_only_packages_of_an_extra_are_explained() -> None:
    """Only missing packages of an extra are explained as such."""
    assert missing_extra(ModuleNotFoundError(name="blockml.cats"), "extract") is None
    assert isinstance(missing_extra(ModuleNotFoundError(name="html5lib"), "a back end"), MissingExtraError)
