"""The command ``blockml``."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import blockml
from blockml.cli import main
from blockml.datasets import Gold, LabelledPage
from blockml.errors import UsageError

DATA = Path(__file__).parents[2] / "data"
PAGE = str(DATA / "pages" / "short-article" / "page.html")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a model trained by the command."""
    path = tmp_path_factory.mktemp("model") / "small.blockml"
    options = ["--recipe", "kim2013", "--cv", "page", "--folds", "3"]
    assert main(["train", "--dataset", f"own={DATA / 'pages'}", "-o", str(path), *options]) == 0
    return str(path)


def test_extract_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output contains only the text, and standard error is empty."""
    assert main(["extract", PAGE, "--model", "plain"]) == 0
    out, err = capsys.readouterr()
    assert len(out.split()) > 20
    assert err == ""


def test_extract_json_has_the_documented_fields(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON output contains the documented fields of the page and of each block."""
    assert main(["extract", PAGE, "--model", "plain", "--format", "json", "--url", "http://x.example/"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record) == [
        "schema_version", "url", "status", "title", "text", "confidence", "article_probability", "page_type",
        "n_blocks", "n_kept_blocks", "model", "warnings", "metadata", "paragraphs", "removed", "posts", "images",
        "blocks",
    ]  # fmt: skip
    assert record["url"] == "http://x.example/"
    assert list(record["blocks"][0]) == [
        "index", "text", "score", "kept", "reason", "xpath", "selector", "element_id", "rule", "label", "hidden"
    ]  # fmt: skip
    assert len(record["blocks"]) == record["n_blocks"]


def test_extract_reads_standard_input() -> None:
    """``-`` reads the page from standard input."""
    result = subprocess.run(
        [sys.executable, "-m", "blockml", "extract", "-", "--model", "plain"],
        input="<p>grüß dich</p>".encode(),
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "utf-8"},
    )
    assert (result.returncode, result.stdout.decode().strip()) == (0, "grüß dich")


def test_compressed_standard_input_is_decompressed() -> None:
    """Standard input may be compressed with gzip or Zstandard, and damaged input is reported as unreadable."""
    page = gzip.compress(b"<p>zipped</p>")
    command = [sys.executable, "-m", "blockml", "extract", "-", "--model", "plain"]
    whole = subprocess.run(command, input=page, capture_output=True, check=False)  # noqa: S603
    assert (whole.returncode, whole.stdout) == (0, b"zipped\n")
    cut = subprocess.run(command, input=page[:-9], capture_output=True, check=False)  # noqa: S603
    assert (cut.returncode, cut.stdout) == (3, b"")
    assert cut.stderr.startswith(b"blockml: -: damaged: Compressed file ended")
    zstandard = pytest.importorskip("zstandard")
    of_zstandard = zstandard.compress(b"<p>zipped</p>")
    by_zstandard = subprocess.run(command, input=of_zstandard, capture_output=True, check=False)  # noqa: S603
    assert (by_zstandard.returncode, by_zstandard.stdout) == (0, b"zipped\n")


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("extract PAGE >&-", 2, "can't read or write ([Errno 9] Bad file descriptor)"),
        ("predict PAGE >&-", 2, "can't read or write ([Errno 9] Bad file descriptor)"),
        ("extract PAGE > limited", 2, "can't read or write ([Errno 27] File too large)"),
        ("predict PAGES > limited", 2, "can't read or write ([Errno 27] File too large)"),
        ("extract - <&-", 3, "-: Bad file descriptor"),
        ("predict - <&-", 3, "1 page: 1 unreadable"),
        ("predict PAGE -o a_file/", 2, "can't read or write ([Errno 17] File exists: 'a_file')"),
        ("predict PAGE -o out.jsonl >&- 2>&-", 0, ""),
    ],
)
def test_streams_that_fail_give_a_message(command: str, code: int, message: str, tmp_path: Path) -> None:
    """A closed stream or a full device gives a one-line message instead of a traceback."""
    (tmp_path / "a_file").touch()
    options = "--model plain" if "extract" in command else "--model plain --fields id,text"
    program = f"{sys.executable} -m blockml {command} {options}".replace("PAGES", str(DATA)).replace("PAGE", PAGE)
    limit = f"ulimit -f {int('predict' in command)}; " if "limited" in command else ""  # like a full device
    result = subprocess.run(["sh", "-c", limit + program], cwd=tmp_path, capture_output=True, check=False)  # noqa: S603, S607
    errors = result.stderr.decode()
    assert (result.returncode, errors.count("\n")) == (code, bool(message)), errors
    assert message in errors


def test_extract_writes_a_file(tmp_path: Path) -> None:
    """-o writes the file and creates its folders."""
    out = tmp_path / "deep" / "out.md"
    assert main(["extract", PAGE, "--model", "plain", "--format", "markdown", "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8").strip()
    assert [path.name for path in out.parent.iterdir()] == ["out.md"]


def test_an_empty_result_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page without text gives exit code 1 and its status."""
    page = tmp_path / "empty.html"
    page.write_text("<title>nothing</title>", encoding="utf-8")
    assert main(["extract", str(page), "--model", "plain"]) == 1
    assert "empty_page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["extract", "none.html"], 3, "none.html: No such file"),
        (
            ["extract", PAGE, "--model", "none"],
            2,
            "choose one of: (module:Class), (path of a model file), (rules:FILE), accb",
        ),
        (["extract", PAGE, "--model", PAGE], 4, "not a model file"),
        (["extract", PAGE, "--model", "plain", "--include", "comments"], 2, "choose one of: advertisement, comment,"),
        (["extract", PAGE, "--model", "plain", "--exclude", "heading"], 2, "model plain has no block labels"),
        (["predict", PAGE, "--model", "plain", "--include", "comment,related"], 2, "plain has no block labels"),
        (["extract", PAGE, "--threshold", "2"], 2, "blockml: --threshold must be between 0 and 1, got 2.0"),
        (["view", PAGE, "-o", "x.html", "--model", "plain", "--exclude", "heading"], 2, "has no block labels"),
        (["predict", PAGE, "--exclude", "heading, head"], 2, "unknown label 'head'"),
        (["extract", PAGE, "--include", "main", "--exclude", "main"], 2, "both included and excluded: main"),
        (["predict", "none/*.html"], 3, "no such file, folder or glob"),
        (["predict", PAGE, "--resume"], 2, "--resume needs -o"),
        (["features", "kim"], 2, "unknown feature set 'kim'; choose one of: boilerpipe6, kim2013"),
        (["evaluate", "plain", "--dataset", str(DATA / "pages"), "--metric", "f1"], 2, "choose one of: bag_f05"),
        (["evaluate", "plain", "--dataset", "nowhere"], 3, "nowhere: no such folder"),
        (["train", "--dataset", str(DATA / "pages"), "-o", "x", "--recipe", "kim"], 2, "choose one of: boilerpipe6"),
        (["train", "--dataset", str(DATA / "pages"), "-o", "x", "--set", "leaf=1"], 2, "choose one of: features, l2"),
        (["train", "--dataset", str(DATA / "pages"), "-o", "x", "--set", "leaf"], 2, "--set takes NAME=VALUE"),
        (["model", "check", PAGE], 4, "not a model file"),
        (["view", "-o", "x.html"], 2, "give either PAGE or --dataset and --id"),
        (["view", PAGE, "-o", "x.html", "--id", "1"], 2, "--id has no effect without --dataset"),
        (["view", "--dataset", str(DATA / "pages"), "-o", "x.html"], 2, "--dataset needs --id; the ids are: "),
        (["view", "--dataset", str(DATA / "pages"), "--id", "short-articl", "-o", "x.html"], 2, "mean 'short-article'"),
    ],
)
def test_wrong_usage_has_a_clear_outcome(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code tells the kind of error and the message its cause, and nothing is printed to standard output."""
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert words in err
    assert "Traceback" not in err
    assert out == ""


def test_the_advised_command_for_an_archive_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names are quoted for the shell, and what is not read from standard input is to be saved first."""
    with zipfile.ZipFile(tmp_path / "my pages.zip", "w") as archive:
        archive.writestr("a.html", "<p>text")
    lines = tmp_path / "my pages.jsonl"
    lines.write_text('{"html": "<p>text"}', encoding="utf-8")
    for path in (Path(str(archive.filename)), lines):
        assert main(["extract", str(path)]) in (2, 3)
        assert f"'blockml predict '{path}' -o OUT'" in capsys.readouterr().err
    zipped = Path(str(archive.filename)).read_bytes()
    for data, advice in (
        (zipped, "save it as FILE and extract all with 'blockml predict FILE -o OUT'"),
        (gzip.compress(zipped), "save it as FILE and extract all with 'blockml predict FILE -o OUT'"),
        (b"WARC/1.0\r\n", "or extract all with 'blockml predict - -o OUT'"),
    ):
        command = [sys.executable, "-m", "blockml", "extract", "-", "--model", "plain"]
        result = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603
        assert (result.returncode, result.stdout) == (3, b"")
        assert advice in result.stderr.decode()


def test_a_table_of_pages_is_predicted_and_viewed_by_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Predict takes a table, view shows one of its pages with its gold, and a table is never read as a page."""
    pytest.importorskip("jinja2", reason="needs the extra report")
    table, view = str(tmp_path / "labels.csv"), str(tmp_path / "view.html")
    lines = ["content,main_text,link", *(f"<p>Home</p><p>Text {n}.</p>,Text {n}.,/{n}" for n in range(20)), "<p>x,,"]
    Path(table).write_text("\n".join(lines), encoding="utf-8")
    for command in (["extract", table], ["view", table, "-o", view]):
        assert main(command) == 2
        assert f"is a table of pages; 'blockml predict {table}" in capsys.readouterr().err
    with pytest.raises(UsageError, match=r"is a table of pages; pass it to blockml.predict"):
        blockml.extract(Path(table))
    assert main(["predict", table, "--model", "plain", "--fields", "id,text", "-o", str(tmp_path / "out.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[16] == {"id": "labels.csv:17", "text": "Home\nText 16."}
    assert len(rows) == 21
    assert main(["predict", table, "--columns", "html=page"]) == 2
    assert "no column 'page'; the columns are: content, main_text, link" in capsys.readouterr().err
    assert main(["view", "--dataset", table, "--id", "17", "--model", "plain", "-o", view]) == 0
    page = Path(view).read_text(encoding="utf-8")
    assert "Text 16." in page
    assert "superfluous" in page  # the menu, by the gold of the row
    assert main(["view", "--dataset", table, "--id", "21", "--model", "plain", "-o", view]) == 0
    assert main(["view", "--dataset", table, "--columns", "html=link", "--id", "1", "-o", view]) == 3
    assert main(["view", "--dataset", table, "--id", "99", "-o", view]) == 2
    assert "no page '99'; the ids are: 1, 2, 3, 4, 5, …" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["nothing"], "invalid choice: 'nothing'"),
        (["extract"], "PAGE"),
        (["extract", PAGE, "--format", "xml"], "invalid choice: 'xml'"),
        (["extract", PAGE, "--threshold", "much"], "argument --threshold: invalid float value: 'much'"),
        (["predict", PAGE, "--jobs", "0"], "must be a positive integer, got '0'"),
        (["train", "-o", "x"], "--dataset"),
        (["templates", "detect", PAGE, "-o", "x", "--threshold", "-1"], "must be a number of at least 0, got '-1'"),
    ],
)
def test_invalid_arguments_exit_with_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The message for an invalid argument shows the usage, followed by the cause."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    usage, message = capsys.readouterr().err.split(": error: ")
    assert usage.startswith("usage:")
    assert words in message


def test_predict_writes_json_lines(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder is extracted to a file with a summary, and --resume refuses when the output is complete."""
    out = tmp_path / "out.jsonl"
    arguments = ["predict", str(DATA / "pages"), "-o", str(out), "--model", model]
    assert main(arguments) == 0
    n_pages = len(list((DATA / "pages").rglob("page.html")))
    assert f"{n_pages} pages" in capsys.readouterr().err
    first = out.read_bytes()
    assert main([*arguments, "--resume", "--jobs", "2"]) == 2
    assert "already complete" in capsys.readouterr().err
    assert out.read_bytes() == first


def test_predict_to_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Records are printed without -o, and the exit code is 1 if some pages failed and 3 if all did."""
    good, bad = tmp_path / "good.html", tmp_path / "bad.html.gz"
    good.write_text("<p>good</p>", encoding="utf-8")
    bad.write_bytes(b"bad")
    assert main(["predict", str(good), str(bad), "--model", "plain", "--quiet"]) == 1
    out, err = capsys.readouterr()
    assert [json.loads(line)["status"] for line in out.splitlines()] == ["ok", "unreadable"]
    assert err == ""
    assert main(["predict", str(bad), "--model", "plain"]) == 3


def test_trained_model_comes_with_a_card(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The model is named after its file, and its card is written next to it and printed by ``model show``."""
    card = Path(model + ".md").read_text(encoding="utf-8")
    assert card.startswith("# small ")
    assert main(["model", "show", model]) == 0
    assert capsys.readouterr().out == card
    assert main(["model", "show", model, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == "kim2013-onehot"
    assert main(["model", "check", model]) == 0


def test_evaluate_compares(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``evaluate`` prints means and paired differences, warns of pages seen in training, and writes scores by page."""
    out = tmp_path / "scores.jsonl"
    spec = f"own={DATA / 'pages'}"
    arguments = ["evaluate", model, "plain", "--dataset", spec, "--metric", "bag_f1", "-o", str(out)]
    assert main([*arguments, "--format", "json"]) == 0
    stdout, err = capsys.readouterr()
    trained, plain = json.loads(stdout)
    assert trained["metrics"]["bag_f1"]["mean"] > plain["metrics"]["bag_f1"]["mean"]
    assert (len(trained["seen"]["pages"]), plain["seen"]["pages"]) == (trained["pages"], [])
    assert "seen in training; its scores are optimistic" in err
    assert f"- plain leaves out {trained['pages']} pages seen in training" in err
    assert " - plain = " not in err
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2 * trained["pages"]
    assert main([*arguments[:-1], str(tmp_path)]) == 2  # the means are printed even if the scores can't be written
    assert "bag_f1" in capsys.readouterr().out
    assert main([*arguments, "--by-page-type"]) == 0
    assert "bag_f1, article" in capsys.readouterr().out


def test_evaluate_on_few_pages_gives_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A single page gives neither an interval nor a significance test, and missing gold is reported."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").write_text("<p>Home</p><p>The text of the page.</p>", encoding="utf-8")
    (tmp_path / "a.txt").write_text("The text of the page.", encoding="utf-8")
    command = ["evaluate", "plain", "numwords", "--dataset", f"own={tmp_path}"]
    assert main([*command, "--metric", "bag_f1", "--metric", "with_rate"]) == 0
    stdout, err = capsys.readouterr()
    assert [line.split()[4] for line in stdout.splitlines()[1:]] == ["-", "-"]
    assert "own, bag_f1: plain - numwords = " in err
    assert err.count("on 1 page, too few for an interval\n") == 1
    assert "significant" not in err
    assert "own has no gold for with_rate" in err
    assert err.count("own: left out 1 page without gold") == 1


@pytest.mark.parametrize("name", ["models", "extractors", "features", "datasets"])
def test_lists_as_table_and_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every list can be printed as a table and as JSON."""
    assert main([name]) == 0
    assert capsys.readouterr().out
    assert main([name, "--format", "json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)


def test_datasets_checks_gold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Findings are printed as rows with exit code 1, and valid pages give exit code 0."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "page.html").write_text("<p>some words</p>", encoding="utf-8")
    (tmp_path / "p" / "expected.txt").write_text("others", encoding="utf-8")
    assert main(["datasets", str(tmp_path)]) == 1
    assert "missing words" in capsys.readouterr().out
    assert main(["datasets", str(DATA / "pages")]) == 0
    assert "no findings" in capsys.readouterr().err
    (tmp_path / "p" / "expected.txt").unlink()
    assert main(["datasets", str(tmp_path)]) == 0
    assert "1 page, 1 site; 1 page without gold" in capsys.readouterr().err


def test_datasets_reads_each_page_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each page is loaded only once, even if its gold is inside the page."""
    (tmp_path / "a.html").write_text("<p><span class=x-nc-sel2>Cats rule the world.</span></p>", encoding="utf-8")
    read: list[str] = []
    load = LabelledPage.load

    def counted_load(page: LabelledPage) -> tuple[bytes, Gold | None]:
        read.append(page.id)
        return load(page)

    monkeypatch.setattr(LabelledPage, "load", counted_load)
    assert main(["datasets", str(tmp_path)]) == 0
    assert read == ["a"]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is printed, and the help explains the exit codes."""
    for flag, words in (("--version", "blockml 0."), ("--help", "exit codes:")):
        with pytest.raises(SystemExit) as caught:
            main([flag])
        assert caught.value.code == 0
        assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    ["extract", "predict", "view", "train", "evaluate", "compare", "model", "model show", "model check", "models",
     "extractors", "features", "datasets", "templates", "templates cluster", "templates detect", "templates extract",
     "templates menu"],
)  # fmt: skip
def test_help_of_every_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command has a description and explains all of its options."""
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])
    assert caught.value.code == 0
    description, options = capsys.readouterr().out.split("options:")
    assert description.split("\n\n")[1].endswith(".")
    assert all(len(line.split()) > 1 for line in options.strip().splitlines() if line.startswith("  -"))


def test_the_command_imports_only_what_it_needs() -> None:
    """Packages for batches, templates, training and reports are only imported by their commands."""
    code = "import sys, blockml.cli; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)  # noqa: S603
    loaded = set(result.stdout.decode().split())
    packages = ("batch", "evaluation", "reports", "templates", "training")
    assert loaded.isdisjoint({"joblib", "sklearn", *(f"blockml.{name}" for name in packages)})


def test_a_closed_pipe_is_not_an_error() -> None:
    """``blockml predict … | head -1`` ends without a message."""
    command = f"{sys.executable} -m blockml predict {DATA / 'pages'} --model plain --quiet | head -c 10"
    result = subprocess.run(command, shell=True, capture_output=True, check=False)  # noqa: S602
    assert result.stderr == b""
