"""Custom extractors, given by module and class or by an entry point."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import blockml
from blockml.cli import main
from blockml.errors import ModelError, UnknownNameError, UsageError
from blockml.extractors import Extractor, registry, resolve
from blockml.page import Page

PLUG_IN = '''
from dataclasses import dataclass
import numpy as np
from blockml.extractors import Extractor, Traits
from blockml.extractors.extractor import Between, parameter

@dataclass
class LongBlocks(Extractor):
    """Keeps blocks of many words."""
    name = "long-blocks"
    traits = Traits("a test")
    words: int = parameter(3, Between(1, 100, whole=True))
    def score(self, page):
        return (page.blocks.n_words >= self.words).astype(np.float32)

class NoExtractor:
    pass

class Nameless(Extractor):
    def score(self, page):
        return page.blocks.n_words

class Argument(LongBlocks):
    def __init__(self, length):
        self.length = length

class Abstract(Extractor):
    name = "abstract"

class Short(Extractor):
    name = "short"
    def score(self, page):
        return (page.blocks.n_words > 2).astype(np.float32)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a custom module and labelled pages."""
    (tmp_path / "longblocks.py").write_text(PLUG_IN)
    for number in range(3):
        page = tmp_path / "pages" / f"p{number}"
        page.mkdir(parents=True)
        text = f"a sentence of several words, number {number}"
        (page / "page.html").write_text(f"<a href=/>Home</a><p>{text}</p>")
        (page / "expected.txt").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "longblocks", raising=False)
    return tmp_path


def test_commands_take_a_class(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``extract``, ``predict``, ``evaluate`` and ``compare`` find a class in the current folder."""
    name = "longblocks:LongBlocks"
    assert main(["extract", "pages/p0/page.html", "--model", name]) == 0
    assert capsys.readouterr().out.strip() == "a sentence of several words, number 0"
    assert main(["extract", "pages/p0/page.html", "--model", name, "--set", "words=50"]) == 1
    assert main(["predict", "pages", "--model", name, "-o", "out.jsonl"]) == 0
    assert {json.loads(line)["n_kept_blocks"] for line in Path("out.jsonl").read_text().splitlines()} == {1}
    capsys.readouterr()
    assert main(["evaluate", name, "--dataset", "pages", "--format", "json"]) == 0
    assert "1.0" in capsys.readouterr().out
    assert main(["compare", name, "plain", "--dataset", "pages", "-o", "comparison"]) == 0
    assert "long" in (folder / "comparison" / "report.html").read_text()


def test_traits_may_be_left_out(folder: Path) -> None:
    """A class that only has a name and ``score`` works with every command."""
    name = "longblocks:Short"
    assert main(["extract", "pages/p0/page.html", "--model", name]) == 0
    assert main(["evaluate", name, "--dataset", "pages"]) == 0
    assert main(["compare", name, "--dataset", "pages", "-o", str(folder / "out")]) == 0


def test_entry_points(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package adds a name, which is also listed in errors."""
    monkeypatch.syspath_prepend(str(folder))
    entry = EntryPoint("long", "longblocks:LongBlocks", registry.PLUG_INS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry] if group == registry.PLUG_INS else [])
    assert resolve("long", {"words": 7}).id == "long-blocks(words=7)"
    assert blockml.extract("<p>one two three</p>", model="long").text == "one two three"
    with pytest.raises(UnknownNameError, match="long, "):
        resolve("lang")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:X", "can't be imported"),
        ("longblocks:Missing", "can't be imported"),
        ("longblocks:NoExtractor", "not a subclass"),
        ("longblocks:Nameless", "longblocks:Nameless needs the class attribute 'name'"),
        ("longblocks:Abstract", "longblocks:Abstract can't be constructed: .* abstract .*score"),
        ("longblocks:Argument", "longblocks:Argument can't be constructed: .*length"),
    ],
)
def test_wrong_classes(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    """The error says what is wrong with the class."""
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(UsageError, match=message):
        resolve(name)


class Given(Extractor):
    """Returns the scores in its class attribute."""

    name: ClassVar[str] = "given"
    scores: ClassVar[Any]

    def score(self, page: Page) -> Any:  # noqa: ARG002 (the contract's signature)
        """Return the scores of the class."""
        return self.scores


@pytest.mark.parametrize("scores", [[0, 1], [np.float32(0.2), np.float32(0.9)], np.array([0.2, 0.9]), np.array([0, 1])])
def test_scores_of_any_number_type(scores: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of any number type are converted to 32 bits."""
    monkeypatch.setattr(Given, "scores", scores, raising=False)
    result = blockml.extract("<p>One<p>Two", model=Given())
    assert result.text == "Two"
    assert result.scores.dtype == result.probabilities.dtype == np.float32


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        (np.ones(1, np.float32), r"float32 \(1,\)"),
        (np.ones((2, 1)), r"float64 \(2, 1\)"),
        (0.5, r"float64 \(\)"),
        (["a", "b"], r"<U1 \(2,\)"),
        ([0.5, float("nan")], "numbers from nan to nan"),
        ([0, 7], "numbers from 0 to 7"),
        ([-1, 0.5], "numbers from -1.0 to 0.5"),
    ],
)
def test_wrong_scores(scores: Any, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores with a wrong shape, type or range are refused."""
    monkeypatch.setattr(Given, "scores", scores, raising=False)
    with pytest.raises(UsageError, match=f"must score each of 2 blocks by a number from 0 to 1, got {found}"):
        blockml.extract("<p>One<p>Two", model=Given())


@pytest.mark.parametrize("name", ["mine.blockml", "models/mine", "./default"])
def test_a_missing_model_file_is_no_unknown_name(name: str) -> None:
    """What looks like the path of a file is reported as missing, without a list of names."""
    with pytest.raises(ModelError, match=r"^[^;]*no such file$"):
        resolve(name)


def test_other_names_with_a_slash(tmp_path: Path) -> None:
    """A folder is not a missing file, and a class in a module that can't be imported is no file."""
    with pytest.raises(ModelError, match="not a model"):
        resolve(str(tmp_path))
    with pytest.raises(UnknownNameError, match="module:Class"):
        resolve("cats/dogs:Class")
