"""Functions, batches and commands have the same options of an extraction."""

from __future__ import annotations

import argparse
import inspect
import json
import pickle
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import blockml
from blockml import extract
from blockml.batch import BatchExtractor, Item, Options, PageExtractor, predict_items, predict_to_stream
from blockml.cli import main
from blockml.cli.arguments import chosen_options
from blockml.cli.extracting import add_extract, add_view
from blockml.cli.predicting import add_predict
from blockml.errors import UsageError
from blockml.extract import extract_page
from blockml.extractors import resolve
from blockml.formats import FORMATS
from blockml.options import flags
from blockml.parsing import Limits

PAGE = "data/pages/short-article/page.html"
HTML = (Path(__file__).parents[1] / PAGE).read_bytes()
#: Options with their defaults; options of records are not options of a single extraction.
DEFAULTS = {item.name: item.default for item in fields(Options)}
OF_RECORDS = {
    "format", "links", "images", "tables", "formatting", "front_matter", "chunks", "fields", "languages", "deduplicate",
    "min_confidence", "declared_urls",
}  # fmt: skip
SWITCHES = {"links", "images", "tables", "formatting", "front_matter"}
#: A value of each option other than its default.
VALUES: dict[str, Any] = {
    "threshold": 0.0,
    "include": ("navigation",),
    "exclude": ("heading",),
    "hidden": "mark",
    "rules": {"*": {"drop": "p"}},
    "limits": Limits(bytes=600),
    "backend": "html5lib",
    "detector": len,
    "format": "markdown",
    "fields": ("id", "text"),
    "favour": "precision",
    "languages": ("de",),
    "deduplicate": True,
    **dict.fromkeys(("links", "images", "tables", "formatting"), False),
    "front_matter": True,
    "min_confidence": 0.5,
    "declared_urls": True,
    "chunks": 100,
}


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"text"}))  # the default
def test_formats_are_documented(name: str) -> None:
    """The documentation shows how each output format is asked for, with the command or from Python."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (Path(__file__).parents[1] / "docs").glob("*.md"))
    assert re.search(rf'--format {name}\b|render\(\w+, "{name}"', pages)


def test_signatures_agree() -> None:
    """The function ``extract`` has and describes an argument for each option of one page, with its default."""
    of_rendering = {"extraction", "with_title", "paragraphs", "chunk_size", "language"}
    of_runs = {"inputs", "model", "output", "jobs", "resume", "by_site", "columns", "urls", "guard", "progress"}
    for verb, own, left_out in (
        (extract, {"html", "url", "charset", "model"}, OF_RECORDS),
        (blockml.predict, of_runs, set[str]()),
        (blockml.render, of_rendering, DEFAULTS.keys() - SWITCHES),
    ):
        parameters = inspect.signature(verb).parameters
        found = {name: parameter.default for name, parameter in parameters.items() if name not in own}
        assert {name: value for name, value in found.items() if name not in left_out} == {
            name: default for name, default in DEFAULTS.items() if name not in left_out
        }
        assert set(found) <= set(DEFAULTS)
        if verb is not blockml.render:
            lines = re.findall(r"^    ([\w, ]+)\n        ", verb.__doc__ or "", re.MULTILINE)
            assert {name for line in lines for name in line.split(", ")} >= set(parameters)
    for call in (predict_items, extract_page, PageExtractor, BatchExtractor):
        assert inspect.signature(call).parameters["options"].annotation == "Options"
    assert inspect.signature(predict_to_stream).parameters["pages"].annotation == "PageExtractor"
    assert set(VALUES) == set(DEFAULTS)


@pytest.mark.parametrize("add", [add_extract, add_view, add_predict])
def test_commands_have_all_flags(add: Any) -> None:
    """Each option has its flag and help in each parser, except for one that is a function."""
    parser = argparse.ArgumentParser()
    add(parser)
    actions = {action.dest: action for action in parser._actions}
    wanted = flags(of_records=add is add_predict)
    assert set(wanted) == DEFAULTS.keys() - {"detector"} - (set() if add is add_predict else OF_RECORDS)
    if add is add_extract:
        assert set(actions) >= SWITCHES
    for name, flag in wanted.items():
        assert (actions[name].option_strings, actions[name].help) == ([flag.name], flag.help)
    arguments = parser.parse_args(["page", *(["-o", "x"] if add is add_view else [])])
    assert chosen_options(arguments) == Options()


@pytest.mark.parametrize("name", sorted(DEFAULTS.keys() - OF_RECORDS))
def test_each_option_has_the_same_effect_everywhere(name: str) -> None:
    """``extract``, a batch, a pickled extractor and a column return the same text, which each option changes."""
    chosen = {name: VALUES[name]}
    html = b"<p>\xff\xfe\xfd" if name == "detector" else HTML
    html = html.replace(b"</p>", b"<b hidden> (draft)</b></p>") if name == "hidden" else html
    if name == "detector":
        chosen = {name: lower}
    result = extract(html, **chosen)
    wanted = (result.text, result.model, list(result.warnings))
    before = extract(html)
    assert wanted != (before.text, before.model, list(before.warnings)) or result.page.encoding != before.page.encoding
    options = Options(**chosen)
    (record,) = predict_items([Item("a", html=html)], resolve("default"), options, isolation="none")
    (again,) = pickle.loads(pickle.dumps(BatchExtractor(options=options))).records([{"html": html}])  # noqa: S301
    for made in (record, again):
        assert (made["text"], made["model"], made["warnings"]) == wanted
    assert blockml.extract_column([html], **chosen) == [result.text]


@pytest.mark.parametrize("name", sorted(SWITCHES))
def test_a_switch_without_effect_is_refused_before_any_page(name: str, tmp_path: Path) -> None:
    """Plain text has nothing to leave out, so the switch is an error of the call and not of each page."""
    off: dict[str, Any] = {name: VALUES[name]}
    output, options = tmp_path / "out.jsonl", Options(**off)
    for call in (
        lambda: blockml.predict([{"html": HTML}], **off),
        lambda: blockml.predict([{"html": HTML}], output=output, **off),
        lambda: list(predict_items([Item("a", html=HTML)], resolve("default"), options)),
        lambda: list(BatchExtractor(options=options).records([{"html": HTML}])),
    ):
        with pytest.raises(UsageError, match=rf"{name} only has an effect in markdown(, [a-z, ]+)?, not in text"):
            call()
    assert main(["predict", PAGE, flags(of_records=True)[name].name, "-o", str(output)]) == 2
    assert not list(tmp_path.iterdir())


def lower(data: bytes) -> str:
    """Return an encoding."""
    return "koi8-r" if data else "utf-8"


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--threshold", "0"], {"threshold": 0.0}),
        (["--include", "navigation"], {"include": "navigation"}),
        (["--exclude", "heading"], {"exclude": "heading"}),
        (["--max-bytes", "600"], {"limits": Limits(bytes=600)}),
        (["--backend", "html5lib"], {"backend": "html5lib"}),
    ],
)
def test_flags_of_commands_set_options(
    arguments: list[str], options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands ``extract``, ``predict`` and ``view`` decide as the function does with the same options."""
    result = extract(HTML, **options)
    main(["extract", PAGE, *arguments])
    assert capsys.readouterr().out.rstrip("\n") == result.text
    main(["predict", PAGE, "--quiet", *arguments])
    record = json.loads(capsys.readouterr().out)
    assert (record["text"], record["n_kept_blocks"]) == (result.text, int(result.kept.sum()))
    main(["view", PAGE, "-o", str(tmp_path / "view.html"), *arguments])
    assert f"{int(result.kept.sum())} of {len(result.kept)} block" in capsys.readouterr().err


def test_options_are_frozen_and_keep_their_labels() -> None:
    """Options are frozen, and iterators of labels are read once, so that every page has them."""
    options = Options(include=iter(["comment"]), exclude="heading")
    assert options.include == {"comment"}
    assert options == Options(include=["comment"], exclude=("heading",))
    assert json.dumps(options.record())
    with pytest.raises(AttributeError):
        options.threshold = 1.0  # type: ignore[misc]


def test_errors_of_the_library_name_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of the library name arguments, and those of the command name flags."""
    with pytest.raises(UsageError, match=r"^the threshold must be between 0 and 1, got 2$"):
        extract(HTML, threshold=2)
    with pytest.raises(UsageError, match=r"^model plain has no block labels to include or exclude"):
        extract(HTML, model="plain", exclude="main")
    assert main(["extract", PAGE, "--threshold", "2"]) == 2
    assert capsys.readouterr().err == "blockml: --threshold must be between 0 and 1, got 2.0\n"
