"""No escape sequence from a page, a file name, an archive or an argument reaches the terminal."""

from __future__ import annotations

import ast
import gzip
import json
import re
import unicodedata
from contextlib import suppress
from pathlib import Path

import pytest

import blockml.cli
from blockml.cli import main
from blockml.cli.output import note, print_json, print_rows, show

#: Clears the screen, sets the title and the clipboard (7 and 8 bits), reverses text, and starts new lines.
EVIL = "\x1b[2J\x1b]0;title\x07\x9b2J\x9d52;c;eA==\x9c\u202egnp.\u2066\x7f\x08\rover\x85\u2028end"
#: A file name with a second line and a byte that is not UTF-8.
NAME = f"a{EVIL}\nblockml: fine\udcff"
COMMANDS = sorted(Path(blockml.cli.__file__).parent.glob("*.py"))
WRITING = re.compile(r"sys\.(__)?std(out|err)(__)?(\.buffer)?\.write(lines)?")
ALLOWED = {"output.py": {"show", "write_output"}}


def unsafe(text: str) -> list[str]:
    """Return the characters of a text that a terminal could interpret."""
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        letter
        for letter in text
        if (unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} and letter not in "\t\n")
        or unicodedata.bidirectional(letter) in bidi
    ]


def writers(path: Path) -> list[str]:
    """Return the functions of a module that write to a standard stream."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            for call in ast.walk(function):
                if not isinstance(call, ast.Call):
                    continue
                name = ast.unparse(call.func)
                if name == "print" or re.fullmatch(
                    r"sys\.(__)?std(out|err)(__)?(\.buffer)?\.write(lines)?|os\.write", name
                ):
                    found.append(function.name)
                assert name != "argparse.ArgumentParser", path.name
    return found


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_one_function_writes_to_the_terminal(path: Path) -> None:
    """Only one function writes messages to the terminal, and only one writes data unchanged."""
    assert set(writers(path)) == ALLOWED.get(path.name, set())


def test_the_scan_finds_writers(tmp_path: Path) -> None:
    """The check finds functions that write by ``print`` or to a stream."""
    (tmp_path / "a.py").write_text("def f():\n    print(1)\ndef g():\n    sys.stderr.write('a')\n")
    assert writers(tmp_path / "a.py") == ["f", "g"]


def test_messages_are_escaped_and_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    """A message is escaped to one line of limited length, and text in any script is unchanged."""
    note(f"{EVIL}\nblockml: forged")
    note("x" * 10**6)
    note("naïve 日本語 ‍👩‍🚀 می‌خواهم")
    escaped, long, plain = capsys.readouterr().err.splitlines()
    assert escaped.startswith(r"\u001b[2J\u001b]0;title\u0007\u009b2J")
    assert escaped.endswith(r"\u2028end\u000ablockml: forged")
    assert len(long) < 4100
    assert plain == "naïve 日本語 ‍👩‍🚀 می‌خواهم"
    show(EVIL)
    print_rows([{EVIL: EVIL, "b": "y" * 10**5}], "table")
    assert unsafe(out := capsys.readouterr().out) == []
    assert len(out) < 2000


def test_printed_json_stays_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed JSON escapes unsafe characters and decodes to the same value."""
    print_json({"a": EVIL, "long": "z" * 10**5})
    out = capsys.readouterr().out
    assert unsafe(out) == []
    assert json.loads(out) == {"a": EVIL, "long": "z" * 10**5}


def run(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """Run a command and return everything that it prints."""
    with suppress(SystemExit):
        main(arguments)
    captured = capfd.readouterr()
    return captured.out + captured.err


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose files have hostile names and contents."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / f"dir{NAME}"
    folder.mkdir()
    (folder / f"{NAME}.html").write_text(f"<title>{EVIL}</title><p>Words {EVIL} of a page</p>", encoding="utf-8")
    (folder / f"{NAME}.htm.gz").write_bytes(b"damaged")
    (folder / f"other{NAME}").write_bytes(b"{}")
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset={EVIL[:30]}\r\n\r\n<p>x".encode()
    record = (
        f"WARC/1.0\r\nWARC-Type: response{EVIL[:12]}\r\nWARC-Record-ID: <{EVIL[:20]}>\r\n"
        f"Content-Length: {len(block)}\r\n"
        f"WARC-Target-URI: http://a.example/{EVIL[:30]}\r\nContent-Type: application/http\r\n\r\n"
    )
    bad = record.replace(EVIL[:12], "").replace("Content-Length", "Content-Encoding: gzip\r\nX: ").encode() + block
    with (folder / f"{NAME}.warc.gz").open("wb") as stream:
        for data in (record.encode() + block + b"\r\n\r\n", bad + b"\r\n\r\n"):
            stream.write(gzip.compress(data))
    return folder


COMMAND_LINES = [
    ["extract", "{dir}/{name}.html", "--format", "json", "-o", "/dev/null"],
    ["extract", "{dir}/{name}.htm.gz"],
    ["extract", "{dir}/missing{name}"],
    ["extract", "{dir}/{name}.html", "--model", "{name}"],
    ["extract", "{dir}/{name}.html", "--{name}"],
    ["extract", "{dir}/{name}.html", "--threshold", "{name}"],
    ["extract", "{dir}/{name}.html", "--model", "{name}:{name}"],
    ["extract", "{dir}/{name}.html", "--model", "plain", "--charset", "{name}", "-o", "/dev/null"],
    ["predict", "{dir}", "--model", "plain", "-o", "out{name}.jsonl"],
    ["predict", "{dir}", "--model", "plain", "-o", "out{name}.jsonl", "--resume"],
    ["predict", "{dir}", "--model", "plain", "--columns", "{name}=x"],
    ["predict", "{dir}/nothing{name}"],
    ["view", "{dir}/{name}.html", "--model", "plain", "-o", "{name}view.html"],
    ["label", "{dir}/missing{name}"],
    ["label", "{dir}", "--port", "{name}"],
    ["train", "--dataset", "{name}={dir}", "-o", "{name}.blockml"],
    ["evaluate", "plain", "--dataset", "{name}={dir}"],
    ["compare", "plain", "{name}", "--dataset", "{name}={dir}", "-o", "{name}compared"],
    ["model", "show", "{dir}/{name}.html"],
    ["model", "check", "{name}"],
    ["models", "{name}"],
    ["extractors", "{name}"],
    ["features", "{name}"],
    ["datasets", "{dir}"],
    ["templates", "cluster", "{dir}", "--k", "1"],
    ["templates", "detect", "{dir}", "-o", "{name}.site"],
    ["templates", "detect", "{dir}", "-o", "{name}.site", "--format", "json"],
    ["templates", "extract", "{dir}/{name}.html", "--source", "{dir}/{name}.warc.gz"],
    ["templates", "menu", "{dir}/{name}.html", "--source", "{dir}", "--url", "http://a.example/{name}"],
    ["templates", "distance", "{dir}/{name}.html", "{dir}/{name}.html"],
    ["{name}"],
]


@pytest.mark.parametrize("line", COMMAND_LINES, ids=" ".join)
def test_no_command_prints_an_escape(line: list[str], hostile: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names of files, arguments, fields of archives and titles of pages are printed escaped."""
    arguments = [piece.replace("{dir}", str(hostile)).replace("{name}", NAME) for piece in line]
    printed = run(arguments, capfd)
    assert unsafe(printed) == []
    assert not re.search(r"^blockml: fine", printed, re.MULTILINE)
    assert max(map(len, printed.splitlines()), default=0) < 12_000


def test_page_text_is_printed_unchanged(hostile: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The text of a page is printed unchanged."""
    printed = run(["extract", f"{hostile}/{NAME}.html", "--model", "plain"], capfd)
    assert "\u202egnp.\u2066" in printed
