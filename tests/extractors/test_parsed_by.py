"""Extractors with another parser than their default."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import blockml
from blockml.cli import main
from blockml.errors import UnknownNameError
from blockml.evaluation.comparison import choose
from blockml.extractors import ParsedBy, resolve
from blockml.sites import at_site
from blockml.templates import SiteTemplate

PAGE = Path(__file__).parents[2] / "data" / "pages" / "short-article" / "page.html"
#: lxml keeps the first words inside the table, and the standard's tree moves them before it.
FOSTERED = "<table>words before the table<tr><td>words of a cell</table>"


def test_pages_are_parsed_with_the_chosen_parser() -> None:
    """The same model extracts from the tree of the other parser."""
    pytest.importorskip("html5lib")
    other = blockml.extract(FOSTERED, model=ParsedBy(resolve("plain"), "html5lib"))
    assert other.text.startswith("words before")
    assert other.model == "plain, parsed by html5lib"
    page = blockml.parse(FOSTERED, backend="html5lib", profile="anchor")
    assert other.page.blocks.texts == page.blocks.texts


def test_everything_else_is_that_of_the_extractor() -> None:
    """Scores, labels, policy and explanations equal those of the wrapped extractor."""
    plain, wrapped = resolve("default"), ParsedBy(resolve("default"), "lxml")
    page = blockml.parse(PAGE.read_bytes(), **plain.parsing.options())
    assert wrapped.parsing == plain.parsing
    assert wrapped.gives_labels
    assert wrapped.policy == plain.policy
    assert (wrapped.score(page) == plain.score(page)).all()
    assert wrapped.explain(page) == plain.explain(page)
    assert wrapped.curve(page) is None
    assert not wrapped.uses_site
    assert wrapped.default_threshold == plain.effective_threshold
    template = SiteTemplate.learn([page] * 4)
    assert at_site(wrapped, template).parsing.backend == "lxml"
    with pytest.raises(UnknownNameError, match="choose one of: html5lib"):
        ParsedBy(plain, "parser")


def test_used_models_are_found() -> None:
    """Models inside other extractors are found, and methods have none."""
    model = resolve("kim2013")
    assert [used.name for used in ParsedBy(model, "html5lib").used_models()] == ["kim2013"]
    assert [used.name for used in resolve("union", {"members": ["ccb", "kim2013"]}).used_models()] == ["kim2013"]
    assert list(resolve("ccb").used_models()) == []


@pytest.mark.parametrize("command", ["extract", "predict"])
def test_commands(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``extract`` and ``predict`` accept ``--backend``."""
    pytest.importorskip("html5lib")
    options = ["--format", "json"] if command == "extract" else []
    assert main([command, str(PAGE), "--model", "plain", "--backend", "html5lib", *options]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "plain, parsed by html5lib"


def test_compared_systems() -> None:
    """``backend`` is a parameter of every extractor in a comparison."""
    pytest.importorskip("html5lib")
    own, other = choose(["plain", "plain:backend=html5lib"]).systems
    assert (own.parsing.backend, other.parsing.backend) == ("lxml", "html5lib")
    assert other.name == "plain:backend=html5lib"
    run = other.maker(other.source, dict(other.parameters), ())
    assert run(FOSTERED, None).text.startswith("words before")
    with pytest.raises(UnknownNameError, match="html5lib"):
        choose(["plain:backend=parser"])
