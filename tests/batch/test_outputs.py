"""Outputs of a batch: files, folders, resumed runs and the state after a kill."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from blockml.batch import Inputs, Options, PageExtractor, Summary, find_inputs, predict_to_file
from blockml.batch.outputs import Folder, file_name
from blockml.batch.packing import End, JsonLines
from blockml.batch.pool import Result
from blockml.batch.run import failures_path, parts_path
from blockml.cli import main
from blockml.decision import DecisionPolicy
from blockml.errors import UsageError
from blockml.extractors import Extractor, ParsedBy, Plain, TrainedExtractor, Union
from blockml.storage.atomic import is_device, safe_file_name
from tests.batch.poison import Poison
from tests.models import small_model

pytestmark = pytest.mark.exhaustive


def lines_file(path: Path, n: int, poisons: dict[int, str] | None = None) -> Path:
    """Write a JSON lines file with enough pages for several units of work."""
    words = "word " * 800
    rows = [{"id": f"p{i}", "html": f"<p>{(poisons or {}).get(i, 'page')} {i} {words}"} for i in range(n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def records(path: Path) -> list[dict[str, Any]]:
    """Parse a JSON lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def run(source: Path | Inputs, out: Path, extractor: Extractor | None = None, **options: Any) -> Summary:
    """Predict to a file."""
    inputs = source if isinstance(source, Inputs) else find_inputs([str(source)])
    return predict_to_file(inputs, PageExtractor(extractor or Plain()), out, **options)


class Stopped(Exception):  # noqa: N818 (not an error)
    """Raised to stop a run."""


def stop_after(n_units: int) -> Any:
    """Return a function that stops a run after some units."""
    count = 0

    def on_result(result: Result, _: Summary) -> None:
        nonlocal count
        count += isinstance(result.part, End)
        if count == n_units:
            raise Stopped

    return on_result


#: The command; with ``SLOW`` each unit takes a tenth of a second, so that a signal arrives before the run ends. A
#: shell that starts tests in the background makes them ignore Ctrl-C, so the default handler is restored.
COMMAND = """
import os, signal, sys, time
from blockml.batch.packing import PartWriter
from blockml.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
if "SLOW" in os.environ:
    end_unit = PartWriter.end_unit
    PartWriter.end_unit = lambda *given: (time.sleep(0.1), end_unit(*given))
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete a part after each unit."""
    monkeypatch.setattr("blockml.batch.packing._PART_SECONDS", 0.0)


_TEXTS = st.text(st.characters() | st.sampled_from('"\\\x00\x1f\x7f\u2028\ud800\udfff'))
_VALUES = (
    _TEXTS | st.none() | st.integers() | st.floats(allow_nan=False) | st.lists(_TEXTS) | st.dictionaries(_TEXTS, _TEXTS)
)


@given(st.lists(st.dictionaries(st.sampled_from(["id", "text", "metadata"]), _VALUES), max_size=3))
def test_lines_are_those_of_the_json_module(values: list[dict[str, Any]]) -> None:
    """The lines equal those of Python's ``json``, with and without orjson."""
    wanted = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode(
        "utf-8", "backslashreplace"
    )
    assert JsonLines().encode(values) == wanted
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "orjson", None)
        assert JsonLines().encode(values) == wanted


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"])
def test_a_stopped_run_continues(tmp_path: Path, name: str) -> None:
    """After an interruption, the resumed run writes the same bytes as an uninterrupted one."""
    source = lines_file(tmp_path / "in.jsonl", 2000)
    whole, out = tmp_path / "whole" / name, tmp_path / name
    assert str(run(source, whole)) == "2,000 pages: 2,000 ok"
    out.write_bytes(b"old")
    with pytest.raises(Stopped):
        run(source, out, jobs=2, on_result=stop_after(2))
    assert out.read_bytes() == b"old"
    summary = run(source, out, resume=True)
    assert 0 < summary.n_earlier < 2000
    assert str(summary) == f"2,000 pages: 2,000 ok; {summary.n_earlier:,} of them done earlier"
    assert out.read_bytes() == whole.read_bytes()
    assert not parts_path(out).exists()
    parts_path(out).mkdir()  # left behind by a kill just after the output was completed
    with pytest.raises(UsageError, match="already complete"):
        run(source, out, resume=True)
    assert not parts_path(out).exists()


@pytest.mark.usefixtures("often")
def test_failed_pages_stay_in_their_place(tmp_path: Path) -> None:
    """Failures keep their place in the output and are listed in a separate file, also in a resumed run."""
    source = lines_file(tmp_path / "in.jsonl", 1500, {3: "raise", 800: "exit", 1400: "raise"})
    out = tmp_path / "out.jsonl"
    with pytest.raises(Stopped):
        run(source, out, Poison(), on_result=stop_after(1))
    summary = run(source, out, Poison(), resume=True)
    assert (summary.n_pages, summary.n_failed) == (1500, 3)
    assert [record["id"] for record in records(out)] == [f"p{i}" for i in range(1500)]
    failures = [(row["id"], row["status"]) for row in records(failures_path(out))]
    assert failures == [("p3", "crashed"), ("p800", "crashed"), ("p1400", "crashed")]
    run(lines_file(tmp_path / "good.jsonl", 2), out, Poison())
    assert not failures_path(out).exists()


@pytest.mark.usefixtures("often")
def test_a_run_with_other_options_is_not_continued(tmp_path: Path) -> None:
    """The error names the difference, and without ``resume`` the run starts over."""
    source = lines_file(tmp_path / "in.jsonl", 1500)
    out = tmp_path / "out.jsonl"
    with pytest.raises(Stopped):
        run(source, out, on_result=stop_after(1))
    with pytest.raises(UsageError, match=r"model was 'plain.*' and is 'poison'"):
        run(source, out, Poison(), resume=True)
    pages = PageExtractor(Plain(), Options(fields=("id",)))
    with pytest.raises(UsageError, match="options was"):
        predict_to_file(find_inputs([str(source)]), pages, out, resume=True)
    lines_file(tmp_path / "in.jsonl", 1400)
    with pytest.raises(UsageError, match="files was '1 files"):
        run(source, out, resume=True)
    assert run(source, out).n_pages == 1400


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: Union([ParsedBy(x, "html5lib"), "plain"])])
def test_a_run_with_a_model_that_was_trained_again_is_not_continued(
    tmp_path: Path, wrap: Callable[[Extractor], Extractor]
) -> None:
    """A run isn't resumed with a retrained model, even if its name and version are the same."""
    source, out = lines_file(tmp_path / "in.jsonl", 3), tmp_path / "out.jsonl"
    before, after = (
        wrap(TrainedExtractor(small_model(policy=DecisionPolicy(base_penalty=penalty)))) for penalty in (0.0, 1.0)
    )
    assert before.id == after.id
    with pytest.raises(Stopped):
        run(source, out, before, on_result=stop_after(1))
    with pytest.raises(UsageError, match="model_content was"):
        run(source, out, after, resume=True)
    assert run(source, out, before, resume=True).n_pages == 3


def test_formats_of_files(tmp_path: Path) -> None:
    """JSON lines (compressed or not) and Parquet hold the same records."""
    source = lines_file(tmp_path / "in.jsonl", 100)
    for name in ("o.jsonl", "o.jsonl.gz", "o.jsonl.zst", "o.parquet"):
        run(source, tmp_path / name)
    plain = (tmp_path / "o.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "o.jsonl.gz").read_bytes()) == plain
    with zstandard.open(tmp_path / "o.jsonl.zst", "rb") as stream:
        assert stream.read() == plain
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    for row in rows:
        sources = row["metadata"]["sources"]
        row["metadata"]["sources"] = {entry["field"]: entry["source"] for entry in sources}
    assert rows == records(tmp_path / "o.jsonl")


def test_ids_never_collide_as_paths(tmp_path: Path) -> None:
    """Every id gets a separate file inside the folder, even a very long one or one that contains ``..``."""
    ids = [
        "a.txt/b", "a", "b", "b.TXT/c", "b.TXT", "../../x", "/etc/x", "x\0y", "..", "." * 999, "d/" * 3000 + "e",
        "é" * 300, "C:\\x", "~/x", "new\nline", "a/../a",
    ]  # fmt: skip
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_text("".join(json.dumps({"id": page_id, "html": "<p>text"}) + "\n" for page_id in ids))
    out.mkdir()
    assert run(source, out).n_pages == len(ids)
    assert len([path for path in out.rglob("*") if path.is_file()]) == len(ids)
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out"}
    assert (out / "a%2Etxt" / "b.txt").is_file()


def test_a_folder_of_documents(tmp_path: Path) -> None:
    """Documents are named after the ids of their pages, and none is overwritten."""
    rows = [("a/b", "one"), ("a/b", "two"), ("../up", "three"), ("A/B", "four"), ("none", "")]
    rows += [("a/b~2", "five"), ("c~2", "six"), ("c", "seven"), ("C", "eight")]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": i, "html": f"<p>{t}"}) + "\n" for i, t in rows), encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    run(source, out)
    found = {str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in out.rglob("*.txt")}
    assert found == {
        "a/b.txt": "one\n", "a/b~2.txt": "two\n", "%2E%2E/up.txt": "three\n", "A/B~3.txt": "four\n",
        "a/b~2~2.txt": "five\n", "c~2.txt": "six\n", "c.txt": "seven\n", "C~3.txt": "eight\n",
    }  # fmt: skip
    assert len(file_name("x" * 999)) == 200


def test_impossible_output_is_refused(tmp_path: Path) -> None:
    """An output that can't be written is refused, and nothing is left behind."""
    source = lines_file(tmp_path / "in.jsonl", 2)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="can't be written"):
        run(source, tmp_path / "file" / "out.jsonl")
    (tmp_path / "folder").mkdir()
    pages = PageExtractor(Plain(), Options(fields=("id",)))
    with pytest.raises(UsageError, match="need the fields id and text"):
        predict_to_file(find_inputs([str(source)]), pages, tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "in.jsonl"]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_an_input_is_never_replaced(tmp_path: Path, suffix: str) -> None:
    """An output can't replace an input, neither through a link nor by its list of failures."""
    source, link = tmp_path / f"in.jsonl{suffix}", tmp_path / f"link.jsonl{suffix}"
    data = b'{"html": "<p>x"}\n'
    source.write_bytes(gzip.compress(data) if suffix else data)
    link.symlink_to(source)
    failures = failures_path(tmp_path / "out.jsonl")
    failures.write_bytes(data)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for names, out in (
        ([source], source), ([source], link), ([link], source), ([f"{tmp_path}/in.*"], source),
        ([source, failures], tmp_path / "out.jsonl"),
    ):  # fmt: skip
        for resume in (False, True):
            with pytest.raises(UsageError, match=r"is an input, which the output .* could replace"):
                run(find_inputs([str(name) for name in names]), out, resume=resume)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_documents_never_replace_pages(tmp_path: Path) -> None:
    """HTML documents that could replace input pages are refused; documents with another suffix are written."""
    mirror, link = tmp_path / "mirror", tmp_path / "link"
    (mirror / "a").mkdir(parents=True)
    (mirror / "a" / "page.html").write_text("<p>text", encoding="utf-8")
    link.symlink_to(mirror)
    as_html = PageExtractor(Plain(), Options(format="html"))
    for source, out in ((mirror, mirror), (mirror, link), (link, mirror), (tmp_path, tmp_path)):
        with pytest.raises(UsageError, match=r"is an input, which the output .* could replace"):
            predict_to_file(find_inputs([str(source)]), as_html, out)
    assert [path.name for path in mirror.rglob("*")] == ["a", "page.html"]
    run(mirror, mirror)
    assert (mirror / "a" / "page.txt").read_text(encoding="utf-8") == "text\n"


def test_documents_never_replace_gold(tmp_path: Path) -> None:
    """A document isn't written over ``NAME.txt`` next to ``NAME.html``, which may be the page's gold."""
    (tmp_path / "a.html").write_text("<p>text", encoding="utf-8")
    (tmp_path / "a.txt").write_text("gold", encoding="utf-8")
    for name in (tmp_path, tmp_path / "a.html"):
        for resume in (False, True):
            with pytest.raises(UsageError, match=r"a\.txt: is next to its page and may be its gold"):
                run(find_inputs([str(name)]), tmp_path, resume=resume)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.txt"]
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "gold"


@pytest.mark.usefixtures("often")
def test_the_command_replaces_no_earlier_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A complete output, an unfinished one and documents of other runs stay, unless ``--overwrite`` is given."""
    source, out, pages = lines_file(tmp_path / "in.jsonl", 1500), tmp_path / "out.jsonl", tmp_path / "pages"
    pages.mkdir()
    for number in range(2):
        (pages / f"{number}.html").write_text(f"<p>text {number}", encoding="utf-8")

    def run_command(inputs: Path, output: str | Path, *more: str) -> str:
        code = main(["predict", str(inputs), "-o", str(output), "--model", "plain", *more])
        message = capsys.readouterr().err
        assert code == (2 if message.startswith("blockml: ") else 0), message
        return message

    out.touch()  # an empty file, as of mktemp, is not an output
    assert "1,500 ok" in run_command(source, out)
    before = out.read_bytes()
    assert "exists already; choose another output, or --overwrite replaces it" in run_command(source, out)
    assert out.read_bytes() == before
    with pytest.raises(Stopped):
        run(source, out, on_result=stop_after(1))
    unfinished = {path.name for path in parts_path(out).iterdir()}
    assert "--resume continues it, --overwrite starts over" in run_command(source, out)
    assert {path.name for path in parts_path(out).iterdir()} == unfinished
    assert "of them done earlier" in run_command(source, out, "--resume")
    assert "1,500 ok" in run_command(source, out, "--overwrite")
    for format_, suffix in (("text", ".txt"), ("markdown", ".md")):
        texts = tmp_path / suffix
        assert "2 ok" in run_command(pages, f"{texts}/", "--format", format_)
        (texts / f"1{suffix}").unlink()
        assert f"0{suffix}: exists already; choose another folder" in run_command(pages, texts, "--format", format_)
        message = run_command(source, texts, "--format", format_)
        assert "exists already; choose another folder" in message
        assert "or give --overwrite, which replaces only documents of the same name" in message
        assert [path.name for path in texts.iterdir()] == [f"0{suffix}"]
        assert "2 ok" in run_command(pages, texts, "--format", format_, "--overwrite")
    assert main(["predict", str(pages), "--overwrite"]) == 2
    assert "--overwrite has no effect without -o" in capsys.readouterr().err


def test_the_command_writes_no_documents_among_its_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts next to their pages would be read as gold; a folder below the input is fine."""
    (tmp_path / "a").mkdir()
    for name in ("a/b.html", "c.html"):
        (tmp_path / name).write_text("<p>text", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    for inputs, out, message in (
        ([tmp_path], tmp_path, "is the folder of the input; choose another folder"),
        ([tmp_path / "c.html"], tmp_path, "c.txt: would be next to its page; choose another folder"),
        ([tmp_path / "a" / "b.html", tmp_path / "c.html"], tmp_path / "a", "b.txt: would be next to its page"),
    ):
        assert main(["predict", *map(str, inputs), "-o", str(out), "--model", "plain"]) == 2
        assert message in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert main(["predict", str(tmp_path), "-o", str(tmp_path / "texts"), "--model", "plain"]) == 0
    assert main(["predict", str(tmp_path), "-o", str(tmp_path), "--model", "plain", "--overwrite"]) == 0
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.txt")}
    assert found == {"texts/a/b.txt", "texts/c.txt", "a/b.txt", "c.txt"}


@pytest.mark.parametrize(("format_", "suffix"), [("text", ".txt"), ("markdown", ".md")])
def test_overwriting_among_the_input_is_advised_where_it_works_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str, suffix: str
) -> None:
    """A text next to its page is never replaced, so no error for texts advises ``--overwrite``."""
    page, document = tmp_path / "a.html", tmp_path / f"a{suffix}"
    page.write_text("<p>text", encoding="utf-8")
    for name in (page, tmp_path):
        command = ["predict", str(name), "-o", str(tmp_path), "--model", "plain", "--format", format_]
        assert main(command) == 2
        advised = "--overwrite" in capsys.readouterr().err
        assert main([*command, "--overwrite"]) == 0
        assert (main([*command, "--overwrite"]) == 0) == advised == (suffix != ".txt")
        assert document.read_text(encoding="utf-8") == "text\n"
        document.unlink()


def test_archives_share_a_folder_if_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--overwrite``, documents of a second table are added, and only those of the same name are replaced."""
    tables, out = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"], tmp_path / "texts"
    for table, ids in zip(tables, ("ab", "bc"), strict=True):
        rows = [json.dumps({"id": page_id, "html": f"<p>{page_id} of {table.stem}"}) for page_id in ids]
        table.write_text("\n".join(rows), encoding="utf-8")
    first, second = (["predict", str(table), "-o", f"{out}/", "--model", "plain"] for table in tables)
    assert main(first) == 0
    capsys.readouterr()
    assert main([*second, "--resume"]) == 2
    assert "txt: exists already, and no run is left to resume; choose another folder" in capsys.readouterr().err
    assert main([*second, "--overwrite"]) == 0
    assert {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()} == {
        "a.txt": "a of one\n", "b.txt": "b of two\n", "c.txt": "c of two\n",
    }  # fmt: skip


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_complete_documents_are_not_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str) -> None:
    """``--resume`` onto a complete folder says so, as for a file, also if its parts were being removed."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_text("<p>text", encoding="utf-8")
    out = tmp_path / "texts"
    command = ["predict", str(tmp_path / "pages"), "-o", str(out), "--model", "plain", "--format", format_]
    assert main(command) == 0
    parts_path(out).mkdir()
    capsys.readouterr()
    for more in ([], ["--overwrite"]):
        assert main([*command, "--resume", *more]) == 2
        assert f"{out}: the output is already complete; there is nothing to resume" in capsys.readouterr().err
    assert not parts_path(out).exists()


def test_a_run_killed_while_it_wrote_documents_is_unfinished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run advises ``--resume`` although some documents exist, and leaves them and the parts."""
    pages, out = tmp_path / "pages", tmp_path / "texts"
    pages.mkdir()
    for name in "ab":
        (pages / f"{name}.html").write_text(f"<p>{name}", encoding="utf-8")
    command = ["predict", str(pages), "-o", str(out), "--model", "plain"]
    write = Folder._write

    def stop_at_b(folder: Folder, page_id: str, *more: Any) -> None:
        if page_id == "b":
            raise Stopped
        write(folder, page_id, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_write", stop_at_b)
        with pytest.raises(Stopped):
            main(command)
    capsys.readouterr()
    assert main(command) == 2
    assert "is unfinished: --resume continues it, --overwrite starts over" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["a.txt"]
    assert main([*command, "--resume"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["a.txt", "b.txt"]


def test_a_run_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    """A missing column is noticed when the file is opened, before anything is written."""
    pq.write_table(pa.table({"content": ["<p>x"]}), tmp_path / "in.parquet")
    with pytest.raises(UsageError, match="no column 'html'"):
        run(tmp_path / "in.parquet", tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_parts_of_an_output_are_not_read_as_input(tmp_path: Path) -> None:
    """A resumed run reads the same files, even if the output is in the folder or matches the glob of the input."""
    for name in ("a.html", "b.txt"):
        (tmp_path / name).write_text(f"<p>{name}", encoding="utf-8")
    for name in (f"{tmp_path}/**", str(tmp_path)):
        inputs, out = find_inputs([name]), tmp_path / "out.jsonl"
        with pytest.raises(Stopped):
            run(inputs, out, on_result=stop_after(1))
        assert parts_path(out).is_dir()
        run(inputs, out, resume=True)
        assert [record["id"] for record in records(out)] == (["a", "b.txt"] if name.endswith("*") else ["a"])
        assert ".json" not in inputs.passed_over
        out.unlink()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process")
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet", "out/"])
def test_a_kill_while_the_output_is_written_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    """A resumed run replaces the unfinished file that a kill has left behind."""
    source, out = lines_file(tmp_path / "in.jsonl", 3), tmp_path / name
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from blockml.cli import main\n"
        "Path.replace, replace = lambda p, to: os.kill(os.getpid(), 9) if '.unfinished.' in p.name else "
        "replace(p, to), Path.replace\n"
        "main(['predict', *sys.argv[1:]])\n"
    )
    options = [str(source), "-o", f"{out}/" if name.endswith("/") else str(out), "--model", "plain", "--quiet"]
    assert subprocess.run([sys.executable, "-c", program, *options], check=False).returncode == -signal.SIGKILL  # noqa: S603
    assert len(list(tmp_path.rglob("*.unfinished.part"))) == 1
    assert main(["predict", *options, "--resume"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", out.name}
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    """A FIFO or the target of a link is written to, and never replaced."""
    source = lines_file(tmp_path / "in.jsonl", 3)
    fifo, link, target = tmp_path / "fifo", tmp_path / "link.jsonl", tmp_path / "target.jsonl"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE) as reader:  # noqa: S603, S607
        assert main(["predict", str(source), "--model", "plain", "-o", str(fifo), "--quiet"]) == 0
        assert reader.stdout is not None
        assert reader.stdout.read().count(b"\n") == 3
    assert fifo.is_fifo()
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    assert main(["predict", str(source), "--model", "plain", "-o", str(link), "--quiet"]) == 2
    assert target.read_text(encoding="utf-8") == "old"
    assert main(["predict", str(source), "--model", "plain", "-o", str(link), "--quiet", "--overwrite"]) == 0
    assert link.is_symlink()
    assert len(records(target)) == 3
    assert main(["predict", str(source), "-o", str(fifo), "--resume"]) == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="kills process groups")
@pytest.mark.parametrize(("jobs", "name"), [(1, "out.jsonl"), (2, "out.jsonl.gz")])
def test_killed_runs_continue(tmp_path: Path, jobs: int, name: str) -> None:
    """Whenever the process is killed, the resumed run writes the same bytes as an uninterrupted one."""
    source = lines_file(tmp_path / "in.jsonl", 4000, {1000: "raise"})
    whole, out = tmp_path / "whole" / name, tmp_path / name
    run(source, whole, Poison())
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "import blockml.batch.packing as parts\n"
        "from pathlib import Path\n"
        "from blockml.batch import PageExtractor, find_inputs, predict_to_file\n"
        "from tests.batch.poison import Poison\n"
        "parts._PART_SECONDS = 0.02\n"
        "source, out, jobs = sys.argv[1:]\n"
        "out = Path(out)\n"
        "resume = out.with_name(out.name + '.parts').exists()\n"
        "pages = PageExtractor(Poison())\n"
        "predict_to_file(find_inputs([source]), pages, out, jobs=int(jobs), resume=resume)\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    chance = random.Random(jobs)  # noqa: S311 (no secret)
    command = [sys.executable, str(program), str(source), str(out), str(jobs)]
    for _ in range(8):
        process = subprocess.Popen(command, env=environment)  # noqa: S603
        time.sleep(chance.uniform(0.5, 3.0))
        process.kill()
        process.wait()
        if out.is_file():
            break
    else:
        subprocess.run(command, env=environment, check=True)  # noqa: S603
    assert out.is_file()
    assert out.read_bytes() == whole.read_bytes()
    assert not parts_path(out).exists()
    assert failures_path(out).is_file()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes by /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_run_cleanly(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """The workers end, at most one line is printed, and the resumed run writes the same bytes."""
    source, whole, out = lines_file(tmp_path / "in.jsonl", 3000), tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    options = ["predict", str(source), "--quiet", "--jobs", "2", "--model", "plain"]
    program = [sys.executable, "-c", COMMAND, *options]
    subprocess.run([*program, "-o", str(whole)], check=True)  # noqa: S603
    for _ in range(9):  # a run may end before the signal reaches it
        # A terminal sends the signal to all processes of a group.
        process = subprocess.Popen(  # noqa: S603 (our own program)
            [*program, "-o", str(out)], stderr=subprocess.PIPE, start_new_session=True, env={**os.environ, "SLOW": "1"}
        )
        workers: list[str] = []
        while process.poll() is None and not (len(workers) == 2 and list(parts_path(out).glob("*"))):
            with contextlib.suppress(OSError):
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                workers = children.read_text(encoding="ascii").split()
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        messages = process.communicate()[1].decode()
        if process.returncode != 0:
            break
        out.unlink()
    assert process.returncode == code, messages
    assert len(messages.splitlines()) <= 1
    for _ in range(2000):  # a worker that is just starting ends when its connection is closed
        workers = [worker for worker in workers if Path(f"/proc/{worker}").exists()]
        time.sleep(0.01 if workers else 0)
    assert workers == []
    assert not out.exists()
    subprocess.run([*program, "-o", str(out), "--resume"], check=True)  # noqa: S603
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_archive_that_is_given_twice_is_read_twice(tmp_path: Path, jobs: int) -> None:
    """The same archive given three times gives its pages three times."""
    header = "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/html\r\nWARC-Record-ID: <a>\r\n"
    source, out = tmp_path / "a.warc", tmp_path / "out.jsonl"
    source.write_text(f"{header}Content-Length: 6\r\n\r\n<p>One\r\n\r\n", encoding="utf-8", newline="")
    run(find_inputs([str(source)] * 3), out, jobs=jobs)
    assert [record["text"] for record in records(out)] == ["One"] * 3


def test_no_document_has_a_name_of_windows() -> None:
    """Names that Windows keeps for devices, or changes, are written otherwise and stay distinct."""
    ids = [
        "aux",
        "AUX",
        "con/x",
        "x/nul",
        "com1.a/b",
        "a./b",
        "a /b",
        "a/b",
        "prn .x",
        "lpt9",
        "console",
        "com0x",
        "auxx",
    ]
    names = [file_name(page_id) for page_id in ids]
    assert len({name.casefold() for name in names}) == len(ids)
    for name in names:
        for piece in name.split("/"):
            assert not is_device(piece), name
            assert not is_device(f"{piece}.txt"), name
        assert not any(piece.endswith((".", " ")) for piece in name.split("/")[:-1])
    assert file_name("console") == "console"
    safe = [safe_file_name(page_id) for page_id in (*ids, "nul.", "a.", "CON.txt")]
    assert not any(is_device(name) or name.endswith(".") for name in safe)
    assert len(set(safe)) == len(safe)
