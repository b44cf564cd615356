"""The models that come with the package."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import blockml
from blockml.cli import main
from blockml.extractors import model_names, trained
from blockml.formats import FORMATS
from blockml.model import render_card

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", model_names())
def test_card_is_generated_from_the_model(name: str) -> None:
    """The card of a released model is the one generated from it."""
    card = (ROOT / "models" / f"{name}.blockml.md").read_text(encoding="utf-8")
    assert card == render_card(trained(name).model)


def test_models_are_listed_by_the_first_lines_of_their_cards(capsys: pytest.CaptureFixture[str]) -> None:
    """The list and the cards show the same purpose, quality and licences."""
    assert main(["models", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row.pop("name").split()[0] for row in rows] == list(model_names())
    for row, name in zip(rows, model_names(), strict=True):
        card = (ROOT / "models" / f"{name}.blockml.md").read_text(encoding="utf-8")
        assert row.keys() == {"for", "page F1", "good at", "weak at", "licences"}
        assert all(f"| {key} | {value} |" in card for key, value in row.items())


@pytest.mark.parametrize("name", model_names())
def test_model_may_be_shipped(name: str) -> None:
    """A released model is small, measured by site, and trained on data with a permissive licence and an attribution."""
    assert (ROOT / "models" / f"{name}.blockml").stat().st_size < 5_000_000
    model = trained(name).model
    assert model.metrics["site"]["page_bag_f1"]["mean"] >= 0.78  # the F1 that was released before is the minimum
    assert "Foley" in model.training[0]["attribution"]
    for entry in model.training:
        assert entry["licence"] in {"CC-BY-4.0", "MIT", "Apache-2.0", "MIT OR Apache-2.0", "CC0-1.0"}
        assert entry["attribution"]


def test_default_extracts_an_article() -> None:
    """The default model keeps the main text of an article and drops its menu and footer."""
    html = (ROOT / "data" / "sites" / "harbour-courier" / "courier-article-04" / "page.html").read_bytes()
    result = blockml.extract(html)
    assert result.status == "ok"
    assert result.model.startswith("default ")
    assert "For the first time since 1968" in result.text
    assert "Founded 1887" not in result.text
    assert len(result.scores) == len(result.kept) == len(result.reasons) == len(result.page.blocks)
    assert 0.5 < result.confidence <= 1


def test_code_is_whole() -> None:
    """A coloured code block keeps all its pieces, with brackets and indentation."""
    html = (ROOT / "data" / "pages" / "code-documentation" / "page.html").read_bytes()
    code = 'for event in station.events("2023-04-09"):\n    print(event.kind, event.time, round(event.height, 2))'
    assert code in blockml.extract(html).text


def test_results_are_reproducible() -> None:
    """Extracting the same page twice renders the same bytes in every format."""
    html = (ROOT / "data" / "pages" / "code-documentation" / "page.html").read_bytes()
    for output_format in FORMATS:
        first = blockml.render(blockml.extract(html), output_format)
        assert first == blockml.render(blockml.extract(html), output_format)
        assert first.strip()


@pytest.mark.parametrize("name", ["sites/patient-crumb/crumb-post-03", "pages/code-documentation"])
def test_lower_thresholds_keep_more(name: str) -> None:
    """Lower thresholds only add blocks; readers' comments and hidden text are left out at every threshold."""
    html = (ROOT / "data" / name / "page.html").read_bytes()
    results = [blockml.extract(html, threshold=value) for value in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    kept = [result.kept for result in results]
    left_out = ("comment", "hidden")
    assert all(keep or reason in left_out for keep, reason in zip(kept[0], results[0].reasons, strict=True))
    assert blockml.extract(html, threshold=0.0, include="comment", hidden="keep").kept.all()
    assert all((more >= less).all() for more, less in itertools.pairwise(kept))


@pytest.mark.parametrize(
    "html",
    [
        b"",
        b"   ",
        b"\x89PNG\r\n\x1a\n\0\0",
        b"<title>only</title>",
        "\ud800",
        "<div>" * 10_000 + "x",
        b"<!--" * 1000,
        b"\xff" * 50,
    ],
)
def test_bad_pages_never_raise(html: bytes | str) -> None:
    """Bad pages get a status, and a text that may be empty."""
    result = blockml.extract(html)
    assert result.status in set(blockml.Status)
    assert isinstance(result.text, str)
