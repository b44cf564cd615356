"""Inputs and outputs of ``predict`` besides JSON lines: lists of files, CSV, fields, filters, ids of data sets."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

import blockml
from blockml.cli import main
from blockml.errors import UsageError

PAGES = Path(__file__).parents[2] / "data" / "pages"
SHORT = PAGES / "short-article" / "page.html"


def rows(path: Path) -> list[dict[str, object]]:
    """Return the records of a JSON lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def copied(folder: Path, *names: str) -> Path:
    """Copy some of the example pages with their labels."""
    for name in names:
        shutil.copytree(PAGES / name, folder / name)
    return folder


def test_pages_of_a_list_become_rows_of_csv(tmp_path: Path) -> None:
    """Fields with a dot are fields of the metadata, and lists are written to CSV cells as JSON."""
    (tmp_path / "list.txt").write_text(f"{SHORT}\n\n{PAGES / 'arabic-article' / 'page.html'}\n", encoding="utf-8")
    output = tmp_path / "out.csv"
    fields = "id,metadata.title,metadata.authors,language"
    assert main(["predict", "--files-from", str(tmp_path / "list.txt"), "-o", str(output), "--fields", fields]) == 0
    with output.open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert list(found[0]) == fields.split(",")
    assert {row["language"] for row in found} == {"en", "ar"}
    assert all(isinstance(json.loads(row["metadata.authors"]), list) and row["metadata.title"] for row in found)


@pytest.mark.parametrize("command", ["extract", "predict"])
def test_a_list_of_pages_is_not_a_page(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of pages given as a page is an error that names the option for lists."""
    (tmp_path / "list.txt").write_text(f"{SHORT}\n{SHORT}\n", encoding="utf-8")
    assert (
        main([command, str(tmp_path / "list.txt"), *(["-o", str(tmp_path / "o.jsonl")] * (command == "predict"))]) == 2
    )
    assert "--files-from" in capsys.readouterr().err
    with pytest.raises(UsageError, match=r"blockml\.predict"):
        blockml.extract(tmp_path / "list.txt")


def test_an_unknown_suffix_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An output with an unknown suffix is refused, and one without a suffix is a folder for documents."""
    assert main(["predict", str(PAGES), "-o", str(tmp_path / "x.xlsx")]) == 2
    assert ".parquet" in capsys.readouterr().err
    assert main(["predict", str(copied(tmp_path / "in", "short-article")), "-o", str(tmp_path / "documents")]) == 0
    assert [path.name for path in (tmp_path / "documents").iterdir()] == ["short-article.txt"]


def test_filters_of_languages_and_duplicates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages are filtered by language and duplicates, and the summary says how many were left out."""
    folder = copied(tmp_path / "in", "short-article", "arabic-article", "code-documentation")
    shutil.copytree(SHORT.parent, folder / "copy", ignore=shutil.ignore_patterns("meta.json"))
    options = ["--language", "en", "--fields", "id,duplicate_of"]
    assert main(["predict", str(folder), "-o", str(tmp_path / "all.jsonl"), *options]) == 0
    pair = {"copy", "short-article"}
    found = {str(row["id"]): row["duplicate_of"] for row in rows(tmp_path / "all.jsonl")}
    assert found.keys() == {*pair, "code-documentation"}
    assert {name for name, other in found.items() if other in pair} < pair
    assert main(["predict", str(folder), "-o", str(tmp_path / "one.jsonl"), *options, "--deduplicate"]) == 0
    assert len(rows(tmp_path / "one.jsonl")) == 2
    assert "1 near duplicate" in capsys.readouterr().err


def test_a_language_is_declared_or_detected() -> None:
    """The declared language is used, otherwise the detected one, and short undeclared texts have none."""
    pytest.importorskip("py3langid")
    text = (
        "Die Katzen des Hauses schlafen den ganzen Tag, und niemand hat sie jemals darum gebeten, damit aufzuhören. "
        * 3
    )
    assert blockml.extract(f"<p>{text}", model="plain").language == "de"
    assert blockml.extract(f'<html lang="pt-BR"><p>{text}', model="plain").language == "pt"
    assert blockml.extract("<p>Katzen", model="plain").language is None
    result = blockml.extract(f"<p>{text}", model="plain")
    assert json.loads(blockml.render(result, "json", language=True))["language"] == "de"
    assert "language" not in json.loads(blockml.render(result, "json"))


def test_extract_detects_the_language_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON of ``extract`` has the language that ``predict`` would detect."""
    pytest.importorskip("py3langid")
    page = tmp_path / "page.html"
    page.write_text("<p>Die Katzen schlafen am liebsten den ganzen Tag in der warmen Sonne.", encoding="utf-8")
    assert main(["extract", str(page), "--model", "plain", "--format", "json", "--detect-language"]) == 0
    assert json.loads(capsys.readouterr().out)["language"] == "de"
    [record] = blockml.predict([str(page)], model="plain", fields=("language",))
    assert record == {"language": "de"}


def test_a_page_may_be_a_path_or_an_open_file() -> None:
    """A path or an open file gives the same text as the bytes of the page."""
    text = blockml.extract(SHORT.read_bytes(), model="kim2013").text
    with SHORT.open("rb") as binary, SHORT.open(encoding="utf-8") as characters:
        assert text == blockml.extract(SHORT, model="kim2013").text
        assert text == blockml.extract(binary, model="kim2013").text
        assert text == blockml.extract(characters, model="kim2013").text


def test_markdown_options() -> None:
    """Without links, images, tables and formatting, only the words of text and links are left."""
    table = "<table><tr><th>Cat<th>Mice<tr><td>Tom<td>3<tr><td>Tiger<td>4</table>"
    html = f'<p>Cats <b>rule</b> the <a href="https://a.example/">world</a>.<img src="/c.png">{table}'
    result = blockml.extract(html, model="plain", url="https://a.example/")
    full = blockml.render(result, "markdown")
    bare = blockml.render(result, "markdown", links=False, images=False, tables=False, formatting=False)
    assert "**rule**" in full
    assert "| Tom" in full
    assert "](https://a.example/)" in full
    assert bare.strip() == "Cats rule the world."


def test_favour_moves_precision_and_recall() -> None:
    """Favouring precision keeps at most as many blocks as the default, and favouring recall at least as many."""
    page = (PAGES / "code-documentation" / "page.html").read_bytes()
    precise, usual, complete = (
        blockml.extract(page, favour=favour).kept.sum() for favour in ("precision", None, "recall")
    )
    assert precise <= usual <= complete
    with pytest.raises(UsageError, match="can't be combined"):
        blockml.extract(page, favour="recall", threshold=0.5)
