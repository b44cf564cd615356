"""Messages and pickling of errors."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import blockml
from blockml.cli import with_flags
from blockml.errors import BlockmlError, DatasetError, MissingExtraError, UnknownNameError


@pytest.mark.parametrize(
    "error",
    [
        BlockmlError("plain", source="a.html"),
        UnknownNameError("format", "xml", ["text", "json"], source="line 3"),
        MissingExtraError("the report", "report"),
        DatasetError("gone"),
    ],
)
def test_errors_survive_pickling(error: BlockmlError) -> None:
    """A pickled error has the same type, message and source."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.source == error.source


#: An argument of a Python function in a message, such as ``accept_defects=True``.
ARGUMENT = re.compile(r"\b[a-z_]+=(?:True|False|None|[\"'{])")
#: Functions of the library that no command calls.
ONLY_IN_PYTHON = ("templates/grouping.py", "templates/frequency/measures.py")


def raised_texts() -> Iterator[tuple[str, str]]:
    """Yield the constant texts in statements that raise errors, and their files; values are left out."""
    package = Path(blockml.__file__).parent
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and name not in ONLY_IN_PYTHON:
                constants = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                yield name, " ".join(text for text in constants if isinstance(text, str))


def test_commands_never_advise_python_arguments() -> None:
    """Every argument that an error of the library advises has its option of the command in the command's message."""
    texts = list(raised_texts())
    advised = [text for _, text in texts if ARGUMENT.search(text)]
    assert len(advised) > 3  # the messages are found
    assert [(name, text) for name, text in texts if ARGUMENT.search(with_flags(text))] == []


def test_a_column_is_named_by_an_option_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table without recognised columns tells each caller how to name them."""
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"name it by columns=\{'html': …\}"):
        blockml.open_dataset(table)
    assert blockml.cli.main(["datasets", str(table)]) == 3
    assert "name it by --columns html=…" in capsys.readouterr().err
