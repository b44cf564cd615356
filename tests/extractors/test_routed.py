"""A folder of models: pages are routed by template, host or site, and all others use the base model."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.batch import BatchExtractor, Item, Options, predict_items
from blockml.errors import ModelError, ModelFormatError, UsageError
from blockml.extractors import ParsedBy, Route, RoutedExtractor, read_routed, resolve, trained, write_routed
from blockml.extractors.routed import ROUTES, RouteTemplate, template_features
from blockml.model import Model
from blockml.predictors import Correction
from blockml.sites import at_site
from blockml.templates import SiteTemplate

TEXT = "<p>" + "Cats rule the world, and nobody has asked them to. " * 4
LIST = "<ul>" + "<li><b>Cats</b> <i>rule</i>" * 20


def adapted(base: Model, name: str, bias: float) -> Model:
    """Return the model with a correction that adds a bias to all log odds."""
    correction = Correction(np.zeros(0, dtype=np.uint64), np.zeros(0), bias)
    return replace(base, name=name, correction=correction, recipe={**base.recipe, "base": base.id})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with models for a site (keeps everything), and for a host and a template (keep nothing)."""
    base = trained("kim2013").model
    template = RouteTemplate((template_features(blockml.parse(LIST)),), 0.2)
    routes = {
        "all": Route("cats.example", adapted(base, "all", 30.0)),
        "none": Route("cats.example", adapted(base, "none", -30.0), host="shop.cats.example"),
        "lists": Route("cats.example", adapted(base, "lists", -30.0), template=template),
    }
    write_routed(tmp_path / "models", base, routes, [], {name: {} for name in routes})
    return tmp_path / "models"


ROUTED = [
    ("https://www.cats.example/1", TEXT, "all 0.1.0"),
    ("https://SHOP.cats.example:8080/1", TEXT, "none 0.1.0"),
    ("https://cats.example/list", LIST, "lists 0.1.0"),
    ("https://dogs.example/", TEXT, "kim2013 0.1.0"),
    ("https://notcats.example/", TEXT, "kim2013 0.1.0"),
    ("http://[", TEXT, "kim2013 0.1.0"),
    ("https://10.0.0.1/", TEXT, "kim2013 0.1.0"),
    ("", TEXT, "kim2013 0.1.0"),
    (None, TEXT, "kim2013 0.1.0"),
    ("https://web.archive.org/web/20200131120000id_/https://www.cats.example/1", TEXT, "all 0.1.0"),
    ("https://web.archive.org/web/2020/http:/shop.cats.example/1", TEXT, "none 0.1.0"),
]


@pytest.mark.parametrize(("url", "html", "model"), ROUTED)
def test_every_function_routes(folder: Path, url: str | None, html: str, model: str) -> None:
    """``extract``, batches, pickled batch extractors and wrappers use and name the model of the page."""
    assert blockml.extract(html, url=url, model=folder).model == model
    extractor = resolve(folder)
    (record,) = predict_items([Item("a", html=html, url=url)], extractor, isolation="none")
    (again,) = pickle.loads(pickle.dumps(BatchExtractor(str(folder)))).records([{"html": html, "url": url}])  # noqa: S301
    assert record["model"] == again["model"] == model
    assert again["text"] == record["text"]
    parsed = ParsedBy(extractor, "lxml")
    assert blockml.extract(html, url=url, model=parsed).model == f"{model}, parsed by lxml"


def test_the_routed_model_decides(folder: Path) -> None:
    """The correction of the routed model is applied, also by ``decide`` and ``score``."""
    html = f"<a href=/>Home</a>{TEXT}"
    by_url = {url: blockml.extract(html, url=url, model=folder) for url in ("https://cats.example/", ROUTED[1][0])}
    assert [int(found.kept.sum()) for found in by_url.values()] == [2, 0]
    extractor = resolve(folder)
    for url, found in by_url.items():
        page = blockml.parse(html, url=url)
        assert extractor.decide(page).kept.tolist() == found.kept.tolist()
        assert extractor.score(page).tolist() == found.scores.tolist()


def test_unknown_sites_use_the_base_model(folder: Path) -> None:
    """Extractions from unknown sites equal those of the base model byte by byte."""
    for url in ("https://dogs.example/", None):
        found = (blockml.extract(TEXT, url=url, model=model) for model in (folder, "kim2013"))
        one, other = (blockml.render(result, "json") for result in found)
        assert one == other


def test_thresholds_and_site_templates_apply_to_routed_models(folder: Path) -> None:
    """A threshold of the extractor and a site template apply to the routed model."""
    extractor = resolve(folder).set_params(threshold=0.9)
    page = blockml.parse(TEXT, url="https://cats.example/")
    assert extractor.at_page(page).id == "all 0.1.0 (threshold=0.9)"
    pages = [blockml.parse(f"<p>Home</p><p>About {name} and more</p>") for name in ("cats", "dogs", "birds", "fish")]
    site = at_site(resolve(folder), SiteTemplate.learn(pages))
    found = blockml.extract("<p>Home</p><p>About cats and more</p>", url="https://cats.example/", model=site)
    assert (found.text, "all 0.1.0" in found.model) == ("About cats and more", True)


def test_models_share_the_predictors_of_the_base(folder: Path) -> None:
    """All routed models share the predictors of the base, so a hundred sites need little more memory than one."""
    extractor = read_routed(folder)
    assert {id(model.predictors) for model in extractor.used_models()} == {id(extractor.model.predictors)}
    assert len(extractor.used_models()) == 4


def test_options_of_records_follow_the_routed_model(folder: Path) -> None:
    """The minimum confidence applies to the model that was used."""
    pages = [
        Item(str(n), html=TEXT, url=url) for n, url in enumerate(("https://cats.example/", "https://dogs.example/"))
    ]
    records = list(predict_items(pages, resolve(folder), Options(min_confidence=1.0, threshold=0.0), isolation="none"))
    assert [(record["status"], record["model"]) for record in records] == [
        ("ok", "all 0.1.0"), ("unsure", "kim2013 0.1.0"),
    ]  # fmt: skip
    assert all(record["text"] for record in records)
    with pytest.raises(UsageError, match="min_confidence must be between 0 and 1, got 2"):
        Options(min_confidence=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "format 9"),
        ({"base": "../base.blockml"}, "not the name of a model file"),
        ({"routes": [{"site": "a.example", "model": "/etc/passwd"}]}, "not the name of a model file"),
        ({"routes": [{"site": "a.example", "model": "missing.blockml"}]}, "missing.blockml"),
        ({"routes": 3}, "not a routing table"),
        ({"routes": [{"site": "a.example", "model": "all.blockml", "template_pages": 3}]}, "KeyError"),
        ({"base": "base.blockml", "format": 1, "routes": [{"site": "a.example"}]}, "KeyError"),
    ],
)
def test_damaged_tables_are_refused(folder: Path, change: dict[str, object], message: str) -> None:
    """The error names the file, and model names that lead out of the folder are refused."""
    table = json.loads((folder / ROUTES).read_text())
    (folder / ROUTES).write_text(json.dumps(table | change))
    with pytest.raises(ModelError, match=message):
        resolve(folder)


def test_a_threshold_that_no_float_holds_is_refused(folder: Path) -> None:
    """JSON may have integers of any size."""
    table = json.loads((folder / ROUTES).read_text())
    (route,) = [row for row in table["routes"] if "template_threshold" in row][:1]
    route["template_threshold"] = 10**400
    (folder / ROUTES).write_text(json.dumps(table))
    with pytest.raises(ModelFormatError, match="OverflowError"):
        resolve(folder)


def test_invalid_json_and_another_base_are_refused(folder: Path) -> None:
    """A model that was adapted from another base is refused, because it would get wrong predictors."""
    base = replace(trained("kim2013").model, version="9")
    blockml.save(base, folder / "base.blockml")
    with pytest.raises(ModelError, match=r"was not adapted from kim2013 9"):
        resolve(folder)
    (folder / ROUTES).write_text("{")
    with pytest.raises(ModelFormatError, match="not a routing table"):
        resolve(folder)


def test_routes_of_many_sites_are_found() -> None:
    """The right model is found among those of thousands of sites."""
    base = trained("kim2013").model
    extractor = RoutedExtractor(base, routes=[Route(f"s{n}.example", replace(base, name=f"m{n}")) for n in range(3000)])
    assert blockml.extract(TEXT, url="https://a.s2999.example/", model=extractor).model == "m2999 0.1.0"
