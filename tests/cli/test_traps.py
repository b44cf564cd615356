"""Wrong calls are refused with a helpful message."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import blockml
from blockml.batch import Guard, find_inputs
from blockml.cli import main
from blockml.cli.arguments import processes
from blockml.errors import UsageError

PAGE = str(Path(__file__).parents[2] / "data" / "pages" / "short-article" / "page.html")
SITE = str(Path(__file__).parents[2] / "data" / "sites")


@pytest.mark.parametrize("name", ["pages.warc", "pages.warc.gz"])
def test_an_archive_is_not_a_page(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands that take one page refuse an archive, and the library returns a status."""
    data = b"WARC/1.0\r\nWARC-Type: response\r\n\r\n<html><p>A page in an archive.</p></html>"
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert main(["extract", str(path)]) == 3
    assert "is a WARC archive of many pages; give one page" in capsys.readouterr().err
    result = blockml.extract(data)
    assert (str(result.status), result.warnings) == (
        "undecodable",
        ("not HTML (looks like a WARC archive of many pages)",),
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("in.zip", "is a ZIP archive of many pages; give one page, or extract all with 'blockml predict "),
        ("in.tar", "is a tar archive of many pages"),
        ("in.tar.gz", "is a tar archive of many pages"),
        ("in.tgz", "is a tar archive of many pages"),
        ("in.data", "is a ZIP archive of many pages"),
        ("in.arc", "is an ARC archive of many pages"),
    ],
)
@pytest.mark.parametrize("command", [["extract"], ["view", "-o", "view.html"]], ids=lambda command: command[0])
def test_archives_are_for_predict(
    command: list[str], name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error for an archive names the command that reads it, whatever its name and compression are."""
    path = tmp_path / name
    if name in ("in.zip", "in.data"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(PAGE, "a.html")
    elif name == "in.arc":
        path.write_bytes(b"filedesc://in.arc 0.0.0.0 20260101000000 text/plain 9\n1 0 blockml\n")
    else:
        with tarfile.open(path, "w:" if name.endswith(".tar") else "w:gz") as archive:
            archive.add(PAGE, "a.html")
    assert main([*command, str(path)]) == 3
    message = capsys.readouterr().err
    assert words in message
    assert f"'blockml predict {path} -o OUT'" in message


def test_a_url_that_is_not_unicode(tmp_path: Path) -> None:
    """A byte of an argument that is not UTF-8 is written to a file in escaped form."""
    out = tmp_path / "out.json"
    assert main(["extract", PAGE, "--format", "json", "-o", str(out), "--url", "http://cat.example/\udcff"]) == 0
    assert "http://cat.example/\\udcff" in out.read_text(encoding="utf-8")


def test_a_url_is_not_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The error for a URL says that a file is expected, and the error for a missing file says that it is missing."""
    assert main(["extract", "https://cat.example/a"]) == 3
    assert "https://cat.example/a: is a URL, and pages are not fetched; give a file" in capsys.readouterr().err
    assert main(["extract", "none.html"]) == 3
    assert "none.html: No such file or directory" in capsys.readouterr().err


def test_skipped_files_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message counts skipped files of a folder by suffix."""
    for name in ("a.html", "notes.txt", "b.txt"):
        (tmp_path / name).write_text("<p>Cats rule")
    assert main(["predict", str(tmp_path), "--model", "plain"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") == 1
    assert 'files skipped: 2 ".txt"' in shown.err


def test_no_more_processes_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger number of processes than cores is lowered without an error."""
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert [processes(text) for text in ("1", "3", "500")] == [1, 3, 3]
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert processes("2") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["extract", PAGE, "--format", "json", "--with-title"], "--with-title only has an effect in text and"),
        (["extract", PAGE, "--format", "html", "--no-with-title"], "--with-title only has an effect in text and"),
        (["extract", PAGE, "--format", "markdown", "--paragraphs"], "paragraphs only has an effect in text"),
        (["extract", PAGE, "--chunk-size", "9"], "--chunk-size only has an effect in json, not in text"),
        (["extract", PAGE, "--detect-language"], "--detect-language only has an effect in json, not in text"),
        (["templates", "cluster", PAGE, "--truth", "folder", "--truth-field", "x"], "--truth-field has no effect"),
        (["templates", "detect", PAGE, "-o", "x", "--update", "--name", "x"], "--name has no effect with --update"),
        (["train", "--dataset", SITE, "-o", "x", "--cv", "none", "--folds", "3"], "--folds has no effect with --cv"),
        (
            ["evaluate", "plain", "--dataset", SITE, "--by-page-type", "--format", "json"],
            "--by-page-type has no effect",
        ),
        (
            ["train", "--dataset", SITE, "-o", "x", "--base", "default", "--set", "a=1"],
            "--set has no effect with --base",
        ),
        (["predict", PAGE, "--master", "local"], "--master has no effect without --engine"),
        (["predict", PAGE, "--engine", "spark", "--jobs", "2"], "--jobs has no effect with --engine spark; --master"),
        (["predict", PAGE, "--engine", "datatrove", "--by-site"], "--by-site has no effect with --engine datatrove"),
        (["predict", PAGE, "--engine", "spark", "-o", "x"], "ends in one of: .parquet, .jsonl"),
        (["predict", PAGE, "--engine", "spark", "-o", SITE + ".jsonl", "--fields", "id"], "add status to --fields"),
        (["compare", "plain", "--dataset", SITE, "-o", "x", "--seed", "3"], "--seed has no effect without --limit"),
        (["compare", "--list", "plain"], "--list lists all systems; leave out plain"),
        (["compare", "--list", "--dataset", SITE, "--limit", "3"], "--dataset and --limit have no effect with --list"),
        (
            ["train", "--dataset", SITE, "-o", "x", "--base", "default", "--seed", "3", "--jobs", "2"],
            "--seed and --jobs have no effect with --base",
        ),
        (
            ["train", "--dataset", SITE, "-o", "x", "--recipe", "kim2013", "--block-type-dataset", SITE],
            "--block-type-dataset has no effect with recipe kim2013, which does not learn block types",
        ),
        (["model", "show", "none", "--repeats", "3"], "--repeats needs --importances"),
        (["model", "show", "kim2013", "--tree", "--format", "json"], "--format has no effect with --tree"),
        (["datasets", "--jobs", "2"], "--jobs has no effect without a folder to check"),
        (["predict", PAGE, "--fields", "id", "--format", "html"], "--format has no effect without the field text"),
        (["extract", "none", "--template", "x", "--source", "x"], "--template and --source can't be combined"),
        (["templates", "cluster", "none", "--jobs", "2"], "--jobs has no effect except with --distance rtdm or lcts"),
    ],
)
def test_options_without_effect_are_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that has no effect is refused before anything is read or written."""
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["extract", "none", "--max-bytes", "100000000000000000000"], "blockml: --max-bytes must be an integer from"),
        (["predict", PAGE, "--max-bytes", "2147483648"], "--max-bytes must be an integer from 1 to 2147483647"),
        (["predict", PAGE, "--max-memory", "100000000000000"], "guard.memory must be above 0 and at most"),
        (["predict", PAGE, "--max-memory", "31"], "--max-memory must be at least 32 MB, which most pages need, got 31"),
        (["predict", PAGE, "--timeout", "1e300"], "guard.seconds must be above 0 and at most 1000000000, got 1e+300"),
    ],
)
def test_impossible_numbers_are_refused(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers beyond the system's limits are refused before the work starts."""
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["predict", PAGE, "-o", ""], "output"),
        (["predict", PAGE, "", "-o", "x"], "inputs"),
        (["extract", ""], "page"),
        (["extract", PAGE, "-o", ""], "output"),
        (["view", PAGE, "-o", ""], "output"),
        (["train", "--dataset", "", "-o", "x"], "dataset"),
        (["compare", "plain", "--dataset", SITE, "-o", ""], "output"),
        (["templates", "detect", "", "-o", "x"], "inputs"),
        (["label", ""], "inputs"),
    ],
)
def test_empty_values_are_refused(arguments: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty value, for example of an unset shell variable, is refused and doesn't mean the current folder."""
    assert main(arguments) == 2
    assert f"the value of {name} is empty" in capsys.readouterr().err
    with pytest.raises(UsageError, match="the name of an input is empty"):
        find_inputs([""])


def test_empty_lists_of_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty list of fields is refused, but the URL of a page may be empty."""
    with pytest.raises(SystemExit):
        main(["predict", PAGE, "--fields", " , "])
    assert "argument --fields: must be names separated by commas, got ' , '" in capsys.readouterr().err
    assert main(["extract", PAGE, "--model", "plain", "--url", ""]) == 0


@pytest.mark.parametrize(
    "command",
    [
        ["extract", "{page}", "-o", "{page}"],
        ["extract", "{page}", "-o", "{link}"],
        ["view", "{page}", "-o", "{page}"],
        ["view", "{page}", "--model", "dsc", "-o", "{other}", "--curve", "{link}"],
        ["predict", "{page}", "-o", "{page}"],
        ["templates", "detect", "{page}", "-o", "{page}"],
        ["evaluate", "plain", "{page}", "--dataset", SITE, "-o", "{page}"],
        ["train", "--base", "{page}", "--dataset", SITE, "-o", "{link}"],
        ["model", "show", "{page}", "--tree", "-o", "{page}"],
    ],
)
def test_an_output_never_replaces_an_input(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An output that would replace an input is refused before anything is written."""
    page, link = tmp_path / "page.html", tmp_path / "link"
    page.write_text("<p>Cats rule", encoding="utf-8")
    link.symlink_to(page)
    paths = {"page": page, "link": link, "other": tmp_path / "other"}
    assert main([argument.format(**paths) for argument in command]) == 2
    assert "is an input, which the output would replace" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == "<p>Cats rule"
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "link"}


@pytest.mark.parametrize(
    "command",
    [
        ["datasets", "none"],
        ["evaluate", "plain", "--dataset", "none"],
        ["train", "--dataset", "none", "-o", "x.blockml"],
        ["compare", "plain", "--dataset", "none", "-o", "x"],
    ],
)
def test_missing_pages_have_one_exit_code(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A missing data set gives the same exit code as a missing page."""
    assert main(command) == main(["extract", "none"]) == 3
    assert "none: no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["-1", "4294967296", "1.5", "9" * 5000])
@pytest.mark.parametrize("command", ["train", "compare"])
def test_seeds_have_a_range(command: str, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Seeds that don't fit into 32 bits are refused."""
    with pytest.raises(SystemExit) as caught:
        main([command, "--dataset", SITE, "-o", "x", "--seed", seed])
    assert caught.value.code == 2
    assert "must be an integer from 0 to 4294967295" in capsys.readouterr().err


@pytest.mark.parametrize(
    "limits", [{"seconds": 0}, {"seconds": float("nan")}, {"seconds": "9"}, {"memory": 1.5}, {"memory": (32 << 20) - 1}]
)
def test_guards_are_checked(limits: dict[str, Any]) -> None:
    """Limits that would stop all pages, or none, are refused."""
    with pytest.raises(UsageError, match=r"guard\.(seconds|memory) must be"):
        Guard(**limits)


def test_a_stored_template_follows_no_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options about links are refused together with a stored template."""
    path = str(tmp_path / "site.template")
    assert main(["templates", "detect", PAGE, "-o", path]) == 0
    assert main(["templates", "extract", PAGE, "--source", path, "--n", "3", "--successive"]) == 2
    assert "--n and --successive have no effect with a template of 'templates detect'" in capsys.readouterr().err


def test_choices_are_checked_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong extractor is refused before pages are read."""
    out = str(tmp_path / "out")
    assert main(["view", "missing.html", "--model", "plain", "--curve", out, "-o", out]) == 2
    assert "plain has no curve along the page; choose one of: ccb," in capsys.readouterr().err


def test_the_first_reason_is_printed_if_pages_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message shows the first error, so that a wrong column is noticed without opening the list of failures."""
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"content": "<p>Cats rule"}\n' * 2, encoding="utf-8")
    assert main(["predict", str(lines), "-o", str(tmp_path / "out.jsonl"), "--model", "plain"]) == 3
    assert "the first: the record has no string 'html'; --columns can name another" in capsys.readouterr().err
