"""Wrong arguments of the public functions raise an error with the legal values before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import blockml
from blockml.batch import Guard, Options
from blockml.datasets import Dataset
from blockml.errors import UnknownNameError, UsageError
from blockml.evaluation import evaluate_extractor
from blockml.extractors import Plain, resolve, trained
from blockml.training import adapt, recipe, train_model
from tests.models import small_model

HTML = b"<title>Cats</title><p>Cats rule the world, and nobody has asked them to. \xfc"


def never(*_: object, **__: object) -> NoReturn:
    """Fail when work is done that must not start."""
    raise AssertionError("work was done before the arguments were checked")


#: Parsing options, values that each must refuse, and words of the error.
PARSING: dict[str, tuple[list[Any], str]] = {
    "url": ([5, b"http://cats.example/", ["x"]], "url must be str or None"),
    "charset": ([5, b"utf-8", True], "charset must be str or None"),
    "limits": ([5, None, {"bytes": 9}], "limits must be blockml.Limits"),
    "detector": ([5, "utf-8"], "detector must be a function of bytes or None"),
}
OWN: dict[str, tuple[list[Any], str]] = {
    "backend": ([5, None, ["lxml"], "bs4"], "choose one of: html5lib, lexbor, lxml"),
    "profile": ([5, {}, "none"], "choose one of: anchor, boilerpipe"),
    "tokenizer": ([[], "words"], "choose one of: boilerpipe, cjk, space"),
    "keep_wordless": ([1, "no", None], "keep_wordless must be True or False"),
}
LABELS = "must be a label or an iterable of labels"
CHOICE: dict[str, tuple[list[Any], str]] = {
    "model": ([5, b"default", None, ["default"]], "must be a name"),
    "threshold": (["0.5", b"x", [0.5], True, 2, -0.1, float("nan"), float("inf"), 10**400], "between 0 and 1"),
    "include": ([5, 0, None, True], f"include {LABELS}"),
    "exclude": ([1.5], f"exclude {LABELS}"),
    "backend": ([5, ["lxml"], "bs4"], "choose one of: html5lib, lexbor, lxml"),
}


def cases(*tables: dict[str, tuple[list[Any], str]]) -> list[tuple[str, object, str]]:
    """Return each option with each of its values."""
    return [(name, value, words) for table in tables for name, (values, words) in table.items() for value in values]


@pytest.mark.parametrize(("name", "value", "words"), cases(PARSING, OWN))
def test_parse(name: str, value: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The type and name of each option are checked before the page is decoded."""
    monkeypatch.setattr("blockml.parsing.decode", never)
    with pytest.raises(UsageError, match=words):
        blockml.parse(HTML, **{name: value})


@pytest.mark.parametrize(("name", "value", "words"), cases(PARSING, CHOICE))
def test_extract(name: str, value: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong options raise before the page is decoded or scored."""
    monkeypatch.setattr("blockml.parsing.decode", never)
    with pytest.raises(UsageError, match=words):
        blockml.extract(HTML, **{name: value})


@pytest.mark.parametrize("name", ["bytes", "nodes", "blocks", "depth"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "9", None, True, float("nan"), 2**31, 10**5000], ids=range(9))
def test_limits(name: str, value: Any) -> None:
    """A limit must fit into the numbers of nodes, and a page can be parsed with the largest one."""
    with pytest.raises(UsageError, match=rf"limits\.{name} must be an integer from 1 to 2147483647"):
        blockml.Limits(**{name: value})
    assert blockml.parse(HTML, limits=blockml.Limits(**{name: 2**31 - 1})).status == "ok"


@pytest.mark.parametrize("value", [5, None, b"default", ["default"], True])
def test_load_and_save(value: Any, tmp_path: Path) -> None:
    """Loading refuses everything but names, paths and extractors, and saving everything but models and paths."""
    with pytest.raises(UsageError, match="model must be a name, a path, an extractor or a fitted BlockClassifier"):
        blockml.load(value)
    model = trained("kim2013").model
    with pytest.raises(UsageError, match="path must be a path"):
        blockml.save(model, value)
    with pytest.raises(UsageError, match="model must be a name, a path, an extractor"):
        blockml.save(value, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"extraction": "text"}, r"extraction must be the result of blockml\.extract, got str"),
        ({"format": ["text"]}, "choose one of: html, json, markdown, tei, text"),
        ({"format": None}, "choose one of: html, json, markdown, tei, text"),
        ({"with_title": "no"}, "with_title must be True, False or None"),
        ({"paragraphs": 1}, "paragraphs must be True, False or None"),
        ({"format": "json", "chunk_size": 9.0}, "chunk_size must be a positive integer or None"),
        ({"format": "json", "chunk_size": True}, "chunk_size must be a positive integer or None"),
        ({"format": "json", "chunk_size": -1}, "size must be at least 1"),
    ],
)
def test_render(arguments: dict[str, Any], words: str) -> None:
    """Type, name and range of the arguments are checked."""
    with pytest.raises(UsageError, match=words):
        blockml.render(**{"extraction": blockml.extract(HTML, model=Plain()), **arguments})


@pytest.mark.parametrize("column", [5, None, "<p>one page", b"<p>one page", bytearray(b"<p>"), {"html": "<p>x"}])
def test_a_column_is_not_a_page(column: Any) -> None:
    """A str or another object is not taken for a column of pages, for which an empty result would mislead."""
    with pytest.raises(UsageError, match="column must be a series, an array or another iterable"):
        blockml.extract_column(column)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *[({name: value}, words) for name, value, words in cases(CHOICE)],
        ({"limits": 5}, r"limits must be blockml\.Limits"),
        ({"format": "json"}, "choose one of: html, markdown, tei, text"),
        ({"fields": 5}, "fields must be a tuple of names"),
        ({"fields": ([],)}, "choose one of: article_probability, comments, confidence"),
        ({"url": "x"}, f"choose one of: {', '.join(sorted(Options.__slots__))}$"),
    ],
)
def test_extract_column(options: dict[str, Any], words: str) -> None:
    """A wrong option raises an error instead of returning a column of empty texts."""
    with pytest.raises(UsageError, match=words):
        blockml.extract_column([HTML], **options)


def test_options_check_their_threshold() -> None:
    """Options check their threshold, because otherwise each page of a batch would fail."""
    for threshold in (2, "0.5"):
        with pytest.raises(UsageError, match="between 0 and 1"):
            Options(threshold=threshold)  # type: ignore[arg-type]


def test_labels_may_be_an_array() -> None:
    """Labels may be an array, which is iterable but has no truth value."""
    result = blockml.extract(HTML, include=np.array(["main"]), exclude=np.array(["comment", "related"]))
    assert result.status == "ok"


@pytest.mark.parametrize("detector", [None, lambda _: "no\udcff"])
def test_a_charset_may_be_any_text(detector: Any) -> None:
    """An unknown charset, even with lone surrogates from a header that isn't UTF-8, is ignored with a warning."""
    page = blockml.parse(HTML, charset=None if detector else "no\udcff", detector=detector)
    assert page.warnings == (f"unknown {'encoding' if detector else 'charset'} 'no\\udcff' of the "
                             f"{'detector' if detector else 'transport'} ignored",)  # fmt: skip


def test_numbers_too_large_for_a_float_are_refused() -> None:
    """Numbers too large for a float are out of range like others."""
    with pytest.raises(UsageError, match=r"'window' of dsc must be None or a whole number from 1 to 100000"):
        resolve("dsc", {"window": 10**400})
    with pytest.raises(UsageError, match=r"guard\.memory must be above 0 and at most"):
        Guard(memory=10**400)


def test_training_and_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and paths are not taken for recipes, models, extractors or data sets, and unknown protocols are refused."""
    monkeypatch.setattr("blockml.training.prepare.build_rows", never)
    monkeypatch.setattr("blockml.training.adaptation.filtered", never)
    dataset, chosen, model = Dataset("pages", Path("pages"), "folders", ()), recipe("kim2013"), small_model()
    calls: list[tuple[Any, str]] = [
        (lambda: train_model([dataset], "kim2013"), "recipe must be a recipe"),  # type: ignore[arg-type]
        (lambda: train_model(dataset, chosen), "datasets must be a list"),  # type: ignore[arg-type]
        (lambda: train_model(["data/pages"], chosen), "must be a data set"),  # type: ignore[list-item]
        (lambda: adapt(resolve("default"), [dataset]), r"base must be a blockml\.model\.Model"),  # type: ignore[arg-type]
        (lambda: adapt(model, dataset), "datasets must be a list"),  # type: ignore[arg-type]
        (lambda: evaluate_extractor("default", dataset), "extractor must be an extractor"),  # type: ignore[arg-type]
        (lambda: evaluate_extractor(Plain(), "data/pages"), "dataset must be a data set"),  # type: ignore[arg-type]
    ]
    for call, words in calls:
        with pytest.raises(UsageError, match=words):
            call()
    with pytest.raises(UnknownNameError, match=r"'sites'; did you mean 'site'\? Or choose one of: block, page, site"):
        train_model([dataset], chosen, protocols=["page", "sites"])
